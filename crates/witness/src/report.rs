//! What the report alone shows: L0, and the part of every higher level.

use model::{ExecutionErrorCode, Level, Outcome, Report, SideEffect, WitnessReason as Reason};

use crate::{Evidence, finding::Problems};

/// Holds the report against itself and against the declaration.
pub(crate) fn check(evidence: &Evidence<'_>, problems: &mut Problems) {
    let rows = rows_changed(evidence.outcome);
    problems.check("outcome_known");
    if let Outcome::Unknown(fault) = evidence.outcome {
        let edge_lost = fault.code == ExecutionErrorCode::EdgeLost.into();
        problems.add(if edge_lost { Reason::EdgeLost } else { Reason::OutcomeUnknown });
    }
    problems.check("report_kept");
    problems.add_if(matches!(evidence.outcome, Outcome::Applied), Reason::ReportLost);
    problems.check("within_row_limit");
    let limit = evidence.footprint.map(|footprint| footprint.max_rows);
    problems.add_if(
        rows.zip(limit).is_some_and(|(rows, limit)| rows > limit),
        Reason::RowCountOverLimit,
    );
    problems.check("read_changed_nothing");
    let is_read = evidence.side_effect == Some(SideEffect::Read);
    problems.add_if(is_read && rows.is_some_and(|rows| rows > 0), Reason::ReadToolWrote);
}

/// Holds the evidence that there is against what was asked for. Nothing that certainly did not run
/// needs more than the certainty.
pub(crate) fn required_level(evidence: &Evidence<'_>, level: Level, problems: &mut Problems) {
    problems.check("required_level");
    problems.add_if(level < evidence.required_level, Reason::RequiredLevelUnmet);
}

/// What the run reported, where it did.
pub(crate) fn report(outcome: &Outcome) -> Option<&Report> {
    match outcome {
        Outcome::Succeeded { report, .. } => Some(report),
        Outcome::Applied | Outcome::Failed(_) | Outcome::Unknown(_) => None,
    }
}

/// How many rows the run says that it changed.
pub(crate) fn rows_changed(outcome: &Outcome) -> Option<u64> {
    report(outcome).and_then(|report| report.rows_changed)
}
