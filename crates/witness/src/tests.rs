use model::{ExecutionErrorCode, Fault, Report};

use super::*;

fn changed(rows: u64) -> Outcome {
    Outcome::Succeeded { result: Value::Null, report: Report { rows_changed: Some(rows) } }
}

fn judged(outcome: &Outcome, required_level: Level, side_effect: SideEffect) -> Finding {
    let footprint = Footprint { max_rows: 2, ..Footprint::default() };
    judge(&Evidence {
        outcome,
        reporter: Reporter::Connector,
        side_effect: Some(side_effect),
        footprint: Some(&footprint),
        required_level,
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
    assert_eq!(finding.reasons, ["row_count_over_limit"]);
}

#[test]
fn a_read_that_changed_rows_is_a_mismatch() {
    let finding = judged(&changed(1), Level::L0, SideEffect::Read);
    assert_eq!(finding.reasons, ["read_tool_wrote"]);
}

#[test]
fn an_unknown_outcome_is_never_verified() {
    let unknown = Outcome::Unknown(Fault::new(ExecutionErrorCode::ToolTimeout, "no answer"));
    let finding = judged(&unknown, Level::L0, SideEffect::Write);
    assert_eq!(finding.verdict, Verdict::Unverifiable);
    assert_eq!(finding.reasons, ["outcome_unknown"]);
    let lost = Outcome::Unknown(Fault::new(ExecutionErrorCode::EdgeLost, "no report"));
    assert_eq!(judged(&lost, Level::L0, SideEffect::Write).reasons, ["edge_lost"]);
}

#[test]
fn an_applied_call_whose_report_is_lost_is_not_verified() {
    let finding = judged(&Outcome::Applied, Level::L0, SideEffect::Write);
    assert_eq!(finding.verdict, Verdict::Unverifiable);
    assert_eq!(finding.reasons, ["report_lost"]);
}

#[test]
fn a_call_that_needs_more_evidence_is_not_verified_by_its_report() {
    let finding = judged(&changed(1), Level::L2, SideEffect::Write);
    assert_eq!(finding.verdict, Verdict::Unverifiable);
    assert_eq!(finding.reasons, ["required_level_unmet"]);
}

#[test]
fn a_mismatch_beats_missing_evidence_and_all_reasons_are_told() {
    let finding = judged(&changed(3), Level::L2, SideEffect::Write);
    assert_eq!(finding.verdict, Verdict::Mismatch);
    assert_eq!(finding.reasons, ["row_count_over_limit", "required_level_unmet"]);
}
