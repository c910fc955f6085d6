//! Actions that something is due for, and the leases of actions that run.

use ledger::record::{BudgetUse, Lease};
use model::{ActionId, AgentId, ConnectorId, OrgId, Timestamp};
use policy::Decimal;

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
