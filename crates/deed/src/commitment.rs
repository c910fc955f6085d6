//! Salted commitments: a deed vouches for a value without holding it.
//!
//! `commit = sha256(["<salt>","<path>",<value>])`, the array in RFC 8785 form. The array is the
//! [`Disclosure`]: whoever has it can show that the value stood there; once it is deleted, the
//! salt is gone and nobody can guess the value back, and the deed still checks.

use std::{borrow::Cow, sync::Arc};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use model::{Digest, Mint};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a deed holds in place of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Commitment {
    /// SHA-256 of the disclosure.
    pub commit: Digest,
    /// Length in bytes of the value's RFC 8785 form.
    pub size: u64,
}

/// The text that opens a commitment.
///
/// Pruning a payload is deleting this. The value's text is shared with whoever else holds it, since
/// it may be large: the whole text is put together only where it leaves the process.
#[derive(Clone, PartialEq, Eq)]
pub struct Disclosure {
    path: Path,
    salt: String,
    value: Arc<String>,
}

impl std::fmt::Debug for Disclosure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Disclosure").field("path", &self.path).finish_non_exhaustive()
    }
}

/// A text that is not a disclosure.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected a disclosure, `[\"<salt of 43 characters>\",\"<path>\",<value>]`")]
pub struct DisclosureError;

/// A commitment to the value at this place of a deed, and what opens it.
///
/// ```
#[doc = include_str!("doc/shop.md")]
/// let (commitment, opened) = commit(&mint, Path::REASON, &json!("left in a log file"));
/// assert_eq!(opened.commitment(), commitment);
/// assert_eq!(opened.value(), r#""left in a log file""#);
/// // Whoever has the text can show it; once it is deleted, nobody can guess it back.
/// assert_eq!(Disclosure::from_text(opened.text().to_owned())?, opened);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn commit(mint: &Mint<'_>, path: Path, value: &Value) -> (Commitment, Disclosure) {
    // Canonical JSON is UTF-8, so nothing is lost.
    let text = String::from_utf8(crypto::json::canonical(value)).unwrap_or_default();
    commit_canonical(mint, path, text)
}

/// A commitment to a value that is already in its RFC 8785 form.
pub fn commit_canonical(
    mint: &Mint<'_>,
    path: Path,
    canonical: impl Into<Arc<String>>,
) -> (Commitment, Disclosure) {
    let salt = URL_SAFE_NO_PAD.encode(mint.bytes::<32>());
    let disclosure = Disclosure { path, salt, value: canonical.into() };
    (disclosure.commitment(), disclosure)
}

impl Disclosure {
    /// Reads the exact text that was given out.
    pub fn from_text(mut text: String) -> Result<Self, DisclosureError> {
        let (salt, path, value) = split(&text).ok_or(DisclosureError)?;
        if !is_one_value(value) {
            return Err(DisclosureError);
        }
        let (salt, path) = (salt.to_owned(), Path(Cow::Owned(path.to_owned())));
        // What is left is the value, without a second copy of it.
        let (start, end) = (text.len() - value.len() - 1, text.len() - 1);
        text.truncate(end);
        text.drain(..start);
        Ok(Self { path, salt, value: Arc::new(text) })
    }

    /// The place in the deed.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The exact text, to be stored and given out.
    pub fn text(&self) -> String {
        self.parts().concat()
    }

    /// The exact text in parts, for whoever writes it somewhere else anyway.
    pub fn parts(&self) -> [&str; 7] {
        // Salt and path need no escapes, so this is the RFC 8785 form of the array.
        ["[\"", &self.salt, "\",\"", self.path.as_str(), "\",", &self.value, "]"]
    }

    /// The RFC 8785 form of the value.
    pub fn value(&self) -> &str {
        &self.value
    }

    /// The commitment that this opens.
    pub fn commitment(&self) -> Commitment {
        let mut commit = crypto::Sha256::new();
        self.parts().iter().for_each(|part| commit.update(part.as_bytes()));
        Commitment { commit: commit.finish(), size: self.value.len() as u64 }
    }
}

/// The salt, the path and the value of a disclosure's text.
fn split(text: &str) -> Option<(&str, &str, &str)> {
    let (salt, rest) = text.strip_prefix("[\"")?.split_once("\",\"")?;
    let (path, rest) = rest.split_once("\",")?;
    let salted = URL_SAFE_NO_PAD.decode(salt).is_ok_and(|salt| salt.len() == 32);
    let value = rest.strip_suffix(']')?;
    let path_fits = !path.is_empty() && path.bytes().all(is_path_byte);
    (salted && path_fits && !value.is_empty()).then_some((salt, path, value))
}

/// Whether the text is one JSON value, so that no second one can stand beside it.
fn is_one_value(text: &str) -> bool {
    let space = [' ', '\t', '\n', '\r'];
    text.trim_matches(space) == text && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

fn is_path_byte(byte: u8) -> bool {
    matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'.')
}

/// A place in a deed's body that holds a commitment: member names and array places, with dots.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Path(Cow<'static, str>);

/// Defines the places of the fixed shapes.
macro_rules! paths {
    ($($(#[$doc:meta])* $name:ident = $path:literal),+ $(,)?) => {
        impl Path {
            $($(#[$doc])* pub const $name: Self = Self(Cow::Borrowed($path));)+
        }
    };
}

paths! {
    /// What was sent where a tool name should have been.
    TOOL = "action.tool",
    /// The client's own name and version.
    CLIENT = "action.client",
    /// The arguments.
    REQUEST = "action.request",
    /// On whose behalf the agent acted.
    ON_BEHALF_OF = "action.on_behalf_of",
    /// The session.
    SESSION = "action.session",
    /// The sentence that the caller was given.
    DECISION_REASON = "action.decision.reason",
    /// What the person was shown.
    APPROVAL_CONTEXT = "action.approval.context",
    /// What went wrong, in the tool's own words.
    ERROR_MESSAGE = "action.execution.error_message",
    /// The result.
    RESULT = "action.execution.result",
    /// The result's digest, where only that was kept.
    RESULT_DIGEST = "action.execution.result_digest",
    /// The witness's whole detail.
    WITNESS_DETAIL = "action.witness.detail",
    /// The countersigned plan of an undo.
    UNDO_PLAN = "action.undo.plan",
    /// The subject before an admin change.
    BEFORE = "admin.before",
    /// The subject after an admin change.
    AFTER = "admin.after",
    /// Why an admin change was made.
    REASON = "admin.reason",
    /// What went wrong, as an amendment has it.
    AMENDED_ERROR_MESSAGE = "amendment.changes.execution.error_message",
    /// The result as an amendment has it.
    AMENDED_RESULT = "amendment.changes.execution.result",
    /// The result's digest as an amendment has it.
    AMENDED_RESULT_DIGEST = "amendment.changes.execution.result_digest",
    /// The witness's detail as an amendment has it.
    AMENDED_WITNESS_DETAIL = "amendment.changes.witness.detail",
}

impl Path {
    /// The place of an action's piece of evidence, counted from 0.
    pub fn evidence(index: usize) -> Self {
        Self(Cow::Owned(format!("action.witness.sources.{index}.evidence")))
    }

    /// The place of an amendment's piece of evidence, counted from 0.
    pub fn amended_evidence(index: usize) -> Self {
        Self(Cow::Owned(format!("amendment.changes.witness.sources.{index}.evidence")))
    }

    /// The path as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}
