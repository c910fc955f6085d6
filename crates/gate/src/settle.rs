//! The end of a run: what was executed is witnessed, and only what was witnessed can be sealed.

use std::{sync::Arc, time::Duration};

use crypto::json::Exact;
use ledger::{
    Entry, Needs, Snapshot,
    record::{Action, Execution, Witness},
};
use model::{
    ActionId, Attestation, Digest, ErrorCode, EventType, ExecutionStatus, Fault, Footprint, Mint,
    Outcome, State, Status, Timestamp,
};
use serde_json::Value;
use witness::{Evidence, Finding, Reporter, judge};

use crate::{
    begin::{event_of, release},
    deed_of::{KeptResult, deed_of},
};

/// A run that came to its end, or of which no more will be known.
#[derive(Debug, Clone)]
pub(crate) struct Executed {
    /// How it ended; its result stands beside it.
    pub(crate) outcome: Outcome,
    pub(crate) result: RunResult,
    pub(crate) reporter: Reporter,
    pub(crate) times: Times,
}

/// What is known of a run's result.
#[derive(Debug, Clone)]
pub(crate) enum RunResult {
    /// The result itself.
    Whole(Exact),
    /// The digest of one that was not sent along.
    Digest(Digest),
    /// There is none.
    Nothing,
}

impl RunResult {
    /// Takes the result out of an outcome, so that it is held once.
    pub(crate) fn taken_from(outcome: &mut Outcome) -> Self {
        match outcome {
            Outcome::Succeeded { result, .. } => Self::Whole(Exact::from(result.take())),
            Outcome::Applied | Outcome::Failed(_) | Outcome::Unknown(_) => Self::Nothing,
        }
    }

    fn digest(&self) -> Option<Digest> {
        match self {
            Self::Whole(result) => Some(result.canonical().digest()),
            Self::Digest(digest) => Some(*digest),
            Self::Nothing => None,
        }
    }

    /// How much of it stands in the record.
    fn kept(&self, max_bytes: usize) -> Option<KeptResult> {
        match self {
            Self::Whole(result) if result.canonical().text().len() <= max_bytes => {
                Some(KeptResult::Whole(result.canonical().clone()))
            }
            Self::Whole(_) | Self::Digest(_) | Self::Nothing => {
                self.digest().map(KeptResult::DigestOnly)
            }
        }
    }
}

/// When a run began and ended.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Times {
    /// It began when it was recorded and took this long.
    Took(Duration),
    /// An edge said so.
    Told { started_at: Timestamp, finished_at: Timestamp },
    /// Nobody saw the end.
    Unseen,
}

/// A run with its verdict. Nothing else can be sealed.
#[derive(Debug, Clone)]
pub(crate) struct Witnessed {
    executed: Executed,
    finding: Finding,
    kept: Option<KeptResult>,
    lossy_numbers: bool,
}

impl Executed {
    /// Has the run judged and settles how much of its result is kept.
    pub(crate) fn witnessed(
        self,
        action: &Action,
        footprint: Option<&Footprint>,
        max_result_bytes: usize,
    ) -> Witnessed {
        let finding = judge(&Evidence {
            outcome: &self.outcome,
            reporter: self.reporter,
            side_effect: action.side_effect,
            footprint,
            required_level: action.required_level,
        });
        let kept = self.result.kept(max_result_bytes);
        let lossy_numbers = match &self.result {
            RunResult::Whole(result) => result.stands_as_text(),
            RunResult::Digest(_) | RunResult::Nothing => false,
        };
        Witnessed { executed: self, finding, kept, lossy_numbers }
    }
}

/// What a turn that ends an action must know.
pub(crate) fn needs_of_end(id: ActionId, snapshot: &Snapshot) -> Needs {
    let charged = snapshot.action(id).map(|action| action.charged.as_slice()).unwrap_or_default();
    Needs {
        actions: [id].into(),
        budgets: charged.iter().map(|part| (part.key.clone(), part.window_start)).collect(),
        ..Needs::default()
    }
}

impl Witnessed {
    /// The result as the answering response shows it: whole, however much of it is kept.
    pub(crate) fn result(&self) -> Option<&Arc<Value>> {
        match &self.executed.result {
            RunResult::Whole(result) => Some(result.canonical().value()),
            RunResult::Digest(_) | RunResult::Nothing => None,
        }
    }

    /// The digest of the result, where there was one.
    pub(crate) fn result_digest(&self) -> Option<Digest> {
        self.executed.result.digest()
    }

    /// Seals the action with this end.
    pub(crate) fn seal(
        &self,
        action: &Action,
        snapshot: &Snapshot,
        mint: &Mint<'_>,
    ) -> (Entry, Arc<Action>) {
        let mut action = action.clone();
        action.execution = Some(self.execution(&action, mint.now()));
        action.witness = Some(self.witness(mint.now()));
        action.result_digest = self.result_digest();
        action.status = match self.executed.outcome {
            Outcome::Failed(_) => Status::Failed,
            // Nobody can say that an unknown run did not apply, so it counts as executed.
            Outcome::Succeeded { .. } | Outcome::Applied | Outcome::Unknown(_) => Status::Executed,
        };
        (action.state, action.lease, action.place) = (State::Sealed, None, None);
        let mut entry = Entry::nothing();
        if action.status == Status::Failed {
            entry.changes.budgets = release(&action.charged, snapshot);
        }
        let deed = deed_of(&action, self.kept.as_ref(), Some(&self.finding.detail), mint);
        action.deed = Some(deed.draft.id);
        entry.deeds.push(deed);
        entry.events.push(event_of(&action, EventType::ActionWitnessed, mint));
        let action = Arc::new(action);
        entry.changes.actions.push(Arc::clone(&action));
        (entry, action)
    }

    fn execution(&self, action: &Action, now: Timestamp) -> Execution {
        let began = action.execution.as_ref().and_then(|execution| execution.started_at);
        let (started_at, finished_at) = match self.executed.times {
            Times::Took(span) => (began, began.map(|began| began + span)),
            Times::Told { started_at, finished_at } => (Some(started_at), Some(finished_at)),
            Times::Unseen => (began, began.map(|_| now)),
        };
        let (status, fault) = match &self.executed.outcome {
            Outcome::Succeeded { .. } | Outcome::Applied => (ExecutionStatus::Succeeded, None),
            Outcome::Failed(fault) => (ExecutionStatus::Failed, Some(fault)),
            Outcome::Unknown(fault) => (ExecutionStatus::Unknown, Some(fault)),
        };
        Execution {
            status,
            attestation: match self.executed.reporter {
                Reporter::Connector => Some(Attestation::GatewayExecuted),
                Reporter::Edge => Some(Attestation::EdgeClaimed),
                Reporter::Nobody => None,
            },
            started_at,
            finished_at,
            error_code: fault.map(code),
            error_message: fault.map(|fault| fault.message.clone()).filter(|text| !text.is_empty()),
            lossy_numbers: self.lossy_numbers,
        }
    }

    fn witness(&self, now: Timestamp) -> Witness {
        let finding = &self.finding;
        Witness {
            level: finding.level,
            required_level: finding.required_level,
            verdict: finding.verdict,
            method: finding.method,
            summary: finding.summary.clone(),
            reasons: finding.reasons.clone(),
            witnessed_at: now,
            detail_digest: finding.detail_digest(),
        }
    }
}

fn code(fault: &Fault) -> ErrorCode {
    fault.code.clone()
}
