//! From the errors and refusals of the domain to errors of the interface: one match for each
//! enum, without a wildcard, so that a new case cannot silently become a 500.

use act::ActError;
use admin::{ChangeError, PolicyError};
use gate::{CancelError, Rejection, ReportError, SubmitError};
use ledger::{LedgerError, StoreDown, record::Action};
use model::{ApprovalStatus, DecisionCode, DecisionOutcome, EventType, Status, Timestamp};
use records::ReadError;

use crate::{
    catalogue::Code,
    error::ApiError,
    wire::{ActionView, case_results, findings},
};

impl From<StoreDown> for ApiError {
    fn from(down: StoreDown) -> Self {
        Self::unavailable_because("the record cannot be reached now", &down)
    }
}

impl From<LedgerError> for ApiError {
    fn from(error: LedgerError) -> Self {
        match error {
            LedgerError::Unavailable => {
                Self::unavailable("the record cannot be reached now; nothing was recorded")
            }
            LedgerError::InDoubt => Self::unavailable(
                "the record did not confirm the change in time; \
                 ask again with the same `Idempotency-Key`",
            ),
            LedgerError::Withheld => Self::unavailable(
                "this org's log does not hold what was signed for; nothing is recorded until its \
                 operator has settled that",
            ),
            // The ledger logged the cause where it met it.
            LedgerError::Fault => Self::internal(),
        }
    }
}

impl From<ReadError> for ApiError {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Down(down) => down.into(),
            ReadError::NotFound => Self::not_found(),
            ReadError::NoSuchLog => Self::invalid("log", error.to_string()),
            ReadError::Sizes { .. } => Self::new(Code::ValidationFailed, error.to_string()),
            ReadError::Withheld => Self::unavailable(
                "this org's log does not hold what was signed for; nothing is signed until its \
                 operator has settled that",
            ),
            ReadError::Seal(cause) => {
                Self::unavailable_because("the seal keys cannot sign now", &cause)
            }
            ReadError::Incomplete => {
                tracing::error!(%error, "a proof cannot be made");
                Self::internal()
            }
        }
    }
}

impl From<Rejection> for ApiError {
    fn from(rejection: Rejection) -> Self {
        let sentence = rejection.to_string();
        match rejection {
            Rejection::Invalid { param, sentence } => Self::invalid(param, sentence),
            Rejection::Unauthenticated => Self::unauthenticated("the API key is not valid"),
            Rejection::DifferentRequest(_) => {
                Self::new(Code::IdempotencyConflict, sentence).on("Idempotency-Key")
            }
            Rejection::IntentRequired => {
                Self::new(Code::IntentRequired, sentence).on("Service-Intent")
            }
            Rejection::IntentInvalid(_) => {
                Self::new(Code::IntentInvalid, sentence).on("Service-Intent")
            }
        }
    }
}

impl From<SubmitError> for ApiError {
    fn from(error: SubmitError) -> Self {
        match error {
            SubmitError::Rejected(rejection) => rejection.into(),
            SubmitError::Ledger(error) => error.into(),
            SubmitError::Store(down) => down.into(),
            SubmitError::ToolUnavailable => {
                Self::unavailable("the tool's connector cannot be read now; nothing was recorded")
            }
        }
    }
}

impl From<ReportError> for ApiError {
    fn from(error: ReportError) -> Self {
        let sentence = error.to_string();
        match error {
            ReportError::Invalid { param, sentence } => Self::invalid(param, sentence),
            ReportError::Unauthenticated => Self::unauthenticated("the API key is not valid"),
            ReportError::NotFound => Self::not_found(),
            ReportError::Conflict(sentence) => Self::new(Code::Conflict, sentence),
            ReportError::DifferentRequest => {
                Self::new(Code::IdempotencyConflict, sentence).on("Idempotency-Key")
            }
            ReportError::Ledger(error) => error.into(),
        }
    }
}

impl From<ActError> for ApiError {
    fn from(error: ActError) -> Self {
        match error {
            ActError::BadInput { param, expected } => {
                Self::invalid(param, format!("expected {expected}"))
            }
            ActError::NotFound(_) => Self::not_found(),
            ActError::Conflict(sentence) => Self::new(Code::Conflict, sentence),
            // The key was valid when the request came in and is not any more.
            ActError::NotAllowed => Self::unauthenticated("the API key is not valid"),
            ActError::Ledger(error) => error.into(),
        }
    }
}

impl From<ChangeError> for ApiError {
    fn from(error: ChangeError) -> Self {
        let sentence = error.to_string();
        match error {
            ChangeError::Act(error) => error.into(),
            ChangeError::NameTaken(_) => Self::new(Code::NameTaken, sentence).on("name"),
            ChangeError::PersonRequired => Self::new(Code::PersonRequired, sentence),
            ChangeError::Store(down) => down.into(),
        }
    }
}

impl From<PolicyError> for ApiError {
    fn from(error: PolicyError) -> Self {
        let sentence = error.to_string();
        match error {
            PolicyError::Change(error) => error.into(),
            PolicyError::Invalid(invalid) => Self::new(Code::PolicyInvalid, sentence)
                .on("document")
                .with_lint(findings(&invalid.findings)),
            PolicyError::BadTests(invalid) => {
                Self::invalid("suite", sentence).with_lint(findings(&invalid.findings))
            }
            PolicyError::TestsFailed(failed) => {
                Self::new(Code::PolicyTestsFailed, sentence).with_tests(case_results(&failed))
            }
            PolicyError::Active => Self::new(Code::PolicyActive, sentence),
            PolicyError::LimitReached(_) => Self::new(Code::LimitReached, sentence),
        }
    }
}

impl From<CancelError> for ApiError {
    fn from(error: CancelError) -> Self {
        let sentence = error.to_string();
        match error {
            CancelError::Unauthenticated => Self::unauthenticated("the API key is not valid"),
            CancelError::NotFound => Self::not_found(),
            CancelError::Conflict(sentence) => Self::new(Code::Conflict, sentence),
            CancelError::DifferentRequest => {
                Self::new(Code::IdempotencyConflict, sentence).on("Idempotency-Key")
            }
            CancelError::Ledger(error) => error.into(),
        }
    }
}

/// Returns the error that a refused action is answered with, nothing for one that was not refused.
pub(crate) fn refusal(action: &Action, now: Timestamp) -> Option<ApiError> {
    let code = match action.status {
        Status::Denied => code_of(action),
        Status::Executed
        | Status::Failed
        | Status::Authorized
        | Status::Processing
        | Status::PendingApproval
        | Status::Cancelled => return None,
    };
    // The decision's own sentence stands as it is; only what has none is told in general words.
    let sentence = match action.decision.outcome {
        DecisionOutcome::Deny => action.decision.message.clone(),
        DecisionOutcome::Allow | DecisionOutcome::RequireApproval => None,
    };
    let sentence = sentence.unwrap_or_else(|| code.entry().title.to_owned());
    let shown = serde_json::to_value(ActionView::from(action)).unwrap_or_default();
    let error = ApiError::new(code, sentence).with_action(shown);
    match action.decision.retry_at {
        Some(at) => Some(error.retry_after(seconds_until(at, now))),
        None if code == Code::BudgetExceeded => Some(error.retry_after(1)),
        None => Some(error),
    }
}

/// Returns the whole seconds after which the moment has certainly come.
fn seconds_until(at: Timestamp, now: Timestamp) -> u64 {
    let left = at.since(now);
    left.as_secs() + u64::from(left.subsec_nanos() > 0)
}

fn code_of(action: &Action) -> Code {
    match action.decision.outcome {
        DecisionOutcome::Deny => action.decision.code.map_or(Code::PolicyDenied, denial),
        DecisionOutcome::Allow | DecisionOutcome::RequireApproval => {
            let status = action.approval.as_ref().map(|approval| approval.status);
            status.map_or(Code::PolicyDenied, withheld)
        }
    }
}

fn denial(code: DecisionCode) -> Code {
    match code {
        // A denial by the policy's default is a denial by the policy; the code of a question to
        // a person is no denial's.
        DecisionCode::PolicyDenied
        | DecisionCode::DefaultDenied
        | DecisionCode::ApprovalRequired => Code::PolicyDenied,
        DecisionCode::BudgetExceeded => Code::BudgetExceeded,
        DecisionCode::AgentStopped => Code::AgentStopped,
        DecisionCode::AgentSuspended => Code::AgentSuspended,
        DecisionCode::OrgStopped => Code::OrgStopped,
        DecisionCode::ToolUnknown => Code::ToolUnknown,
        DecisionCode::ToolChanged => Code::ToolChanged,
        DecisionCode::ConnectorDisabled => Code::ConnectorDisabled,
        DecisionCode::PolicyUnavailable => Code::PolicyUnavailable,
    }
}

/// Returns the code of an action that waited for a person and was not let through.
fn withheld(status: ApprovalStatus) -> Code {
    match status {
        ApprovalStatus::Denied => Code::ApprovalDenied,
        ApprovalStatus::Expired => Code::ApprovalExpired,
        ApprovalStatus::Voided => Code::ApprovalVoided,
        // Approved, and refused by the policy as it stood at the release; the other two are never
        // the end of a denied action.
        ApprovalStatus::Approved | ApprovalStatus::Pending | ApprovalStatus::Cancelled => {
            Code::PolicyDenied
        }
    }
}

/// Returns the error that a Stop ends a wait with.
pub(crate) fn stopped(kind: EventType) -> ApiError {
    if kind == EventType::OrgStopped {
        return ApiError::new(Code::OrgStopped, "every agent of the org is stopped");
    }
    ApiError::new(Code::AgentStopped, "the agent is stopped")
}
