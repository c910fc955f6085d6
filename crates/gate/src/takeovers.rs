//! Runs whose instance is gone, worked through by connector. A connector that is asked has no part
//! in what any other has to wait for, and one that gave no answer is left alone for a while.

use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicUsize, Ordering},
};

use futures_util::{StreamExt, stream};
use model::{Outcome, State};
use tokio::sync::Semaphore;

use crate::{
    backoff::{Asking, Named},
    gate::Gate,
    recover::{PAGE, SweepError},
    store::{Due, DueFor, Sweep},
};

/// How many runs a connector is asked for at first, and so many without an answer are enough.
const FEW: usize = 4;
/// How many times more it is asked for after each answer.
const GROWTH: usize = 4;
/// How many answers of one connector are waited for at once.
const ASKED_AT_ONCE: usize = 8;
/// How many runs of one connector a sweep takes up; the next one takes up the others.
const OF_ONE: usize = 1_024;

/// Some runs that a connector is asked for together.
struct Round {
    permits: Semaphore,
    answers: AtomicUsize,
    silences: AtomicUsize,
}

impl Round {
    fn new() -> Self {
        let (answers, silences) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Self { permits: Semaphore::new(ASKED_AT_ONCE), answers, silences }
    }

    fn note(&self, settled: Option<&Outcome>) {
        if settled.is_some() {
            self.silences.store(0, Ordering::Relaxed);
            self.answers.fetch_add(1, Ordering::Relaxed);
        } else {
            self.silences.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn is_silent(&self) -> bool {
        self.silences.load(Ordering::Relaxed) >= FEW
    }
}

impl Gate {
    /// Ends the runs that nobody holds any more, each connector's beside those of the others, and
    /// returns how many were looked at. What a resting connector ran is left as it is.
    pub(crate) async fn take_over(&self) -> Result<usize, SweepError> {
        let (looked, due) = self.lost_runs().await?;
        let now = self.parts.clock.now();
        let asked = due.into_iter().filter_map(|(named, due)| {
            let asking = self.asked.begin(named, now)?;
            Some(self.ask(asking, due))
        });
        let asked: Vec<_> = asked.collect();
        let at_once = asked.len().max(1);
        let mut asked = stream::iter(asked).buffer_unordered(at_once);
        let mut failed = None;
        while let Some(done) = asked.next().await {
            failed = failed.or(done.err());
        }
        failed.map_or(Ok(looked), Err)
    }

    /// How many runs nobody holds, and those of the connectors that may be asked.
    async fn lost_runs(&self) -> Result<(usize, BTreeMap<Named, Vec<Due>>), SweepError> {
        let (mut after, mut looked) = (None, 0);
        let mut by_connector: BTreeMap<Named, Vec<Due>> = BTreeMap::new();
        let now = self.parts.clock.now();
        loop {
            let (page, next) = self.due(Sweep::Takeovers, after).await?;
            looked += page.len();
            for due in page {
                let DueFor::Takeover { connector, .. } = &due.what else { continue };
                let named = (due.org, connector.clone());
                if self.asked.is_free(&named, now) {
                    let runs = by_connector.entry(named).or_default();
                    runs.extend((runs.len() < OF_ONE).then_some(due));
                }
            }
            after = next;
            if after.is_none() {
                return Ok((looked, by_connector));
            }
        }
    }

    /// Asks one connector for its runs: a few at first, and more while answers come.
    async fn ask(&self, mut asking: Asking<'_>, due: Vec<Due>) -> Result<(), SweepError> {
        let (mut due, mut size, mut failed) = (due.into_iter(), FEW, None);
        loop {
            let some: Vec<_> = due.by_ref().take(size).collect();
            if some.is_empty() {
                return failed.map_or(Ok(()), Err);
            }
            let round = Round::new();
            let mut ends = stream::iter(some.into_iter().map(|due| self.end_lost(due, &round)))
                .buffer_unordered(size);
            while let Some(end) = ends.next().await {
                failed = failed.or(end.err());
            }
            let is_answered = round.answers.load(Ordering::Relaxed) > 0;
            let is_silent = round.silences.load(Ordering::Relaxed) > 0;
            if round.is_silent() || failed.is_some() || is_silent && !is_answered {
                asking.rest(self.parts.clock.now());
                return failed.map_or(Ok(()), Err);
            }
            size = size.saturating_mul(GROWTH).min(PAGE);
        }
    }

    async fn end_lost(&self, due: Due, round: &Round) -> Result<(), SweepError> {
        let DueFor::Takeover { from, .. } = due.what else { return Ok(()) };
        let taken = self.taken(due.org, due.action, from).await?;
        let Some((action, held)) = taken else { return Ok(()) };
        if action.state == State::Witnessing {
            self.take_up(action, held);
            return Ok(());
        }
        let settled = {
            // Nobody closes it, so that an error cannot be.
            let _permit = round.permits.acquire().await;
            if round.is_silent() { Ok(None) } else { self.settle(&action).await }
        };
        if let Ok(settled) = &settled {
            round.note(settled.as_ref());
        }
        self.end_taken(&action, settled).await
    }
}
