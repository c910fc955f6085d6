//! From the errors and refusals of the domain to errors of the interface: one match for each
//! enum, without a wildcard, so that a new case cannot silently become a 500.

use std::time::Duration;

use act::ActError;
use admin::{ChangeError, ConnectorError, PolicyError, UnfitError};
use delivery::{UrlError, WebhookError};
use gate::{CancelError, JudgeError, KNOWN_FOR, Rejection, ReportError, SubmitError};
use ledger::{LedgerError, StoreDown, record::Action};
use model::{ApprovalStatus, DecisionCode, DecisionOutcome, EventType, Status, Timestamp};
use people::SignInError;
use records::ReadError;
use serde_json::json;
use web::{ApiError, Code, Reply, codes};

use crate::{
    catalogue::{actions, approvals, changes, sign_in},
    wire::{
        action::ActionView,
        policies::{case_results, findings},
    },
};

/// An error of a use case that the interface has an error for.
pub(crate) trait IntoApiError {
    /// The error as callers see it.
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
        ApiError::unavailable_because("the database cannot be reached at the moment", &self)
    }
}

impl IntoApiError for LedgerError {
    fn into_api_error(self) -> ApiError {
        match self {
            LedgerError::Unavailable => ApiError::unavailable(
                "the database cannot be reached at the moment; nothing was recorded",
            ),
            LedgerError::Busy => {
                ApiError::unavailable("this org is busy at the moment; nothing was recorded")
            }
            LedgerError::InDoubt => ApiError::unavailable(
                "the database did not confirm the change in time; send the request again with the \
                 same `Idempotency-Key`",
            ),
            LedgerError::Withheld => ApiError::unavailable(
                "this org's log does not contain everything that was signed; nothing is recorded \
                 until the operator has resolved this",
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
            ReadError::Sizes { .. } => ApiError::new(codes::VALIDATION_FAILED, self.to_string()),
            ReadError::Places { .. } => ApiError::invalid("from", self.to_string()),
            ReadError::Missing { .. } => ApiError::new(codes::NOT_FOUND, self.to_string()),
            ReadError::Withheld => ApiError::unavailable(
                "this org's log does not contain everything that was signed; nothing is signed \
                 until the operator has resolved this",
            ),
            ReadError::Seal(cause) => {
                ApiError::unavailable_because("the seal keys cannot sign at the moment", &cause)
            }
            ReadError::Incomplete => {
                tracing::error!(error = %self, "a proof cannot be created");
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
            Rejection::PolicyUnavailable => ApiError::new(actions::POLICY_UNAVAILABLE, sentence),
            Rejection::DifferentRequest(_) => {
                ApiError::new(actions::IDEMPOTENCY_CONFLICT, sentence).on("Idempotency-Key")
            }
            Rejection::IntentRequired => {
                ApiError::new(actions::INTENT_REQUIRED, sentence).on("Service-Intent")
            }
            Rejection::IntentInvalid(_) => {
                ApiError::new(actions::INTENT_INVALID, sentence).on("Service-Intent")
            }
            Rejection::IntentReplay(_) => {
                ApiError::new(actions::INTENT_REPLAY, sentence).on("Service-Intent")
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
                "the tool's connector cannot be read at the moment; nothing was recorded",
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
            ReportError::Conflict(sentence) => ApiError::new(changes::CONFLICT, sentence),
            ReportError::DifferentRequest => {
                ApiError::new(actions::IDEMPOTENCY_CONFLICT, sentence).on("Idempotency-Key")
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
            ActError::Conflict(sentence) => ApiError::new(changes::CONFLICT, sentence),
            ActError::Stale { param, sentence } => {
                ApiError::new(changes::CONFLICT, sentence).on(param)
            }
            ActError::RoleRequired => ApiError::new(changes::ROLE_REQUIRED, self.to_string()),
            // The credential was valid when the request came in and is not any more.
            ActError::NotAllowed => ApiError::unauthenticated("the credential is not valid"),
            ActError::Ledger(error) => error.into_api_error(),
        }
    }
}

impl IntoApiError for ChangeError {
    fn into_api_error(self) -> ApiError {
        let sentence = self.to_string();
        match self {
            ChangeError::Act(error) => error.into_api_error(),
            ChangeError::NameTaken(_) => ApiError::new(changes::NAME_TAKEN, sentence).on("name"),
            ChangeError::LimitReached(_) => ApiError::new(changes::LIMIT_REACHED, sentence),
            ChangeError::TooOften { left, .. } => {
                ApiError::rate_limited(sentence).retry_after(whole_seconds(left))
            }
            ChangeError::OwnersGive(param) => {
                ApiError::new(changes::ROLE_REQUIRED, sentence).on(param)
            }
            ChangeError::PersonRequired => ApiError::new(changes::PERSON_REQUIRED, sentence),
            ChangeError::AlreadyMember => ApiError::new(changes::ALREADY_MEMBER, sentence),
            ChangeError::LastOwner => ApiError::new(changes::LAST_OWNER, sentence),
            ChangeError::SelfChange => ApiError::new(changes::SELF_CHANGE, sentence),
            ChangeError::InviteGone => ApiError::new(changes::INVITE_EXPIRED, sentence),
            ChangeError::Store(down) => down.into_api_error(),
        }
    }
}

impl IntoApiError for PolicyError {
    fn into_api_error(self) -> ApiError {
        let sentence = self.to_string();
        match self {
            PolicyError::Change(error) => error.into_api_error(),
            PolicyError::Invalid(invalid) => ApiError::new(changes::POLICY_INVALID, sentence)
                .on("document")
                .with_member("lint", findings(&invalid.findings)),
            PolicyError::BadTests(invalid) => ApiError::invalid("suite", sentence)
                .with_member("lint", findings(&invalid.findings)),
            PolicyError::TestsFailed(failed) => {
                ApiError::new(changes::POLICY_TESTS_FAILED, sentence)
                    .with_member("tests", case_results(&failed))
            }
            PolicyError::OwnProposal => ApiError::new(approvals::SELF_APPROVAL, sentence),
            PolicyError::Active => ApiError::new(changes::POLICY_ACTIVE, sentence),
            PolicyError::Stopped => ApiError::unavailable(sentence),
            PolicyError::LimitReached(_) => ApiError::new(changes::LIMIT_REACHED, sentence),
        }
    }
}

impl IntoApiError for ConnectorError {
    fn into_api_error(self) -> ApiError {
        match self {
            ConnectorError::Change(error) => error.into_api_error(),
            ConnectorError::Unfit(error) => error.into_api_error(),
            ConnectorError::NoChangeLog(_) => ApiError::new(changes::CONFLICT, self.to_string()),
            ConnectorError::NotReady(ref missing) => {
                let missing = json!(missing);
                ApiError::new(changes::WITNESS_NOT_READY, self.to_string())
                    .with_member("missing", missing)
            }
            // Which key of the vault is missing is nothing for callers.
            ConnectorError::Vault(error) => {
                tracing::error!(%error, "a connector's credential cannot be decrypted or stored");
                ApiError::internal()
            }
        }
    }
}

impl IntoApiError for UnfitError {
    fn into_api_error(self) -> ApiError {
        let sentence = self.to_string();
        match self {
            UnfitError::UnknownKind(_) => {
                ApiError::new(changes::CONNECTOR_TYPE_UNKNOWN, sentence).on("type")
            }
            UnfitError::Config(findings) => {
                ApiError::invalid("config", sentence).with_member("findings", json!(findings))
            }
            UnfitError::Egress(_) => ApiError::new(changes::EGRESS_REFUSED, sentence).on("config"),
            UnfitError::Unreachable(_) => {
                ApiError::new(changes::CONNECTOR_UNREACHABLE, sentence).on("config")
            }
        }
    }
}

impl IntoApiError for WebhookError {
    fn into_api_error(self) -> ApiError {
        let sentence = self.to_string();
        match self {
            WebhookError::Act(error) => error.into_api_error(),
            WebhookError::Url(UrlError::Malformed(expected)) => {
                ApiError::invalid("url", format!("expected {expected}"))
            }
            WebhookError::Url(UrlError::Refused(sentence)) => {
                ApiError::new(changes::EGRESS_REFUSED, sentence).on("url")
            }
            WebhookError::LimitReached(_) => ApiError::new(changes::LIMIT_REACHED, sentence),
            WebhookError::TooOften(_) => ApiError::rate_limited(sentence).retry_after(60),
            WebhookError::Vault(error) => {
                tracing::error!(%error, "a webhook endpoint's secret cannot be decrypted or stored");
                ApiError::internal()
            }
            WebhookError::Store(down) => down.into_api_error(),
        }
    }
}

impl IntoApiError for SignInError {
    fn into_api_error(self) -> ApiError {
        let sentence = self.to_string();
        match self {
            SignInError::Unauthenticated => ApiError::unauthenticated(
                "the link or the code is wrong, or was requested in another browser",
            ),
            SignInError::Expired => ApiError::new(sign_in::CHALLENGE_EXPIRED, sentence),
            SignInError::TooMany(left) => {
                ApiError::rate_limited(sentence).retry_after(left.as_secs())
            }
            SignInError::Down(down) => down.into_api_error(),
        }
    }
}

impl IntoApiError for CancelError {
    fn into_api_error(self) -> ApiError {
        let sentence = self.to_string();
        match self {
            CancelError::Unauthenticated => {
                ApiError::unauthenticated("the credential is not valid")
            }
            CancelError::RoleRequired => ApiError::new(changes::ROLE_REQUIRED, sentence),
            CancelError::NotFound => ApiError::not_found(),
            CancelError::Conflict(sentence) => ApiError::new(changes::CONFLICT, sentence),
            CancelError::DifferentRequest => {
                ApiError::new(actions::IDEMPOTENCY_CONFLICT, sentence).on("Idempotency-Key")
            }
            CancelError::Ledger(error) => error.into_api_error(),
        }
    }
}

impl IntoApiError for JudgeError {
    fn into_api_error(self) -> ApiError {
        let sentence = self.to_string();
        match self {
            JudgeError::Unauthenticated => {
                ApiError::unauthenticated("the session or the link is not valid")
            }
            JudgeError::LinkUsed | JudgeError::LinkExpired => {
                ApiError::new(approvals::LINK_USED, sentence)
            }
            JudgeError::SessionRequired => {
                ApiError::new(sign_in::REAUTHENTICATION_REQUIRED, sentence)
            }
            JudgeError::NotFound => ApiError::not_found(),
            JudgeError::NotAnApprover => ApiError::new(approvals::NOT_AN_APPROVER, sentence),
            JudgeError::Excluded => ApiError::new(approvals::SELF_APPROVAL, sentence),
            JudgeError::Stale => {
                ApiError::new(approvals::APPROVAL_STALE, sentence).on("context_digest")
            }
            JudgeError::TargetChanged => ApiError::new(approvals::APPROVAL_STALE, sentence),
            JudgeError::Decided { .. } => ApiError::new(approvals::APPROVAL_DECIDED, sentence),
            JudgeError::Expired => ApiError::gone(actions::APPROVAL_EXPIRED, sentence),
            JudgeError::Conflict(sentence) => ApiError::new(changes::CONFLICT, sentence),
            JudgeError::ToolUnavailable => ApiError::unavailable(sentence),
            JudgeError::Store(down) => down.into_api_error(),
            JudgeError::Ledger(error) => error.into_api_error(),
        }
    }
}

/// Whether a call is sent for the first time, or again under the `Idempotency-Key` that names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sent {
    First,
    Again,
}

/// The error that a refused action is answered with, nothing for one that was not refused.
pub(crate) fn refusal(action: &Action, sent: Sent, now: Timestamp) -> Option<ApiError> {
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
    let mut sentence = sentence.unwrap_or_else(|| code.row().title.to_owned());
    // No repeat under the same key is ever admitted, so a client must not wait for the budget again.
    let retry_at = match (action.decision.retry_at, sent) {
        (Some(resets_at), Sent::Again) if resets_at <= now => {
            sentence.push_str(KEY_IS_TAKEN);
            Some(action.created_at + KNOWN_FOR)
        }
        (retry_at, Sent::First | Sent::Again) => retry_at,
    };
    let shown = serde_json::to_value(ActionView::from(action)).unwrap_or_default();
    let mut error = ApiError::new(code, sentence).with_member("action", shown);
    if code == actions::TOOL_UNKNOWN {
        error = error.on("tool");
    }
    match retry_at {
        Some(at) => Some(error.retry_after(seconds_until(at, now))),
        None if code == actions::BUDGET_EXCEEDED => Some(error.retry_after(1)),
        None => Some(error),
    }
}

/// What a repeat is told once the budget that refused the call has reset.
const KEY_IS_TAKEN: &str = " The budget has reset since then, and this `Idempotency-Key` returns \
    the refusal: send the call again with a new key.";

/// The whole seconds after which the moment has certainly come.
fn seconds_until(at: Timestamp, now: Timestamp) -> u64 {
    whole_seconds(at.since(now))
}

/// The seconds after which it is over.
fn whole_seconds(left: Duration) -> u64 {
    left.as_secs() + u64::from(left.subsec_nanos() > 0)
}

fn code_of(action: &Action) -> Code {
    match action.decision.outcome {
        DecisionOutcome::Deny => action.decision.code.map_or(actions::POLICY_DENIED, denial),
        DecisionOutcome::Allow | DecisionOutcome::RequireApproval => {
            let status = action.approval.as_ref().map(|approval| approval.status);
            status.map_or(actions::POLICY_DENIED, withheld)
        }
    }
}

fn denial(code: DecisionCode) -> Code {
    match code {
        // A denial by the policy's default is a denial by the policy; the code of a question to
        // a person is no denial's.
        DecisionCode::PolicyDenied
        | DecisionCode::DefaultDenied
        | DecisionCode::ApprovalRequired => actions::POLICY_DENIED,
        DecisionCode::BudgetExceeded => actions::BUDGET_EXCEEDED,
        DecisionCode::AgentStopped => actions::AGENT_STOPPED,
        DecisionCode::AgentSuspended => actions::AGENT_SUSPENDED,
        DecisionCode::OrgStopped => actions::ORG_STOPPED,
        DecisionCode::ToolUnknown => actions::TOOL_UNKNOWN,
        DecisionCode::ToolChanged => actions::TOOL_CHANGED,
        DecisionCode::ConnectorDisabled => actions::CONNECTOR_DISABLED,
        DecisionCode::PolicyUnavailable => actions::POLICY_UNAVAILABLE,
    }
}

/// The code of an action that waited for a person and was not let through.
fn withheld(status: ApprovalStatus) -> Code {
    match status {
        ApprovalStatus::Denied => actions::APPROVAL_DENIED,
        ApprovalStatus::Expired => actions::APPROVAL_EXPIRED,
        ApprovalStatus::Voided => actions::APPROVAL_VOIDED,
        // Approved, and refused by the policy as it stood at the release; the other two are never
        // the end of a denied action.
        ApprovalStatus::Approved | ApprovalStatus::Pending | ApprovalStatus::Cancelled => {
            actions::POLICY_DENIED
        }
    }
}

/// The error that a Stop ends a wait with.
pub(crate) fn stopped(kind: EventType) -> ApiError {
    if kind == EventType::OrgStopped {
        return ApiError::new(actions::ORG_STOPPED, "every agent of the org is stopped");
    }
    ApiError::new(actions::AGENT_STOPPED, "the agent is stopped")
}
