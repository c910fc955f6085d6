//! What the Gate reads beside its turns, and the leases of what it carries out.

use async_trait::async_trait;
use event::Event;
use ledger::{
    LogNo, StoreDown,
    record::{Action, BudgetUse, IdempotencyKey, KeptReport, Lease, UsedIntent},
};
use model::{
    ActionId, AgentId, ConnectorId, DecisionOutcome, DeedId, DeedKind, Digest, Level, OrgId, State,
    Timestamp, Verdict,
};
use policy::Decimal;

use crate::{approvals::ApprovalStore, figures::FigureStore};

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

/// What is looked for by itself among everything that is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Sweep {
    /// Calls whose edge did not report in time.
    Reports,
    /// Approvals that nobody gave in time.
    Approvals,
    /// Runs whose lease ran out.
    Takeovers,
    /// Sealed actions whose evidence may still come.
    Evidence,
}

impl Sweep {
    /// Every sweep.
    pub const ALL: [Self; 4] = [Self::Reports, Self::Approvals, Self::Takeovers, Self::Evidence];
}

/// An action that something is due for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Due {
    /// Since when.
    pub since: Timestamp,
    /// The org.
    pub org: OrgId,
    /// The action.
    pub action: ActionId,
    /// What is due.
    pub what: DueFor,
}

/// What is due for an action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DueFor {
    /// The edge's deadline passed.
    EdgeDeadline,
    /// The approval expired.
    ApprovalExpiry,
    /// Nobody renews the lease of whoever carried it out any more.
    Takeover {
        /// The lease that ran out.
        from: Lease,
        /// The name of the connector that ran it, the first part of its tool's.
        connector: String,
    },
    /// Its evidence was not in when it was sealed.
    Evidence {
        /// The connector whose database's change log may still tell.
        connector: ConnectorId,
    },
}

/// The place of an action among those that are due, the longest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct DuePlace {
    /// Since when it is due.
    pub since: Timestamp,
    /// The org.
    pub org: OrgId,
    /// The action.
    pub action: ActionId,
}

impl Due {
    /// The place; an action is due for one thing at a time.
    pub fn place(&self) -> DuePlace {
        DuePlace { since: self.since, org: self.org, action: self.action }
    }
}

/// Approvals that are void, of an agent's calls or of all of an org's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Voiding {
    /// The org.
    pub org: OrgId,
    /// The agent; absent where it is the whole org.
    pub agent: Option<AgentId>,
    /// Those that were asked for until this moment.
    pub until: Timestamp,
}

/// Calls that run, or may run at their edge.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UnderWay {
    /// The oldest of them, in the order in which they were recorded.
    pub actions: Vec<ActionId>,
    /// How many there are.
    pub count: usize,
}

/// A lease that this instance holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldLease {
    /// The org.
    pub org: OrgId,
    /// The action.
    pub action: ActionId,
    /// Who holds it, and the token that it was given with.
    pub lease: Lease,
}

/// What became of leases that were to be renewed. One whose action has ended is in neither list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Renewal {
    /// Those whose ends were moved.
    pub renewed: Vec<HeldLease>,
    /// Those of actions that are not at their end, and which are over or somebody else's.
    pub lost: Vec<HeldLease>,
}

/// A counter of a budget that does not agree with the charges of the actions that it counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Miscount {
    /// The counter as it stood.
    pub counter: BudgetUse,
    /// The sum of the charges at that moment.
    pub charged: Decimal,
}

/// Where actions are read.
#[async_trait]
pub trait ActionStore: ApprovalStore + FigureStore {
    /// An action of the org.
    async fn action(&self, org: OrgId, id: ActionId) -> Result<Option<Action>, StoreDown>;

    /// An action of the org with everything that is shown of it.
    async fn detail(&self, org: OrgId, id: ActionId) -> Result<Option<ActionDetail>, StoreDown>;

    /// Returns up to `limit` actions behind this place, newest first.
    async fn list(
        &self,
        org: OrgId,
        filter: &Filter,
        after: Option<ActionPlace>,
        limit: usize,
    ) -> Result<Page, StoreDown>;

    /// The action that an idempotency key names now.
    async fn idempotency_key(
        &self,
        org: OrgId,
        agent: AgentId,
        key: &str,
    ) -> Result<Option<IdempotencyKey>, StoreDown>;

    /// Up to `limit` intents that were used behind this action's, the newest first.
    async fn used_intents(
        &self,
        org: OrgId,
        filter: &IntentFilter,
        after: Option<ActionId>,
        limit: usize,
    ) -> Result<Vec<UsedIntent>, StoreDown>;

    /// Up to `limit` actions of any org behind this place that are due for this sweep by the
    /// store's own time, the longest due first.
    async fn due(
        &self,
        sweep: Sweep,
        after: Option<DuePlace>,
        limit: usize,
    ) -> Result<Vec<Due>, StoreDown>;

    /// Up to `limit` notes that approvals are void, of any org.
    async fn voiding(&self, limit: usize) -> Result<Vec<Voiding>, StoreDown>;

    /// Up to `limit` actions behind this one that wait for an approval which is void, in order.
    async fn void(
        &self,
        voiding: &Voiding,
        after: Option<ActionId>,
        limit: usize,
    ) -> Result<Vec<ActionId>, StoreDown>;

    /// Up to `limit` actions of the org, or of one agent of it, that are executing or being
    /// witnessed, the oldest first, and how many there are.
    async fn under_way(
        &self,
        org: OrgId,
        agent: Option<AgentId>,
        limit: usize,
    ) -> Result<UnderWay, StoreDown>;

    /// Moves the ends of leases that have not run out.
    async fn renew(&self, held: &[HeldLease]) -> Result<Renewal, StoreDown>;

    /// The counters of windows that still run, by the store's own time, which are not the
    /// sum of what their actions were charged: failed, cancelled and withheld ones gave it back.
    /// Where no such counter is, no action is looked at.
    async fn drift(&self, org: OrgId) -> Result<Vec<Miscount>, StoreDown>;

    /// The report of a run whose evidence is waited for, or may still come behind the seal.
    async fn report(&self, org: OrgId, action: ActionId) -> Result<Option<KeptReport>, StoreDown>;

    /// Ends leases now, so that nobody waits for them to run out.
    async fn hand_back(&self, held: &[HeldLease]) -> Result<(), StoreDown>;
}
