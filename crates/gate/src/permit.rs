//! The permission to run, given by the first turn of an action or by a person's yes, and its proof.

use std::sync::Arc;

use ledger::record::{Action, Execution, Lease};
use model::{Attestation, ExecutionStatus, Mint, Mode, State, Status};
use serde_json::Value;
use tool::Tool;

use crate::{case::Case, limits::Limits, resolved::Resolved};

/// A run that a turn permitted and recorded. Nothing else can be carried out.
pub(crate) struct Permitted {
    pub(crate) action: Arc<Action>,
    pub(crate) tool: Arc<dyn Tool>,
    pub(crate) args: Arc<Value>,
}

/// What is left to do once a turn has recorded an action.
pub(crate) enum AfterTurn {
    /// Nothing: it was refused, waits for a person, or is authorised for the agent's edge.
    Done(Arc<Action>),
    /// The service runs the tool.
    Run(Box<Permitted>),
}

impl AfterTurn {
    /// What is left to do for this action of the case.
    pub(crate) fn of(action: Arc<Action>, case: &Case) -> Self {
        match case.resolved() {
            Resolved::Served(served)
                if action.state == State::Executing && action.mode == Mode::Gateway =>
            {
                let (tool, args) = (Arc::clone(&served.tool), Arc::clone(case.args().value()));
                Self::Run(Box::new(Permitted { action, tool, args }))
            }
            Resolved::Served(_) | Resolved::AtEdge { .. } | Resolved::Unknown => Self::Done(action),
        }
    }
}

/// Lets the action run: in the service by this instance, or at the agent's edge.
pub(crate) fn allow(
    action: &mut Action,
    resolved: &Resolved,
    (instance, limits): (&str, &Limits),
    mint: &Mint<'_>,
) {
    let run = |attestation, started_at| Execution {
        status: ExecutionStatus::Running,
        attestation,
        started_at,
        finished_at: None,
        error_code: None,
        error_message: None,
        lossy_numbers: false,
        rows_changed: None,
    };
    action.state = State::Executing;
    match action.mode {
        Mode::Gateway => {
            action.status = Status::Processing;
            action.execution = Some(run(Some(Attestation::GatewayExecuted), Some(mint.now())));
            action.lease = Some(Lease { holder: instance.to_owned(), token: 1 });
            action.place = resolved.place();
        }
        Mode::Proxy => {
            action.status = Status::Authorized;
            action.execution = Some(run(None, None));
            action.deadline = Some(mint.now() + limits.edge_result_timeout);
        }
    }
}
