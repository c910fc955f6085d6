//! A value with its canonical form, made once and shared by whoever needs either.

use std::{
    fmt,
    sync::{Arc, OnceLock},
};

use model::Digest;
use serde_json::Value;

use crate::sha256;

/// A JSON value, its RFC 8785 form and that form's digest.
///
/// Cloning copies neither the value nor the text: who checks the size of a call, digests it,
/// commits to it, stores it and runs it holds the same bytes.
#[derive(Clone)]
pub struct Canonical {
    // Invariant: `text` is the canonical form of `value`, and `digest` is unset or that of `text`.
    value: Arc<Value>,
    // A `String` behind the `Arc`, since an `Arc<str>` could only be had by copying the text.
    text: Arc<String>,
    digest: OnceLock<Digest>,
}

impl Canonical {
    /// The value with its canonical form.
    pub fn new(value: impl Into<Arc<Value>>) -> Self {
        let value = value.into();
        // Canonical JSON is UTF-8, so nothing is lost.
        let text = String::from_utf8(super::canonical(&value)).unwrap_or_default();
        Self { value, text: Arc::new(text), digest: OnceLock::new() }
    }

    /// The value.
    pub fn value(&self) -> &Arc<Value> {
        &self.value
    }

    /// The RFC 8785 form.
    pub fn text(&self) -> &Arc<String> {
        &self.text
    }

    /// SHA-256 of the RFC 8785 form, computed when it is first asked for.
    pub fn digest(&self) -> Digest {
        *self.digest.get_or_init(|| sha256(&*self.text))
    }
}

impl PartialEq for Canonical {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl fmt::Debug for Canonical {
    /// Leaves the value out: it may hold what no log may.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Canonical").field("bytes", &self.text.len()).finish_non_exhaustive()
    }
}
