//! What holds of every action that is written, beyond what its types say.
//!
//! The conditions are judged here because PostgreSQL would read them anew for every statement, which
//! cost more than the rows of a small turn. `chancery check` asks them of the rows that are there.

use ledger::record::Action;
use model::{ApprovalStatus, ExecutionStatus, Mode, State, Status, Verdict};

use crate::fault::Fault;

/// A condition and its name.
type Rule = (&'static str, fn(&Action) -> bool);

#[rustfmt::skip]
const RULES: &[Rule] = &[
    ("action_waits_with_an_open_approval", waits_with_an_open_approval),
    ("action_refused_without_a_run",       refused_without_a_run),
    ("action_ended_with_a_verdict",        ended_with_a_verdict),
    ("action_unknown_is_unverifiable",     unknown_is_unverifiable),
    ("action_failed_certainly",            |a| a.status != Status::Failed || ran(a) == Some(ExecutionStatus::Failed)),
    ("action_witnessed_after_its_run",     witnessed_after_its_run),
    ("action_leased_while_it_runs",        |a| a.lease.is_none() || matches!(a.state, State::Executing | State::Witnessing)),
];

/// Refuses actions of which one breaks a rule.
pub(super) fn judge(actions: &[&Action]) -> Result<(), Fault> {
    let broken = |action: &&Action| RULES.iter().find(|(_, holds)| !holds(action));
    match actions.iter().find_map(broken) {
        Some((rule, _)) => Err(Fault::Unfit { table: "action", rule }),
        None => Ok(()),
    }
}

fn ran(action: &Action) -> Option<ExecutionStatus> {
    action.execution.as_ref().map(|execution| execution.status)
}

fn waits_with_an_open_approval(action: &Action) -> bool {
    let waits = action.state == State::PendingApproval;
    let approval = action.approval.as_ref().map(|approval| approval.status);
    waits == (action.status == Status::PendingApproval)
        && (!waits || approval == Some(ApprovalStatus::Pending))
}

fn refused_without_a_run(action: &Action) -> bool {
    let refused = [Status::Denied, Status::Cancelled, Status::PendingApproval];
    !refused.contains(&action.status) || (action.execution.is_none() && action.witness.is_none())
}

fn ended_with_a_verdict(action: &Action) -> bool {
    let ended =
        action.state == State::Sealed && matches!(action.status, Status::Executed | Status::Failed);
    let known = ran(action).is_some_and(|status| status != ExecutionStatus::Running);
    !ended || (known && action.witness.is_some())
}

fn witnessed_after_its_run(action: &Action) -> bool {
    action.state != State::Witnessing
        || (action.mode == Mode::Gateway
            && action.status == Status::Processing
            && action.lease.is_some()
            && action.witness.is_none())
}

fn unknown_is_unverifiable(action: &Action) -> bool {
    let verdict = action.witness.as_ref().map(|witness| witness.verdict);
    ran(action) != Some(ExecutionStatus::Unknown)
        || (action.status == Status::Executed
            && verdict.is_none_or(|verdict| verdict == Verdict::Unverifiable))
}
