//! Requests that wait for their turn, and what is remembered between an org's turns. It holds data
//! and decides nothing.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use model::{Mint, OrgId};
use tokio::sync::{Notify, oneshot};

use crate::{
    batch::Batch,
    data::{Entry, Turn},
    families::Needs,
    figures::Backlog,
    request::Request,
    seen::StoreTime,
    snapshot::Snapshot,
    store::LedgerError,
};

/// The most requests that one turn takes.
const MAX_TURN: usize = 256;

/// What is remembered of an org from one turn to the next.
#[derive(Default)]
pub(crate) struct Memory {
    /// What the last turn left behind, if it was won.
    pub(crate) snapshot: Option<Snapshot>,
    /// A turn whose commit got no answer and could not be settled yet.
    pub(crate) doubt: Option<Box<Turn>>,
    /// The store's time.
    pub(crate) time: StoreTime,
    /// The version that this process's last turn made.
    pub(crate) version: Option<u64>,
    /// When another instance was last seen to write.
    pub(crate) contended: Option<Duration>,
    /// Whether the requests of the last turn took long to decide.
    pub(crate) is_heavy: bool,
}

/// What somebody begins with who takes an org's turns.
pub(crate) struct Start {
    pub(crate) memory: Box<Memory>,
    /// Rung when a request comes.
    pub(crate) bell: Arc<Notify>,
}

/// The requests of each org. An org stands here while its turns are taken, or while something is
/// remembered of it.
#[derive(Default)]
pub(crate) struct Queues(Mutex<HashMap<OrgId, Queue>>);

#[derive(Default)]
struct Queue {
    waiting: Vec<Box<dyn Waiting>>,
    // When the first of those that wait came.
    since: Option<Duration>,
    // When the first of those under way came.
    under_way: Option<Duration>,
    // Absent while somebody takes the org's turns, who has it then.
    memory: Option<Box<Memory>>,
    is_driven: bool,
    bell: Arc<Notify>,
    // When its last turn ended.
    rested: Duration,
}

impl Queues {
    /// Queues a request; something comes back when nobody takes this org's turns yet.
    pub(crate) fn push(
        &self,
        org: OrgId,
        waiting: Box<dyn Waiting>,
        now: Duration,
    ) -> Option<Start> {
        let mut queues = self.locked();
        let queue = queues.entry(org).or_default();
        queue.since.get_or_insert(now);
        queue.waiting.push(waiting);
        if std::mem::replace(&mut queue.is_driven, true) {
            queue.bell.notify_one();
            return None;
        }
        let memory = queue.memory.take().unwrap_or_default();
        Some(Start { memory, bell: Arc::clone(&queue.bell) })
    }

    /// Takes the requests of one turn, if any wait.
    pub(crate) fn take(&self, org: OrgId) -> Option<Batch> {
        let mut queues = self.locked();
        let Queue { waiting, since, .. } = queues.get_mut(&org)?;
        let came = (*since)?;
        let rest = waiting.split_off(waiting.len().min(MAX_TURN));
        let requests = std::mem::replace(waiting, rest);
        if waiting.is_empty() {
            *since = None;
        }
        Some(Batch { requests, came, lost: None })
    }

    /// Takes note of when the first of the requests under way came.
    pub(crate) fn is_under_way(&self, org: OrgId, since: Duration) {
        if let Some(queue) = self.locked().get_mut(&org) {
            queue.under_way = Some(since);
        }
    }

    /// Puts the memory to rest, or gives it back when requests came since the last look.
    pub(crate) fn rest(
        &self,
        org: OrgId,
        memory: Box<Memory>,
        now: Duration,
    ) -> Option<Box<Memory>> {
        let mut queues = self.locked();
        let queue = queues.entry(org).or_default();
        if !queue.waiting.is_empty() {
            return Some(memory);
        }
        queue.is_driven = false;
        queue.under_way = None;
        queue.memory = Some(memory);
        queue.rested = now;
        None
    }

    /// Forgets the orgs that have rested since this moment or longer, and returns how many there
    /// were. One whose last commit is in doubt is not forgotten: its next turn begins with that.
    pub(crate) fn let_go(&self, since: Duration) -> usize {
        let mut queues = self.locked();
        let before = queues.len();
        queues.retain(|_, queue| {
            let in_doubt = queue.memory.as_ref().is_some_and(|memory| memory.doubt.is_some());
            queue.is_driven || !queue.waiting.is_empty() || in_doubt || queue.rested > since
        });
        let after = queues.len();
        queues.shrink_to(after.saturating_mul(2));
        before - after
    }

    /// What waits at this moment.
    pub(crate) fn backlog(&self, now: Duration) -> Backlog {
        self.locked().values().fold(Backlog::default(), |backlog, queue| {
            let first = queue.under_way.into_iter().chain(queue.since).min();
            let age = first.map(|first| now.saturating_sub(first)).unwrap_or_default();
            Backlog {
                requests: backlog.requests + queue.waiting.len(),
                oldest: backlog.oldest.max(age),
            }
        })
    }

    fn locked(&self) -> MutexGuard<'_, HashMap<OrgId, Queue>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request of any kind, and whoever waits for its answer.
pub(crate) trait Waiting: Send {
    /// Whether it closes the org's log and opens another.
    fn opens_log(&self) -> bool;
    fn needs(&self, snapshot: &Snapshot) -> Needs;
    /// Decides and keeps the answer until it may be told. Whoever asked has been told by now that
    /// nothing was recorded when it is later than it would wait, so then nothing is decided.
    fn decide(&mut self, snapshot: &Snapshot, mint: &Mint<'_>, elapsed: Duration) -> Entry;
    fn tell(self: Box<Self>, outcome: Result<(), LedgerError>);
}

/// What a request says that it opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Opens {
    Nothing,
    Log,
}

struct Queued<R: Request> {
    request: R,
    opens: Opens,
    // How long it is worth deciding, by this process's count.
    until: Duration,
    answer: Option<Result<R::Answer, LedgerError>>,
    caller: oneshot::Sender<Result<R::Answer, LedgerError>>,
}

pub(crate) type Receiver<A> = oneshot::Receiver<Result<A, LedgerError>>;

/// The request as it waits, and where its answer will come.
pub(crate) fn queued<R: Request>(
    request: R,
    opens: Opens,
    until: Duration,
) -> (Box<dyn Waiting>, Receiver<R::Answer>) {
    let (caller, receiver) = oneshot::channel();
    (Box::new(Queued { request, opens, until, answer: None, caller }), receiver)
}

impl<R: Request> Waiting for Queued<R> {
    fn opens_log(&self) -> bool {
        self.opens == Opens::Log
    }

    fn needs(&self, snapshot: &Snapshot) -> Needs {
        self.request.needs(snapshot)
    }

    fn decide(&mut self, snapshot: &Snapshot, mint: &Mint<'_>, elapsed: Duration) -> Entry {
        if self.until < elapsed {
            self.answer = Some(Err(LedgerError::Busy));
            return Entry::nothing();
        }
        let (entry, answer) = self.request.decide(snapshot, mint);
        self.answer = Some(Ok(answer));
        entry
    }

    fn tell(self: Box<Self>, outcome: Result<(), LedgerError>) {
        let Self { answer, caller, .. } = *self;
        let answer = outcome.and_then(|()| answer.unwrap_or(Err(LedgerError::Fault)));
        // A caller that went away needs no answer; what was decided stands all the same.
        let _ = caller.send(answer);
    }
}
