//! What an edge says of the call that it was authorised to run.

use std::{sync::Arc, time::Duration};

use crypto::json::Exact;
use ledger::{Entry, LedgerError, Needs, Request, Snapshot, record::Action};
use model::{
    ActionId, AgentId, Digest, ErrorCode, ExecutionErrorCode, ExecutionStatus, Fault, KeyId, Mint,
    Mode, OrgId, Outcome, Report, State, Timestamp,
};
use serde_json::{Value, json};
use witness::Reporter;

use crate::{
    gate::Gate,
    limits::Limits,
    observed::Observed,
    points::pass,
    repeat::{Named, Repeat, Sender},
    settle::{Executed, RunResult, Times, needs_of_end},
};

/// How far an edge's clock may be off.
const SKEW: Duration = Duration::from_mins(1);

/// An edge's report.
#[derive(Debug, Clone)]
pub struct EdgeReport {
    /// The org that the key belongs to.
    pub org: OrgId,
    /// The agent that the key belongs to.
    pub agent: AgentId,
    /// The key.
    pub key: KeyId,
    /// The action that is reported on.
    pub action: ActionId,
    /// How the run went: `succeeded`, `failed` or `unknown`.
    pub status: ExecutionStatus,
    /// When it began.
    pub started_at: Timestamp,
    /// When it ended.
    pub finished_at: Timestamp,
    /// Its result.
    pub result: EdgeResult,
    /// What went wrong, as a code.
    pub error_code: Option<ErrorCode>,
    /// What went wrong, as a sentence.
    pub error_message: Option<String>,
    /// The key that names this report for 24 hours.
    pub idempotency_key: Option<String>,
}

/// What an edge sends of a result.
#[derive(Debug, Clone, PartialEq)]
pub enum EdgeResult {
    /// The result itself, and the digest that the edge computed, if it did.
    Whole(Exact, Option<Digest>),
    /// The digest of a result that is too large to send.
    Digest(Digest),
    /// Nothing; only for a run that did not succeed.
    Nothing,
}

/// Why a report was not taken.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ReportError {
    /// A part of it is wrong.
    #[error("{sentence}")]
    Invalid {
        /// The part.
        param: &'static str,
        /// What is wrong and what would have been accepted.
        sentence: String,
    },
    /// The key is not valid any more.
    #[error("the API key is missing, wrong, revoked or expired")]
    Unauthenticated,
    /// There is no such action of this agent.
    #[error("there is no such action")]
    NotFound,
    /// The action takes no report.
    #[error("{0}")]
    Conflict(&'static str),
    /// The idempotency key names a different report.
    #[error("this `Idempotency-Key` was used within the last 24 hours for a different request")]
    DifferentRequest,
    /// The record cannot be reached.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

/// An action that a request ended, and whether it was this one.
#[derive(Debug)]
pub enum Ended {
    /// The action was ended now.
    Now(Arc<Action>),
    /// The same request ended it before; this is how it stands.
    Repeat(Arc<Action>),
}

impl Gate {
    /// Takes an edge's report: witnesses and seals its action.
    pub async fn report(&self, report: EdgeReport) -> Result<Ended, ReportError> {
        check(&report, self.parts.limits.max_result_bytes)?;
        pass("edge.report_parsed");
        let (org, id) = (report.org, report.action);
        let limits = self.parts.limits;
        let fingerprint = fingerprint(&report);
        let take = Take { report, fingerprint, limits };
        match self.parts.ledger.enter(org, take).await? {
            Taken::Refused(error) => Err(error),
            Taken::Sealed(action) => Ok(Ended::Now(action)),
            Taken::Repeat => Ok(Ended::Repeat(self.as_it_stands(org, id).await?)),
        }
    }

    /// The action that an earlier request was about.
    pub(crate) async fn as_it_stands(
        &self,
        org: OrgId,
        id: ActionId,
    ) -> Result<Arc<Action>, LedgerError> {
        match self.parts.store.action(org, id).await {
            Ok(Some(action)) => Ok(Arc::new(action)),
            // The request's name and the end of its action are one transaction.
            Ok(None) => Err(LedgerError::Fault),
            Err(_) => Err(LedgerError::Unavailable),
        }
    }
}

/// Checks what needs no snapshot.
fn check(report: &EdgeReport, max_result_bytes: usize) -> Result<(), ReportError> {
    let invalid = |param, sentence: String| Err(ReportError::Invalid { param, sentence });
    if report.status == ExecutionStatus::Running {
        let sentence = "expected `succeeded`, `failed` or `unknown`";
        return invalid("status", sentence.to_owned());
    }
    if report.finished_at < report.started_at {
        return invalid("finished_at", "expected `started_at` or a later time".to_owned());
    }
    let succeeded = report.status == ExecutionStatus::Succeeded;
    let told = [
        ("error_code", report.error_code.is_some()),
        ("error_message", report.error_message.is_some()),
    ];
    if let Some((member, _)) = told.into_iter().find(|(_, is_told)| succeeded && *is_told) {
        return invalid(member, format!("expected no `{member}` in a report of success"));
    }
    match &report.result {
        EdgeResult::Nothing if succeeded => invalid(
            "result",
            "expected `result` or `result_digest` in a report of \
                               success"
                .to_owned(),
        ),
        EdgeResult::Whole(value, told) => {
            if value.canonical().text().len() > max_result_bytes {
                let sentence = format!(
                    "expected at most {max_result_bytes} bytes; send only `result_digest` for a larger result"
                );
                return invalid("result", sentence);
            }
            if told.is_some_and(|told| !value.has_digest(told)) {
                let digest = value.canonical().digest();
                let sentence =
                    format!("expected {digest}, the digest of the canonical form of `result`");
                return invalid("result_digest", sentence);
            }
            Ok(())
        }
        EdgeResult::Digest(_) | EdgeResult::Nothing => Ok(()),
    }
}

/// What a repeat under the same idempotency key must be equal in.
fn fingerprint(report: &EdgeReport) -> Digest {
    let result = match &report.result {
        EdgeResult::Whole(value, _) => json!(value.canonical().digest()),
        EdgeResult::Digest(digest) => json!(digest),
        EdgeResult::Nothing => Value::Null,
    };
    let whole = json!([
        report.action,
        report.status,
        report.started_at,
        report.finished_at,
        result,
        report.error_code,
        report.error_message,
    ]);
    crypto::sha256(crypto::json::canonical(&whole))
}

struct Take {
    report: EdgeReport,
    fingerprint: Digest,
    limits: Limits,
}

enum Taken {
    Refused(ReportError),
    Sealed(Arc<Action>),
    Repeat,
}

impl Take {
    /// The report under the name that its sender gave it.
    fn named(&self) -> Option<Named> {
        let key = self.report.idempotency_key.as_ref()?;
        let sender = Sender::Agent(self.report.agent);
        Some(Named::new("result", sender, key, (self.report.action, self.fingerprint)))
    }

    /// Refuses a key that is not valid any more. A stopped agent's report is still taken:
    /// evidence is not thrown away.
    fn authenticated(&self, snapshot: &Snapshot) -> Result<(), ReportError> {
        let valid = snapshot.key(self.report.key).is_some_and(|key| key.is_valid(snapshot.now()));
        if valid { Ok(()) } else { Err(ReportError::Unauthenticated) }
    }

    /// The action if this report may end it.
    fn open<'s>(&self, snapshot: &'s Snapshot) -> Result<&'s Action, ReportError> {
        let own = |action: &&Arc<Action>| action.agent.id == self.report.agent;
        let action =
            snapshot.action(self.report.action).filter(own).ok_or(ReportError::NotFound)?;
        match (action.mode, action.state) {
            (Mode::Gateway, _) => Err(ReportError::Conflict(
                "The service runs this action itself and accepts no report for it.",
            )),
            (Mode::Proxy, State::PendingApproval) => {
                Err(ReportError::Conflict("The action is still waiting for a person to decide."))
            }
            (Mode::Proxy, State::Executing) => self.in_time(action, snapshot.now()),
            (Mode::Proxy, State::Sealed | State::Cancelled | State::Witnessing) => Err(
                ReportError::Conflict("The action has already ended; only one report is accepted."),
            ),
        }
    }

    fn in_time<'s>(&self, action: &'s Action, now: Timestamp) -> Result<&'s Action, ReportError> {
        let invalid = |param, sentence: String| Err(ReportError::Invalid { param, sentence });
        if action.deadline.is_none_or(|deadline| deadline <= now) {
            return Err(ReportError::Conflict("The deadline for the report has passed."));
        }
        // What a person was asked about ran after the yes.
        let asked = action.approval.as_ref().and_then(|approval| approval.decided_at);
        let from = asked.unwrap_or(action.created_at);
        if self.report.started_at < from.before(SKEW) {
            let sentence = format!("expected {from} or a later time");
            return invalid("started_at", sentence);
        }
        if self.report.finished_at > now + SKEW {
            return invalid(
                "finished_at",
                format!("expected a time that is not later than now, {now}"),
            );
        }
        Ok(action)
    }

    fn executed(&self) -> Executed {
        let report = &self.report;
        let fault = || {
            let code = ExecutionErrorCode::ToolError.into();
            let message = report.error_message.clone().unwrap_or_default();
            Fault { code: report.error_code.clone().unwrap_or(code), message }
        };
        let result = match (&report.result, report.status) {
            (EdgeResult::Whole(value, _), ExecutionStatus::Succeeded) => RunResult::of(value),
            (EdgeResult::Digest(digest), _) => {
                RunResult::Digest { digest: *digest, stands_as_text: false }
            }
            // What comes with a run that did not succeed is no result.
            (EdgeResult::Whole(..) | EdgeResult::Nothing, _) => RunResult::Nothing,
        };
        let outcome = match report.status {
            ExecutionStatus::Succeeded => {
                Outcome::Succeeded { result: Value::Null, report: Report::default() }
            }
            ExecutionStatus::Failed => Outcome::Failed(fault()),
            ExecutionStatus::Unknown | ExecutionStatus::Running => Outcome::Unknown(fault()),
        };
        let (started_at, finished_at) = (report.started_at, report.finished_at);
        let times = Times::Told { started_at, finished_at };
        let observed = Observed::Nothing;
        Executed { outcome, result, reporter: Reporter::Edge, times, observed }
    }
}

impl Request for Take {
    type Answer = Taken;

    fn needs(&self, snapshot: &Snapshot) -> Needs {
        let mut needs = needs_of_end(self.report.action, snapshot);
        needs.keys.insert(self.report.key);
        needs.idempotency_keys.extend(self.named().map(|named| named.need()));
        needs
    }

    fn decide(&self, snapshot: &Snapshot, mint: &Mint<'_>) -> (Entry, Taken) {
        if let Err(error) = self.authenticated(snapshot) {
            return (Entry::nothing(), Taken::Refused(error));
        }
        let named = self.named();
        match named.as_ref().map_or(Repeat::First, |named| named.repeat(snapshot)) {
            Repeat::First => {}
            Repeat::Same => return (Entry::nothing(), Taken::Repeat),
            Repeat::Different => {
                return (Entry::nothing(), Taken::Refused(ReportError::DifferentRequest));
            }
        }
        let action = match self.open(snapshot) {
            Ok(action) => action,
            Err(error) => return (Entry::nothing(), Taken::Refused(error)),
        };
        let witnessed = self.executed().witnessed(action, None, &self.limits);
        let (mut entry, sealed) = witnessed.seal(action, snapshot, mint);
        entry.changes.idempotency_keys.extend(named.map(|named| named.row(mint)));
        (entry, Taken::Sealed(sealed))
    }
}
