//! Evidence that comes when an action is sealed without it.
//!
//! A change log that had not told of a run when that was sealed may tell later. It is asked again and
//! again, until it tells, until it is certain that it never will, or until the time for it is over. What
//! it tells is judged as it would have been, and where that is something else than was sealed, a turn
//! amends the deed. The deed, the action's status and its budgets stay as they are.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, PoisonError},
    time::Duration,
};

use deed::Amended;
use futures_util::{StreamExt, stream};
use ledger::{
    Entry, LogNo, Needs, Request, Snapshot,
    record::{Action, ReportChange},
};
use model::{ActionId, ConnectorId, LogAnswer, Mint, OrgId, State, Timestamp};

use crate::{
    gate::Gate,
    observed::Observed,
    points::pass,
    recover::SweepError,
    reported::Reported,
    settle::Witnessed,
    store::{Due, DueFor, DuePlace, Sweep},
    witnessing::{Answered, Of},
};

/// So many pages of what is awaited are looked through by one sweep; the next one goes on behind them.
const PAGES: usize = 16;
/// How many times more a log is asked for after each answer, and for how many at once.
const GROWTH: usize = 4;
const AT_ONCE: usize = 8;
const MOST: usize = 128;

/// An org's connector, whose database's change log is asked.
type Log = (OrgId, ConnectorId);

/// What asking for the evidence of one action came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Late {
    /// It is awaited no more.
    Ended,
    /// The log has not told of this run, which says nothing of the others.
    Waits,
    /// The log was not read further, or nobody could be asked; the others wait too.
    Stands,
}

/// What of one log's actions came to its end.
#[derive(Debug, Default)]
struct Round {
    ended: usize,
    stands: bool,
    failed: Option<SweepError>,
}

impl Gate {
    /// Asks change logs for the evidence that actions were sealed without, the longest awaited first, and
    /// returns of how many it is awaited no more. A log that stands still is asked once.
    pub(crate) async fn late_evidence(&self) -> Result<usize, SweepError> {
        let (mut after, mut ended, mut failed) = (self.late_after(), 0, None);
        let mut standing = BTreeSet::new();
        for _ in 0..PAGES {
            let (page, next) = self.due(Sweep::Evidence, after).await?;
            let mut by_log: BTreeMap<Log, Vec<Due>> = BTreeMap::new();
            for due in page {
                let DueFor::Evidence { connector } = due.what else { continue };
                by_log.entry((due.org, connector)).or_default().push(due);
            }
            by_log.retain(|log, _| !standing.contains(log));
            let rounds = by_log.into_iter().map(|(log, due)| self.told_late(log, due));
            let mut rounds = stream::iter(rounds).buffer_unordered(AT_ONCE);
            while let Some((log, round)) = rounds.next().await {
                ended += round.ended;
                failed = failed.or(round.failed);
                standing.extend(round.stands.then_some(log));
            }
            after = next;
            if after.is_none() {
                break;
            }
        }
        *self.late_after.lock().unwrap_or_else(PoisonError::into_inner) = after;
        failed.map_or(Ok(ended), Err)
    }

    /// The place where the last sweep stopped.
    fn late_after(&self) -> Option<DuePlace> {
        *self.late_after.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks one log: for one action at first, and for more while it tells.
    async fn told_late(&self, log: Log, due: Vec<Due>) -> (Log, Round) {
        let (mut due, mut size, mut round) = (due.into_iter(), 1, Round::default());
        while !round.stands && round.failed.is_none() {
            let some: Vec<_> = due.by_ref().take(size).collect();
            if some.is_empty() {
                break;
            }
            let looks = some.into_iter().map(|due| self.look_late(due));
            let mut looks = stream::iter(looks).buffer_unordered(AT_ONCE);
            while let Some(late) = looks.next().await {
                match late {
                    Ok(Late::Ended) => round.ended += 1,
                    Ok(Late::Waits) => {}
                    Ok(Late::Stands) => round.stands = true,
                    Err(error) => round.failed = round.failed.or(Some(error)),
                }
            }
            size = size.saturating_mul(GROWTH).min(MOST);
        }
        (log, round)
    }

    /// Asks for the evidence of one action, and amends its deed where that says something else.
    async fn look_late(&self, due: Due) -> Result<Late, SweepError> {
        let Due { org, action: id, since, what: _ } = due;
        let action = self.parts.store.action(org, id).await?;
        let kept = self.parts.store.report(org, id).await?;
        // Another instance was faster.
        let (Some(action), Some(kept)) = (action, kept) else { return Ok(Late::Ended) };
        let mut reported = match Reported::read(&kept) {
            Ok((reported, _)) => reported,
            Err(error) => {
                // The turn that sealed the action wrote it, so that this cannot be.
                tracing::error!(action = %id, %error, "a stored report cannot be read");
                return self.let_go(org, (id, None)).await;
            }
        };
        match self.read_log(&action, Of::Whoever, (&mut reported, Duration::ZERO)).await {
            Answered::Whole(Observed::ChangeLog(LogAnswer::Untold(gap))) => {
                tracing::info!(action = %id, %gap, "the evidence of a sealed action will not arrive");
                self.let_go(org, (id, None)).await
            }
            Answered::Whole(observed) => self.amend(&action, reported, observed).await,
            Answered::NotYet(_) | Answered::Silence if self.is_over(since) => {
                self.let_go(org, (id, Some(since))).await
            }
            // Where the run's own end is not known, that it is not there says nothing of how far the log
            // was read.
            Answered::NotYet(_) if !reported.is_bounded_in_log() => Ok(Late::Waits),
            Answered::NotYet(_) | Answered::Silence => Ok(Late::Stands),
        }
    }

    fn is_over(&self, since: Timestamp) -> bool {
        since + self.parts.limits.late_evidence <= self.parts.clock.now()
    }

    /// Judges the run of a sealed action by its late evidence, and amends its deed by that.
    async fn amend(
        &self,
        action: &Action,
        reported: Reported,
        observed: Observed,
    ) -> Result<Late, SweepError> {
        let (org, id) = (action.org, action.id);
        let detail = self.parts.store.detail(org, id).await?;
        let deeds = detail.map(|detail| detail.deeds).unwrap_or_default();
        let Some(sealed) = deeds.iter().find(|deed| Some(deed.id) == action.deed) else {
            // It has been moved to where it cannot be read, and stays as it is.
            return self.let_go(org, (id, None)).await;
        };
        pass("amend.observed");
        let amend = Amend {
            action: id,
            log: sealed.log_no,
            amends: Amended { id: sealed.id, digest: sealed.digest, seq: sealed.seq },
            witnessed: Arc::new(reported.witnessed(action, observed, &self.parts.limits)),
        };
        if self.parts.ledger.enter(org, amend).await? {
            tracing::info!(action = %id, "the deed of a sealed action was amended");
        }
        pass("amend.sealed");
        Ok(Late::Ended)
    }

    /// Lets go of a report, in the last case where its time is over in the turn as well.
    async fn let_go(
        &self,
        org: OrgId,
        (action, since): (ActionId, Option<Timestamp>),
    ) -> Result<Late, SweepError> {
        let over = since.map(|since| since + self.parts.limits.late_evidence);
        let is_let_go = self.parts.ledger.enter(org, LetGo { action, over }).await?;
        Ok(if is_let_go { Late::Ended } else { Late::Waits })
    }
}

fn sealed(snapshot: &Snapshot, action: ActionId) -> Option<&Arc<Action>> {
    snapshot.action(action).filter(|action| action.state == State::Sealed)
}

/// Amends the deed of a sealed action, unless that was done.
struct Amend {
    action: ActionId,
    amends: Amended,
    /// The log that has the deed.
    log: LogNo,
    witnessed: Arc<Witnessed>,
}

impl Request for Amend {
    /// Whether this turn amends it.
    type Answer = bool;

    fn needs(&self, _: &Snapshot) -> Needs {
        Needs { actions: [self.action].into(), ..Needs::default() }
    }

    fn decide(&self, snapshot: &Snapshot, mint: &Mint<'_>) -> (Entry, bool) {
        let unamended = |action: &&Arc<Action>| action.amendment.is_none();
        let Some(action) = sealed(snapshot, self.action).filter(unamended) else {
            // An earlier try was durable although its answer was lost, or another instance was faster.
            return (Entry::nothing(), false);
        };
        // A log that was closed gets no deed any more, and an amendment is in the log of what it amends.
        let is_open = snapshot.base().is_some_and(|base| base.head.log_no == self.log);
        // What retention removed does not come back with the evidence of it.
        let may_be = is_open && action.payload_pruned_at.is_none();
        let entry = may_be.then(|| self.witnessed.amend(action, self.amends, mint)).flatten();
        let is_amended = entry.is_some();
        let mut entry = entry.unwrap_or_default();
        entry.changes.reports.push(ReportChange::Removed(self.action));
        (entry, is_amended)
    }
}

/// Removes the report of a sealed action of which nothing more is awaited.
struct LetGo {
    action: ActionId,
    /// The end of the time for it, where that is why.
    over: Option<Timestamp>,
}

impl Request for LetGo {
    /// Whether it is removed.
    type Answer = bool;

    fn needs(&self, _: &Snapshot) -> Needs {
        Needs { actions: [self.action].into(), ..Needs::default() }
    }

    fn decide(&self, snapshot: &Snapshot, _: &Mint<'_>) -> (Entry, bool) {
        let is_over = self.over.is_none_or(|over| over <= snapshot.now());
        if !is_over || sealed(snapshot, self.action).is_none() {
            return (Entry::nothing(), false);
        }
        (Entry { changes: ReportChange::Removed(self.action).into(), ..Entry::default() }, true)
    }
}
