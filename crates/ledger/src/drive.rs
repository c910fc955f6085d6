//! Takes an org's turns: while one is being committed, the next is decided and signed on top of it.
//!
//! The second is sent only once the first is won, and its own compare-and-set is on the version
//! that the first makes. Whatever else becomes of the first, the second is thrown away and its
//! requests decide again on a fresh look.

use std::{
    panic::AssertUnwindSafe,
    sync::{Arc, atomic::Ordering::Relaxed},
    time::Duration,
};

use futures_util::{
    FutureExt,
    future::{Either, select},
};
use model::OrgId;
use tokio::sync::{
    Notify,
    oneshot::{self, error::RecvError},
};

use crate::{
    batch::Batch,
    commit::{Commit, Fate},
    draft::Drafter,
    means::Means,
    queue::{Queues, Start},
    snapshot::Snapshot,
    turn::Draft,
};

/// Takes the turns of one org.
pub(crate) struct Driver {
    drafter: Drafter,
    // Rung when a request comes.
    bell: Arc<Notify>,
}

/// What is under way.
enum Stage {
    Nothing,
    /// A turn is being committed.
    Committing(Committing),
    /// A turn is being committed, and the next is drafted on top of it.
    Ahead(Committing, Box<Draft>),
}

/// A turn that is being committed.
struct Committing {
    fate: oneshot::Receiver<Fate>,
    /// What is known if it is won; nothing where nothing can be built on it.
    after: Option<Snapshot>,
    /// The version that it makes.
    version: u64,
    /// When the first of its requests came.
    came: Duration,
}

/// What comes while a turn is being committed.
enum Meanwhile {
    Requests(Batch),
    Ended(Result<Fate, RecvError>),
}

impl Driver {
    /// Takes turns for as long as requests come, then leaves what it remembers for whoever takes
    /// the next.
    pub(crate) async fn drive(means: Arc<Means>, queues: &Queues, org: OrgId, start: Start) {
        let Start { memory, bell } = start;
        let mut driver = Self { drafter: Drafter::new(means, org, memory), bell };
        loop {
            driver.take_turns(queues).await;
            let now = driver.drafter.means.parts.clock.elapsed();
            match queues.rest(org, driver.drafter.memory, now) {
                Some(memory) => driver.drafter.memory = memory,
                None => return,
            }
        }
    }

    async fn take_turns(&mut self, queues: &Queues) {
        let mut stage = Stage::Nothing;
        loop {
            stage = match stage {
                Stage::Nothing => match self.next(queues, None) {
                    Some(batch) => self.start(batch).await,
                    None => return self.drafter.release_turn_lock(),
                },
                Stage::Committing(turn) => self.go_on(queues, turn).await,
                Stage::Ahead(turn, next) => self.succeed(turn, next).await,
            };
        }
    }

    /// The requests of the next turn, while a turn is under way whose first request came then.
    fn next(&mut self, queues: &Queues, under_way: Option<Duration>) -> Option<Batch> {
        let org = self.drafter.org;
        let batch = self.drafter.again.pop_front().or_else(|| queues.take(org))?;
        queues.is_under_way(org, under_way.map_or(batch.came, |came| came.min(batch.came)));
        Some(batch)
    }

    /// Drafts a turn on what is durable, and sends it.
    async fn start(&mut self, batch: Batch) -> Stage {
        let drafted = AssertUnwindSafe(self.drafter.draft_durable(batch)).catch_unwind().await;
        match self.drafter.unless_panicked(drafted) {
            Some(draft) => Stage::Committing(self.send(draft).await),
            None => Stage::Nothing,
        }
    }

    /// Drafts the next turn on top of this one, if requests come before its end.
    async fn go_on(&mut self, queues: &Queues, mut turn: Committing) -> Stage {
        let batch = match self.meanwhile(queues, &mut turn).await {
            Meanwhile::Requests(batch) => batch,
            Meanwhile::Ended(fate) => {
                if self.ended(fate, &turn) {
                    self.drafter.remember(turn.after);
                }
                return Stage::Nothing;
            }
        };
        let ahead = self.drafter.draft_ahead(turn.after.take(), batch);
        let drafted = AssertUnwindSafe(ahead).catch_unwind().await;
        match self.drafter.unless_panicked(drafted) {
            Some(next) => {
                self.drafter.means.figures.ahead.fetch_add(1, Relaxed);
                Stage::Ahead(turn, next)
            }
            None => Stage::Committing(turn),
        }
    }

    /// Waits for requests or for the turn's end, and for its end alone where nothing can be built
    /// on it.
    async fn meanwhile(&mut self, queues: &Queues, turn: &mut Committing) -> Meanwhile {
        if turn.after.is_none() || !self.drafter.may_use_cache() {
            return Meanwhile::Ended((&mut turn.fate).await);
        }
        let bell = Arc::clone(&self.bell);
        loop {
            if let Some(batch) = self.next(queues, Some(turn.came)) {
                return Meanwhile::Requests(batch);
            }
            let rung = std::pin::pin!(bell.notified());
            if let Either::Left((fate, _)) = select(&mut turn.fate, rung).await {
                return Meanwhile::Ended(fate);
            }
        }
    }

    /// Sends the turn that was drafted on top of this one, once this one is won.
    async fn succeed(&mut self, mut turn: Committing, next: Box<Draft>) -> Stage {
        let fate = (&mut turn.fate).await;
        if matches!(fate, Ok(Fate::Won(_))) && !self.drafter.is_stale(next.begun) {
            self.ended(fate, &turn);
            return Stage::Committing(self.send(next).await);
        }
        // What it says is not true any more, or may not be worth saying. Its requests come after
        // those of the first.
        self.drafter.means.figures.redrafted.fetch_add(1, Relaxed);
        self.drafter.put_back(next.batch);
        self.ended(fate, &turn);
        Stage::Nothing
    }

    /// Has a turn committed.
    async fn send(&mut self, draft: Box<Draft>) -> Committing {
        let Draft { turn, batch, mut after, head, begun } = *draft;
        // What was committed before may be read again, what this turn changes may not.
        if let Some(after) = &mut after {
            after.evict_settled_except(&turn.changes);
        }
        let (version, came) = (turn.head.version, batch.came);
        let (tell, fate) = oneshot::channel();
        let means = Arc::clone(&self.drafter.means);
        let commit = Commit { turn, batch, head, begun };
        self.drafter.means.parts.spawn.spawn(Box::pin(async move {
            // Whoever drives the org hears nothing only if it has died itself.
            let _ = tell.send(commit.carry_out(&means).await);
        }));
        // The turn shall be on its way before this thread is busy with the next.
        pass().await;
        self.drafter.release_expired_turn_lock();
        Committing { fate, after, version, came }
    }

    /// Takes note of what became of a turn, and whether it is durable.
    fn ended(&mut self, fate: Result<Fate, RecvError>, turn: &Committing) -> bool {
        match fate {
            Ok(Fate::Won(now)) => {
                self.drafter.won(now, turn.version);
                return true;
            }
            Ok(Fate::Lost(batch)) => self.drafter.lost(batch),
            Ok(Fate::Refused(batch)) => self.drafter.halve(batch),
            Ok(Fate::Failed) => {}
            Ok(Fate::InDoubt(turn)) => self.drafter.memory.doubt = Some(turn),
            // The compare-and-set judges even a commit that is still on its way.
            Err(_) => self.drafter.panicked(),
        }
        false
    }
}

/// Lets other tasks of this thread go first.
async fn pass() {
    let mut passed = false;
    std::future::poll_fn(|context| {
        if std::mem::replace(&mut passed, true) {
            return std::task::Poll::Ready(());
        }
        context.waker().wake_by_ref();
        std::task::Poll::Pending
    })
    .await;
}
