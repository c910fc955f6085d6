//! Calls that need more evidence than a report.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use gate::{ActionStore, Gate, Limits, Running, Submitted};
use ledger::record::Action;
use model::{
    ActionId, Datum, Digest, ExecutionErrorCode, Fault, Footprint, Level, LogAnswer, LogFrame,
    LogGap, LogSource, LogTrace, Lsn, Measured, OldRows, Outcome, ReadBack, ReadBackGap, ReadRow,
    Report, ReportedRows, Resource, RowChange, RowCounts, RowOp, SideEffect, State, Status,
    TableInLog, TableName, Teller, TextForm, Told, Touched, Verdict, WitnessMethod,
};
use serde_json::json;
use testkit::{ScriptedLog, ScriptedTool, limits};
use tool::{Reading, Settled};

use crate::house::{House, body};

fn refunds() -> TableName {
    TableName::new("public", "refunds")
}

/// The tool that makes one refund and tells its number and amount.
pub(crate) fn tool(level: Level, told: &str) -> Arc<ScriptedTool> {
    let footprint = Footprint {
        tables: [("refunds".to_owned(), vec![RowOp::Insert])].into(),
        max_rows: 1,
        ..Footprint::default()
    };
    let tool = ScriptedTool::new("shop.refund", SideEffect::Write)
        .with_footprint(footprint)
        .with_required_level(level);
    tool.answer(Outcome::Succeeded {
        result: json!({ "id": 7, "amount": told }),
        report: Report { rows_changed: Some(1), measured: Some(Box::new(measured(told))) },
    });
    Arc::new(tool)
}

fn measured(told: &str) -> Measured {
    let value = |text: &str| Told { text: Some(text.to_owned()), form: TextForm::Exact };
    let row = BTreeMap::from([("id".to_owned(), value("7")), ("amount".to_owned(), value(told))]);
    let counts = RowCounts { inserts: 1, ..RowCounts::default() };
    let key = vec!["id".to_owned()];
    Measured {
        trace: LogTrace { system: "5".to_owned(), xid: "900".to_owned(), until: Some(Lsn(40)) },
        touched: [(
            refunds(),
            Touched { counts, root: None, key: key.clone(), ..Touched::default() },
        )]
        .into(),
        names: [("refunds".to_owned(), refunds())].into(),
        scope: vec![],
        rows: Some(ReportedRows {
            table: refunds(),
            op: Some(RowOp::Insert),
            key,
            teller: Teller::Function,
            rows: vec![row],
        }),
    }
}

pub(crate) fn image() -> BTreeMap<String, Datum> {
    let text = |text: &str| Datum::Text(text.to_owned());
    [("id".to_owned(), text("7")), ("amount".to_owned(), text("20.00"))].into()
}

/// What the log has of a refund of 20.
pub(crate) fn frame() -> LogAnswer {
    let counts = RowCounts { inserts: 1, ..RowCounts::default() };
    let signatures = BTreeSet::from([Digest::from_bytes([3; 32])]);
    let change =
        RowChange { table: refunds(), op: RowOp::Insert, before: None, after: Some(image()) };
    LogAnswer::Committed(Box::new(LogFrame {
        source: LogSource {
            epoch: 1,
            system: "5".to_owned(),
            commit_lsn: Lsn(30),
            end_lsn: Lsn(35),
            digest: Digest::from_bytes([4; 32]),
        },
        tables: [(refunds(), TableInLog { counts, signatures, identity: OldRows::Whole })].into(),
        changes: vec![change],
        change_count: 1,
        repeats: 0,
        foreign_markers: 0,
    }))
}

/// The house, and the action of a refund that ran with this tool beside this log.
async fn refunded(tool: Arc<ScriptedTool>, log: Arc<ScriptedLog>) -> (House, Action) {
    let house = House::new().await;
    let limits = Limits { witness_attempts: 3, readback_timeout: Duration::ZERO, ..limits() };
    let gate = house.gate_beside_log(tool, log, limits);
    let call = house.call("shop.refund", json!({ "amount": 20 }));
    let Submitted::Running(running) = gate.submit(call).await.unwrap() else {
        panic!("the call runs");
    };
    let action = sealed(&gate, &house, running.action.id).await;
    (house, action)
}

/// A call that the gate runs and whose tool has applied it, and does not come to an end.
pub(crate) async fn applied(house: &House, gate: &Gate, tool: &ScriptedTool) -> Running {
    tool.hold();
    let call = house.call("shop.refund", json!({ "amount": 20 }));
    let Submitted::Running(running) = gate.submit(call).await.unwrap() else {
        panic!("the call runs");
    };
    while tool.runs() == 0 {
        tokio::task::yield_now().await;
    }
    tool.settle_as(Settled::Applied);
    running
}

/// The action once it is sealed.
pub(crate) async fn sealed(gate: &Gate, house: &House, id: ActionId) -> Action {
    for _ in 0..1_000 {
        let action = gate.action(house.org, id).await.unwrap().unwrap();
        if action.state == State::Sealed {
            return action;
        }
        tokio::task::yield_now().await;
    }
    panic!("it is never sealed");
}

pub(crate) fn found(action: &Action) -> (Level, Verdict, Vec<&str>) {
    let witness = action.witness.as_ref().unwrap();
    let reasons = witness.reasons.iter().map(String::as_str).collect();
    (witness.level, witness.verdict, reasons)
}

#[tokio::test]
async fn what_the_log_confirms_is_verified_and_its_deed_names_the_evidence() {
    let not_yet = LogAnswer::NotYet { read_to: Some(Lsn(20)) };
    let log = Arc::new(ScriptedLog::of([not_yet, frame()]));
    let (house, action) = refunded(tool(Level::L2, "20.00"), Arc::clone(&log)).await;
    assert_eq!(found(&action), (Level::L2, Verdict::Verified, vec![]));
    assert_eq!(action.witness.as_ref().unwrap().method, WitnessMethod::ChangeLog);
    let asked = log.asked();
    assert_eq!((asked.len(), asked[0].action), (2, action.id));
    assert_eq!(asked[0].trace.as_ref().unwrap().xid, "900");
    let source = &body(&house, &action)["action"]["witness"]["sources"][0];
    assert_eq!(source["type"], "change_log");
    assert_eq!((&source["lsn_from"], &source["lsn_to"]), (&json!("0/1E"), &json!("0/23")));
}

#[tokio::test]
async fn a_tool_that_lies_of_its_row_is_found_out() {
    let log = Arc::new(ScriptedLog::of([frame()]));
    let (_, action) = refunded(tool(Level::L2, "10.00"), log).await;
    assert_eq!(found(&action), (Level::L2, Verdict::Mismatch, vec!["value_differs"]));
}

#[tokio::test]
async fn a_success_that_neither_log_nor_ledger_has_is_a_lie() {
    let never = LogAnswer::NeverCommitted { read_to: Lsn(50) };
    let tool = tool(Level::L2, "20.00");
    tool.settle_as(Settled::NotApplied);
    let (_, action) = refunded(tool, Arc::new(ScriptedLog::of([never]))).await;
    assert_eq!(found(&action), (Level::L2, Verdict::Mismatch, vec!["not_committed"]));
}

#[tokio::test]
async fn a_row_of_the_ledger_outweighs_a_log_that_lacks_its_transaction() {
    let never = LogAnswer::NeverCommitted { read_to: Lsn(50) };
    let tool = tool(Level::L2, "20.00");
    tool.settle_as(Settled::Applied);
    let (_, action) = refunded(tool, Arc::new(ScriptedLog::of([never]))).await;
    let reasons = vec!["ledger_without_frame", "required_level_unmet"];
    assert_eq!(found(&action), (Level::L0, Verdict::Unverifiable, reasons));
}

#[tokio::test]
async fn a_log_that_is_late_or_lost_verifies_nothing() {
    let (_, action) = refunded(tool(Level::L2, "20.00"), Arc::default()).await;
    let reasons = vec!["frame_timeout", "required_level_unmet"];
    assert_eq!(found(&action), (Level::L0, Verdict::Unverifiable, reasons));
    let lost = LogAnswer::Untold(LogGap::SlotInvalidated);
    let (_, action) = refunded(tool(Level::L2, "20.00"), Arc::new(ScriptedLog::of([lost]))).await;
    let reasons = vec!["slot_invalidated", "required_level_unmet"];
    assert_eq!(found(&action), (Level::L0, Verdict::Unverifiable, reasons));
}

#[tokio::test]
async fn an_unknown_outcome_is_known_once_the_log_has_it() {
    let unknown = || Outcome::Unknown(Fault::new(ExecutionErrorCode::ToolTimeout, "no answer"));
    let unseen = tool(Level::L2, "20.00");
    unseen.answer(unknown());
    let (_, action) = refunded(unseen, Arc::new(ScriptedLog::of([frame()]))).await;
    assert_eq!(action.status, Status::Executed);
    let (_, verdict, reasons) = found(&action);
    assert_eq!((verdict, reasons[0]), (Verdict::Unverifiable, "report_lost"));

    let never = LogAnswer::NeverCommitted { read_to: Lsn(50) };
    let lost = tool(Level::L2, "20.00");
    lost.answer(unknown());
    lost.settle_as(Settled::NotApplied);
    let (_, action) = refunded(lost, Arc::new(ScriptedLog::of([never]))).await;
    assert_eq!(action.status, Status::Failed);
    assert_eq!(found(&action), (Level::L2, Verdict::Verified, vec![]));
}

/// A tool whose calls certainly fail, and what the ledger of its database has of them.
fn failing(settled: Settled) -> Arc<ScriptedTool> {
    let failing = tool(Level::L2, "20.00");
    failing.answer(Outcome::Failed(Fault::new(ExecutionErrorCode::ToolError, "no such order")));
    failing.settle_as(settled);
    failing
}

#[tokio::test]
async fn what_certainly_failed_is_not_waited_for_and_verified_where_the_ledger_has_nothing_of_it() {
    let not_yet = LogAnswer::NotYet { read_to: Some(Lsn(20)) };
    let log = Arc::new(ScriptedLog::of([not_yet]));
    let (house, action) = refunded(failing(Settled::NotApplied), Arc::clone(&log)).await;
    assert_eq!(action.status, Status::Failed);
    assert_eq!(found(&action), (Level::L2, Verdict::Verified, vec![]));
    assert_eq!(log.asked().len(), 1);
    assert!(house.store.report(house.org, action.id).await.unwrap().is_none());
}

#[tokio::test]
async fn what_certainly_failed_is_awaited_of_nobody_where_its_ledger_cannot_be_asked() {
    for settled in [Settled::Unreachable, Settled::Unknowable] {
        let log = Arc::new(ScriptedLog::default());
        let (house, action) = refunded(failing(settled), Arc::clone(&log)).await;
        assert_eq!(action.status, Status::Failed);
        let reasons = vec!["frame_timeout", "required_level_unmet"];
        assert_eq!(found(&action), (Level::L0, Verdict::Unverifiable, reasons));
        assert_eq!(log.asked().len(), 1);
        assert!(house.store.report(house.org, action.id).await.unwrap().is_none());
    }
}

#[tokio::test]
async fn what_is_said_to_have_failed_and_stands_in_the_ledger_is_waited_for_and_a_lie() {
    let not_yet = || LogAnswer::NotYet { read_to: Some(Lsn(20)) };
    let log = Arc::new(ScriptedLog::of([not_yet(), not_yet(), frame()]));
    let (_, action) = refunded(failing(Settled::Applied), Arc::clone(&log)).await;
    let (level, verdict, reasons) = found(&action);
    assert_eq!((level, verdict), (Level::L2, Verdict::Mismatch));
    assert_eq!(reasons[0], "reported_failed_but_committed");
    assert_eq!(log.asked().len(), 3);
}

#[tokio::test]
async fn rows_that_are_read_back_verify_a_report() {
    let tool = tool(Level::L1, "20.00");
    let row = ReadRow { xmin: 900, image: image() };
    tool.read_back_as(vec![Reading::Unreachable, Reading::Done(ReadBack::Rows(vec![Some(row)]))]);
    let (house, action) = refunded(tool, Arc::default()).await;
    assert_eq!(found(&action), (Level::L1, Verdict::Verified, vec![]));
    let source = &body(&house, &action)["action"]["witness"]["sources"][0];
    assert_eq!(source["type"], "read_back");
}

#[tokio::test]
async fn an_api_that_contradicts_a_call_makes_it_a_mismatch_and_its_deed_names_the_read_back() {
    let api = Arc::new(
        ScriptedTool::new("shop.refund", SideEffect::Write).with_required_level(Level::L1),
    );
    api.read_back_tells(Resource::NotThere);
    let (house, action) = refunded(api, Arc::default()).await;
    assert_eq!(found(&action), (Level::L1, Verdict::Mismatch, vec!["not_there"]));
    assert_eq!(action.witness.as_ref().unwrap().method, WitnessMethod::ReadBack);
    let source = &body(&house, &action)["action"]["witness"]["sources"][0];
    assert_eq!(source["type"], "read_back");
}

#[tokio::test]
async fn a_run_whose_end_nobody_knows_is_not_looked_at_again() {
    let api = Arc::new(
        ScriptedTool::new("shop.refund", SideEffect::Write).with_required_level(Level::L1),
    );
    api.answer(Outcome::Unknown(Fault::new(ExecutionErrorCode::ToolTimeout, "no answer")));
    api.read_back_tells(Resource::There(vec![]));
    let (_, action) = refunded(api, Arc::default()).await;
    let reasons = vec!["outcome_unknown", "required_level_unmet"];
    assert_eq!(found(&action), (Level::L0, Verdict::Unverifiable, reasons));
}

#[tokio::test]
async fn a_reader_that_never_answers_is_given_up() {
    let tool = tool(Level::L1, "20.00");
    // Once while the caller waits, and as often as it may be behind that.
    tool.read_back_as(vec![Reading::Unreachable; 4]);
    let (_, action) = refunded(tool, Arc::default()).await;
    let reasons = vec!["witness_gave_up", "required_level_unmet"];
    assert_eq!(found(&action), (Level::L0, Verdict::Unverifiable, reasons));
}

#[tokio::test]
async fn a_tool_without_a_read_back_has_none() {
    let (_, action) = refunded(tool(Level::L1, "20.00"), Arc::default()).await;
    let gap = ReadBackGap::NotOffered.as_str();
    let reasons = vec![gap, "required_level_unmet"];
    assert_eq!(found(&action), (Level::L0, Verdict::Unverifiable, reasons));
}
