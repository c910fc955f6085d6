//! Ends what nobody else will end: overdue reports, expired approvals, and runs whose instance is
//! gone. A run is never repeated: where its report is kept the evidence is got for it, and otherwise the
//! governed system is asked what became of it.

use std::sync::Arc;

use futures_util::{StreamExt, stream};
use ledger::{
    Entry, LedgerError, Needs, Request, Snapshot, StoreDown,
    record::{Action, Lease},
};
use model::{ActionId, ExecutionErrorCode, Fault, Mint, Mode, OrgId, Outcome, State, causes};
use tool::Settled;
use witness::Reporter;

use crate::{
    gate::Gate,
    leases::Held,
    limits::Limits,
    observed::Observed,
    points::pass,
    reported::Reported,
    settle::{Executed, RunResult, Times, Witnessed, needs_of_end},
    store::{Due, DueFor, DuePlace, Sweep},
    withdraw::End,
    witnessing::Of,
};

/// How many due actions are read, and ended together, at once. Those of one org share turns.
pub(crate) const PAGE: usize = 256;
/// After this many holders nobody asks the governed system again.
const MAX_HOLDERS: u64 = 8;

/// Why something that is due did not end; the next sweep tries it again.
#[derive(Debug, thiserror::Error)]
pub enum SweepError {
    /// What is due could not be read.
    #[error(transparent)]
    Store(#[from] StoreDown),
    /// What is due could not be recorded.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

impl Gate {
    /// Ends what is due for this sweep, page by page, and returns how many actions were looked at; of
    /// those whose evidence is awaited, how many are awaited no more.
    /// What cannot be ended holds nothing else up; the first such error comes back at the end.
    pub async fn sweep(&self, sweep: Sweep) -> Result<usize, SweepError> {
        match sweep {
            Sweep::Takeovers => return self.take_over().await,
            Sweep::Evidence => return self.late_evidence().await,
            Sweep::Reports | Sweep::Approvals => {}
        }
        let (mut after, mut looked, mut failed) = (None, 0, None);
        if sweep == Sweep::Approvals {
            let void = self.end_void().await;
            (looked, failed) = void.map_or_else(|error| (0, Some(error)), |ended| (ended, None));
        }
        loop {
            let (page, next) = self.due(sweep, after).await?;
            looked += page.len();
            let mut ends =
                stream::iter(page.into_iter().map(|due| self.end(due))).buffer_unordered(PAGE);
            while let Some(end) = ends.next().await {
                failed = failed.or(end.err());
            }
            after = next;
            if after.is_none() {
                return failed.map_or(Ok(looked), Err);
            }
        }
    }

    /// A page of what is due, and the place that the next one is behind.
    pub(crate) async fn due(
        &self,
        sweep: Sweep,
        after: Option<DuePlace>,
    ) -> Result<(Vec<Due>, Option<DuePlace>), StoreDown> {
        let page = self.parts.store.due(sweep, after, PAGE).await?;
        let next = page.last().filter(|_| page.len() == PAGE).map(Due::place);
        Ok((page, next))
    }

    async fn end(&self, due: Due) -> Result<(), SweepError> {
        let Due { org, action, what, since: _ } = due;
        match what {
            DueFor::EdgeDeadline => {
                pass("edge.report_overdue");
                let limits = self.parts.limits;
                self.parts.ledger.enter(org, EdgeLost { action, limits }).await?;
            }
            DueFor::ApprovalExpiry => {
                pass("gate.approval_overdue");
                self.parts.ledger.enter(org, End { action }).await?;
            }
            // Another sweep's.
            DueFor::Takeover { .. } | DueFor::Evidence { .. } => {}
        }
        Ok(())
    }

    /// Gives an action to this instance, with its lease, if nobody else has taken it since.
    pub(crate) async fn taken(
        &self,
        org: OrgId,
        action: ActionId,
        from: Lease,
    ) -> Result<Option<(Arc<Action>, Held)>, SweepError> {
        let take = TakeOver { action, from, to: self.parts.instance.clone() };
        let Some(action) = self.parts.ledger.enter(org, take).await? else { return Ok(None) };
        let held = self.leases.hold(&action);
        pass("recover.taken");
        Ok(Some((action, held)))
    }

    /// Ends an action that this instance took over, by what the governed system knows. Where that
    /// cannot be asked now, the lease runs out once more.
    pub(crate) async fn end_taken(
        &self,
        action: &Action,
        settled: Result<Option<Outcome>, SweepError>,
    ) -> Result<(), SweepError> {
        let Ok(Some(outcome)) = settled else { return settled.map(drop) };
        let witnessed = match outcome {
            Outcome::Applied => self.witnessed_without_report(action).await,
            Outcome::Unknown(_) => self.unwitnessed(action, (outcome, Reporter::Nobody)),
            Outcome::Succeeded { .. } | Outcome::Failed(_) => {
                self.unwitnessed(action, (outcome, Reporter::Connector))
            }
        };
        tracing::info!(action = %action.id, "an action was taken over and ended");
        pass("recover.settled");
        self.seal(action, &Arc::new(witnessed)).await;
        Ok(())
    }

    /// A lost run that was applied, judged by what its change log has of it. Where that is nothing yet, it is
    /// awaited behind the seal.
    async fn witnessed_without_report(&self, action: &Action) -> Witnessed {
        let mut lost = Reported::lost();
        let observed = self.evidence_now(action, &mut lost).await;
        lost.witnessed(action, observed, &self.parts.limits)
    }

    /// A lost run of which nothing more is asked.
    fn unwitnessed(&self, action: &Action, (outcome, reporter): (Outcome, Reporter)) -> Witnessed {
        let (result, observed) = (RunResult::Nothing, Observed::Nothing);
        let executed = Executed { outcome, result, reporter, times: Times::Unseen, observed };
        executed.witnessed(action, None, &self.parts.limits)
    }

    /// Goes on with the evidence of a run whose report is kept, in a task of its own: nothing else that
    /// is due waits for it.
    pub(crate) fn take_up(&self, action: Arc<Action>, held: Held) {
        let gate = self.clone();
        let task = async move {
            let _held = held;
            if let Err(error) = gate.end_witnessing(&action).await {
                let error = causes(&error);
                tracing::warn!(action = %action.id, error, "a stored report was not processed");
            }
        };
        self.parts.spawn.spawn(Box::pin(task));
    }

    /// Gets the evidence of a run whose report is kept, and seals it. Everybody who held it before
    /// has asked once at least.
    async fn end_witnessing(&self, action: &Action) -> Result<(), SweepError> {
        pass("recover.taken_up");
        let kept = self.parts.store.report(action.org, action.id).await?;
        let Some(Ok((mut reported, token))) = kept.as_ref().map(Reported::read) else {
            // The turn that let the action wait kept it, and no other removes it, so that this cannot
            // be. The run is then ended as one whose report is lost.
            tracing::error!(action = %action.id, "a stored report cannot be read");
            let settled = self.settle(action).await;
            return self.end_taken(action, settled).await;
        };
        let holders = action.lease.as_ref().map_or(0, |lease| lease.token.saturating_sub(token));
        let asked = u32::try_from(holders).unwrap_or(u32::MAX);
        let attempts = self.parts.limits.witness_attempts.saturating_sub(asked);
        let observed = self.evidence(action, Of::Whoever, (&mut reported, attempts)).await;
        tracing::info!(action = %action.id, "an action was taken over and witnessed");
        self.end_reported(action, reported, observed).await;
        Ok(())
    }

    /// What became of a run that nobody saw the end of; nothing when that must be asked
    /// again later.
    pub(crate) async fn settle(&self, action: &Action) -> Result<Option<Outcome>, SweepError> {
        let holders = action.lease.as_ref().map_or(0, |lease| lease.token);
        let settled = self.settled(action, &self.teller(action).await?).await;
        let lost = "The instance that ran the call was lost";
        let fault = |code, end: &str| Fault::new(code, format!("{lost}{end}."));
        Ok(match settled {
            Settled::Applied => Some(Outcome::Applied),
            Settled::NotApplied => {
                let end = ", and the call was not applied";
                Some(Outcome::Failed(fault(ExecutionErrorCode::InstanceLost, end)))
            }
            Settled::Unknowable => {
                let end = ", and the result of the call is unknown";
                Some(Outcome::Unknown(fault(ExecutionErrorCode::InstanceLost, end)))
            }
            Settled::Unreachable if holders >= MAX_HOLDERS => {
                let end = ", and the governed system could not be queried";
                Some(Outcome::Unknown(fault(ExecutionErrorCode::WitnessGaveUp, end)))
            }
            Settled::Unreachable => None,
        })
    }
}

/// Gives an action to a new holder, if nobody else has taken it since.
struct TakeOver {
    action: ActionId,
    from: Lease,
    to: String,
}

impl Request for TakeOver {
    /// The action under its new lease; nothing when it is somebody else's or has ended.
    type Answer = Option<Arc<Action>>;

    fn needs(&self, _: &Snapshot) -> Needs {
        Needs { actions: [self.action].into(), ..Needs::default() }
    }

    fn decide(&self, snapshot: &Snapshot, _: &Mint<'_>) -> (Entry, Self::Answer) {
        let held = |action: &&Arc<Action>| {
            matches!(action.state, State::Executing | State::Witnessing)
                && action.lease.as_ref() == Some(&self.from)
        };
        let Some(action) = snapshot.action(self.action).filter(held) else {
            return (Entry::nothing(), None);
        };
        let lease = Some(Lease { holder: self.to.clone(), token: self.from.token + 1 });
        let taken = Arc::new(Action { lease, ..Action::clone(action) });
        (Entry { changes: Arc::clone(&taken).into(), ..Entry::default() }, Some(taken))
    }
}

/// Ends an action whose edge did not report in time, if it has not ended.
struct EdgeLost {
    action: ActionId,
    limits: Limits,
}

impl Request for EdgeLost {
    type Answer = ();

    fn needs(&self, snapshot: &Snapshot) -> Needs {
        needs_of_end(self.action, snapshot)
    }

    fn decide(&self, snapshot: &Snapshot, mint: &Mint<'_>) -> (Entry, ()) {
        let overdue = |action: &&Arc<Action>| {
            action.mode == Mode::Proxy
                && action.state == State::Executing
                && action.deadline.is_some_and(|deadline| deadline <= snapshot.now())
        };
        let Some(action) = snapshot.action(self.action).filter(overdue) else {
            return (Entry::nothing(), ());
        };
        let message = "The edge did not report before the deadline.";
        let executed = Executed {
            outcome: Outcome::Unknown(Fault::new(ExecutionErrorCode::EdgeLost, message)),
            reporter: Reporter::Nobody,
            result: RunResult::Nothing,
            times: Times::Unseen,
            observed: Observed::Nothing,
        };
        let witnessed = executed.witnessed(action, None, &self.limits);
        (witnessed.seal(action, snapshot, mint).0, ())
    }
}
