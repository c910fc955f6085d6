//! The short texts that may stand in a deed in clear: words, names, amounts, log origins.
//!
//! Each has a narrow grammar, so that free text, which may be about a person, cannot get into a
//! record that is never erased. What has no such grammar is committed to instead.

use std::fmt;

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use model::{
    ActionId, AgentId, ApprovalId, ConnectorId, DeedId, EventType, IntentKeyId, InviteId, KeyId,
    LogId, MemberId, OrgId, PolicyId, PolicyVersionId, WebhookId,
};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A text outside the grammar of its field.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected {expected}, got `{got}`")]
pub struct TextError {
    expected: &'static str,
    got: String,
}

impl TextError {
    fn new(expected: &'static str, got: &str) -> Self {
        Self { expected, got: got.chars().take(64).collect() }
    }
}

/// Defines one kind of text by what it is called in errors and the test that it passes.
macro_rules! text {
    ($(#[$doc:meta])* $name:ident, $expected:literal, $fits:expr) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Box<str>);

        impl $name {
            /// The text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl std::str::FromStr for $name {
            type Err = TextError;

            fn from_str(text: &str) -> Result<Self, TextError> {
                let fits: fn(&str) -> bool = $fits;
                if fits(text) { Ok(Self(text.into())) } else { Err(TextError::new($expected, text)) }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                model::deserialize_text(deserializer)
            }
        }
    };
}

text!(/// A word of a list that may grow, such as an error code or a connector's type.
    Word, "1 to 64 characters of `a-z0-9_`",
    |text| sized(text, 64) && text.bytes().all(is_word_byte));
text!(/// An id that this crate does not interpret, such as a rule's id or a key's thumbprint.
    Ident, "1 to 128 characters of `A-Za-z0-9._-`",
    |text| sized(text, 128) && text.bytes().all(is_ident_byte));
text!(/// The RFC 7638 thumbprint of a seal key, its id.
    Thumbprint, "a key id of 43 characters of `A-Za-z0-9_-`",
    |text| text.len() == 43 && text.bytes().all(|byte| byte != b'.' && is_ident_byte(byte)));
text!(/// The id of a person: `usr_` and 26 characters like every id.
    UserId, "`usr_` and 26 characters of `0-9a-hjkmnp-tv-z`, the first one `0-7`",
    |text| text.strip_prefix("usr_").and_then(KeyId::from_body).is_some());

text!(/// The id of a person who answers: as a member of the org, `mem_…`, or as a person, `usr_…`.
    PersonId, "`mem_` or `usr_` and 26 characters of `0-9a-hjkmnp-tv-z`, the first one `0-7`",
    |text| ["mem_", "usr_"]
        .iter()
        .any(|prefix| text.strip_prefix(prefix).and_then(KeyId::from_body).is_some()));

impl From<MemberId> for PersonId {
    fn from(id: MemberId) -> Self {
        Self(id.to_string().into())
    }
}

impl From<model::UserId> for UserId {
    fn from(id: model::UserId) -> Self {
        Self(id.to_string().into())
    }
}

text!(/// The name of an event, `<family>.<what happened>`.
EventName, "an event such as `agent.stopped`",
|text| sized(text, 64) && text.split_once('.').is_some_and(|(family, event)| {
    [family, event].iter().all(|part| !part.is_empty() && part.bytes().all(is_word_byte))
}));
text!(/// A decimal number as text, so that no reader rounds it.
    Amount, "a decimal number such as `0.0125`", is_amount);
text!(/// The unit of an amount, such as a currency's code.
    Unit, "1 to 16 characters of `A-Z0-9_`",
    |text| sized(text, 16)
        && text.bytes().all(|byte| matches!(byte, b'A'..=b'Z' | b'0'..=b'9' | b'_')));
text!(/// A position in a database's change log as PostgreSQL prints it.
    Lsn, "a log position such as `0/16B3748`",
    |text| text.split_once('/').is_some_and(|(high, low)| is_hex(high) && is_hex(low)));
text!(/// The name of one log, `<host>/logs/<log id>`: the first line of its checkpoints.
    LogOrigin, "a log's origin such as `chancery.example/logs/log_…`", is_origin);

impl LogOrigin {
    /// The origin of a log that this host keeps.
    pub fn new(host: &str, log: LogId) -> Result<Self, TextError> {
        format!("{host}/logs/{log}").parse()
    }
}

impl From<EventType> for EventName {
    fn from(event: EventType) -> Self {
        // Invariant: every event type has the grammar of an event name; a test goes through them.
        Self(event.as_str().into())
    }
}

impl Word {
    /// The word that the code itself names; what no word may hold is left out.
    pub fn of(word: &'static str) -> Self {
        let kept = word.bytes().filter(|byte| is_word_byte(*byte)).map(char::from);
        Self(kept.take(64).collect())
    }
}

impl Thumbprint {
    /// The thumbprint that these bytes are.
    pub(crate) fn of(digest: &[u8; 32]) -> Self {
        Self(URL_SAFE_NO_PAD.encode(digest).into())
    }
}

/// Defines the ids of `model` that may stand as an [`Ident`]: their text always has its grammar.
macro_rules! idents {
    ($($id:ty),+ $(,)?) => {
        $(impl From<$id> for Ident {
            fn from(id: $id) -> Self {
                Self(id.to_string().into())
            }
        })+
    };
}

idents!(
    ActionId,
    AgentId,
    ApprovalId,
    ConnectorId,
    DeedId,
    IntentKeyId,
    KeyId,
    InviteId,
    WebhookId,
    LogId,
    MemberId,
    OrgId,
    PolicyId,
    PolicyVersionId,
    Thumbprint,
);

fn sized(text: &str, most: usize) -> bool {
    (1..=most).contains(&text.len())
}

pub(crate) fn is_word_byte(byte: u8) -> bool {
    matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_')
}

fn is_ident_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"._-".contains(&byte)
}

fn is_hex(text: &str) -> bool {
    sized(text, 8) && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'A'..=b'F'))
}

fn is_amount(text: &str) -> bool {
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let number = text.strip_prefix('-').unwrap_or(text);
    let (whole, fraction) = match number.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (number, None),
    };
    sized(text, 64)
        && digits(whole)
        && (whole == "0" || !whole.starts_with('0'))
        && fraction.is_none_or(digits)
}

fn is_origin(text: &str) -> bool {
    let host_byte =
        |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'.' | b'-' | b':' | b'[' | b']');
    sized(text, 255)
        && text.rsplit_once("/logs/").is_some_and(|(host, log)| {
            !host.is_empty() && host.bytes().all(host_byte) && log.parse::<LogId>().is_ok()
        })
}
