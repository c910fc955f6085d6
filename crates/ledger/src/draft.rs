//! Drafts a turn: chooses the snapshot to decide on, loads the rows that its requests need, and keeps the
//! requests that must decide again.
//!
//! A *turn* is a batch of requests of one org that decide on one snapshot and are committed in one
//! transaction. Its *draft* is the turn before the commit, with its deeds sealed. The *head* is the row with
//! the latest version of an org's log.

use std::{
    any::Any,
    collections::VecDeque,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::{Arc, atomic::Ordering::Relaxed},
    time::Duration,
};

use model::{OrgId, Timestamp, causes};
use tokio::sync::oneshot;

use crate::{
    batch::Batch,
    commit::{done, fail, publish},
    families::{Changes, Loaded, Needs},
    means::Means,
    queue::Memory,
    snapshot::Snapshot,
    store::{HeldHead, LedgerError, StoreDown, TurnLock},
    turn::{Draft, DraftFault, Drafted, Ground, Table},
};

/// How long requests that lose the compare-and-set of the head are decided again before they fail as
/// [`LedgerError::Busy`].
const RETRY_FOR: Duration = Duration::from_secs(2);
/// For this long after a write by another instance, the head is locked before it is read.
const CONTENDED_FOR: Duration = Duration::from_millis(200);
/// How long an instance keeps the turn lock: long enough that reading the org again and passing the lock on
/// cost little, and short enough that waiting instances hardly notice.
const LOCK_FOR: Duration = Duration::from_millis(25);
/// The maximum age of a draft that waits for the previous turn.
const STALE_AFTER: Duration = Duration::from_secs(1);
/// Work that takes longer than `HEAVY` in total and than `HEAVY_EACH` for each request runs on the compute
/// threads: passing it to another thread has a cost too.
const HEAVY: Duration = Duration::from_millis(2);
const HEAVY_EACH: Duration = Duration::from_micros(250);

/// Drafts the turns of one org, and keeps the requests that must decide again.
pub(crate) struct Drafter {
    pub(crate) means: Arc<Means>,
    pub(crate) org: OrgId,
    pub(crate) memory: Box<Memory>,
    /// Requests that decide before those in the queue.
    pub(crate) again: VecDeque<Batch>,
    // The org's turn lock, and when this instance got it.
    turn_lock: Option<(Box<dyn TurnLock>, Duration)>,
    // Whether part of this turn's work was heavy.
    was_heavy: bool,
}

/// The state that a turn is decided on.
struct Basis {
    snapshot: Snapshot,
    /// The lock of the head; `None` if the head is not locked.
    head: Option<Box<dyn HeldHead>>,
    ground: Ground,
    /// Whether it was read for this turn. A cached snapshot is known to be current only once the
    /// compare-and-set of the head succeeds.
    is_fresh: bool,
}

impl Drafter {
    pub(crate) fn new(means: Arc<Means>, org: OrgId, memory: Box<Memory>) -> Self {
        Self { means, org, memory, again: VecDeque::new(), turn_lock: None, was_heavy: false }
    }

    /// Drafts a turn of these requests on the durable state; `None` if there is nothing to append.
    pub(crate) async fn draft_durable(&mut self, batch: Batch) -> Option<Box<Draft>> {
        let needs =
            if self.is_contended() { self.unconditional_needs(&batch) } else { Needs::default() };
        match self.basis(needs).await {
            Ok(basis) if self.is_behind(&basis) && !batch.only_opens_log() => {
                fail(&self.means, batch, &LedgerError::Withheld);
                None
            }
            Ok(basis) => self.decide_on(basis, batch).await,
            Err(down) => self.store_down(&down, batch),
        }
    }

    /// Drafts a turn of these requests on the state after a turn that is being committed.
    pub(crate) async fn draft_ahead(
        &mut self,
        after: Option<Snapshot>,
        batch: Batch,
    ) -> Option<Box<Draft>> {
        let now = self.memory.time.at(self.elapsed());
        // If the time must be read, or a request opens another log, the turn in flight must be committed
        // first.
        let Some((mut snapshot, now)) = after.zip(now).filter(|_| !batch.opens_log()) else {
            self.put_back(batch);
            return None;
        };
        snapshot.set_now(now);
        let basis = Basis { snapshot, head: None, ground: Ground::Ahead, is_fresh: false };
        self.decide_on(basis, batch).await
    }

    /// Whether the head that was just read is older than one seen before, as after a restore. Then only
    /// requests are decided that close this log and open another one, which records the loss.
    fn is_behind(&self, basis: &Basis) -> bool {
        let present = basis.snapshot.base().map(|base| &base.head);
        basis.is_fresh && self.means.marks.is_behind(self.org, present)
    }

    /// The state for the next turn: the cached one, one read under the lock of the head, or one read
    /// without a lock.
    async fn basis(&mut self, needs: Needs) -> Result<Basis, StoreDown> {
        self.settle_doubt().await?;
        let ground = Ground::Durable;
        let memory = self.memory.snapshot.take().filter(|_| self.may_use_cache());
        if let Some((mut snapshot, now)) = memory.zip(self.memory.time.at(self.elapsed())) {
            snapshot.set_now(now);
            return Ok(Basis { snapshot, head: None, ground, is_fresh: false });
        }
        let locked = if self.is_contended() { self.lock_in_order(needs).await? } else { None };
        let (mut snapshot, head) = match locked {
            Some((snapshot, head)) => (snapshot, Some(head)),
            None => (self.means.look(self.org).await?, None),
        };
        let now = snapshot.now();
        self.memory.time.tell(now, self.elapsed());
        snapshot.set_now(now);
        Ok(Basis { snapshot, head, ground, is_fresh: true })
    }

    /// The rows that the requests need whatever the state of the org is, known before it is read.
    fn unconditional_needs(&self, batch: &Batch) -> Needs {
        let blank = Snapshot::new(self.org, Timestamp::EPOCH, None, Vec::new());
        batch.requests.iter().fold(Needs::default(), |mut needs, request| {
            needs.extend(request.needs(&blank));
            needs
        })
    }

    /// Waits for the turn lock and then for the row lock of the head, which instances can also take without
    /// the turn lock. `None` if a wait times out or the store has no such locks.
    async fn lock_in_order(
        &mut self,
        needs: Needs,
    ) -> Result<Option<(Snapshot, Box<dyn HeldHead>)>, StoreDown> {
        if !self.may_keep_turn_lock() {
            self.release_turn_lock();
            let lock = self.means.parts.store.turn_lock(self.org).await?;
            self.turn_lock = lock.map(|lock| (lock, self.elapsed()));
        }
        self.lock_head(needs).await
    }

    /// Waits for the lock of the head behind the other instances, and reads the needed rows in the same
    /// round trip: other instances wait for every round trip until the turn is appended. `None` as above.
    async fn lock_head(
        &mut self,
        needs: Needs,
    ) -> Result<Option<(Snapshot, Box<dyn HeldHead>)>, StoreDown> {
        let held = self.means.parts.store.hold(self.org, &needs).await?;
        let Some(held) = held else { return Ok(None) };
        self.means.figures.in_order.fetch_add(1, Relaxed);
        failpoint::hit("turn.held").map_err(injected)?;
        let version = held.base.as_ref().map(|base| base.head.version);
        if version != self.memory.version {
            self.memory.contended = Some(self.elapsed());
        }
        let mut snapshot = self.means.snapshot(self.org, (held.base, held.now)).await?;
        snapshot.learn(needs, held.loaded);
        Ok(Some((snapshot, held.head)))
    }

    /// Loads the rows that the requests need, and lets the requests decide.
    async fn decide_on(&mut self, basis: Basis, batch: Batch) -> Option<Box<Draft>> {
        let Basis { snapshot, head, ground, is_fresh } = basis;
        let begun = self.elapsed();
        let mut table = Table::new(snapshot, batch);
        self.was_heavy = false;
        loop {
            let missing;
            (table, missing) = self
                .work(table, |mut table, means| {
                    let missing = table.missing(means);
                    (table, missing)
                })
                .await;
            if missing.is_empty() {
                break;
            }
            match self.load(head.as_deref(), &missing).await {
                Ok(found) => table.snapshot.learn(missing, found),
                Err(down) => return self.store_down(&down, table.into_batch()),
            }
        }
        let (drafted, rest) =
            self.work(table, move |table, means| table.draft(means, ground)).await;
        self.memory.is_heavy = self.was_heavy;
        self.put_back(rest);
        match drafted {
            Drafted::Turn(draft) => match pass_failpoints(ground) {
                Ok(()) => Some(Box::new(Draft { head, begun, ..*draft })),
                Err(point) => self.store_down(&injected(point), draft.batch),
            },
            Drafted::Nothing(batch) => {
                // Without an append there is no compare-and-set, so a cached snapshot may be out of date and
                // the requests decide again.
                if is_fresh {
                    done(&self.means, batch, begun);
                } else {
                    self.put_back(batch);
                }
                None
            }
            // Its requests are in the rest, which was put back.
            Drafted::Undecided => None,
            Drafted::Faulty(batch, fault) => {
                self.drafting_failed(batch, &fault);
                None
            }
        }
    }

    async fn load(
        &mut self,
        head: Option<&dyn HeldHead>,
        needs: &Needs,
    ) -> Result<Loaded, StoreDown> {
        match head {
            Some(head) => head.load(needs).await,
            None => self.means.parts.store.load(self.org, needs).await,
        }
    }

    /// Runs part of a turn's work; on the compute threads if the work of this org is heavy.
    async fn work<T: Send + 'static>(
        &mut self,
        table: Table,
        work: impl FnOnce(Table, &Means) -> T + Send + 'static,
    ) -> T {
        let requests = u32::try_from(table.batch.requests.len()).unwrap_or(u32::MAX);
        let means = Arc::clone(&self.means);
        let timed = move || {
            let begun = means.parts.clock.elapsed();
            let done = work(table, &means);
            (done, means.parts.clock.elapsed().saturating_sub(begun))
        };
        let (done, took) =
            if self.memory.is_heavy { compute(&self.means, timed).await } else { timed() };
        self.was_heavy |= took > HEAVY && took > HEAVY_EACH * requests;
        done
    }

    /// Finds out whether the last turn was committed, if that is unknown; no other turn starts before.
    async fn settle_doubt(&mut self) -> Result<(), StoreDown> {
        let Some(turn) = &self.memory.doubt else { return Ok(()) };
        let committed = self.means.parts.store.settle(turn).await?;
        if let Some(turn) = self.memory.doubt.take().filter(|_| committed) {
            publish(&self.means, *turn);
        }
        Ok(())
    }

    /// Whether a draft has waited for so long that its requests must decide again: their callers may
    /// have gone.
    pub(crate) fn is_stale(&self, begun: Duration) -> bool {
        self.elapsed().saturating_sub(begun) > STALE_AFTER
    }

    /// Whether another instance wrote this org recently, so that the head is locked in order.
    pub(crate) fn is_contended(&self) -> bool {
        let since = |then| self.elapsed().saturating_sub(then);
        self.memory.contended.is_some_and(|then| since(then) <= CONTENDED_FOR)
    }

    /// Whether this instance has the turn lock, and for less than [`LOCK_FOR`].
    fn may_keep_turn_lock(&self) -> bool {
        let held = |since| self.elapsed().saturating_sub(since);
        self.turn_lock.as_ref().is_some_and(|(_, since)| held(*since) <= LOCK_FOR)
    }

    /// Whether no other instance is about to move the head, so that the next turn may use the cached
    /// snapshot.
    pub(crate) fn may_use_cache(&self) -> bool {
        !self.is_contended() || self.may_keep_turn_lock()
    }

    /// Releases the turn lock if this instance has had it for long enough: while its last turn is being
    /// committed, the next instance can already wait for the head.
    pub(crate) fn release_expired_turn_lock(&mut self) {
        if !self.may_keep_turn_lock() {
            self.release_turn_lock();
        }
    }

    /// Releases the turn lock to the next instance that waits for it.
    pub(crate) fn release_turn_lock(&mut self) {
        self.turn_lock = None;
    }

    /// Caches the snapshot after a turn that was committed: only the commit proves that no other instance
    /// wrote since it was read.
    pub(crate) fn remember(&mut self, after: Option<Snapshot>) {
        self.memory.snapshot = after.map(|mut after| {
            after.evict_settled_except(&Changes::default());
            after
        });
    }

    /// Records a committed turn, and the time of the store together with the elapsed time of this process.
    pub(crate) fn won(&mut self, now: Option<(Timestamp, Duration)>, version: u64) {
        if let Some((now, elapsed)) = now {
            self.memory.time.tell(now, elapsed);
        }
        self.memory.version = Some(version);
    }

    /// Lets requests that lost the compare-and-set decide again, for at most [`RETRY_FOR`].
    pub(crate) fn lost(&mut self, mut batch: Batch) {
        let now = self.elapsed();
        self.memory.contended = Some(now);
        let since = *batch.lost.get_or_insert(now);
        if now.saturating_sub(since) > RETRY_FOR {
            fail(&self.means, batch, &LedgerError::Busy);
        } else {
            self.put_back(batch);
        }
    }

    /// Lets the two halves of the requests decide again: one bad request must not fail the others.
    pub(crate) fn halve(&mut self, mut batch: Batch) {
        if batch.requests.len() == 1 {
            return fail(&self.means, batch, &LedgerError::Fault);
        }
        let rest = batch.split_off(batch.requests.len() / 2);
        self.put_back(rest);
        self.put_back(batch);
    }

    fn drafting_failed(&mut self, batch: Batch, fault: &DraftFault) {
        self.means.figures.note_sealing_failed();
        tracing::error!(org = %self.org, error = %causes(fault), "a turn was not drafted");
        self.halve(batch);
    }

    /// Puts requests before all others.
    pub(crate) fn put_back(&mut self, batch: Batch) {
        if !batch.requests.is_empty() {
            self.again.push_front(batch);
        }
    }

    fn store_down(&self, down: &StoreDown, batch: Batch) -> Option<Box<Draft>> {
        tracing::warn!(org = %self.org, error = %causes(down), "the store is down");
        fail(&self.means, batch, &LedgerError::Unavailable);
        None
    }

    /// The draft; `None` if drafting panicked.
    pub(crate) fn unless_panicked<T>(
        &self,
        drafted: Result<Option<T>, Box<dyn Any + Send>>,
    ) -> Option<T> {
        drafted.unwrap_or_else(|_| {
            self.panicked();
            None
        })
    }

    /// Logs a turn that panicked. Its requests were dropped, so their callers get an unknown outcome, and the
    /// next turn of the org reads its state again.
    pub(crate) fn panicked(&self) {
        tracing::error!(org = %self.org, "a turn panicked; its requests are in doubt");
        self.means.figures.failed.fetch_add(1, Relaxed);
    }

    fn elapsed(&self) -> Duration {
        self.means.parts.clock.elapsed()
    }
}

/// Runs work on the compute threads, so that it does not block the tasks of the runtime.
async fn compute<T: Send + 'static>(means: &Means, work: impl FnOnce() -> T + Send + 'static) -> T {
    let (sender, receiver) = oneshot::channel();
    means.parts.spawn.compute(Box::new(move || {
        // The receiver is gone only if its task was cancelled.
        let _ = sender.send(catch_unwind(AssertUnwindSafe(work)));
    }));
    match receiver.await {
        Ok(Ok(done)) => done,
        // A panic continues in the task that would have had it without the other thread.
        Ok(Err(why)) => resume_unwind(why),
        Err(_) => resume_unwind(Box::new("the work was not done")),
    }
}

/// Passes the failpoints after the deeds of a turn were signed.
fn pass_failpoints(ground: Ground) -> Result<(), failpoint::Injected> {
    failpoint::hit("turn.signed")?;
    match ground {
        Ground::Durable => Ok(()),
        Ground::Ahead => failpoint::hit("turn.ahead"),
    }
}

fn injected(_: failpoint::Injected) -> StoreDown {
    StoreDown { attempt: "pass a failpoint", source: "an error was injected".into() }
}
