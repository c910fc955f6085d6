//! The idempotency keys of requests about an action that is there: its report, its cancellation.
//!
//! The key of a submission names an action; these name a request. Both live in one table, and no
//! name of these can be a key that a caller sends.

use std::time::Duration;

use ledger::{Snapshot, record::IdempotencyKey};
use model::{ActionId, AgentId, Digest, KeyId, Mint};
use uuid::Uuid;

/// How long an idempotency key names what it named first.
pub(crate) const KNOWN_FOR: Duration = Duration::from_hours(24);

/// No agent has this id: what the org's own keys named stands under it.
const NO_AGENT: AgentId = AgentId::from_uuid(Uuid::nil());

/// Whose an idempotency key is.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Sender {
    /// An agent's, by whichever of its API keys.
    Agent(AgentId),
    /// That of an API key of the org.
    OrgKey(KeyId),
}

/// A request that its sender named.
#[derive(Debug, Clone)]
pub(crate) struct Named {
    agent: AgentId,
    key: String,
    action: ActionId,
    fingerprint: Digest,
}

/// What is known of a request's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Seen {
    /// Nothing was named so.
    Never,
    /// This very request was.
    Before,
    /// A different one was.
    Otherwise,
}

impl Named {
    /// Returns the request under its name. `kind` tells it from requests of other kinds, and no
    /// key that can be sent begins with a control character.
    pub(crate) fn new(kind: &str, sender: Sender, key: &str, request: (ActionId, Digest)) -> Self {
        let (action, fingerprint) = request;
        let (agent, key) = match sender {
            Sender::Agent(agent) => (agent, format!("\u{1}{kind}/{key}")),
            Sender::OrgKey(by) => (NO_AGENT, format!("\u{1}{kind}/{by}/{key}")),
        };
        Self { agent, key, action, fingerprint }
    }

    /// Returns what must be loaded before [`Named::seen`] can be asked.
    pub(crate) fn need(&self) -> (AgentId, String) {
        (self.agent, self.key.clone())
    }

    /// Returns what the snapshot knows of the name.
    pub(crate) fn seen(&self, snapshot: &Snapshot) -> Seen {
        match snapshot.idempotency_key(self.agent, &self.key) {
            None => Seen::Never,
            Some(known) if known.fingerprint == self.fingerprint => Seen::Before,
            Some(_) => Seen::Otherwise,
        }
    }

    /// Returns the row that gives the name to this request.
    pub(crate) fn row(&self, mint: &Mint<'_>) -> IdempotencyKey {
        IdempotencyKey {
            agent: self.agent,
            key: self.key.clone(),
            action: self.action,
            fingerprint: self.fingerprint,
            expires_at: mint.now() + KNOWN_FOR,
        }
    }
}
