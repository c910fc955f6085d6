//! Every closed list of the service's words, once.
//!
//! Code matches these enums without a wildcard, and `docs/vocabulary.md` is generated from
//! [`lists`]. Error codes of the HTTP surface live with `http-api`, which alone knows them.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A word that the list it was looked up in does not have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected one of {expected}")]
pub struct WordError {
    /// The words of the list, each in backticks.
    pub expected: String,
}

/// One closed list as the generated docs show it.
#[derive(Debug, Clone, Copy)]
pub struct List {
    /// The list's name.
    pub name: &'static str,
    /// Its words, in order.
    pub words: &'static [&'static str],
}

/// Defines one closed list: an enum whose words are its wire form.
macro_rules! list {
    ($(#[$doc:meta])* $name:ident { $($(#[$word_doc:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum $name {
            $($(#[$word_doc])* #[serde(rename = $word)] $variant),+
        }

        impl $name {
            /// The list's words in order.
            pub const WORDS: &'static [&'static str] = &[$($word),+];
            /// The list's values in order.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The word.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = WordError;

            fn from_str(text: &str) -> Result<Self, WordError> {
                match text {
                    $($word => Ok(Self::$variant),)+
                    _ => Err(WordError { expected: expected(Self::WORDS) }),
                }
            }
        }
    };
}

fn expected(words: &[&str]) -> String {
    words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}

list!(/// Where an action stands in its life.
State {
    /// Waits for a person.
    PendingApproval = "pending_approval",
    /// Runs here, or may run at the agent's edge.
    Executing = "executing",
    /// Has a result and waits for evidence.
    Witnessing = "witnessing",
    /// Was cancelled; sealed in the same turn.
    Cancelled = "cancelled",
    /// Ended; its deed exists.
    Sealed = "sealed",
});
list!(/// The one field of an action that an agent needs.
Status {
    /// The tool ran, or nobody can say that it did not.
    Executed = "executed",
    /// The tool certainly did not apply the call.
    Failed = "failed",
    /// The agent's edge may run the tool now.
    Authorized = "authorized",
    /// Still running.
    Processing = "processing",
    /// Waits for a person.
    PendingApproval = "pending_approval",
    /// Refused.
    Denied = "denied",
    /// Cancelled before it ran.
    Cancelled = "cancelled",
});
list!(/// Who runs the tool.
Mode {
    /// The service, through a connector.
    Gateway = "gateway",
    /// The agent's edge, which reports back.
    Proxy = "proxy",
});
list!(/// How a tool's run went.
ExecutionStatus {
    /// Not finished.
    Running = "running",
    /// The tool answered.
    Succeeded = "succeeded",
    /// The call was certainly not applied.
    Failed = "failed",
    /// Nobody can say.
    Unknown = "unknown",
});
list!(/// Why a run failed, or why nobody can say how it went. An edge may report codes of its own.
ExecutionErrorCode {
    /// A row changed after the undo was planned.
    UndoConflict = "undo_conflict",
    /// The edge never reported.
    EdgeLost = "edge_lost",
    /// The witness ran out of attempts.
    WitnessGaveUp = "witness_gave_up",
    /// A read-back took too long.
    ReadbackTimeout = "readback_timeout",
    /// The tool refused the call or failed at it.
    ToolError = "tool_error",
    /// The tool did not answer in time.
    ToolTimeout = "tool_timeout",
    /// The instance that ran the call is gone.
    InstanceLost = "instance_lost",
    /// The governed system cannot be reached.
    ConnectorUnreachable = "connector_unreachable",
    /// The governed system refused the connector's credential.
    ConnectorAuthFailed = "connector_auth_failed",
    /// The connector's config does not fit the governed system.
    ConnectorMisconfigured = "connector_misconfigured",
    /// The egress rules forbid the address.
    EgressRefused = "egress_refused",
    /// The result is larger than the hard read cap.
    ResultTooLarge = "result_too_large",
    /// The tool's answer is no result.
    ResultInvalid = "result_invalid",
    /// The statement ran longer than it may.
    StatementTimeout = "statement_timeout",
    /// A lock was not had in time.
    LockTimeout = "lock_timeout",
});
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
    /// The service itself: unknown tool, disabled connector, unreadable policy.
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
    /// A rule denied the call.
    PolicyDenied = "policy_denied",
    /// No rule covered the call and the default denies.
    DefaultDenied = "default_denied",
    /// A budget is spent.
    BudgetExceeded = "budget_exceeded",
    /// The agent is stopped.
    AgentStopped = "agent_stopped",
    /// The agent is suspended.
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
list!(/// How a person showed who they are when deciding an approval.
Assurance {
    /// A signed-in session.
    Session = "session",
    /// A link sent by e-mail.
    EmailLink = "email_link",
});
list!(/// How much evidence a verdict rests on.
Level {
    /// The tool's own report.
    L0 = "L0",
    /// A read-back by a separate reader.
    L1 = "L1",
    /// The database's change log.
    L2 = "L2",
});
list!(/// What the witness found.
Verdict {
    /// Report and evidence agree.
    Verified = "VERIFIED",
    /// Report and evidence differ.
    Mismatch = "MISMATCH",
    /// The evidence does not suffice.
    Unverifiable = "UNVERIFIABLE",
});
list!(/// Where the witness's evidence came from.
WitnessMethod {
    /// The connector's report.
    Reported = "reported",
    /// The edge's report.
    EdgeReported = "edge_reported",
    /// A read-back.
    ReadBack = "read_back",
    /// The change log.
    ChangeLog = "change_log",
    /// The change log against an undo plan.
    UndoFootprint = "undo_footprint",
    /// Nothing.
    None = "none",
});
list!(/// Who says what happened in an execution.
Attestation {
    /// The service ran the tool itself.
    GatewayExecuted = "gateway_executed",
    /// The agent's edge says so.
    EdgeClaimed = "edge_claimed",
});
list!(/// What a tool does to the world.
SideEffect {
    /// Nothing.
    Read = "read",
    /// Changes that can be taken back.
    Write = "write",
    /// Changes that can hardly be taken back.
    Destructive = "destructive",
});
list!(/// Whether an agent is shown a tool.
Visibility {
    /// The policy might allow a call.
    Visible = "visible",
    /// The policy denies every call.
    Hidden = "hidden",
});
list!(/// How an agent stands; the highest that holds wins.
AgentStatus {
    /// Gone for good.
    Archived = "archived",
    /// Stopped by a person.
    Stopped = "stopped",
    /// Suspended for a time.
    Suspended = "suspended",
    /// Free to act.
    Active = "active",
});
list!(/// Whether an agent's calls must be signed.
IntentMode {
    /// A signature is ignored.
    Off = "off",
    /// A signature is checked when there is one.
    Optional = "optional",
    /// A signature must be there.
    Required = "required",
});
list!(/// What a deed records.
DeedKind {
    /// One action's end.
    Action = "action",
    /// One change to the org.
    Admin = "admin",
    /// What became known of an action later.
    Amendment = "amendment",
});
list!(/// What an API key may do.
Scope {
    /// Read actions and deeds.
    ActionsRead = "actions:read",
    /// Send and report actions.
    ActionsExecute = "actions:execute",
    /// Change the org.
    Admin = "admin",
});
list!(/// What a member may do.
Role {
    /// Read.
    Viewer = "viewer",
    /// Read and change.
    Admin = "admin",
    /// Everything.
    Owner = "owner",
});
list!(/// What happened, in the words of streams, webhooks and admin deeds.
EventType {
    /// An action was recorded and runs or may run.
    ActionCreated = "action.created",
    /// An action waits for a person.
    ActionPendingApproval = "action.pending_approval",
    /// An action was refused.
    ActionDenied = "action.denied",
    /// An action was cancelled.
    ActionCancelled = "action.cancelled",
    /// An action has its verdict.
    ActionWitnessed = "action.witnessed",
    /// An action was undone by another.
    ActionUndone = "action.undone",
    /// A deed was sealed.
    DeedSealed = "deed.sealed",
    /// An agent was made.
    AgentCreated = "agent.created",
    /// An agent was stopped.
    AgentStopped = "agent.stopped",
    /// An agent was started again.
    AgentStarted = "agent.started",
    /// An agent key was made.
    AgentKeyCreated = "agent_key.created",
    /// An agent key was revoked.
    AgentKeyRevoked = "agent_key.revoked",
    /// An org key was made.
    ApiKeyCreated = "api_key.created",
    /// An org key was revoked.
    ApiKeyRevoked = "api_key.revoked",
    /// An org was made.
    OrgCreated = "org.created",
    /// An org's settings changed.
    OrgUpdated = "org.updated",
    /// Every agent of the org was stopped.
    OrgStopped = "org.stopped",
    /// The org was started again.
    OrgStarted = "org.started",
    /// A policy was made.
    PolicyCreated = "policy.created",
    /// A policy's name or description changed.
    PolicyUpdated = "policy.updated",
    /// A policy was archived.
    PolicyArchived = "policy.archived",
    /// The tests of a policy changed.
    PolicyTestsUpdated = "policy.tests_updated",
    /// A policy got a version.
    PolicyVersionCreated = "policy.version_created",
    /// A policy version became the enforced or the shadow one.
    PolicyActivated = "policy.activated",
    /// No policy version is the shadow one any more.
    PolicyShadowEnded = "policy.shadow_ended",
    /// A connector was made.
    ConnectorCreated = "connector.created",
    /// A connector's config changed.
    ConnectorUpdated = "connector.updated",
    /// A connector may run calls.
    ConnectorEnabled = "connector.enabled",
    /// A connector refuses calls.
    ConnectorDisabled = "connector.disabled",
    /// A connector got a credential.
    ConnectorCredentialSet = "connector.credential_set",
    /// Payloads were removed that had been kept long enough.
    RetentionPruned = "retention.pruned",
    /// A log of deeds began.
    LogStarted = "log.started",
    /// A log of deeds began in place of one that lost deeds.
    LogRecovered = "log.recovered",
    /// The history of an org was read out.
    LedgerExported = "ledger.exported",
    /// A log of deeds was checked and is as it was sealed.
    ChainCheckPassed = "chain.check_passed",
    /// A log of deeds is not as it was sealed.
    ChainBroken = "chain.broken",
    /// A seal key was registered.
    SealKeyRegistered = "seal_key.registered",
    /// A seal key is to count for nothing new.
    SealKeyRetired = "seal_key.retired",
    /// A seal key counts for nothing any more.
    SealKeyRevoked = "seal_key.revoked",
});

/// Every closed list, for the generated docs.
pub fn lists() -> Vec<List> {
    vec![
        List { name: "action `state`", words: State::WORDS },
        List { name: "action `status`", words: Status::WORDS },
        List { name: "action `mode`", words: Mode::WORDS },
        List { name: "`execution.status`", words: ExecutionStatus::WORDS },
        List { name: "`execution.error_code`", words: ExecutionErrorCode::WORDS },
        List { name: "decision `outcome`", words: DecisionOutcome::WORDS },
        List { name: "decision `source`", words: DecisionSource::WORDS },
        List { name: "decision `code`", words: DecisionCode::WORDS },
        List { name: "approval `status`", words: ApprovalStatus::WORDS },
        List { name: "approval `assurance`", words: Assurance::WORDS },
        List { name: "witness `level`", words: Level::WORDS },
        List { name: "witness `verdict`", words: Verdict::WORDS },
        List { name: "witness `method`", words: WitnessMethod::WORDS },
        List { name: "execution `attestation` (in deeds)", words: Attestation::WORDS },
        List { name: "tool `side_effect`", words: SideEffect::WORDS },
        List { name: "tool `visibility`", words: Visibility::WORDS },
        List { name: "agent `status`", words: AgentStatus::WORDS },
        List { name: "agent `intent_mode`", words: IntentMode::WORDS },
        List { name: "deed `kind`", words: DeedKind::WORDS },
        List { name: "API key scope", words: Scope::WORDS },
        List { name: "member role", words: Role::WORDS },
        List { name: "event type", words: EventType::WORDS },
    ]
}
