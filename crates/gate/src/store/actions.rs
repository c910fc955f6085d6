//! Actions as they are read: one with all that is shown of it, and lists.

use event::Event;
use ledger::{LogNo, record::Action};
use model::{
    ActionId, AgentId, DecisionOutcome, DeedId, DeedKind, Digest, Level, State, Timestamp, Verdict,
};

/// An action with everything that is shown of it.
#[derive(Debug, Clone)]
pub struct ActionDetail {
    /// The action.
    pub action: Action,
    /// The texts that open its commitments, as far as retention left them.
    pub disclosures: Vec<deed::Disclosure>,
    /// Its first 200 events, in order.
    pub events: Vec<Event>,
    /// The deeds about it, in order.
    pub deeds: Vec<StoredDeed>,
}

/// A deed as a store keeps it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredDeed {
    /// The deed's id.
    pub id: DeedId,
    /// What it records.
    pub kind: DeedKind,
    /// Which of the org's logs has it.
    pub log_no: LogNo,
    /// Its place in that log.
    pub seq: u64,
    /// When it was sealed.
    pub issued_at: Timestamp,
    /// The exact signed bytes.
    pub body: String,
    /// SHA-256 of the body.
    pub digest: Digest,
    /// The Ed25519 signature.
    pub signature: [u8; 64],
    /// The thumbprint of the key that made it.
    pub key_id: String,
    /// The agent that may read it.
    pub agent: Option<AgentId>,
    /// The action that it is about.
    pub action: Option<ActionId>,
}

/// What a list of actions shows; every absent filter lets everything through.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// Of this agent.
    pub agent: Option<AgentId>,
    /// Of tools that this glob covers.
    pub tool: Option<policy::Glob>,
    /// In one of these states; empty lets every state through.
    pub states: Vec<State>,
    /// Decided in one of these ways.
    pub decisions: Vec<DecisionOutcome>,
    /// With one of these verdicts.
    pub verdicts: Vec<Verdict>,
    /// With evidence of one of these levels.
    pub levels: Vec<Level>,
    /// On behalf of exactly this reference.
    pub on_behalf_of: Option<String>,
    /// Recorded at or after this moment.
    pub from: Option<Timestamp>,
    /// Recorded before this moment.
    pub to: Option<Timestamp>,
    /// With this text in the tool's name or the error code.
    pub text: Option<String>,
    /// Whose shadow decision differs from the enforced one.
    pub shadow_differs: Option<ShadowDiffers>,
}

/// Asks for actions whose shadow decision differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShadowDiffers;

/// What a list of used intents shows; every absent filter lets everything through.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct IntentFilter {
    /// Of this agent.
    pub agent: Option<AgentId>,
    /// Used at or after this moment.
    pub from: Option<Timestamp>,
    /// Used before this moment.
    pub to: Option<Timestamp>,
}

/// The place of an action in the list, newest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ActionPlace {
    /// When it was recorded.
    pub created_at: Timestamp,
    /// Its id.
    pub id: ActionId,
}

/// One page of actions.
#[derive(Debug, Clone)]
pub struct Page {
    /// The actions, newest first.
    pub actions: Vec<Action>,
    /// Whether there are more behind the last one.
    pub has_more: bool,
}
