//! From the errors and refusals of the domain to errors of the interface: one match for each
//! enum, without a wildcard, so that a new case cannot silently become a 500.

use act::ActError;
use admin::{ChangeError, PolicyError};
use gate::{CancelError, Rejection, ReportError, SubmitError};
use ledger::{LedgerError, StoreDown, record::Action};
use model::{ApprovalStatus, DecisionCode, DecisionOutcome, EventType, Status, Timestamp};
use records::ReadError;
use web::{ApiError, Reply, catalogue::Code};

use crate::wire::{
    action::ActionView,
    policies::{case_results, findings},
};

/// An error of a use case that the interface has an error for.
pub(crate) trait IntoApiError {
    /// Returns the error as callers see it.
    fn into_api_error(self) -> ApiError;
}

/// What a handler gives back.
pub(crate) type Answer = Result<Reply, CallError>;

/// Why a handler could not do what it was asked: any error of a use case, or one of its own.
#[derive(Debug)]
pub(crate) struct CallError(ApiError);

impl<E: IntoApiError> From<E> for CallError {
    fn from(error: E) -> Self {
        Self(error.into_api_error())
    }
}

impl From<CallError> for ApiError {
    fn from(error: CallError) -> Self {
        error.0
    }
}

impl IntoApiError for ApiError {
    fn into_api_error(self) -> ApiError {
        self
    }
}

impl IntoApiError for StoreDown {
    fn into_api_error(self) -> ApiError {
        ApiError::unavailable_because("the record cannot be reached now", &self)
    }
}

impl IntoApiError for LedgerError {
    fn into_api_error(self) -> ApiError {
        match self {
            LedgerError::Unavailable => {
                ApiError::unavailable("the record cannot be reached now; nothing was recorded")
            }
            LedgerError::InDoubt => ApiError::unavailable(
                "the record did not confirm the change in time; \
                 ask again with the same `Idempotency-Key`",
            ),
            LedgerError::Withheld => ApiError::unavailable(
                "this org's log does not hold what was signed for; nothing is recorded until its \
                 operator has settled that",
            ),
            // The ledger logged the cause where it met it.
            LedgerError::Fault => ApiError::internal(),
        }
    }
}

impl IntoApiError for ReadError {
    fn into_api_error(self) -> ApiError {
        match self {
            ReadError::Down(down) => down.into_api_error(),
            ReadError::NotFound => ApiError::not_found(),
            ReadError::NoSuchLog => ApiError::invalid("log", self.to_string()),
            ReadError::Sizes { .. } => ApiError::new(Code::ValidationFailed, self.to_string()),
            ReadError::Withheld => ApiError::unavailable(
                "this org's log does not hold what was signed for; nothing is signed until its \
                 operator has settled that",
            ),
            ReadError::Seal(cause) => {
                ApiError::unavailable_because("the seal keys cannot sign now", &cause)
            }
            ReadError::Incomplete => {
                tracing::error!(error = %self, "a proof cannot be made");
                ApiError::internal()
            }
        }
    }
}

impl IntoApiError for Rejection {
    fn into_api_error(self) -> ApiError {
        let sentence = self.to_string();
        match self {
            Rejection::Invalid { param, sentence } => ApiError::invalid(param, sentence),
            Rejection::Unauthenticated => ApiError::unauthenticated("the API key is not valid"),
            Rejection::DifferentRequest(_) => {
                ApiError::new(Code::IdempotencyConflict, sentence).on("Idempotency-Key")
            }
            Rejection::IntentRequired => {
                ApiError::new(Code::IntentRequired, sentence).on("Service-Intent")
            }
            Rejection::IntentInvalid(_) => {
                ApiError::new(Code::IntentInvalid, sentence).on("Service-Intent")
            }
        }
    }
}

impl IntoApiError for SubmitError {
    fn into_api_error(self) -> ApiError {
        match self {
            SubmitError::Rejected(rejection) => rejection.into_api_error(),
            SubmitError::Ledger(error) => error.into_api_error(),
            SubmitError::Store(down) => down.into_api_error(),
            SubmitError::ToolUnavailable => ApiError::unavailable(
                "the tool's connector cannot be read now; nothing was recorded",
            ),
        }
    }
}

impl IntoApiError for ReportError {
    fn into_api_error(self) -> ApiError {
        let sentence = self.to_string();
        match self {
            ReportError::Invalid { param, sentence } => ApiError::invalid(param, sentence),
            ReportError::Unauthenticated => ApiError::unauthenticated("the API key is not valid"),
            ReportError::NotFound => ApiError::not_found(),
            ReportError::Conflict(sentence) => ApiError::new(Code::Conflict, sentence),
            ReportError::DifferentRequest => {
                ApiError::new(Code::IdempotencyConflict, sentence).on("Idempotency-Key")
            }
            ReportError::Ledger(error) => error.into_api_error(),
        }
    }
}

impl IntoApiError for ActError {
    fn into_api_error(self) -> ApiError {
        match self {
            ActError::BadInput { param, expected } => {
                ApiError::invalid(param, format!("expected {expected}"))
            }
            ActError::NotFound(_) => ApiError::not_found(),
            ActError::Conflict(sentence) => ApiError::new(Code::Conflict, sentence),
            // The key was valid when the request came in and is not any more.
            ActError::NotAllowed => ApiError::unauthenticated("the API key is not valid"),
            ActError::Ledger(error) => error.into_api_error(),
        }
    }
}

impl IntoApiError for ChangeError {
    fn into_api_error(self) -> ApiError {
        let sentence = self.to_string();
        match self {
            ChangeError::Act(error) => error.into_api_error(),
            ChangeError::NameTaken(_) => ApiError::new(Code::NameTaken, sentence).on("name"),
            ChangeError::PersonRequired => ApiError::new(Code::PersonRequired, sentence),
            ChangeError::Store(down) => down.into_api_error(),
        }
    }
}

impl IntoApiError for PolicyError {
    fn into_api_error(self) -> ApiError {
        let sentence = self.to_string();
        match self {
            PolicyError::Change(error) => error.into_api_error(),
            PolicyError::Invalid(invalid) => ApiError::new(Code::PolicyInvalid, sentence)
                .on("document")
                .with_lint(findings(&invalid.findings)),
            PolicyError::BadTests(invalid) => {
                ApiError::invalid("suite", sentence).with_lint(findings(&invalid.findings))
            }
            PolicyError::TestsFailed(failed) => {
                ApiError::new(Code::PolicyTestsFailed, sentence).with_tests(case_results(&failed))
            }
            PolicyError::Active => ApiError::new(Code::PolicyActive, sentence),
            PolicyError::LimitReached(_) => ApiError::new(Code::LimitReached, sentence),
        }
    }
}

impl IntoApiError for CancelError {
    fn into_api_error(self) -> ApiError {
        let sentence = self.to_string();
        match self {
            CancelError::Unauthenticated => ApiError::unauthenticated("the API key is not valid"),
            CancelError::NotFound => ApiError::not_found(),
            CancelError::Conflict(sentence) => ApiError::new(Code::Conflict, sentence),
            CancelError::DifferentRequest => {
                ApiError::new(Code::IdempotencyConflict, sentence).on("Idempotency-Key")
            }
            CancelError::Ledger(error) => error.into_api_error(),
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
