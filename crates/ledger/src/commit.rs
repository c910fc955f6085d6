//! Commits a turn that is drafted, and tells those whom it answers. What must be decided again goes
//! back to whoever drafts.

use std::{sync::atomic::Ordering::Relaxed, time::Duration};

use model::{Timestamp, causes};

use crate::{
    batch::Batch,
    data::Turn,
    means::Means,
    notice::Notice,
    seen::Mark,
    store::{AppendError, HeldHead, LedgerError},
};

/// A turn on its way to the store, with the requests that it answers.
pub(crate) struct Commit {
    pub(crate) turn: Turn,
    pub(crate) batch: Batch,
    /// The org's head, where the turn was drafted while it was held.
    pub(crate) head: Option<Box<dyn HeldHead>>,
    /// When drafting began.
    pub(crate) begun: Duration,
}

/// What became of a turn.
pub(crate) enum Fate {
    /// It is durable and its callers are told. Here is the store's time, if it came, with this
    /// process's count at that moment.
    Won(Option<(Timestamp, Duration)>),
    /// Somebody else moved the head; nothing of it is in the record.
    Lost(Batch),
    /// A row of it breaks a constraint; whose it is is not known. Nothing of it is in the record.
    Refused(Batch),
    /// Nothing of it is in the record, and its callers are told.
    Failed,
    /// It is in the record or not. Its callers are told so.
    InDoubt(Box<Turn>),
}

impl Commit {
    /// Appends the turn and answers those who wait for it, as soon as it is durable and no sooner.
    pub(crate) async fn carry_out(mut self, means: &Means) -> Fate {
        let head = self.head.take();
        let appended = match head {
            Some(head) => head.append(&self.turn).await,
            None => means.parts.store.append(&self.turn).await,
        };
        let org = self.turn.org;
        match appended {
            Ok(now) => self.won(means, Some(now)),
            Err(AppendError::Lost) => self.lost(means),
            Err(AppendError::Down(down)) => {
                tracing::warn!(%org, error = %causes(&down), "a turn was not appended");
                fail(means, self.batch, &LedgerError::Unavailable);
                Fate::Failed
            }
            Err(AppendError::Refused(down)) => {
                tracing::error!(%org, error = %causes(&down), "a turn was refused");
                Fate::Refused(self.batch)
            }
            Err(AppendError::InDoubt(down)) => {
                means.figures.doubts.fetch_add(1, Relaxed);
                tracing::warn!(%org, error = %causes(&down), "a commit is in doubt");
                self.resolve(means).await
            }
        }
    }

    /// Asks the store whether a commit without a response was applied. If the store does not know either,
    /// the callers get an unknown outcome, and the next turn of the org asks again first.
    async fn resolve(self, means: &Means) -> Fate {
        match means.parts.store.settle(&self.turn).await {
            Ok(true) => self.won(means, None),
            // The store makes sure that a late commit loses.
            Ok(false) => self.lost(means),
            Err(down) => {
                tracing::warn!(org = %self.turn.org, error = %causes(&down), "still in doubt");
                fail(means, self.batch, &LedgerError::InDoubt);
                Fate::InDoubt(Box::new(self.turn))
            }
        }
    }

    fn lost(self, means: &Means) -> Fate {
        means.figures.lost_heads.fetch_add(1, Relaxed);
        Fate::Lost(self.batch)
    }

    fn won(self, means: &Means, now: Option<Timestamp>) -> Fate {
        let Self { turn, batch, begun, .. } = self;
        let now = now.map(|now| (now, means.parts.clock.elapsed()));
        publish(means, turn);
        done(means, batch, begun);
        Fate::Won(now)
    }
}

/// Records a durable turn, and publishes its events.
pub(crate) fn publish(means: &Means, turn: Turn) {
    means.figures.won(turn.deeds.len());
    means.marks.note(turn.org, Mark::of_head(&turn.head));
    means.notices.tell(Notice { org: turn.org, events: turn.events });
}

/// Reports to the requests of a turn that it was committed.
pub(crate) fn done(means: &Means, batch: Batch, begun: Duration) {
    let took = means.parts.clock.elapsed().saturating_sub(begun);
    means.figures.seconds.observe(took.as_secs_f64());
    // Turns are far smaller than what a double holds.
    means.figures.requests.observe(u32::try_from(batch.requests.len()).map_or(f64::MAX, f64::from));
    batch.tell(&Ok(()));
}

/// Reports to the requests of a turn that it failed.
pub(crate) fn fail(means: &Means, batch: Batch, error: &LedgerError) {
    means.figures.failed.fetch_add(1, Relaxed);
    batch.tell(&Err(error.clone()));
}
