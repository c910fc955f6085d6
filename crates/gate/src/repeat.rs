//! The idempotency keys of requests about an action that is there: its report, its cancellation.
//!
//! The key of a submission names an action; these name a request. Both live in one table, and no
//! name of these can be a key that a caller sends.

use std::time::Duration;

use ledger::{Snapshot, record::IdempotencyKey};
use model::{ActionId, AgentId, Digest, KeyId, MemberId, Mint};
use uuid::Uuid;

/// How long an idempotency key names what it named first.
pub const KNOWN_FOR: Duration = Duration::from_hours(24);

/// No agent has this id: what the org's own keys named stands under it.
const NO_AGENT: AgentId = AgentId::from_uuid(Uuid::nil());

/// Whose an idempotency key is.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Sender {
    /// An agent's, by whichever of its API keys.
    Agent(AgentId),
    /// That of an API key of the org.
    OrgKey(KeyId),
    /// A member's, by whichever of their sessions.
    Member(MemberId),
}

/// A request that its sender named.
#[derive(Debug, Clone)]
pub(crate) struct Named {
    agent: AgentId,
    key: String,
    action: ActionId,
    fingerprint: Digest,
}

/// Whether a request of this name came before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Repeat {
    /// Nothing was named so.
    First,
    /// This very request was.
    Same,
    /// A different one was.
    Different,
}

impl Named {
    /// The request under its name. `kind` tells it from requests of other kinds, and no
    /// key that can be sent begins with a control character.
    pub(crate) fn new(kind: &str, sender: Sender, key: &str, request: (ActionId, Digest)) -> Self {
        let (action, fingerprint) = request;
        let (agent, key) = match sender {
            Sender::Agent(agent) => (agent, format!("\u{1}{kind}/{key}")),
            Sender::OrgKey(by) => (NO_AGENT, format!("\u{1}{kind}/{by}/{key}")),
            Sender::Member(by) => (NO_AGENT, format!("\u{1}{kind}/{by}/{key}")),
        };
        Self { agent, key, action, fingerprint }
    }

    /// What must be loaded before [`Named::repeat`] can be asked.
    pub(crate) fn need(&self) -> (AgentId, String) {
        (self.agent, self.key.clone())
    }

    /// What the snapshot knows of the name.
    pub(crate) fn repeat(&self, snapshot: &Snapshot) -> Repeat {
        match snapshot.idempotency_key(self.agent, &self.key) {
            None => Repeat::First,
            Some(earlier) if earlier.fingerprint == self.fingerprint => Repeat::Same,
            Some(_) => Repeat::Different,
        }
    }

    /// The row that gives the name to this request.
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
