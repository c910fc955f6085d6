//! The checks by name, and what one of them found.

use std::fmt;

use serde::{Serialize, Serializer};

/// Makes the closed list of checks, in the order in which they are made.
macro_rules! checks {
    ($($(#[$about:meta])* $name:ident = $word:literal,)*) => {
        /// A check of an intent.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Check { $($(#[$about])* $name,)* }

        impl Check {
            /// Every check, in order.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// The check's name.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $word,)* }
            }
        }
    };
}

checks! {
    /// It is not longer than an intent may be.
    Size = "size",
    /// It is three parts of base64url.
    Form = "form",
    /// Its header has exactly the members of an intent's.
    Header = "header",
    /// It names a key that is the agent's and is active.
    Key = "key",
    /// The signature is that key's.
    Signature = "signature",
    /// Its payload has exactly the claims of an intent.
    Payload = "payload",
    /// It is for this service.
    Audience = "audience",
    /// It is by this agent.
    Agent = "agent",
    /// It names this tool.
    Tool = "tool",
    /// It has the digest of this tool and these arguments.
    Request = "request",
    /// It says who runs the tool.
    Mode = "mode",
    /// It names whom the call is on behalf of, or says nobody.
    OnBehalfOf = "on_behalf_of",
    /// It names the session, or says none.
    Session = "session",
    /// It names the idempotency key, or says none.
    IdempotencyKey = "idempotency_key",
    /// It has the digest of the tool's definition, where it claims one.
    ToolDigest = "tool_digest",
    /// It was not made in the future.
    IssuedAt = "issued_at",
    /// It is not over.
    ExpiresAt = "expires_at",
    /// It does not live longer than an intent may.
    Lifetime = "lifetime",
    /// Its nonce was not seen before.
    Nonce = "nonce",
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Check {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// What a check found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Checked {
    /// The check.
    pub check: Check,
    /// Whether it holds.
    pub ok: bool,
    /// What holds.
    pub expected: String,
    /// What was there.
    pub got: String,
}

/// An intent that does not hold.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("check `{check}`: expected {expected}, got {got}")]
pub struct IntentError {
    /// The first check that failed.
    pub check: Check,
    /// What would have held.
    pub expected: String,
    /// What was there.
    pub got: String,
}
