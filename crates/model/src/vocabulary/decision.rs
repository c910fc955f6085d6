//! What was decided about a call, by what, and what a person answered.

use crate::{Machine, Move};

list!(/// What a decision came to.
DecisionOutcome {
    /// The call may run.
    Allow = "allow",
    /// The call is refused.
    Deny = "deny",
    /// A person must say yes first.
    RequireApproval = "require_approval",
});
list!(/// What a decision was made by.
DecisionSource {
    /// A rule of the active policy.
    Rule = "rule",
    /// The service itself: unknown tool, disabled connector, a mode that is not the agent's, unreadable
    /// policy.
    Builtin = "builtin",
    /// The policy's default.
    Default = "default",
    /// A budget of the policy.
    Budget = "budget",
    /// A Stop of the agent or the org.
    Stop = "stop",
});
list!(/// Why a decision is not a plain allow.
DecisionCode {
    /// A person must say yes first.
    ApprovalRequired = "approval_required",
    /// A rule denied the call, or the agent's calls are not to be run in its mode.
    PolicyDenied = "policy_denied",
    /// No rule covered the call and the default denies.
    DefaultDenied = "default_denied",
    /// A budget is spent.
    BudgetExceeded = "budget_exceeded",
    /// The agent is stopped.
    AgentStopped = "agent_stopped",
    /// The agent is suspended, or its time is over.
    AgentSuspended = "agent_suspended",
    /// The whole org is stopped.
    OrgStopped = "org_stopped",
    /// No connector serves the tool, or the name is no tool name.
    ToolUnknown = "tool_unknown",
    /// The tool's definition is not the pinned one.
    ToolChanged = "tool_changed",
    /// The tool's connector is disabled.
    ConnectorDisabled = "connector_disabled",
    /// The policy could not be evaluated.
    PolicyUnavailable = "policy_unavailable",
});
list!(/// How the question to a person stands.
ApprovalStatus {
    /// Nobody has decided.
    Pending = "pending",
    /// Enough people said yes.
    Approved = "approved",
    /// A person said no.
    Denied = "denied",
    /// Nobody answered in time, which means no.
    Expired = "expired",
    /// The action was cancelled.
    Cancelled = "cancelled",
    /// A Stop or a change took the question away.
    Voided = "voided",
});
list!(/// What took the question to a person away.
VoidReason {
    /// A Stop of the whole org.
    OrgStopped = "org_stopped",
    /// A Stop of the agent.
    AgentStopped = "agent_stopped",
    /// The agent's archiving.
    AgentArchived = "agent_archived",
    /// The agent is suspended.
    AgentSuspended = "agent_suspended",
    /// The key that sent the call opens nothing any more.
    KeyInvalid = "key_invalid",
    /// The arguments were removed.
    PayloadPruned = "payload_pruned",
    /// A rule of the policy denies the call by now.
    PolicyDenied = "policy_denied",
    /// No rule of the policy covers the call by now, and the default denies.
    DefaultDenied = "default_denied",
    /// The policy could not be evaluated.
    PolicyUnavailable = "policy_unavailable",
    /// A budget is spent.
    BudgetExceeded = "budget_exceeded",
    /// Nobody serves the tool any more.
    ToolUnknown = "tool_unknown",
    /// The tool's definition, or who serves it, is not what was asked about.
    ToolChanged = "tool_changed",
    /// The tool's connector is disabled.
    ConnectorDisabled = "connector_disabled",
});
list!(/// How a person showed who they are when deciding an approval.
Assurance {
    /// A signed-in session.
    Session = "session",
    /// A link sent by e-mail.
    EmailLink = "email_link",
});

impl From<DecisionCode> for VoidReason {
    /// What refuses a call at its release.
    fn from(code: DecisionCode) -> Self {
        match code {
            DecisionCode::PolicyDenied | DecisionCode::ApprovalRequired => Self::PolicyDenied,
            DecisionCode::DefaultDenied => Self::DefaultDenied,
            DecisionCode::BudgetExceeded => Self::BudgetExceeded,
            DecisionCode::AgentStopped => Self::AgentStopped,
            DecisionCode::AgentSuspended => Self::AgentSuspended,
            DecisionCode::OrgStopped => Self::OrgStopped,
            DecisionCode::ToolUnknown => Self::ToolUnknown,
            DecisionCode::ToolChanged => Self::ToolChanged,
            DecisionCode::ConnectorDisabled => Self::ConnectorDisabled,
            DecisionCode::PolicyUnavailable => Self::PolicyUnavailable,
        }
    }
}

impl ApprovalStatus {
    /// What moves the question to a person.
    pub const MACHINE: Machine = Machine {
        name: "approval `status`",
        about: "The approval that decides it and the release of the action are one step: only an \
                action that runs or may run is `approved`.",
        states: Self::WORDS,
        moves: &[
            Move::begins(Self::Pending.as_str(), "the policy asks for a person"),
            Move::goes(
                Self::Pending.as_str(),
                Self::Approved.as_str(),
                "enough people approve, and the call may still run",
            ),
            Move::goes(Self::Pending.as_str(), Self::Denied.as_str(), "a person denies it"),
            Move::goes(Self::Pending.as_str(), Self::Expired.as_str(), "nobody decides in time"),
            Move::goes(Self::Pending.as_str(), Self::Cancelled.as_str(), "the action is cancelled"),
            Move::goes(
                Self::Pending.as_str(),
                Self::Voided.as_str(),
                "a Stop or the archiving of the agent voids it, or enough people approve and the \
                 call may no longer run",
            ),
        ],
    };
}
