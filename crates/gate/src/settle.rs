//! The end of a run: what was executed is witnessed, and only what was witnessed can be sealed.

use std::{sync::Arc, time::Duration};

use crypto::json::{Canonical, Exact};
use deed::Amended;
use ledger::{
    Entry, Needs, Snapshot,
    record::{Action, Amendment, AwaitedReport, Execution, KeptReport, ReportChange, Witness},
};
use model::{
    ActionId, Attestation, ConnectorId, DeedId, Digest, ErrorCode, EventType, ExecutionStatus,
    Fault, Footprint, Mint, Outcome, SideEffect, State, Status, Timestamp,
};
use serde_json::Value;
use witness::{Evidence, Finding, Reporter, judge};

use crate::{
    decide::release,
    deed_of::{KeptResult, amendment_of, deed_of},
    events::event_of,
    limits::Limits,
    observed::Observed,
};

/// A run that came to its end, or of which no more will be known.
#[derive(Debug, Clone)]
pub(crate) struct Executed {
    /// How it ended; its result stands beside it.
    pub(crate) outcome: Outcome,
    pub(crate) result: RunResult,
    pub(crate) reporter: Reporter,
    pub(crate) times: Times,
    /// What was found beside the report.
    pub(crate) observed: Observed,
}

/// What is known of a run's result.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum RunResult {
    /// The result itself, and whether a part of it stands as text.
    Whole { value: Canonical, stands_as_text: bool },
    /// The digest of one that is not here.
    Digest { digest: Digest, stands_as_text: bool },
    /// There is none.
    Nothing,
}

impl RunResult {
    /// Takes the result out of an outcome, so that it is held once.
    pub(crate) fn taken_from(outcome: &mut Outcome) -> Self {
        match outcome {
            Outcome::Succeeded { result, .. } => Self::of(&Exact::from(result.take())),
            Outcome::Applied | Outcome::Failed(_) | Outcome::Unknown(_) => Self::Nothing,
        }
    }

    /// The whole result.
    pub(crate) fn of(result: &Exact) -> Self {
        let (value, stands_as_text) = (result.canonical().clone(), result.stands_as_text());
        Self::Whole { value, stands_as_text }
    }

    pub(crate) fn digest(&self) -> Option<Digest> {
        match self {
            Self::Whole { value, .. } => Some(value.digest()),
            Self::Digest { digest, .. } => Some(*digest),
            Self::Nothing => None,
        }
    }

    /// The result, where it is here.
    pub(crate) fn whole(&self) -> Option<&Arc<Value>> {
        match self {
            Self::Whole { value, .. } => Some(value.value()),
            Self::Digest { .. } | Self::Nothing => None,
        }
    }

    /// How much of it stands in the record.
    fn kept(&self, max_bytes: usize) -> Option<KeptResult> {
        match self {
            Self::Whole { value, .. } if value.text().len() <= max_bytes => {
                Some(KeptResult::Whole(value.clone()))
            }
            Self::Whole { .. } | Self::Digest { .. } | Self::Nothing => {
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
    awaits: Option<(KeptReport, ConnectorId)>,
}

impl Executed {
    /// Has the run judged and settles how much of its result is kept.
    pub(crate) fn witnessed(
        self,
        action: &Action,
        footprint: Option<&Footprint>,
        limits: &Limits,
    ) -> Witnessed {
        let finding = judge(&Evidence {
            outcome: &self.outcome,
            reporter: self.reporter,
            side_effect: action.side_effect,
            footprint,
            required_level: action.required_level,
            seen: self.observed.seen(),
            max_detail_bytes: limits.max_detail_bytes,
        });
        let kept = self.result.kept(limits.max_result_bytes);
        let lossy_numbers = match &self.result {
            RunResult::Whole { stands_as_text, .. } | RunResult::Digest { stands_as_text, .. } => {
                *stands_as_text
            }
            RunResult::Nothing => false,
        };
        Witnessed { executed: self, finding, kept, lossy_numbers, awaits: None }
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
        self.executed.result.whole()
    }

    /// The digest of the result, where there was one.
    pub(crate) fn result_digest(&self) -> Option<Digest> {
        self.executed.result.digest()
    }

    /// The same of a run whose evidence may still come, from this connector's database, and what of its
    /// report has to be kept for that.
    pub(crate) fn awaiting(self, awaits: Option<(KeptReport, ConnectorId)>) -> Self {
        Self { awaits, ..self }
    }

    /// Seals the action with this end.
    pub(crate) fn seal(
        &self,
        action: &Action,
        snapshot: &Snapshot,
        mint: &Mint<'_>,
    ) -> (Entry, Arc<Action>) {
        let was = action.state;
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
        let is_kept = was == State::Witnessing;
        entry.changes.reports = self.reports_behind((action.id, is_kept), mint.now());
        if action.status == Status::Failed {
            entry.changes.budgets = release(&action.charged, snapshot);
        }
        let deed = deed_of(&action, self.kept.as_ref(), Some(&self.finding), mint);
        action.deed = Some(deed.draft.id);
        entry.deeds.push(deed);
        entry.events.push(event_of(&action, EventType::ActionWitnessed, mint));
        let action = Arc::new(action);
        entry.changes.actions.push(Arc::clone(&action));
        (entry, action)
    }

    /// What becomes of the report of an action that is sealed at this moment, and whether one is kept by then.
    /// What is awaited takes the place of a report that is kept, so that a run whose own one is lost gets one
    /// first.
    fn reports_behind(
        &self,
        (action, is_kept): (ActionId, bool),
        since: Timestamp,
    ) -> Vec<ReportChange> {
        let Some((report, connector)) = &self.awaits else {
            return Vec::from_iter(is_kept.then_some(ReportChange::Removed(action)));
        };
        let first = (!is_kept).then(|| ReportChange::Kept(report.clone()));
        let (report, connector) = (report.clone(), *connector);
        let awaited = ReportChange::Awaited(AwaitedReport { report, connector, since });
        first.into_iter().chain([awaited]).collect()
    }

    /// Amends the deed of a sealed action by this end; nothing where the deed says the same.
    pub(crate) fn amend(&self, action: &Action, amends: Amended, mint: &Mint<'_>) -> Option<Entry> {
        let (ran, sealed) = (action.execution.as_ref()?, action.witness.as_ref()?);
        let (execution, witness) = (self.execution(action, mint.now()), self.witness(mint.now()));
        let execution = Some(execution).filter(|run| run.status != ran.status);
        if execution.is_none() && says_the_same(sealed, &witness) {
            return None;
        }
        let (deed, amended_at) = (mint.id(DeedId::from_uuid), mint.now());
        let amendment = Amendment { deed, amended_at, execution, witness };
        let deed = amendment_of(action, (&amendment, amends), &self.finding, mint);
        let amended = Action { amendment: Some(Box::new(amendment)), ..action.clone() };
        let changes = Arc::new(amended).into();
        Some(Entry { changes, deeds: vec![deed], ..Entry::default() })
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
            rows_changed: rows_changed(action, &self.executed.outcome),
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
            reasons: finding.reasons.iter().map(ToString::to_string).collect(),
            witnessed_at: now,
            detail_digest: finding.detail_digest(),
        }
    }
}

/// How many rows the run of a write says that it changed.
fn rows_changed(action: &Action, outcome: &Outcome) -> Option<u64> {
    match outcome {
        Outcome::Succeeded { report, .. } if action.side_effect != Some(SideEffect::Read) => {
            report.rows_changed
        }
        Outcome::Succeeded { .. } | Outcome::Applied | Outcome::Failed(_) | Outcome::Unknown(_) => {
            None
        }
    }
}

/// Whether two findings differ in their moments and words at most.
fn says_the_same(one: &Witness, other: &Witness) -> bool {
    let said = |it: &Witness| (it.level, it.verdict, it.method);
    said(one) == said(other) && one.reasons == other.reasons
}

fn code(fault: &Fault) -> ErrorCode {
    fault.code.clone()
}
