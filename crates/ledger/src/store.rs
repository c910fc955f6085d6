//! What a ledger asks of its store. The store keeps rows and holds the compare-and-set; it
//! decides nothing and invents no value.

use async_trait::async_trait;
use event::Event;
use model::{OrgId, PolicyVersionId, Timestamp};

use crate::{
    data::{Base, Turn},
    families::{Loaded, Needs},
};

/// The store could not be asked. The source has the cause for the log; callers are told to try
/// again.
#[derive(Debug, thiserror::Error)]
#[error("could not {attempt}")]
pub struct StoreDown {
    /// What was attempted.
    pub attempt: &'static str,
    /// Why it failed.
    #[source]
    pub source: Box<dyn std::error::Error + Send + Sync>,
}

/// Why a turn was not appended.
#[derive(Debug, thiserror::Error)]
pub enum AppendError {
    /// The head has moved: somebody else appended.
    #[error("the head has moved")]
    Lost,
    /// The commit was sent and its answer did not come.
    #[error("the response to the commit was lost")]
    InDoubt(#[source] StoreDown),
    /// Nothing was committed: the store could not be reached.
    #[error(transparent)]
    Down(#[from] StoreDown),
    /// Nothing was committed: a row of the turn breaks a constraint.
    #[error("a row of the turn breaks a constraint")]
    Refused(#[source] StoreDown),
}

/// Why a request was not decided or its decision is not durable.
#[derive(Debug, Clone, thiserror::Error)]
pub enum LedgerError {
    /// The store could not be asked; nothing happened.
    #[error("the record could not be reached")]
    Unavailable,
    /// Its turn did not come in time, or others changed the org so often that there was no place
    /// between them; nothing happened.
    #[error("the org's turn did not come in time")]
    Busy,
    /// The decision may be durable or not; it will turn out.
    #[error("the record did not confirm a change")]
    InDoubt,
    /// Nothing happened: the org's log is not the one that was signed for.
    #[error("nothing is sealed in a log that does not hold what was signed for")]
    Withheld,
    /// Nothing happened: a fault of the service, which the log tells.
    #[error("the record could not be written")]
    Fault,
}

impl From<StoreDown> for LedgerError {
    fn from(_: StoreDown) -> Self {
        Self::Unavailable
    }
}

/// An org whose head is held: nobody else appends before whoever holds it has, or has let go by
/// dropping this. It gives order and no authority. A store lets go of a head that is held too long,
/// so a turn on it is judged by the head's version like any other.
pub struct HeldOrg {
    /// The base as it is while the head is held.
    pub base: Option<Base>,
    /// The store's own time.
    pub now: Timestamp,
    /// The rows that were asked for with it.
    pub loaded: Loaded,
    /// Where rows are read and the turn is appended.
    pub head: Box<dyn HeldHead>,
}

impl std::fmt::Debug for HeldOrg {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HeldOrg").field("now", &self.now).finish_non_exhaustive()
    }
}

/// What can be done with a head that is held.
#[async_trait]
pub trait HeldHead: Send + Sync {
    /// The rows that are there.
    async fn load(&self, needs: &Needs) -> Result<Loaded, StoreDown>;

    /// Appends a turn as [`LedgerStore::append`] does, and lets go. A head that was taken away
    /// meanwhile is lost.
    async fn append(self: Box<Self>, turn: &Turn) -> Result<Timestamp, AppendError>;
}

/// The turn lock of an org, released when dropped. Of the instances that write one org at the same time,
/// the one with the lock commits a few turns in a row while the others wait for it. The store takes the
/// lock away from an instance that keeps it too long. The lock gives order and no authority: every turn is
/// still checked against the version of the head.
pub trait TurnLock: Send + Sync {}

/// Where turns are kept.
#[async_trait]
pub trait LedgerStore: Send + Sync {
    /// The base of an org and the store's own time, nothing for an org that is not there.
    async fn base(&self, org: OrgId) -> Result<(Option<Base>, Timestamp), StoreDown>;

    /// The rows that are there.
    async fn load(&self, org: OrgId, needs: &Needs) -> Result<Loaded, StoreDown>;

    /// A policy version's document.
    async fn policy_document(
        &self,
        org: OrgId,
        version: PolicyVersionId,
    ) -> Result<Option<String>, StoreDown>;

    /// Appends a turn in one transaction if the head still has the expected version, and returns
    /// the store's own time.
    async fn append(&self, turn: &Turn) -> Result<Timestamp, AppendError>;

    /// Waits for the lock of the org's head, takes it, and reads the base and these rows. `None` if the
    /// wait times out, if there is no such org, or if the store has no such lock.
    async fn hold(&self, _org: OrgId, _needs: &Needs) -> Result<Option<HeldOrg>, StoreDown> {
        Ok(None)
    }

    /// Waits for the turn lock of the org, in the order of the requests. `None` if the wait times out or
    /// the store has no such lock.
    async fn turn_lock(&self, _org: OrgId) -> Result<Option<Box<dyn TurnLock>>, StoreDown> {
        Ok(None)
    }

    /// Whether this turn, whose commit got no answer, was committed.
    ///
    /// When it was not, the store bars the turn by its name, so that a commit which is still on
    /// its way loses: after `false` the turn can never become part of the record.
    async fn settle(&self, turn: &Turn) -> Result<bool, StoreDown>;
}

/// Events as streams read them.
#[async_trait]
pub trait EventStore: Send + Sync {
    /// Returns up to `limit` events after this place, in order.
    async fn events_after(
        &self,
        org: OrgId,
        seq: u64,
        limit: usize,
    ) -> Result<Vec<Event>, StoreDown>;

    /// Returns the events at these places that are still stored, in order.
    async fn events_at(&self, org: OrgId, places: &[u64]) -> Result<Vec<Event>, StoreDown>;

    /// The place of the org's last event, zero when there is none.
    async fn last_event(&self, org: OrgId) -> Result<u64, StoreDown>;
}
