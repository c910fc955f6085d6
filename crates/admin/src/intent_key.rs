//! The keys with which agents sign what they ask for.

use act::{ActError, Changed, Fact, Record};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use crypto::ed25519::PublicKey;
use deed::Subject;
use ledger::{
    Needs, Snapshot,
    record::{IntentKey, IntentKeys},
};
use model::{AgentId, EventType, IntentKeyId, Timestamp};
use serde_json::json;

use crate::{ChangeError, OrgChange, OrgView, agent};

/// The most keys of one agent whose time is not over.
pub const MAX_INTENT_KEYS: usize = 4;
const FULL: &str = "the agent has 4 intent keys, the maximum";
/// The most keys of one agent that are shown; of more, the oldest whose time is over is not. Its
/// deeds stay.
const KEPT: usize = 32;

/// What an intent key is added with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewIntentKey {
    /// The 32 bytes of the Ed25519 public key, in base64url.
    pub public_key: String,
    /// The signature, in base64url, that shows that somebody has the private half.
    pub proof: String,
    /// When its time begins; at once, where nothing is said.
    pub not_before: Option<Timestamp>,
    /// When its time ends by itself.
    pub not_after: Option<Timestamp>,
}

impl OrgView<'_> {
    /// The agent's intent keys, the newest first.
    pub async fn intent_keys(&self, agent: AgentId) -> Result<Vec<IntentKey>, ChangeError> {
        let store = &self.admin.parts.store;
        store.agent(self.org, agent).await?.ok_or(ActError::NotFound("agent"))?;
        let keys = store.intent_keys(self.org, agent).await?;
        Ok(keys.into_iter().flat_map(|row| row.keys).rev().collect())
    }
}

impl OrgChange<'_> {
    /// Adds a key to an agent; what it signs counts from the next turn on.
    pub async fn add_intent_key(
        &self,
        agent: AgentId,
        new: NewIntentKey,
    ) -> Result<Changed<IntentKey>, ChangeError> {
        let public = public_key(&new.public_key)?;
        let key = IntentKey {
            id: self.admin.mint().id(IntentKeyId::from_uuid),
            kid: intent::thumbprint(&public),
            public_key: new.public_key.clone(),
            created_at: Timestamp::EPOCH,
            not_before: new.not_before,
            not_after: new.not_after,
            revoked_at: None,
        };
        self.turn(needed(agent), None, move |at, record| {
            let holder = agent::live(at, agent)?;
            if holder.system {
                return Err(ActError::Conflict("the service's own agent cannot have keys").into());
            }
            proved(agent, &public, &new.proof)?;
            let key = IntentKey { created_at: at.now(), ..key.clone() };
            fits_time(&key, at.now())?;
            let before = known(at, agent);
            if before.keys.iter().any(|known| known.kid == key.kid) {
                return Err(ActError::Conflict(
                    "this intent key is or was already registered for the agent",
                )
                .into());
            }
            let live = before.keys.iter().filter(|known| known.is_live(at.now()));
            if live.count() >= MAX_INTENT_KEYS {
                return Err(ChangeError::LimitReached(FULL));
            }
            Ok(changed(record, EventType::IntentKeyAdded, before, (None, key)))
        })
        .await
    }

    /// Revokes an intent key for good; nothing that it signed begins once this has answered.
    pub async fn revoke_intent_key(
        &self,
        agent: AgentId,
        id: IntentKeyId,
    ) -> Result<Changed<IntentKey>, ChangeError> {
        self.turn(needed(agent), None, move |at, record| {
            agent::loaded(at, agent)?;
            let before = known(at, agent);
            let key = before.keys.iter().find(|key| key.id == id);
            let key = key.ok_or(ActError::NotFound("intent key"))?.clone();
            if key.revoked_at.is_some() {
                return Err(ActError::Conflict("the intent key is already revoked").into());
            }
            let after = IntentKey { revoked_at: Some(at.now()), ..key.clone() };
            Ok(changed(record, EventType::IntentKeyRevoked, before, (Some(key), after)))
        })
        .await
    }
}

fn needed(agent: AgentId) -> Needs {
    Needs { intent_keys: [agent].into(), ..agent::needed(agent) }
}

/// The keys that the agent has, or had, as far as the turn knows.
fn known(at: &Snapshot, agent: AgentId) -> IntentKeys {
    at.intent_keys(agent).cloned().unwrap_or_else(|| IntentKeys { agent, keys: Vec::new() })
}

/// Whether the key will count at some moment.
fn fits_time(key: &IntentKey, now: Timestamp) -> Result<(), ActError> {
    let begins = key.not_before.filter(|begins| *begins > now).unwrap_or(now);
    if key.not_after.is_none_or(|end| begins < end) {
        return Ok(());
    }
    Err(ActError::bad_input("not_after", "a time in the future that is later than `not_before`"))
}

fn public_key(text: &str) -> Result<PublicKey, ActError> {
    let bytes = URL_SAFE_NO_PAD.decode(text).unwrap_or_default();
    PublicKey::from_bytes(&bytes).map_err(|_| {
        let expected = "the 32 bytes of an Ed25519 public key in base64url; weak keys are rejected";
        ActError::bad_input("public_key", expected)
    })
}

/// Whether whoever sends the key has its private half.
fn proved(agent: AgentId, key: &PublicKey, proof: &str) -> Result<(), ActError> {
    let agent = agent.to_string();
    if intent::proves(&agent, key, proof) {
        return Ok(());
    }
    let message = intent::proof_message(&agent, key);
    let expected = format!("the key's signature over `{message}`, in base64url");
    Err(ActError::bad_input("proof", expected))
}

/// Adds an intent key in its new form to its agent.
pub(crate) fn changed(
    record: &mut Record<'_>,
    event: EventType,
    known: IntentKeys,
    (before, after): (Option<IntentKey>, IntentKey),
) -> Changed<IntentKey> {
    let now = record.now();
    let deed = record.seal(Fact {
        event,
        subject: Subject::intent_key(after.id),
        before: before.map(|key| json!(key)),
        after: Some(json!(after)),
        data: vec![
            ("agent", json!(known.agent)),
            ("kid", json!(after.kid)),
            ("public_key", json!(after.public_key)),
            ("not_before", json!(after.not_before)),
            ("not_after", json!(after.not_after)),
        ],
        object: json!({ "object": "intent_key", "id": after.id, "status": after.status(now) }),
    });
    let IntentKeys { agent, mut keys } = known;
    keys.retain(|key| key.id != after.id);
    while keys.len() >= KEPT {
        let Some(place) = keys.iter().position(|key| !key.is_live(now)) else { break };
        keys.remove(place);
    }
    keys.push(after.clone());
    keys.sort_by_key(|key| key.id);
    record.write(IntentKeys { agent, keys });
    Changed { object: after, deed }
}
