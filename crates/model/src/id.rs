//! Typed ids: a prefix that names the kind and 26 characters of lowercase Crockford base32.
//!
//! The body is a UUIDv7, so ids of one kind sort by the time they were made. Stores keep the
//! 16 bytes (`uuid`); only the wire shows the text.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use uuid::Uuid;

use crate::deserialize_text;

const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
const BODY_LEN: usize = 26;

/// A text that is not an id of the expected kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected `{prefix}_` and 26 characters of `0-9a-hjkmnp-tv-z`, the first one `0-7`")]
pub struct IdError {
    prefix: &'static str,
}

/// Defines one kind of id: a type of its own over 16 bytes, so that the id of an agent cannot stand
/// where that of an action is meant.
///
/// `id!(AgentId, "agt")` makes the type, its `PREFIX`, the way to and from the bytes that stores
/// keep, and parsing, printing and serde of the one text form. It is a macro because the prefix is
/// part of the length of that text, and generics could not print it without allocating.
macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Uuid);

        impl $name {
            /// The text before the underscore.
            pub const PREFIX: &'static str = $prefix;

            /// The id that has this body.
            pub const fn from_uuid(body: Uuid) -> Self {
                Self(body)
            }

            /// The body as stores keep it.
            pub const fn as_uuid(&self) -> &Uuid {
                &self.0
            }

            /// The wire form.
            fn text(&self) -> [u8; $prefix.len() + 1 + BODY_LEN] {
                let mut text = [0; $prefix.len() + 1 + BODY_LEN];
                let (prefix, body) = text.split_at_mut($prefix.len() + 1);
                prefix.copy_from_slice(concat!($prefix, "_").as_bytes());
                body.copy_from_slice(&body_text(&self.0));
                text
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(std::str::from_utf8(&self.text()).unwrap_or_default())
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl FromStr for $name {
            type Err = IdError;

            fn from_str(text: &str) -> Result<Self, IdError> {
                text.strip_prefix(concat!($prefix, "_"))
                    .and_then(read_body)
                    .map(Self)
                    .ok_or(IdError { prefix: $prefix })
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(std::str::from_utf8(&self.text()).unwrap_or_default())
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserialize_text(deserializer)
            }
        }
    };
}

id!(/// One call of a tool, from submission to deed.
    ActionId, "act");
id!(/// A caller that acts on its own key.
    AgentId, "agt");
id!(/// A question to a person about one action.
    ApprovalId, "apr");
id!(/// One try to sign in, from the mail to its link or code.
    ChallengeId, "chal");
id!(/// One event on its way to one webhook endpoint.
    DeliveryId, "whd");
id!(/// One check of an org's log.
    CheckId, "chk");
id!(/// A governed system and its tools.
    ConnectorId, "con");
id!(/// One sealed record.
    DeedId, "deed");
id!(/// One thing that happened, as streams and webhooks tell it.
    EventId, "evt");
id!(/// A key with which an agent signs what it asks for.
    IntentKeyId, "ik");
id!(/// One question to somebody whether they join an org.
    InviteId, "inv");
id!(/// An API key; the id is part of the key's text.
    KeyId, "key");
id!(/// One hash chain and tree of an org's deeds.
    LogId, "log");
id!(/// One mail that is to be sent; the same however often it is tried.
    MailJobId, "job");
id!(/// A person in an org.
    MemberId, "mem");
id!(/// A tenant.
    OrgId, "org");
id!(/// A policy, which has versions.
    PolicyId, "pol");
id!(/// One immutable version of a policy.
    PolicyVersionId, "pv");
id!(/// The activation of a policy version, as it waits for a second person.
    ProposalId, "pap");
id!(/// One HTTP request.
    RequestId, "req");
id!(/// One browser in which a person is signed in.
    SessionId, "ses");
id!(/// A person, whatever orgs they are in.
    UserId, "usr");
id!(/// Where an org's events are posted to.
    WebhookId, "whe");

impl KeyId {
    /// The 26 characters without the prefix, as an API key carries them.
    pub fn body(&self) -> String {
        body_text(&self.0).map(char::from).iter().collect()
    }

    /// Reads the 26 characters without the prefix.
    pub fn from_body(text: &str) -> Option<Self> {
        read_body(text).map(Self)
    }
}

fn body_text(body: &Uuid) -> [u8; BODY_LEN] {
    let number = body.as_u128();
    let mut text = [0; BODY_LEN];
    for (place, to) in text.iter_mut().rev().enumerate() {
        let symbol = usize::try_from((number >> (place * 5)) & 31).unwrap_or_default();
        *to = ALPHABET.get(symbol).copied().unwrap_or_default();
    }
    text
}

fn read_body(text: &str) -> Option<Uuid> {
    // 26 symbols hold 130 bits: the first may only use its low three.
    if text.len() != BODY_LEN || !matches!(text.as_bytes().first(), Some(b'0'..=b'7')) {
        return None;
    }
    text.bytes()
        .try_fold(0_u128, |number, symbol| Some(number << 5 | value(symbol)?))
        .map(Uuid::from_u128)
}

/// The value of a symbol: its place in the alphabet, told by the run that it is in.
const fn value(symbol: u8) -> Option<u128> {
    let place = match symbol {
        b'0'..=b'9' => symbol - b'0',
        b'a'..=b'h' => symbol - b'a' + 10,
        b'j' | b'k' => symbol - b'j' + 18,
        b'm' | b'n' => symbol - b'm' + 20,
        b'p'..=b't' => symbol - b'p' + 22,
        b'v'..=b'z' => symbol - b'v' + 27,
        _ => return None,
    };
    Some(place as u128)
}
