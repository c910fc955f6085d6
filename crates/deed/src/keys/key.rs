//! One seal key: what it signs, from when to when it counts, and who vouches for it.

use base64::{
    Engine,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use crypto::ed25519::{PublicKey, SigningKey};
use model::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::{
    dsse,
    text::{Thumbprint, Word},
};

/// The payload type under which an old key introduces a new one.
pub const INTRODUCTION_TYPE: &str = "application/vnd.service.seal-key.v1+json";

/// What a seal key signs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// Deeds.
    Deed,
    /// Checkpoints.
    Checkpoint,
}

impl Purpose {
    /// The word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Deed => "deed",
            Self::Checkpoint => "checkpoint",
        }
    }
}

/// A public seal key and the time for which it counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SealKey {
    /// The key.
    pub public: PublicKey,
    /// What it signs.
    pub purpose: Purpose,
    /// From when it counts.
    pub activated_at: Timestamp,
    /// From when it counts no more.
    pub retired_at: Option<Timestamp>,
    /// When it was revoked; nothing it signed counts any more.
    pub revoked_at: Option<Timestamp>,
    /// Why it was revoked.
    pub revocation_reason: Option<Word>,
    /// Since when somebody else may have had it.
    pub compromised_since: Option<Timestamp>,
    /// The word of an older key for this one.
    pub introduced_by: Option<Introduction>,
}

/// The word of an older key for a new one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Introduction {
    /// The older key.
    pub kid: Thumbprint,
    /// Its signature, in base64.
    pub signature: String,
}

/// Why a key does not count for a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyUseError {
    /// The record is older than the key.
    #[error("the key was not yet active when this was issued")]
    NotYetActive,
    /// The key had been retired.
    #[error("the key had been retired when this was issued")]
    Retired,
    /// The key was revoked.
    #[error("the key was revoked")]
    Revoked,
    /// The key signs something else.
    #[error("the key was made for another purpose")]
    OtherPurpose,
}

/// How a key stands at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It is registered and will count.
    Published,
    /// It counts.
    Active,
    /// It counts for what it signed before.
    Retired,
    /// It never counts.
    Revoked,
}

impl Standing {
    /// The word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Published => "published",
            Self::Active => "active",
            Self::Retired => "retired",
            Self::Revoked => "revoked",
        }
    }
}

impl SealKey {
    /// A key that counts from this moment on.
    pub fn new(public: PublicKey, purpose: Purpose, activated_at: Timestamp) -> Self {
        Self {
            public,
            purpose,
            activated_at,
            retired_at: None,
            revoked_at: None,
            revocation_reason: None,
            compromised_since: None,
            introduced_by: None,
        }
    }

    /// The key's id.
    pub fn kid(&self) -> Thumbprint {
        thumbprint(&self.public)
    }

    /// Returns this key with the word of an older one of the same purpose.
    pub fn introduced(mut self, older: &SigningKey) -> Self {
        let signature = older.sign(&self.introduction());
        self.introduced_by = Some(Introduction {
            kid: thumbprint(older.public()),
            signature: STANDARD.encode(signature),
        });
        self
    }

    /// Whether the key counts for a record of this purpose and time.
    pub fn admits(&self, purpose: Purpose, issued_at: Timestamp) -> Result<(), KeyUseError> {
        if self.purpose != purpose {
            return Err(KeyUseError::OtherPurpose);
        }
        if self.revoked_at.is_some() {
            return Err(KeyUseError::Revoked);
        }
        if issued_at < self.activated_at {
            return Err(KeyUseError::NotYetActive);
        }
        if self.retired_at.is_some_and(|retired_at| issued_at >= retired_at) {
            return Err(KeyUseError::Retired);
        }
        Ok(())
    }

    /// How the key stands at this moment.
    pub fn standing(&self, now: Timestamp) -> Standing {
        match self.admits(self.purpose, now) {
            Ok(()) | Err(KeyUseError::OtherPurpose) => Standing::Active,
            Err(KeyUseError::NotYetActive) => Standing::Published,
            Err(KeyUseError::Retired) => Standing::Retired,
            Err(KeyUseError::Revoked) => Standing::Revoked,
        }
    }

    /// The bytes that an older key signs to introduce this one.
    pub(super) fn introduction(&self) -> Vec<u8> {
        let named = json!({
            "activated_at": self.activated_at,
            "kid": self.kid(),
            "purpose": self.purpose,
        });
        dsse::pae(INTRODUCTION_TYPE, named.to_string().as_bytes())
    }
}

/// The key's RFC 7638 thumbprint.
pub fn thumbprint(key: &PublicKey) -> Thumbprint {
    let x = URL_SAFE_NO_PAD.encode(key.as_bytes());
    let digest = crypto::sha256(format!(r#"{{"crv":"Ed25519","kty":"OKP","x":"{x}"}}"#));
    Thumbprint::of(digest.as_bytes())
}

/// A key set that cannot be trusted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeySetError {
    /// It is no JSON that the strict parser takes, or not a key set.
    #[error("expected a seal key set as keys.json has it: {0}")]
    Form(String),
    /// A key's id is not its thumbprint.
    #[error("the key `{0}` is not named by its thumbprint")]
    Thumbprint(Thumbprint),
    /// A public key is malformed or weak.
    #[error("the key `{kid}` cannot be used: {why}")]
    Key {
        /// The key's name.
        kid: Thumbprint,
        /// What is wrong.
        why: String,
    },
    /// A key stands twice.
    #[error("the key `{0}` appears twice")]
    Twice(Thumbprint),
    /// An introduction is no signature of an earlier key.
    #[error("the key `{0}` is introduced by no earlier key's signature")]
    Introduction(Thumbprint),
}
