//! The queue of each org and the task that takes its turns.

use std::{
    collections::{BTreeSet, HashMap},
    fmt,
    panic::AssertUnwindSafe,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures_util::{FutureExt, future::BoxFuture};
use model::{Clock, Entropy, OrgId};

use crate::{
    data::Head,
    families::Needs,
    figures::{Backlog, Figures},
    notice::Notices,
    policies::Policies,
    queue::{Opens, Receiver, Waiting, queued},
    request::Request,
    seen::Mark,
    snapshot::Snapshot,
    store::{LedgerError, LedgerStore, StoreDown},
    turn::Driver,
};

/// The most requests that one turn takes.
const MAX_TURN: usize = 256;
/// The most orgs that a look at unreadable policies asks the store about.
const LOOKED_AT_AGAIN: usize = 16;

/// Starts tasks that nobody waits for.
pub trait Spawn: Send + Sync {
    /// Runs the task to its end.
    fn spawn(&self, task: BoxFuture<'static, ()>);
}

/// What a ledger is made of.
pub struct Parts {
    /// Where turns are kept.
    pub store: Arc<dyn LedgerStore>,
    /// Signs deeds.
    pub sealer: Arc<deed::Sealer>,
    /// This process's clock; only differences of it count, the store's own time is the truth.
    pub clock: Arc<dyn Clock>,
    /// Randomness for ids and salts.
    pub entropy: Arc<dyn Entropy>,
    /// Starts the tasks that take turns.
    pub spawn: Arc<dyn Spawn>,
    /// The host that names logs, as in `<host>/logs/<log id>`.
    pub log_host: String,
}

/// Takes requests and has them decided in turns.
#[derive(Clone)]
pub struct Ledger {
    shared: Arc<Shared>,
}

pub(crate) struct Shared {
    pub(crate) parts: Parts,
    pub(crate) policies: Policies,
    pub(crate) notices: Notices,
    pub(crate) figures: Figures,
    queues: Mutex<HashMap<OrgId, Queue>>,
    // Orgs whose log was found not to be the one that was signed for.
    withheld: Mutex<BTreeSet<OrgId>>,
    // The furthest that each org's log was seen; never dropped with a driver's memory.
    seen: Mutex<HashMap<OrgId, Mark>>,
}

/// An org's requests. An entry exists while its driver does, or while memory is kept.
#[derive(Default)]
struct Queue {
    waiting: Vec<Box<dyn Waiting>>,
    // When the first of those that wait came.
    since: Option<Duration>,
    // When the first of those under way came.
    begun: Option<Duration>,
    // Absent while the driver has it.
    driver: Option<Box<Driver>>,
    driven: bool,
}

impl fmt::Debug for Ledger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ledger").finish_non_exhaustive()
    }
}

impl fmt::Debug for Parts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parts").field("log_host", &self.log_host).finish_non_exhaustive()
    }
}

impl Ledger {
    /// Returns a ledger over these parts.
    pub fn new(parts: Parts) -> Self {
        let (policies, notices) = (Policies::default(), Notices::new());
        let (queues, withheld, seen) = (Mutex::default(), Mutex::default(), Mutex::default());
        let figures = Figures::new();
        let shared = Shared { parts, policies, notices, figures, queues, withheld, seen };
        Self { shared: Arc::new(shared) }
    }

    /// Returns where committed turns are told.
    pub fn notices(&self) -> &Notices {
        &self.shared.notices
    }

    /// Returns the sealer that signs this ledger's deeds.
    pub fn sealer(&self) -> &Arc<deed::Sealer> {
        &self.shared.parts.sealer
    }

    /// Returns what this ledger has done.
    pub fn figures(&self) -> &Figures {
        &self.shared.figures
    }

    /// Takes no turn of this org any more: a deed on a log that is not the one that was signed for
    /// would tell two stories under one name.
    pub fn withhold(&self, org: OrgId) {
        self.shared.withheld().insert(org);
    }

    /// Takes turns of this org again: its log is one that was told of since.
    pub fn release(&self, org: OrgId) {
        self.shared.withheld().remove(&org);
    }

    /// Takes note that somebody signed for so many deeds of this log: a record with fewer of them is
    /// not sealed on.
    pub fn has_seen(&self, org: OrgId, log: deed::LogOrigin, size: u64) {
        self.shared.has_seen(org, Mark::of_checkpoint(log, size));
    }

    /// Whether this process has seen more of the log than these deeds.
    pub fn has_seen_more(&self, org: OrgId, log: &deed::LogOrigin, size: u64) -> bool {
        self.shared.seen().get(&org).is_some_and(|mark| mark.has_more_of(log, size))
    }

    /// Returns the orgs of which no turn is taken.
    pub fn withheld(&self) -> BTreeSet<OrgId> {
        self.shared.withheld().clone()
    }

    /// Returns what waits for its turn now.
    pub fn backlog(&self) -> Backlog {
        self.shared.backlog()
    }

    /// Returns how many of the orgs that were looked at have an active policy that cannot be
    /// read, looking at those again first.
    pub async fn unreadable_policies(&self) -> Result<usize, StoreDown> {
        for org in self.shared.policies.unreadable().into_iter().take(LOOKED_AT_AGAIN) {
            self.shared.look(org).await?;
        }
        Ok(self.shared.policies.unreadable().len())
    }

    /// Returns what is known of an org now, for reading only.
    pub async fn look(&self, org: OrgId) -> Result<Snapshot, StoreDown> {
        self.shared.look(org).await
    }

    /// Returns what is known of an org now, these rows included, for reading only.
    pub async fn look_at(&self, org: OrgId, needs: Needs) -> Result<Snapshot, StoreDown> {
        let mut snapshot = self.shared.look(org).await?;
        let found = self.shared.parts.store.load(org, &needs).await?;
        snapshot.learn(needs, found);
        Ok(snapshot)
    }

    /// Has a request decided and returns its answer once the turn is durable.
    ///
    /// A caller that stops waiting changes nothing: the request is decided all the same.
    pub async fn enter<R: Request>(
        &self,
        org: OrgId,
        request: R,
    ) -> Result<R::Answer, LedgerError> {
        if self.shared.withheld().contains(&org) {
            return Err(LedgerError::Withheld);
        }
        self.enter_any(org, queued(request, Opens::Nothing)).await
    }

    /// Has a request decided that closes the org's log and opens another, even where no turn is
    /// taken: it adds nothing to the log that is not the one that was signed for.
    pub async fn open_log<R: Request>(
        &self,
        org: OrgId,
        request: R,
    ) -> Result<R::Answer, LedgerError> {
        self.enter_any(org, queued(request, Opens::Log)).await
    }

    async fn enter_any<A>(
        &self,
        org: OrgId,
        (waiting, answer): (Box<dyn Waiting>, Receiver<A>),
    ) -> Result<A, LedgerError> {
        if let Some(driver) = self.shared.push(org, waiting) {
            let shared = Arc::clone(&self.shared);
            self.shared.parts.spawn.spawn(Box::pin(drive(shared, org, driver)));
        }
        // The sender is dropped unanswered only when the driving task died.
        answer.await.unwrap_or(Err(LedgerError::InDoubt))
    }
}

async fn drive(shared: Arc<Shared>, org: OrgId, driver: Box<Driver>) {
    let mut working = Some(driver);
    while let Some(mut driver) = working {
        while let Some(batch) = shared.take(org) {
            // Whoever waits for a request that is dropped in a panic is told that nobody knows what
            // became of it, and the org's next turn looks afresh: the compare-and-set judges even
            // a commit that is still on its way.
            let turned = AssertUnwindSafe(driver.turn(&shared, batch)).catch_unwind().await;
            if turned.is_err() {
                tracing::error!(%org, "a turn panicked; its requests are in doubt");
                shared.figures.failed.one();
                driver.forget();
            }
        }
        working = shared.rest(org, driver);
    }
}

impl Shared {
    /// Returns what every turn of the org needs to know, read just now.
    pub(crate) async fn look(&self, org: OrgId) -> Result<Snapshot, StoreDown> {
        let store = self.parts.store.as_ref();
        let (base, now) = store.base(org).await?;
        let active = base.as_ref().map(|base| base.active.clone()).unwrap_or_default();
        let policies = self.policies.load(store, org, &active).await?;
        Ok(Snapshot::new(org, now, base, policies))
    }

    /// Whether the record of an org, with its head here, has lost what this process has seen of it;
    /// then no turn of the org is taken any more.
    pub(crate) fn is_behind(&self, org: OrgId, head: Option<&Head>) -> bool {
        let found = head.map(Mark::of_head);
        let mut seen = self.seen();
        let behind = match (seen.get(&org), &found) {
            (None, _) => false,
            (Some(_), None) => true,
            (Some(mark), Some(found)) => mark.is_ahead_of(found),
        };
        if behind {
            drop(seen);
            self.withheld().insert(org);
            tracing::error!(%org, "the record is behind what this process has seen of it; nothing is sealed for this org. The database was put back: restore a newer state, or run `chancery log recover`");
            return true;
        }
        seen.extend(found.map(|found| (org, found)));
        false
    }

    /// Takes note of how far an org's log is.
    pub(crate) fn has_seen(&self, org: OrgId, mark: Mark) {
        let mut seen = self.seen();
        if !seen.get(&org).is_some_and(|before| before.is_ahead_of(&mark)) {
            seen.insert(org, mark);
        }
    }

    fn seen(&self) -> std::sync::MutexGuard<'_, HashMap<OrgId, Mark>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn queues(&self) -> std::sync::MutexGuard<'_, HashMap<OrgId, Queue>> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn withheld(&self) -> std::sync::MutexGuard<'_, BTreeSet<OrgId>> {
        self.withheld.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues a request; returns the driver when nobody drives this org.
    fn push(&self, org: OrgId, waiting: Box<dyn Waiting>) -> Option<Box<Driver>> {
        let mut queues = self.queues();
        let queue = queues.entry(org).or_default();
        queue.since.get_or_insert_with(|| self.parts.clock.elapsed());
        queue.waiting.push(waiting);
        queue.start(org)
    }

    fn take(&self, org: OrgId) -> Option<Vec<Box<dyn Waiting>>> {
        let mut queues = self.queues();
        let Queue { waiting, since, begun, .. } = queues.get_mut(&org)?;
        let rest = waiting.split_off(waiting.len().min(MAX_TURN));
        let batch = std::mem::replace(waiting, rest);
        *begun = *since;
        if waiting.is_empty() {
            *since = None;
        }
        (!batch.is_empty()).then_some(batch)
    }

    fn backlog(&self) -> Backlog {
        let now = self.parts.clock.elapsed();
        self.queues().values().fold(Backlog::default(), |backlog, queue| {
            let first = queue.begun.into_iter().chain(queue.since).min();
            let age = first.map(|first| now.saturating_sub(first)).unwrap_or_default();
            Backlog {
                requests: backlog.requests + queue.waiting.len(),
                oldest: backlog.oldest.max(age),
            }
        })
    }

    /// Puts the driver to rest, or gives it back when requests came since the last look.
    fn rest(&self, org: OrgId, driver: Box<Driver>) -> Option<Box<Driver>> {
        let mut queues = self.queues();
        let queue = queues.entry(org).or_default();
        if !queue.waiting.is_empty() {
            return Some(driver);
        }
        queue.driven = false;
        queue.driver = Some(driver);
        None
    }
}

impl Queue {
    fn start(&mut self, org: OrgId) -> Option<Box<Driver>> {
        if self.driven {
            return None;
        }
        self.driven = true;
        Some(self.driver.take().unwrap_or_else(|| Box::new(Driver::new(org))))
    }
}
