//! Whether the agent signed this very call: the stage between the tool and the turn.
//!
//! The signature is checked outside the turn, with a public key that is named by its own thumbprint
//! and therefore never changes. Whether that key is the agent's, whether the intent is over and
//! whether its nonce was seen is decided in the turn, and the nonce is burnt in it. A key that this
//! process does not know yet costs a turn in which nothing is recorded.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use crypto::ed25519::PublicKey;
use intent::{Call, Check, IntentError, Key, Verified};
use ledger::{
    Snapshot,
    record::{Action, IdempotencyKey, IntentKeys, SignedIntent, UsedIntent},
};
use model::{ActionId, AgentId, IntentMode, Timestamp};

use crate::submission::Rejection;

/// The most keys that are remembered.
const KNOWN: usize = 10_000;

/// What a call says of an intent, and what came of looking at it.
#[derive(Debug, Clone)]
pub(crate) enum Intent {
    /// None was sent.
    Absent,
    /// One was sent and its signature was not looked at yet.
    Sent(String),
    /// It is signed for this call by the key that it names.
    Signed(String, Box<Verified>),
    /// It does not hold.
    Broken(String, IntentError),
}

impl Intent {
    /// The intent as it was sent.
    pub(crate) fn of(text: Option<String>) -> Self {
        text.map_or(Self::Absent, Self::Sent)
    }

    /// Whether one was sent.
    pub(crate) fn is_sent(&self) -> bool {
        !matches!(self, Self::Absent)
    }

    /// The key that it names, as long as its signature was not looked at.
    pub(crate) fn unknown_kid(&self) -> Option<String> {
        match self {
            Self::Sent(text) => intent::kid_of(text),
            Self::Absent | Self::Signed(..) | Self::Broken(..) => None,
        }
    }

    /// The intent after its signature and what it says of the call were looked at.
    pub(crate) fn judged(self, keys: &[Key], call: &Call<'_>) -> Self {
        match self {
            Self::Sent(text) => match intent::verify_untimed(&text, keys, call) {
                Ok(verified) => Self::Signed(text, Box::new(verified)),
                Err(error) => Self::Broken(text, error),
            },
            judged @ (Self::Absent | Self::Signed(..) | Self::Broken(..)) => judged,
        }
    }

    /// The intent as it was sent, to be judged anew.
    pub(crate) fn unjudged(self) -> Self {
        match self {
            Self::Absent => Self::Absent,
            Self::Sent(text) | Self::Signed(text, _) | Self::Broken(text, _) => Self::Sent(text),
        }
    }

    /// What names its nonce among the agent's idempotency keys.
    pub(crate) fn nonce(&self) -> Option<String> {
        match self {
            Self::Signed(_, verified) => Some(nonce(verified)),
            Self::Absent | Self::Sent(_) | Self::Broken(..) => None,
        }
    }

    /// Why it does not hold for this agent now, where it does not.
    pub(crate) fn rejection(&self, agent: AgentId, snapshot: &Snapshot) -> Option<Rejection> {
        let (Self::Sent(text) | Self::Broken(text, _) | Self::Signed(text, _)) = self else {
            return None;
        };
        let now = snapshot.now();
        // Whose key it is comes before what it signed, whatever this process knows of the key.
        let is_own = |kid: &String| key_of(snapshot, agent, kid).is_some();
        let verified = match self {
            Self::Signed(_, verified) if is_own(&verified.key.kid) => verified,
            Self::Broken(_, error) if intent::kid_of(text).as_ref().is_none_or(is_own) => {
                return Some(Rejection::IntentInvalid(error.clone()));
            }
            _ => return Some(Rejection::IntentInvalid(unreadable(text))),
        };
        if let Err(error) = verified.is_timely(now) {
            return Some(Rejection::IntentInvalid(error));
        }
        let nonce = self.nonce()?;
        let burnt = snapshot.idempotency_key(agent, &nonce)?;
        Some(Rejection::IntentReplay(burnt.action))
    }

    /// The intent as its action keeps it.
    pub(crate) fn signed(&self) -> Option<Box<SignedIntent>> {
        match self {
            Self::Signed(text, verified) => Some(Box::new(SignedIntent {
                kid: verified.key.kid.clone(),
                public_key: URL_SAFE_NO_PAD.encode(verified.key.public.as_bytes()),
                digest: verified.digest,
                jws: text.clone(),
            })),
            Self::Absent | Self::Sent(_) | Self::Broken(..) => None,
        }
    }

    /// The row that burns its nonce, for as long as the intent might be taken.
    pub(crate) fn burnt(&self, agent: AgentId, action: ActionId) -> Option<IdempotencyKey> {
        let Self::Signed(_, verified) = self else { return None };
        let end = verified.claims.exp.saturating_add(intent::LEEWAY);
        Some(IdempotencyKey {
            agent,
            key: self.nonce()?,
            action,
            fingerprint: verified.digest,
            expires_at: moment(end),
        })
    }

    /// What stays of it for good: that this action used it up.
    pub(crate) fn used(&self, action: &Action) -> Option<UsedIntent> {
        let Self::Signed(_, verified) = self else { return None };
        Some(UsedIntent {
            action: action.id,
            agent: action.agent.id,
            kid: verified.key.kid.clone(),
            digest: verified.digest,
            nonce: verified.nonce(),
            issued_at: moment(verified.claims.iat),
            expires_at: moment(verified.claims.exp),
            used_at: action.created_at,
        })
    }
}

/// The moment of so many Unix seconds.
fn moment(seconds: i64) -> Timestamp {
    Timestamp::from_unix_millis(seconds.saturating_mul(1000))
}

/// What names the intent's nonce among the agent's idempotency keys; no key that can be sent begins
/// with a control character.
pub(crate) fn nonce(verified: &Verified) -> String {
    format!("\u{1}intent/{}", verified.nonce())
}

/// Whether the mode looks at an intent that was sent.
pub(crate) fn looks(mode: IntentMode) -> bool {
    match mode {
        IntentMode::Off => false,
        IntentMode::Optional | IntentMode::Required => true,
    }
}

/// The agent's keys that are active now.
pub(crate) fn keys_of(snapshot: &Snapshot, agent: AgentId) -> Vec<Key> {
    let known = snapshot.intent_keys(agent).into_iter().flat_map(|row: &IntentKeys| &row.keys);
    known.filter_map(|key| key_of(snapshot, agent, &key.kid)).collect()
}

/// The agent's key of this name that is active now.
pub(crate) fn key_of(snapshot: &Snapshot, agent: AgentId, kid: &str) -> Option<Key> {
    let key = snapshot.intent_keys(agent)?.active(kid, snapshot.now())?;
    let bytes = URL_SAFE_NO_PAD.decode(&key.public_key).ok()?;
    PublicKey::from_bytes(&bytes).ok().map(Key::from)
}

fn no_key(kid: &str) -> IntentError {
    let expected = "an active intent key of this agent".to_owned();
    IntentError { check: Check::Key, expected, got: kid.to_owned() }
}

/// Why a text names no key of the agent, or no key at all.
fn unreadable(text: &str) -> IntentError {
    match intent::kid_of(text) {
        Some(kid) => no_key(&kid),
        None => intent::unreadable(text),
    }
}

/// Public keys by their thumbprints. That one is here says nothing of whose it is.
#[derive(Debug, Default)]
pub(crate) struct KnownKeys(Mutex<HashMap<String, Key>>);

impl KnownKeys {
    pub(crate) fn get(&self, kid: &str) -> Option<Key> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(kid).cloned()
    }

    pub(crate) fn learn(&self, key: &Key) {
        let mut keys = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if keys.len() >= KNOWN {
            keys.clear();
        }
        keys.insert(key.kid.clone(), key.clone());
    }
}
