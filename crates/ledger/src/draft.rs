//! Brings a turn's draft about: finds what it is decided on, loads what its requests need, and sees
//! to those whose draft comes to nothing.

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
    commit::{done, fail, tell_of},
    families::{Changes, Loaded, Needs},
    means::Means,
    queue::Memory,
    snapshot::Snapshot,
    store::{Floor, HeldHead, LedgerError, StoreDown},
    turn::{Draft, DraftFault, Drafted, Ground, Table},
};

/// For how long requests that lose the head are decided again before they are told to come back.
const LOSING_FOR: Duration = Duration::from_secs(2);
/// For how long after a sign of others an instance asks for the head in order.
const POLITE_FOR: Duration = Duration::from_millis(200);
/// For how long an instance keeps the floor: long enough that looking afresh and handing over cost
/// little, and short enough that those who wait hardly notice.
const FLOOR_FOR: Duration = Duration::from_millis(25);
/// For how long a turn that is drafted ahead waits for the one before it.
const FRESH_FOR: Duration = Duration::from_secs(1);
/// Work that takes longer than this altogether, and than this for each request, is done apart from
/// other tasks: asking another thread costs something too.
const SHORT: Duration = Duration::from_millis(2);
const LIGHT: Duration = Duration::from_micros(250);

/// Drafts the turns of one org, and keeps the requests that decide again.
pub(crate) struct Drafter {
    pub(crate) means: Arc<Means>,
    pub(crate) org: OrgId,
    pub(crate) memory: Box<Memory>,
    /// Requests that decide before any that wait in the queue.
    pub(crate) again: VecDeque<Batch>,
    // The org's floor, and when it was given to this instance.
    floor: Option<(Box<dyn Floor>, Duration)>,
    // Whether a part of this turn's work was heavy.
    was_heavy: bool,
}

/// What a turn is decided on.
struct Basis {
    snapshot: Snapshot,
    /// The head, where it is held.
    head: Option<Box<dyn HeldHead>>,
    ground: Ground,
    /// Whether it was read for this turn. Anything else is only proved by a compare-and-set.
    is_fresh: bool,
}

impl Drafter {
    pub(crate) fn new(means: Arc<Means>, org: OrgId, memory: Box<Memory>) -> Self {
        Self { means, org, memory, again: VecDeque::new(), floor: None, was_heavy: false }
    }

    /// A turn of these requests on what is durable, if something comes of it.
    pub(crate) async fn alone(&mut self, batch: Batch) -> Option<Box<Draft>> {
        let surely = if self.is_polite() { self.surely(&batch) } else { Needs::default() };
        match self.basis(surely).await {
            Ok(basis) if self.is_behind(&basis) && !batch.only_opens_log() => {
                fail(&self.means, batch, &LedgerError::Withheld);
                None
            }
            Ok(basis) => self.on(basis, batch).await,
            Err(down) => self.down(&down, batch),
        }
    }

    /// A turn of these requests on top of one that leaves this behind and is being committed.
    pub(crate) async fn ahead(
        &mut self,
        after: Option<Snapshot>,
        batch: Batch,
    ) -> Option<Box<Draft>> {
        let now = self.memory.time.at(self.elapsed());
        // Where the time must be read, or the log may change, the first turn is waited for.
        let Some((mut snapshot, now)) = after.zip(now).filter(|_| !batch.opens_log()) else {
            self.put_back(batch);
            return None;
        };
        snapshot.set_now(now);
        let basis = Basis { snapshot, head: None, ground: Ground::Ahead, is_fresh: false };
        self.on(basis, batch).await
    }

    /// Whether the record that was just read is behind what was seen of it. Then nothing is decided
    /// but what opens another log.
    fn is_behind(&self, basis: &Basis) -> bool {
        let present = basis.snapshot.base().map(|base| &base.head);
        basis.is_fresh && self.means.marks.is_behind(self.org, present)
    }

    /// What the next turn is decided on.
    async fn basis(&mut self, surely: Needs) -> Result<Basis, StoreDown> {
        self.settle_doubt().await?;
        let ground = Ground::Firm;
        let memory = self.memory.snapshot.take().filter(|_| self.may_go_on());
        if let Some((mut snapshot, now)) = memory.zip(self.memory.time.at(self.elapsed())) {
            snapshot.set_now(now);
            return Ok(Basis { snapshot, head: None, ground, is_fresh: false });
        }
        let in_order = if self.is_polite() { self.in_order(surely).await? } else { None };
        let (mut snapshot, head) = match in_order {
            Some((snapshot, head)) => (snapshot, Some(head)),
            None => (self.means.look(self.org).await?, None),
        };
        let now = snapshot.now();
        self.memory.time.tell(now, self.elapsed());
        snapshot.set_now(now);
        Ok(Basis { snapshot, head, ground, is_fresh: true })
    }

    /// What the requests need whatever there is.
    fn surely(&self, batch: &Batch) -> Needs {
        let blank = Snapshot::new(self.org, Timestamp::EPOCH, None, Vec::new());
        batch.requests.iter().fold(Needs::default(), |mut needs, request| {
            needs.extend(request.needs(&blank));
            needs
        })
    }

    /// Waits for the floor, and for the head behind those that did without.
    async fn in_order(
        &mut self,
        needs: Needs,
    ) -> Result<Option<(Snapshot, Box<dyn HeldHead>)>, StoreDown> {
        if !self.has_floor() {
            self.give_up_floor();
            let floor = self.means.parts.store.floor(self.org).await?;
            self.floor = floor.map(|floor| (floor, self.elapsed()));
        }
        self.hold(needs).await
    }

    /// Waits for the head, behind the other instances that wait for it, and reads what is needed
    /// there: others wait for every round trip until the turn is appended.
    async fn hold(
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

    /// Loads what the requests need, and lets them decide.
    async fn on(&mut self, basis: Basis, batch: Batch) -> Option<Box<Draft>> {
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
                Err(down) => return self.down(&down, table.into_batch()),
            }
        }
        let (drafted, rest) =
            self.work(table, move |table, means| table.draft(means, ground)).await;
        self.memory.is_heavy = self.was_heavy;
        self.put_back(rest);
        match drafted {
            Drafted::Turn(draft) => match signed(ground) {
                Ok(()) => Some(Box::new(Draft { head, begun, ..*draft })),
                Err(point) => self.down(&injected(point), draft.batch),
            },
            Drafted::Nothing(batch) => {
                // Nothing to append means no compare-and-set, and memory alone proves nothing.
                if is_fresh {
                    done(&self.means, batch, begun);
                } else {
                    self.put_back(batch);
                }
                None
            }
            Drafted::Undecided => None,
            Drafted::Faulty(batch, fault) => {
                self.unsealed(batch, &fault);
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

    /// Does a part of a turn's work, apart from other tasks where this org's work is heavy.
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
            if self.memory.is_heavy { apart(&self.means, timed).await } else { timed() };
        self.was_heavy |= took > SHORT && took > LIGHT * requests;
        done
    }

    /// Settles the last turn if it is in doubt; until then no other turn may be taken.
    async fn settle_doubt(&mut self) -> Result<(), StoreDown> {
        let Some(turn) = &self.memory.doubt else { return Ok(()) };
        let committed = self.means.parts.store.settle(turn).await?;
        if let Some(turn) = self.memory.doubt.take().filter(|_| committed) {
            tell_of(&self.means, *turn);
        }
        Ok(())
    }

    /// Whether a draft of then has waited for so long that its requests must decide anew: they may
    /// have been given up.
    pub(crate) fn is_stale(&self, begun: Duration) -> bool {
        self.elapsed().saturating_sub(begun) > FRESH_FOR
    }

    /// Whether another instance was seen a moment ago, so that the head is asked for in order.
    pub(crate) fn is_polite(&self) -> bool {
        let since = |then| self.elapsed().saturating_sub(then);
        self.memory.contended.is_some_and(|then| since(then) <= POLITE_FOR)
    }

    /// Whether this instance has the floor and may still keep it.
    fn has_floor(&self) -> bool {
        let kept = |since| self.elapsed().saturating_sub(since);
        self.floor.as_ref().is_some_and(|(_, since)| kept(*since) <= FLOOR_FOR)
    }

    /// Whether nobody else is about to move the head, so that the next turn may rest on what this
    /// instance remembers.
    pub(crate) fn may_go_on(&self) -> bool {
        !self.is_polite() || self.has_floor()
    }

    /// Lets whoever waits for the floor have it, if its time is over: while this instance's last turn
    /// is being committed, they can already ask for the head.
    pub(crate) fn give_up_floor_in_time(&mut self) {
        if !self.has_floor() {
            self.give_up_floor();
        }
    }

    /// Lets whoever waits for the floor have it.
    pub(crate) fn give_up_floor(&mut self) {
        self.floor = None;
    }

    /// Remembers what a turn left behind, for it was won: only that proves that nobody else wrote
    /// since it was read.
    pub(crate) fn remember(&mut self, after: Option<Snapshot>) {
        self.memory.snapshot = after.map(|mut after| {
            after.forget_settled_but(&Changes::default());
            after
        });
    }

    /// Takes note of a turn that was won, and of the store's time with this process's count then.
    pub(crate) fn won(&mut self, now: Option<(Timestamp, Duration)>, version: u64) {
        if let Some((now, elapsed)) = now {
            self.memory.time.tell(now, elapsed);
        }
        self.memory.version = Some(version);
    }

    /// Has requests that lost the head decide again, unless that has gone on for too long.
    pub(crate) fn lost(&mut self, mut batch: Batch) {
        let now = self.elapsed();
        self.memory.contended = Some(now);
        let since = *batch.lost.get_or_insert(now);
        if now.saturating_sub(since) > LOSING_FOR {
            fail(&self.means, batch, &LedgerError::Busy);
        } else {
            self.put_back(batch);
        }
    }

    /// Has requests decide again by halves: one bad request must not fail the others.
    pub(crate) fn halve(&mut self, mut batch: Batch) {
        if batch.requests.len() == 1 {
            return fail(&self.means, batch, &LedgerError::Fault);
        }
        let rest = batch.split_off(batch.requests.len() / 2);
        self.put_back(rest);
        self.put_back(batch);
    }

    fn unsealed(&mut self, batch: Batch, fault: &DraftFault) {
        self.means.figures.hold_sealing();
        tracing::error!(org = %self.org, error = %causes(fault), "a turn was not drafted");
        self.halve(batch);
    }

    /// Has requests decide before all others.
    pub(crate) fn put_back(&mut self, batch: Batch) {
        if !batch.requests.is_empty() {
            self.again.push_front(batch);
        }
    }

    fn down(&self, down: &StoreDown, batch: Batch) -> Option<Box<Draft>> {
        tracing::warn!(org = %self.org, error = %causes(down), "the store is down");
        fail(&self.means, batch, &LedgerError::Unavailable);
        None
    }

    /// The draft, if drafting did not panic.
    pub(crate) fn unless_panicked<T>(
        &self,
        drafted: Result<Option<T>, Box<dyn Any + Send>>,
    ) -> Option<T> {
        drafted.unwrap_or_else(|_| {
            self.panicked();
            None
        })
    }

    /// Tells of a turn that panicked. Whoever waits for a request that was dropped with it is told
    /// that nobody knows what became of it, and the org's next turn looks afresh.
    pub(crate) fn panicked(&self) {
        tracing::error!(org = %self.org, "a turn panicked; its requests are in doubt");
        self.means.figures.failed.fetch_add(1, Relaxed);
    }

    fn elapsed(&self) -> Duration {
        self.means.parts.clock.elapsed()
    }
}

/// Does work apart from the tasks of the runtime.
async fn apart<T: Send + 'static>(means: &Means, work: impl FnOnce() -> T + Send + 'static) -> T {
    let (tell, told) = oneshot::channel();
    means.parts.spawn.compute(Box::new(move || {
        // Whoever waits is gone only if it has died.
        let _ = tell.send(catch_unwind(AssertUnwindSafe(work)));
    }));
    match told.await {
        Ok(Ok(done)) => done,
        // A panic goes on where it would have gone without another thread.
        Ok(Err(why)) => resume_unwind(why),
        Err(_) => resume_unwind(Box::new("the work was not done")),
    }
}

/// Passes the points at which a turn is signed.
fn signed(ground: Ground) -> Result<(), failpoint::Injected> {
    failpoint::hit("turn.signed")?;
    match ground {
        Ground::Firm => Ok(()),
        Ground::Ahead => failpoint::hit("turn.ahead"),
    }
}

fn injected(_: failpoint::Injected) -> StoreDown {
    StoreDown { attempt: "pass a failpoint", source: "an error was injected".into() }
}
