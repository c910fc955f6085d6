//! Verdicts on reports alone.

use model::{
    ExecutionErrorCode, Fault, Footprint, Level, Outcome, Report, SideEffect, Verdict,
    WitnessMethod, WitnessReason,
};
use serde_json::Value;

use crate::{Evidence, Finding, MAX_DETAIL_BYTES, Reporter, Seen, judge};

fn changed(rows: u64) -> Outcome {
    Outcome::Succeeded { result: Value::Null, report: Report::of_rows(Some(rows)) }
}

fn judged(outcome: &Outcome, required_level: Level, side_effect: SideEffect) -> Finding {
    let footprint = Footprint { max_rows: 2, ..Footprint::default() };
    judge(&Evidence {
        outcome,
        reporter: Reporter::Connector,
        side_effect: Some(side_effect),
        footprint: Some(&footprint),
        required_level,
        seen: Seen::Nothing,
        max_detail_bytes: MAX_DETAIL_BYTES,
    })
}

#[test]
fn a_report_within_its_declaration_is_verified_at_l0() {
    let finding = judged(&changed(2), Level::L0, SideEffect::Write);
    assert_eq!((finding.verdict, finding.level), (Verdict::Verified, Level::L0));
    assert!(finding.reasons.is_empty());
    assert_eq!(finding.method, WitnessMethod::Reported);
}

#[test]
fn more_rows_than_declared_are_a_mismatch() {
    let finding = judged(&changed(3), Level::L0, SideEffect::Write);
    assert_eq!(finding.verdict, Verdict::Mismatch);
    assert_eq!(finding.reasons, [WitnessReason::RowCountOverLimit]);
}

#[test]
fn a_read_that_changed_rows_is_a_mismatch() {
    let finding = judged(&changed(1), Level::L0, SideEffect::Read);
    assert_eq!(finding.reasons, [WitnessReason::ReadToolWrote]);
}

#[test]
fn an_unknown_outcome_is_never_verified() {
    let unknown = Outcome::Unknown(Fault::new(ExecutionErrorCode::ToolTimeout, "no answer"));
    let finding = judged(&unknown, Level::L0, SideEffect::Write);
    assert_eq!(finding.verdict, Verdict::Unverifiable);
    assert_eq!(finding.reasons, [WitnessReason::OutcomeUnknown]);
    let lost = Outcome::Unknown(Fault::new(ExecutionErrorCode::EdgeLost, "no report"));
    assert_eq!(judged(&lost, Level::L0, SideEffect::Write).reasons, [WitnessReason::EdgeLost]);
}

#[test]
fn an_applied_call_whose_report_is_lost_is_not_verified() {
    let finding = judged(&Outcome::Applied, Level::L0, SideEffect::Write);
    assert_eq!(finding.verdict, Verdict::Unverifiable);
    assert_eq!(finding.reasons, [WitnessReason::ReportLost]);
}

#[test]
fn a_call_that_needs_more_evidence_is_not_verified_by_its_report() {
    let finding = judged(&changed(1), Level::L2, SideEffect::Write);
    assert_eq!(finding.verdict, Verdict::Unverifiable);
    assert_eq!(finding.reasons, [WitnessReason::RequiredLevelUnmet]);
}

#[test]
fn a_mismatch_beats_missing_evidence_and_all_reasons_are_told() {
    let finding = judged(&changed(3), Level::L2, SideEffect::Write);
    assert_eq!(finding.verdict, Verdict::Mismatch);
    assert_eq!(
        finding.reasons,
        [WitnessReason::RowCountOverLimit, WitnessReason::RequiredLevelUnmet]
    );
}
