//! What an action is and how it went, and what its tool does.

use crate::{Machine, Move};

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

impl State {
    /// What moves an action. A turn that seals one passes `cancelled` on its way, so no row is found
    /// there.
    pub const MACHINE: Machine = Machine {
        name: "action `state`",
        about: "Once sealed an action never moves again; what becomes known later amends its deed. \
                `cancelled` is passed within the turn that seals, so that no row is found there.",
        states: &[
            Self::PendingApproval.as_str(),
            Self::Executing.as_str(),
            Self::Witnessing.as_str(),
            Self::Sealed.as_str(),
        ],
        moves: &[
            Move::begins(Self::Sealed.as_str(), "the Gate refuses the call: `status` `denied`"),
            Move::begins(
                Self::PendingApproval.as_str(),
                "the policy asks for a person: `status` `pending_approval`",
            ),
            Move::begins(
                Self::Executing.as_str(),
                "the Gate allows the call: `status` `processing` where the service runs it, \
                 `authorized` where the agent's edge does",
            ),
            Move::goes(
                Self::PendingApproval.as_str(),
                Self::Executing.as_str(),
                "enough people approve and nothing refuses the call by then: `status` `processing` \
                 or `authorized`",
            ),
            Move::goes(
                Self::PendingApproval.as_str(),
                Self::Sealed.as_str(),
                "it is cancelled: `status` `cancelled`; a person denies it, nobody decides in \
                 time, or the approval request is void: `status` `denied`",
            ),
            Move::goes(
                Self::Executing.as_str(),
                Self::Witnessing.as_str(),
                "the run ends and the evidence that it needs is not in: the report is kept",
            ),
            Move::goes(
                Self::Executing.as_str(),
                Self::Sealed.as_str(),
                "the run ends, the edge reports, or its deadline passes: `status` `executed`, or \
                 `failed` where the call was certainly not applied",
            ),
            Move::goes(
                Self::Witnessing.as_str(),
                Self::Sealed.as_str(),
                "the evidence is in, or is given up: `status` `executed`, or `failed` where the call \
                 was certainly not applied",
            ),
        ],
    };
}

impl ExecutionStatus {
    /// What moves a run.
    pub const MACHINE: Machine = Machine {
        name: "`execution.status`",
        about: "There is none where nothing ran.",
        states: Self::WORDS,
        moves: &[
            Move::begins(Self::Running.as_str(), "the call may run"),
            Move::goes(
                Self::Running.as_str(),
                Self::Succeeded.as_str(),
                "the tool returned a result",
            ),
            Move::goes(
                Self::Running.as_str(),
                Self::Failed.as_str(),
                "the call was certainly not applied",
            ),
            Move::goes(
                Self::Running.as_str(),
                Self::Unknown.as_str(),
                "the result is unknown: a response did not arrive, an instance was lost, \
                 or an edge never reported",
            ),
        ],
    };
}
