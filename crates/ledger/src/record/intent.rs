//! The keys with which agents sign what they ask for, and the signature that an action bears.

use model::{ActionId, AgentId, Digest, IntentKeyId, Timestamp};
use serde::{Deserialize, Serialize};

use super::Row;

/// The public half of a key with which an agent signs intents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IntentKey {
    /// The key's id.
    pub id: IntentKeyId,
    /// Its RFC 7638 thumbprint, by which intents name it.
    pub kid: String,
    /// The 32 bytes of the Ed25519 public key, in base64url.
    pub public_key: String,
    /// When it was added.
    pub created_at: Timestamp,
    /// When its time begins; at once, where nothing is said.
    pub not_before: Option<Timestamp>,
    /// When its time ends by itself.
    pub not_after: Option<Timestamp>,
    /// When it was revoked.
    pub revoked_at: Option<Timestamp>,
}

impl IntentKey {
    /// Whether it counts, or will, at some moment from this one on.
    pub fn is_live(&self, now: Timestamp) -> bool {
        self.revoked_at.is_none() && self.not_after.is_none_or(|end| now < end)
    }

    /// Whether what it signs counts at this moment.
    pub fn is_active(&self, now: Timestamp) -> bool {
        self.is_live(now) && self.not_before.is_none_or(|start| start <= now)
    }

    /// How the key stands at this moment, as a word.
    pub fn status(&self, now: Timestamp) -> &'static str {
        match (self.revoked_at, self.is_live(now), self.is_active(now)) {
            (Some(_), _, _) => "revoked",
            (None, true, true) => "active",
            (None, true, false) => "pending",
            (None, false, _) => "expired",
        }
    }
}

/// The keys of one agent, in a row of their own: who writes the agent's row need not know of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IntentKeys {
    /// The agent.
    pub agent: AgentId,
    /// Its keys, those that have ended among them, the oldest first.
    pub keys: Vec<IntentKey>,
}

impl IntentKeys {
    /// The key of this thumbprint, if what it signs counts at this moment.
    pub fn active(&self, kid: &str, now: Timestamp) -> Option<&IntentKey> {
        self.keys.iter().find(|key| key.kid == kid && key.is_active(now))
    }
}

impl Row for IntentKeys {
    type Key = AgentId;

    fn key(&self) -> AgentId {
        self.agent
    }
}

/// A signed intent that held for its action.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignedIntent {
    /// The thumbprint of the key that signed it.
    pub kid: String,
    /// The 32 bytes of that key, in base64url, with which the text can be checked once the agent has
    /// others.
    pub public_key: String,
    /// SHA-256 of the text.
    pub digest: Digest,
    /// The compact JWS as it was sent.
    pub jws: String,
}

/// An intent that was used up: the turn that wrote this recorded its action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsedIntent {
    /// The action that it was for.
    pub action: ActionId,
    /// Whose key signed it.
    pub agent: AgentId,
    /// The thumbprint of that key.
    pub kid: String,
    /// SHA-256 of the text.
    pub digest: Digest,
    /// SHA-256 of the nonce.
    pub nonce: Digest,
    /// When it says that it was made.
    pub issued_at: Timestamp,
    /// When it was to be over.
    pub expires_at: Timestamp,
    /// When it was used up: the moment of its action.
    pub used_at: Timestamp,
}
