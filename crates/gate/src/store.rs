//! What the Gate reads beside its turns, and the leases of what it carries out.

mod actions;
mod approvals;
mod due;
mod figures;

use async_trait::async_trait;
use ledger::{
    StoreDown,
    record::{Action, IdempotencyKey, KeptReport, UsedIntent},
};
use model::{ActionId, AgentId, OrgId};

pub use actions::{
    ActionDetail, ActionPlace, Filter, IntentFilter, Page, ShadowDiffers, StoredDeed,
};
pub use approvals::{ApprovalFilter, ApprovalStore, Caller, PersonIdentity};
pub use due::{Due, DueFor, DuePlace, HeldLease, Miscount, Renewal, Sweep, UnderWay, Voiding};
pub(crate) use figures::recorded_at;
pub use figures::{
    AgentFigures, Class, Counted, CountedUp, CounterState, Counters, FigureStore, LOOKED_AT, SLOT,
    Span, Tally, Waiting, is_kept, lets_through,
};

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
