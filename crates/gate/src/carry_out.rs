//! Carries out what a turn permitted: run, witness, seal.

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures_util::FutureExt;
use ledger::{
    Entry, LedgerError, Needs, Request, Snapshot,
    record::{Action, Lease},
};
use model::{ActionId, ExecutionErrorCode, Fault, Mint, Outcome, State};
use serde_json::Value;
use tool::Run;
use witness::Reporter;

use crate::{
    begin::Permitted,
    gate::Gate,
    points::pass,
    settle::{Executed, RunResult, Times, Witnessed, needs_of_end},
};

/// How long to wait before a seal is tried again, and how often.
const RETRY_AFTER: Duration = Duration::from_millis(250);
const RETRIES: u32 = 240;

/// The end of an action that was carried out.
#[derive(Debug)]
pub struct Finished {
    /// The action, sealed.
    pub action: Arc<Action>,
    /// The tool's result, for the answering response only.
    pub result: Option<Arc<Value>>,
}

impl Gate {
    /// Runs a permitted action, has it witnessed and seals it. Nothing comes back when the record
    /// could not be reached in time, or when somebody else took the action over; then recovery
    /// ends it.
    pub(crate) async fn carry_out(&self, permitted: Permitted) -> Option<Finished> {
        let Permitted { action, tool, args } = permitted;
        let _held = self.hold(&action);
        pass("gate.permitted");
        let started = self.parts.clock.now();
        let run = Run {
            org: action.org,
            action: action.id,
            request_digest: action.request_digest,
            place: action.place.as_deref(),
            args: &args,
            time_limit: self.parts.limits.execute_timeout,
        };
        let ran = AssertUnwindSafe(tool.run(run)).catch_unwind().await;
        let mut outcome = ran.unwrap_or_else(|_panic| {
            let message = "The service failed while the tool ran.";
            Outcome::Unknown(Fault::new(ExecutionErrorCode::ToolError, message))
        });
        pass("gate.answered");
        let took = self.parts.clock.now().since(started);
        let executed = Executed {
            result: RunResult::taken_from(&mut outcome),
            outcome,
            reporter: Reporter::Connector,
            times: Times::Took(took),
        };
        let footprint = tool.definition().footprint.as_ref();
        let limit = self.parts.limits.max_result_bytes;
        let witnessed = Arc::new(executed.witnessed(&action, footprint, limit));
        let sealed = self.seal(&action, &witnessed).await?;
        pass("gate.sealed");
        // Whoever took the action over may have sealed another end than this one.
        let ours = sealed.result_digest == witnessed.result_digest();
        let result = witnessed.result().filter(|_| ours).cloned();
        Some(Finished { action: sealed, result })
    }

    /// Seals a witnessed run that this instance holds the lease of. A record that cannot be
    /// reached is tried again for a minute, as long as the lease lasts.
    pub(crate) async fn seal(
        &self,
        action: &Action,
        witnessed: &Arc<Witnessed>,
    ) -> Option<Arc<Action>> {
        let (org, id, lease) = (action.org, action.id, action.lease.as_ref()?);
        let mut sealed = None;
        for _ in 0..RETRIES {
            let end = End { action: id, lease: lease.clone(), witnessed: Arc::clone(witnessed) };
            pass("gate.witnessed");
            match self.parts.ledger.enter(org, end).await {
                Ok(done) => {
                    sealed = done;
                    break;
                }
                Err(LedgerError::Unavailable | LedgerError::Busy | LedgerError::InDoubt) => {
                    self.parts.pause.pause(RETRY_AFTER).await;
                }
                Err(LedgerError::Withheld | LedgerError::Fault) => break,
            }
        }
        sealed
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
