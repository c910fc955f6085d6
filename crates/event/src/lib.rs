//! The envelope of everything that happened, and the thin objects that it carries.
//!
//! Streams and webhooks share the envelope. It never holds payloads, approval context or e-mail
//! addresses: a thin object is ids and states only.

use model::{
    ActionId, AgentId, ApprovalId, ApprovalStatus, DeedId, DeedKind, Digest, EventId, EventType,
    OrgId, State, Status, Timestamp, VoidReason,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

mod filter;

pub use filter::{EventTypesError, Types};

/// The API version that this build writes into envelopes.
pub const API_VERSION: &str = "2026-10-01";

/// Something that happened, before a turn of the ledger gave it its place.
#[derive(Debug, Clone, PartialEq)]
pub struct Draft {
    /// The event's id.
    pub id: EventId,
    /// What happened.
    pub kind: EventType,
    /// Whether it happened outside test mode.
    pub livemode: bool,
    /// The agent whose stream shows it; absent for what only the org sees.
    pub agent: Option<AgentId>,
    /// The action that it is about.
    pub action: Option<ActionId>,
    /// The thin object.
    pub object: Value,
}

/// Something that happened, at its place in the org's order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// The org.
    pub org: OrgId,
    /// The place in the org's order: the order of commits, without gaps, from 1.
    pub seq: u64,
    /// The event's id.
    pub id: EventId,
    /// What happened.
    pub kind: EventType,
    /// When it was committed.
    pub created_at: Timestamp,
    /// Whether it happened outside test mode.
    pub livemode: bool,
    /// The agent whose stream shows it; absent for what only the org sees.
    pub agent: Option<AgentId>,
    /// The action that it is about.
    pub action: Option<ActionId>,
    /// The thin object.
    pub object: Value,
}

impl Draft {
    /// The event at its place.
    pub fn placed(self, org: OrgId, seq: u64, created_at: Timestamp) -> Event {
        let Self { id, kind, livemode, agent, action, object } = self;
        Event { org, seq, id, kind, created_at, livemode, agent, action, object }
    }
}

impl Event {
    /// The envelope (spec, Event envelope) with the thin object.
    pub fn envelope(&self) -> Value {
        self.envelope_with(&self.object)
    }

    /// The envelope with this object in place of the thin one.
    pub fn envelope_with(&self, object: &Value) -> Value {
        json!({
            "object": "event",
            "id": self.id,
            "type": self.kind,
            "api_version": API_VERSION,
            "created_at": self.created_at,
            "livemode": self.livemode,
            "org": self.org,
            "data": { "object": object },
        })
    }
}

/// The thin object of an action.
pub fn thin_action(id: ActionId, state: State, status: Status) -> Value {
    json!({ "object": "action", "id": id, "state": state, "status": status })
}

/// The thin object of what people are asked about an action.
pub fn thin_approval(
    id: ApprovalId,
    status: ApprovalStatus,
    (action, expires_at): (ActionId, Timestamp),
) -> Value {
    json!({
        "object": "approval",
        "id": id,
        "status": status,
        "action": action,
        "expires_at": expires_at,
    })
}

/// The thin object of an approval that is void, with what made it void and, where that was a Stop or the
/// archiving of its agent, who did it.
pub fn thin_void(mut approval: Value, reason: VoidReason, by: Option<Value>) -> Value {
    if let Some(members) = approval.as_object_mut() {
        members.insert("void_reason".to_owned(), json!(reason));
        members.extend(by.map(|by| ("voided_by".to_owned(), by)));
    }
    approval
}

/// The thin object of a tool whose definition is another than the one that was accepted.
pub fn thin_tool(name: &str, accepted: Digest, found: Digest) -> Value {
    json!({
        "object": "tool",
        "id": name,
        "name": name,
        "accepted_digest": accepted,
        "digest": found,
    })
}

/// The thin object of a deed; `subject` is `{type, id}`.
pub fn thin_deed(id: DeedId, seq: u64, kind: DeedKind, subject: &Value, digest: Digest) -> Value {
    json!({
        "object": "deed",
        "id": id,
        "seq": seq,
        "kind": kind,
        "subject": subject,
        "digest": digest,
    })
}

#[cfg(test)]
mod tests;
