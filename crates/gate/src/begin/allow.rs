//! Lets an action run, as its first turn or a person's yes does.

use ledger::record::{Action, Execution, Lease};
use model::{Attestation, ExecutionStatus, Mint, Mode, State, Status};

use crate::{limits::Limits, resolved::Resolved};

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
