//! What one request adds to a turn.

use model::{ActionId, AgentId, LogId, Mint};

use crate::{
    Needs, Snapshot,
    record::{
        Action, ActivePolicy, Agent, ApiKey, BudgetUse, Connector, Known, Org, Policy,
        PolicyActivation, PolicyTests, PolicyVersion, Pruned,
    },
};

/// Something that somebody wants of an org, decided inside a turn.
pub trait Request: Send + 'static {
    /// What the one who asked is told once the turn is durable.
    type Answer: Send + 'static;

    /// Returns what must be loaded before the request can decide.
    ///
    /// Asked again after each load until it names nothing new, so that a need may follow from
    /// what was loaded (which budgets, once the policy is known).
    fn needs(&self, snapshot: &Snapshot) -> Needs;

    /// Decides. Pure: it may be asked again on a newer snapshot, and only the last entry counts.
    fn decide(&self, snapshot: &Snapshot, mint: &Mint<'_>) -> (Entry, Self::Answer);
}

/// Everything that one request changes; empty when it changes nothing.
#[derive(Debug, Clone, Default)]
pub struct Entry {
    /// The log that replaces the org's present one, which is closed as it stands. The entry's deeds
    /// are its first ones.
    pub opens: Option<LogId>,
    /// Rows, in their new form.
    pub changes: Vec<Change>,
    /// Deeds to seal, in order.
    pub deeds: Vec<DeedEntry>,
    /// Events, in order; the ledger adds `deed.sealed` for each deed.
    pub events: Vec<event::Draft>,
}

impl Entry {
    /// Returns the entry that changes nothing.
    pub fn nothing() -> Self {
        Self::default()
    }

    /// Returns whether the entry changes nothing.
    pub fn is_empty(&self) -> bool {
        self.opens.is_none()
            && self.changes.is_empty()
            && self.deeds.is_empty()
            && self.events.is_empty()
    }
}

/// A deed to be sealed and what stores keep beside it.
#[derive(Debug, Clone)]
pub struct DeedEntry {
    /// What the deed says.
    pub draft: deed::Draft,
    /// What opens its commitments.
    pub disclosures: Vec<deed::Disclosure>,
    /// The agent that may read it; absent for what only the org sees.
    pub agent: Option<AgentId>,
    /// The action that it is about.
    pub action: Option<ActionId>,
}

/// One row in its new form. A change replaces the whole row.
#[derive(Debug, Clone)]
pub enum Change {
    /// An org.
    Org(Org),
    /// An agent.
    Agent(Agent),
    /// An API key.
    ApiKey(ApiKey),
    /// A policy.
    Policy(Policy),
    /// A policy's version; it never changes once made.
    PolicyVersion(PolicyVersion),
    /// The version that is active from now on in its mode.
    Activation(ActivePolicy),
    /// No version is active in shadow mode any more.
    ShadowEnded,
    /// The history of what was active gets longer.
    PolicyActivation(PolicyActivation),
    /// The tests of a policy.
    PolicyTests(PolicyTests),
    /// A connector.
    Connector(Connector),
    /// An action that was not there before, and what opens the commitments that it holds already.
    ActionBegun(Box<Action>, Vec<deed::Disclosure>),
    /// An action that was there.
    ActionMoved(Box<Action>),
    /// An idempotency key and its action.
    Known(Known),
    /// A budget's counter.
    Budget(BudgetUse),
    /// What opens commitments is removed for good.
    PayloadsPruned(Pruned),
}
