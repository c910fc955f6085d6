//! Every store of the service in memory: for tests, for embedders, and for the demo.
//!
//! It keeps the same promises as the PostgreSQL store, which one contract suite proves for both,
//! except that nothing outlives the process. Tests make it lose races and answers on purpose.

mod accounts;
mod actions;
mod approvals;
mod check;
mod evidence;
mod faults;
mod figures;
mod ledger_store;
mod log;
mod log_reads;
mod members;
mod people;
mod policies;
mod rows;
mod webhooks;

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

pub use faults::Doubt;
use faults::Faults;
use ledger::{StoreDown, record::WebhookMail};
use model::{Clock, OrgId};
pub use people::MemoryPeople;
use rows::Rows;

/// How long a lease lasts unless told otherwise.
const LEASE: Duration = Duration::from_secs(15);

/// The record in memory.
pub struct MemoryStore {
    clock: Arc<dyn Clock>,
    lease: Duration,
    kept: Mutex<Kept>,
}

/// What the store keeps.
#[derive(Default)]
struct Kept {
    orgs: BTreeMap<OrgId, Rows>,
    seal_keys: Vec<deed::SealKey>,
    logs: evidence::Logs,
    faults: Faults,
}

impl MemoryStore {
    /// An empty store that takes its own time from this clock.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, lease: LEASE, kept: Mutex::default() }
    }

    /// Returns this store with leases that last this long.
    pub fn with_lease(mut self, lease: Duration) -> Self {
        self.lease = lease;
        self
    }

    /// The org's deeds, in the order of its log.
    pub fn deeds(&self, org: OrgId) -> Vec<gate::StoredDeed> {
        self.locked().orgs.get(&org).map(|rows| rows.deeds.clone()).unwrap_or_default()
    }

    /// The mails about failed webhook endpoints that the org's turns wrote.
    pub fn webhook_mails(&self, org: OrgId) -> Vec<WebhookMail> {
        self.locked().orgs.get(&org).map(|rows| rows.webhook_mails.clone()).unwrap_or_default()
    }

    /// How many turns the org has had.
    pub fn turns(&self, org: OrgId) -> u64 {
        let kept = self.locked();
        kept.orgs.get(&org).and_then(|rows| rows.head.as_ref()).map_or(0, |head| head.version)
    }

    /// Makes the next appends lose the head, as if somebody else had moved it.
    pub fn lose_next(&self, appends: u32) {
        self.locked().faults.lose(appends);
    }

    /// Makes the answer to the next append get lost.
    pub fn doubt_next(&self, doubt: Doubt) {
        self.locked().faults.doubt(doubt);
    }

    /// Makes every call fail until [`MemoryStore::come_up`].
    pub fn go_down(&self) {
        self.locked().faults.go_down();
    }

    /// Lets calls reach the store again.
    pub fn come_up(&self) {
        self.locked().faults.come_up();
    }

    /// Makes the next calls that attempt this fail; an attempt is what their error names.
    pub fn fail_next(&self, attempt: &'static str, calls: u32) {
        self.locked().faults.fail(attempt, calls);
    }

    /// Takes deeds out of the org's open log, as whoever deletes their rows does.
    pub fn take_away(&self, org: OrgId, places: std::ops::Range<u64>) {
        if let Some(rows) = self.locked().orgs.get_mut(&org) {
            let open = rows.head.as_ref().map(|head| head.log_no);
            rows.deeds.retain(|deed| Some(deed.log_no) != open || !places.contains(&deed.seq));
        }
    }

    /// What is kept, for a call that wants this; an error while the store is down.
    fn reach(&self, attempt: &'static str) -> Result<MutexGuard<'_, Kept>, StoreDown> {
        let mut kept = self.locked();
        kept.faults.reachable(attempt)?;
        Ok(kept)
    }

    fn locked(&self) -> MutexGuard<'_, Kept> {
        // Whoever panicked while it held the lock was a test; rows are whole between calls.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryStore").field("lease", &self.lease).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
