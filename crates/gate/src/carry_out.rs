//! Carries out what a turn permitted: run, witness, seal, and keep the report in between where the
//! evidence is not in at once.

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures_util::FutureExt;
use ledger::{
    Changes, Entry, LedgerError, Needs, Request, Snapshot,
    record::{Action, KeptReport, Lease, ReportChange},
};
use model::{ActionId, ExecutionErrorCode, Fault, Level, Mint, OrgId, Outcome, State};
use serde_json::Value;
use tokio::sync::oneshot;
use tool::{Run, Tool};

use crate::{
    gate::Gate,
    observed::Observed,
    permit::Permitted,
    points::pass,
    reported::Reported,
    settle::{Witnessed, needs_of_end},
    witnessing::Of,
};

/// How long to wait before a turn is tried again, and how often.
const RETRY_AFTER: Duration = Duration::from_millis(250);
const RETRIES: u32 = 240;

/// How an action stands once its caller has nothing more to wait for.
#[derive(Debug)]
pub struct Finished {
    /// The action: sealed, or `witnessing` where its evidence takes longer than a caller waits for.
    pub action: Arc<Action>,
    /// The tool's result, for the answering response only.
    pub result: Option<Arc<Value>>,
}

/// An action whose tool runs. Dropping this does not stop it.
#[derive(Debug)]
pub struct Running {
    /// The action as it began.
    pub action: Arc<Action>,
    /// Where it is told how the action stands once its caller has nothing more to wait for.
    pub done: oneshot::Receiver<Finished>,
}

impl Gate {
    /// Runs a permitted action in a task of its own.
    pub(crate) fn start(&self, permitted: Permitted) -> Running {
        let (told, done) = oneshot::channel();
        let action = Arc::clone(&permitted.action);
        let gate = self.clone();
        let task = async move {
            gate.carry_out(permitted, told).await;
        };
        self.parts.spawn.spawn(Box::pin(task));
        Running { action, done }
    }

    /// Runs a permitted action, has it witnessed and seals it. Its caller is told nothing when the
    /// record could not be reached in time, or when somebody else took the action over; then recovery
    /// ends it.
    pub(crate) async fn carry_out(&self, permitted: Permitted, told: oneshot::Sender<Finished>) {
        let Permitted { action, tool, args } = permitted;
        let _held = self.leases.hold(&action);
        pass("gate.permitted");
        let mut reported = self.run(&action, &tool, &args).await;
        let (mut action, mut told) = (action, Some(told));
        let at_once = self.evidence_at_once(&action, &tool, &mut reported).await;
        let observed = if let Some(observed) = at_once {
            observed
        } else {
            let Some(kept) = self.keep(&action, &reported).await else { return };
            action = kept;
            if action.required_level == Level::L1 {
                let waits = Finished { action: Arc::clone(&action), result: None };
                // Whoever waited may have gone.
                let _ = told.take().map(|told| told.send(waits));
            }
            let attempts = self.parts.limits.witness_attempts;
            self.evidence(&action, Of::Tool(&tool), (&mut reported, attempts)).await
        };
        let end = self.end_reported(&action, reported, observed).await;
        if let (Some(end), Some(told)) = (end, told) {
            // Whoever waited may have gone; the action is sealed all the same.
            let _ = told.send(end);
        }
    }

    /// Runs the tool, and returns what is known of the run without any evidence.
    async fn run(&self, action: &Action, tool: &Arc<dyn Tool>, args: &Arc<Value>) -> Reported {
        let started = self.parts.clock.now();
        let run = Run {
            org: action.org,
            action: action.id,
            request_digest: action.request_digest,
            place: action.place.as_deref(),
            args,
            level: action.required_level,
            time_limit: self.parts.limits.execute_timeout,
        };
        let ran = AssertUnwindSafe(tool.run(run)).catch_unwind().await;
        let outcome = ran.unwrap_or_else(|_panic| {
            let message = "The service failed while the tool ran.";
            Outcome::Unknown(Fault::new(ExecutionErrorCode::ToolError, message))
        });
        pass("gate.answered");
        let lasted = self.parts.clock.now().since(started);
        Reported::new(outcome, (Arc::clone(args), lasted), tool.definition().footprint.clone())
    }

    /// Keeps the report of a run whose evidence is waited for, and returns the action as it stands
    /// then; nothing when somebody else has taken it over, or the record cannot be reached.
    async fn keep(&self, action: &Action, reported: &Reported) -> Option<Arc<Action>> {
        let lease = action.lease.clone()?;
        let kept = match reported.kept(action, (lease.token, &self.parts.limits)) {
            Ok(kept) => kept,
            Err(error) => {
                // Every part of it has a form. Without its report the run is ended as a lost one.
                tracing::error!(action = %action.id, %error, "a report could not be stored");
                return None;
            }
        };
        let keep = || Keep { lease: lease.clone(), report: kept.clone() };
        let witnessing = self.entered(action.org, keep).await.flatten()?;
        pass("witness.reported");
        Some(witnessing)
    }

    /// Judges a run by its evidence and seals it; nothing when somebody else has taken it over, or the
    /// record cannot be reached.
    pub(crate) async fn end_reported(
        &self,
        action: &Action,
        reported: Reported,
        observed: Observed,
    ) -> Option<Finished> {
        if !matches!(observed, Observed::Nothing) {
            pass("witness.observed");
        }
        let witnessed = Arc::new(reported.witnessed(action, observed, &self.parts.limits));
        let sealed = self.seal(action, &witnessed).await?;
        pass("gate.sealed");
        // Whoever took the action over may have sealed another end than this one.
        let ours = sealed.result_digest == witnessed.result_digest();
        let result = witnessed.result().filter(|_| ours).cloned();
        Some(Finished { action: sealed, result })
    }

    /// Seals a witnessed run that this instance holds the lease of.
    pub(crate) async fn seal(
        &self,
        action: &Action,
        witnessed: &Arc<Witnessed>,
    ) -> Option<Arc<Action>> {
        let (id, lease) = (action.id, action.lease.as_ref()?);
        let end = || {
            pass("gate.witnessed");
            End { action: id, lease: lease.clone(), witnessed: Arc::clone(witnessed) }
        };
        self.entered(action.org, end).await.flatten()
    }

    /// Enters a request of whoever holds an action. A record that cannot be reached is tried again for
    /// a minute, as long as the lease lasts.
    async fn entered<R: Request>(&self, org: OrgId, request: impl Fn() -> R) -> Option<R::Answer> {
        for _ in 0..RETRIES {
            match self.parts.ledger.enter(org, request()).await {
                Ok(answer) => return Some(answer),
                Err(LedgerError::Unavailable | LedgerError::Busy | LedgerError::InDoubt) => {
                    self.parts.pause.pause(RETRY_AFTER).await;
                }
                Err(LedgerError::Withheld | LedgerError::Fault) => return None,
            }
        }
        None
    }
}

/// Keeps a report while its evidence is waited for, from the one who holds the lease.
struct Keep {
    lease: Lease,
    report: KeptReport,
}

impl Request for Keep {
    /// The action as it waits; nothing when somebody else has taken it over.
    type Answer = Option<Arc<Action>>;

    fn needs(&self, _: &Snapshot) -> Needs {
        Needs { actions: [self.report.action].into(), ..Needs::default() }
    }

    fn decide(&self, snapshot: &Snapshot, _: &Mint<'_>) -> (Entry, Self::Answer) {
        let held = |action: &&Arc<Action>| action.lease.as_ref() == Some(&self.lease);
        let Some(action) = snapshot.action(self.report.action).filter(held) else {
            return (Entry::nothing(), None);
        };
        match action.state {
            State::Executing => {
                let waits = Action { state: State::Witnessing, ..Action::clone(action) };
                let waits = Arc::new(waits);
                let mut changes = Changes::from(Arc::clone(&waits));
                changes.reports.push(ReportChange::Kept(self.report.clone()));
                (Entry { changes, ..Entry::default() }, Some(waits))
            }
            // An earlier try was durable although its answer was lost.
            State::Witnessing => (Entry::nothing(), Some(Arc::clone(action))),
            State::PendingApproval | State::Cancelled | State::Sealed => (Entry::nothing(), None),
        }
    }
}

/// The end of a run, from the one who holds its lease.
struct End {
    action: ActionId,
    lease: Lease,
    witnessed: Arc<Witnessed>,
}

impl Request for End {
    /// The sealed action; nothing when somebody else has taken it over.
    type Answer = Option<Arc<Action>>;

    fn needs(&self, snapshot: &Snapshot) -> Needs {
        needs_of_end(self.action, snapshot)
    }

    fn decide(&self, snapshot: &Snapshot, mint: &Mint<'_>) -> (Entry, Self::Answer) {
        let Some(action) = snapshot.action(self.action) else { return (Entry::nothing(), None) };
        if action.state == State::Sealed {
            // An earlier try was durable although its answer was lost, or somebody took over.
            return (Entry::nothing(), Some(Arc::clone(action)));
        }
        if action.lease.as_ref() != Some(&self.lease) {
            return (Entry::nothing(), None);
        }
        let (entry, sealed) = self.witnessed.seal(action, snapshot, mint);
        (entry, Some(sealed))
    }
}
