//! Evidence that comes when a call is sealed without it, and the amendment that says so.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use gate::{
    ActionDetail, ActionStore, ChangeLog, Gate, Limits, Sought, StoredDeed, Submitted, Sweep,
};
use ledger::{StoreDown, record::Action};
use model::{
    DeedKind, EventType, ExecutionErrorCode, ExecutionStatus, Fault, Level, LogAnswer, LogGap, Lsn,
    Outcome, Status, Verdict,
};
use serde_json::{Value, json};
use store_memory::Doubt;
use testkit::{ScriptedLog, ScriptedTool, limits};
use tool::Settled;

use crate::{
    house::{House, body},
    witnessing::{applied, found, frame, sealed, tool},
};

const DAY: Duration = Duration::from_hours(24);

fn bounds() -> Limits {
    Limits { witness_attempts: 2, readback_timeout: Duration::ZERO, ..limits() }
}

fn log(answers: impl IntoIterator<Item = LogAnswer>) -> Arc<ScriptedLog> {
    Arc::new(ScriptedLog::of(answers))
}

fn never() -> LogAnswer {
    LogAnswer::NeverCommitted { read_to: Lsn(50) }
}

fn unknown() -> Outcome {
    Outcome::Unknown(Fault::new(ExecutionErrorCode::ToolTimeout, "no answer"))
}

/// A call that ran with this tool and was sealed before the log told anything.
async fn unwitnessed(house: &House, tool: &Arc<ScriptedTool>, limits: Limits) -> Action {
    let gate = house.gate_beside_log(Arc::clone(tool), log([]), limits);
    let call = house.call("shop.refund", json!({ "amount": 20 }));
    let Submitted::Running(running) = gate.submit(call).await.unwrap() else {
        panic!("the call runs");
    };
    let action = sealed(&gate, house, running.action.id).await;
    assert_eq!((found(&action).1, action.amendment.as_ref()), (Verdict::Unverifiable, None));
    action
}

/// Another instance, beside this log.
fn beside(house: &House, tool: &Arc<ScriptedTool>, log: Arc<dyn ChangeLog>) -> Gate {
    house.other_beside_log(Arc::clone(tool), log, bounds())
}

/// How the action stands once this log was asked about it, and of how many calls nothing is awaited then.
async fn asked(
    house: &House,
    (tool, action): (&Arc<ScriptedTool>, &Action),
    log: Arc<ScriptedLog>,
) -> (ActionDetail, usize) {
    let gate = beside(house, tool, log);
    let ended = gate.sweep(Sweep::Evidence).await.unwrap();
    (gate.detail(house.org, action.id).await.unwrap().unwrap(), ended)
}

async fn is_awaited(house: &House, action: &Action) -> bool {
    let due = house.store.due(Sweep::Evidence, None, 10).await.unwrap();
    let has_report = house.store.report(house.org, action.id).await.unwrap().is_some();
    assert_eq!(due.iter().any(|due| due.action == action.id), has_report);
    has_report
}

fn amendments(detail: &ActionDetail) -> Vec<&StoredDeed> {
    detail.deeds.iter().filter(|deed| deed.kind == DeedKind::Amendment).collect()
}

/// The body of the one amendment, which the action names and an event tells of.
fn amendment(detail: &ActionDetail) -> Value {
    let [deed] = amendments(detail)[..] else { panic!("{:?}", detail.deeds) };
    let noted = detail.action.amendment.as_ref().unwrap();
    assert_eq!((noted.deed, noted.amended_at), (deed.id, deed.issued_at));
    let told = detail.events.iter().rev().find(|event| event.kind == EventType::DeedAmended);
    let object = &told.unwrap().object;
    assert_eq!((&object["id"], &object["kind"]), (&json!(deed.id), &json!("amendment")));
    assert_eq!(object["subject"], json!({ "type": "action", "id": detail.action.id }));
    let sealed = detail.events.iter().filter(|event| event.kind == EventType::DeedSealed);
    assert_eq!(sealed.count(), 2, "it is a deed like any other");
    serde_json::from_str(&deed.body).unwrap()
}

/// What the action holds of its end as it was sealed.
fn as_sealed(action: &Action) -> Action {
    Action { amendment: None, ..action.clone() }
}

#[tokio::test]
async fn what_the_log_confirms_later_amends_the_deed_and_leaves_the_first_one_alone() {
    let (house, tool) = (House::new().await, tool(Level::L2, "20.00"));
    let action = unwitnessed(&house, &tool, bounds()).await;
    assert!(is_awaited(&house, &action).await);
    let (detail, ended) = asked(&house, (&tool, &action), log([frame()])).await;
    assert_eq!(ended, 1);
    let noted = detail.action.amendment.as_ref().unwrap();
    assert_eq!((noted.witness.verdict, noted.witness.level), (Verdict::Verified, Level::L2));
    assert_eq!(noted.execution, None, "it ran as it was sealed");
    let body = amendment(&detail);
    let first = &detail.deeds[0];
    let amends = json!({ "id": first.id, "digest": first.digest, "seq": first.seq });
    assert_eq!(body["amendment"]["amends"], amends);
    assert_eq!(
        (&body["amendment"]["n"], &body["amendment"]["reason"]),
        (&json!(1), &json!("late_evidence")),
    );
    assert_eq!(body["actor"], json!({ "type": "system", "id": "service" }));
    let changes = &body["amendment"]["changes"];
    assert_eq!(
        (&changes["execution"], &changes["witness"]["verdict"]),
        (&Value::Null, &json!("VERIFIED"))
    );
    assert_eq!(changes["witness"]["sources"][0]["type"], "change_log");
    let opened =
        detail.disclosures.iter().filter(|open| open.path().as_str().starts_with("amendment."));
    assert_eq!(opened.count(), 2, "the detail and the transaction");
    assert_eq!(as_sealed(&detail.action), action);
    assert!(!is_awaited(&house, &action).await);
    assert_eq!(tool.runs(), 1, "a run is never repeated");
}

#[tokio::test]
async fn a_lie_that_the_log_tells_of_later_is_found_out() {
    let (house, liar) = (House::new().await, tool(Level::L2, "10.00"));
    let action = unwitnessed(&house, &liar, bounds()).await;
    let (detail, _) = asked(&house, (&liar, &action), log([frame()])).await;
    let noted = detail.action.amendment.as_ref().unwrap();
    assert_eq!(
        (noted.witness.verdict, &*noted.witness.reasons),
        (Verdict::Mismatch, &["value_differs".to_owned()][..])
    );
    assert_eq!(amendment(&detail)["amendment"]["changes"]["witness"]["verdict"], "MISMATCH");
    assert_eq!(as_sealed(&detail.action), action);
}

#[tokio::test]
async fn an_unknown_run_that_was_never_committed_is_known_to_have_failed_and_stays_charged() {
    let (house, lost) = (House::new().await, tool(Level::L2, "20.00"));
    lost.answer(unknown());
    lost.settle_as(Settled::NotApplied);
    let action = unwitnessed(&house, &lost, bounds()).await;
    let (detail, _) = asked(&house, (&lost, &action), log([never()])).await;
    let noted = detail.action.amendment.as_ref().unwrap();
    let run = noted.execution.as_ref().unwrap();
    assert_eq!((run.status, noted.witness.verdict), (ExecutionStatus::Failed, Verdict::Verified));
    let execution = &amendment(&detail)["amendment"]["changes"]["execution"];
    assert_eq!(
        (&execution["status"], &execution["error_code"]),
        (&json!("failed"), &json!("tool_timeout"))
    );
    assert_eq!(detail.action.status, Status::Executed, "what was sealed is not taken back");
    assert_eq!(as_sealed(&detail.action), action);
    assert_eq!(house.store.drift(house.org).await.unwrap(), [], "nor is what it was charged");
}

#[tokio::test]
async fn an_unknown_run_that_the_log_has_was_applied() {
    let (house, lost) = (House::new().await, tool(Level::L2, "20.00"));
    lost.answer(unknown());
    let action = unwitnessed(&house, &lost, bounds()).await;
    let (detail, _) = asked(&house, (&lost, &action), log([frame()])).await;
    let execution = &amendment(&detail)["amendment"]["changes"]["execution"];
    assert_eq!(
        (&execution["status"], &execution["error_code"]),
        (&json!("succeeded"), &Value::Null)
    );
}

#[tokio::test]
async fn a_success_that_was_never_committed_is_a_lie_whenever_that_is_found() {
    let (house, liar) = (House::new().await, tool(Level::L2, "20.00"));
    liar.settle_as(Settled::NotApplied);
    let action = unwitnessed(&house, &liar, bounds()).await;
    let (detail, _) = asked(&house, (&liar, &action), log([never()])).await;
    let noted = detail.action.amendment.as_ref().unwrap();
    assert_eq!(
        (noted.witness.verdict, &*noted.witness.reasons),
        (Verdict::Mismatch, &["not_committed".to_owned()][..])
    );
}

#[tokio::test]
async fn while_the_governed_ledger_cannot_be_asked_nothing_is_given_up() {
    let (house, tool) = (House::new().await, tool(Level::L2, "20.00"));
    tool.settle_as(Settled::Unreachable);
    let action = unwitnessed(&house, &tool, bounds()).await;
    let (detail, ended) = asked(&house, (&tool, &action), log([never()])).await;
    assert_eq!((ended, detail.action), (0, action.clone()));
    assert!(is_awaited(&house, &action).await);
    tool.settle_as(Settled::NotApplied);
    let (detail, _) = asked(&house, (&tool, &action), log([never()])).await;
    assert_eq!(detail.action.amendment.unwrap().witness.verdict, Verdict::Mismatch);
}

#[tokio::test]
async fn a_gap_amends_nothing_and_nothing_is_awaited_any_more() {
    let (house, tool) = (House::new().await, tool(Level::L2, "20.00"));
    let action = unwitnessed(&house, &tool, bounds()).await;
    let gap = LogAnswer::Untold(LogGap::EvidenceGap);
    let (detail, ended) = asked(&house, (&tool, &action), log([gap])).await;
    assert_eq!((ended, detail.deeds.len(), &detail.action), (1, 1, &action));
    assert!(!is_awaited(&house, &action).await);
}

#[tokio::test]
async fn what_is_not_told_in_time_is_awaited_no_more() {
    let (house, tool) = (House::new().await, tool(Level::L2, "20.00"));
    let action = unwitnessed(&house, &tool, bounds()).await;
    house.pass(DAY.saturating_sub(Duration::from_secs(1)));
    assert_eq!(asked(&house, (&tool, &action), log([])).await.1, 0);
    assert!(is_awaited(&house, &action).await);
    house.pass(Duration::from_secs(1));
    let (detail, ended) = asked(&house, (&tool, &action), log([])).await;
    assert_eq!((ended, detail.deeds.len()), (1, 1));
    assert!(!is_awaited(&house, &action).await);
}

#[tokio::test]
async fn where_no_late_evidence_is_wanted_none_is_awaited() {
    let (house, tool) = (House::new().await, tool(Level::L2, "20.00"));
    let none = Limits { late_evidence: Duration::ZERO, ..bounds() };
    let action = unwitnessed(&house, &tool, none).await;
    assert!(!is_awaited(&house, &action).await);
}

#[tokio::test]
async fn what_is_awaited_holds_neither_arguments_nor_result() {
    let (house, tool) = (House::new().await, tool(Level::L2, "20.00"));
    let action = unwitnessed(&house, &tool, bounds()).await;
    let kept = house.store.report(house.org, action.id).await.unwrap().unwrap();
    let kept: Value = serde_json::from_str(&kept.text).unwrap();
    assert_eq!((&kept["args"], &kept["result"]), (&Value::Null, &json!("nothing")));
}

#[tokio::test]
async fn two_instances_make_one_amendment() {
    let (house, tool) = (House::new().await, tool(Level::L2, "20.00"));
    let action = unwitnessed(&house, &tool, bounds()).await;
    let [one, two] = [(); 2].map(|()| beside(&house, &tool, log([frame(), frame()])));
    let (one_ended, two_ended) =
        tokio::join!(one.sweep(Sweep::Evidence), two.sweep(Sweep::Evidence));
    assert!(one_ended.unwrap() + two_ended.unwrap() >= 1);
    let detail = one.detail(house.org, action.id).await.unwrap().unwrap();
    amendment(&detail);
    let turns = house.store.turns(house.org);
    assert_eq!(two.sweep(Sweep::Evidence).await.unwrap(), 0);
    assert_eq!(house.store.turns(house.org), turns, "there is nothing to do");
}

#[tokio::test]
async fn an_amendment_whose_commit_is_in_doubt_is_made_once() {
    for doubt in [Doubt::Committed, Doubt::Dropped] {
        let (house, tool) = (House::new().await, tool(Level::L2, "20.00"));
        let action = unwitnessed(&house, &tool, bounds()).await;
        let gate = beside(&house, &tool, log([frame(), frame(), frame()]));
        house.store.doubt_next(doubt);
        for _ in 0..3 {
            let _ = gate.sweep(Sweep::Evidence).await;
        }
        amendment(&gate.detail(house.org, action.id).await.unwrap().unwrap());
        assert!(!is_awaited(&house, &action).await);
    }
}

#[tokio::test]
async fn a_deed_of_a_log_that_was_closed_is_not_amended() {
    let (house, tool) = (House::new().await, tool(Level::L2, "20.00"));
    let action = unwitnessed(&house, &tool, bounds()).await;
    house.reopen().await;
    let (detail, ended) = asked(&house, (&tool, &action), log([frame()])).await;
    assert_eq!((ended, amendments(&detail).len(), &detail.action), (1, 0, &action));
    assert!(!is_awaited(&house, &action).await);
}

#[tokio::test]
async fn what_retention_removed_does_not_come_back() {
    let (house, tool) = (House::new().await, tool(Level::L2, "20.00"));
    let action = unwitnessed(&house, &tool, bounds()).await;
    let pruned = Action { payload_pruned_at: Some(house.now()), ..action.clone() };
    house.write(Arc::new(pruned)).await;
    let (detail, ended) = asked(&house, (&tool, &action), log([frame()])).await;
    assert_eq!((ended, amendments(&detail).len()), (1, 0));
}

/// A call whose run was committed and whose instance is gone before it kept the report, as it is ended by
/// another instance beside this log.
async fn lost(house: &House, tool: &Arc<ScriptedTool>, log: &Arc<ScriptedLog>) -> Action {
    let first = house.gate_beside_log(Arc::clone(tool), self::log([]), bounds());
    let running = applied(house, &first, tool).await;
    house.pass(Duration::from_mins(1));
    let gate = beside(house, tool, Arc::clone(log) as _);
    assert_eq!(gate.sweep(Sweep::Takeovers).await.unwrap(), 1);
    let action = sealed(&gate, house, running.action.id).await;
    assert_eq!((action.status, tool.runs()), (Status::Executed, 1));
    assert_eq!(action.execution.as_ref().unwrap().status, ExecutionStatus::Succeeded);
    action
}

/// Without the report nothing says what else the run wrote, or should have written.
const OF_A_LOST_RUN: [&str; 2] = ["report_lost", "unpublished_writes"];

#[tokio::test]
async fn a_lost_run_that_the_log_has_is_sealed_with_its_transaction() {
    let (house, tool, log) = (House::new().await, tool(Level::L2, "20.00"), log([frame()]));
    let action = lost(&house, &tool, &log).await;
    assert_eq!(found(&action), (Level::L2, Verdict::Unverifiable, OF_A_LOST_RUN.to_vec()));
    let source = &body(&house, &action)["action"]["witness"]["sources"][0];
    assert_eq!((&source["type"], &source["lsn_to"]), (&json!("change_log"), &json!("0/23")));
    let asked = log.asked();
    assert_eq!((asked.len(), asked[0].action, &asked[0].trace), (1, action.id, &None));
    assert!(!is_awaited(&house, &action).await);
}

#[tokio::test]
async fn what_the_log_has_of_a_lost_run_later_amends_its_deed() {
    let (house, tool) = (House::new().await, tool(Level::L2, "20.00"));
    let action = lost(&house, &tool, &log([])).await;
    let reasons = vec!["report_lost", "frame_timeout", "required_level_unmet"];
    assert_eq!(found(&action), (Level::L0, Verdict::Unverifiable, reasons));
    assert!(is_awaited(&house, &action).await);
    let (detail, ended) = asked(&house, (&tool, &action), log([frame()])).await;
    let noted = detail.action.amendment.as_ref().unwrap();
    assert_eq!((ended, noted.witness.level, &noted.execution), (1, Level::L2, &None));
    assert_eq!(noted.witness.reasons, OF_A_LOST_RUN);
    let changes = &amendment(&detail)["amendment"]["changes"];
    assert_eq!(changes["witness"]["sources"][0]["type"], "change_log");
    assert_eq!(as_sealed(&detail.action), action);
    assert!(!is_awaited(&house, &action).await);
}

#[tokio::test]
async fn a_lost_run_that_emptied_a_table_is_found_out() {
    let (house, tool) = (House::new().await, tool(Level::L2, "20.00"));
    let LogAnswer::Committed(mut emptied) = frame() else { panic!("it was committed") };
    emptied.tables.values_mut().for_each(|table| table.counts.truncates = 1);
    let action = lost(&house, &tool, &log([LogAnswer::Committed(emptied)])).await;
    assert_eq!((found(&action).1, found(&action).2[0]), (Verdict::Mismatch, "truncate_seen"));
}

#[tokio::test]
async fn of_a_lost_run_that_needs_no_log_none_is_asked() {
    let (house, tool, log) = (House::new().await, tool(Level::L0, "20.00"), log([frame()]));
    let action = lost(&house, &tool, &log).await;
    assert_eq!(found(&action), (Level::L0, Verdict::Unverifiable, vec!["report_lost"]));
    assert!(log.asked().is_empty() && !is_awaited(&house, &action).await);
}

/// A log that stands still, and counts how often it is asked.
#[derive(Debug, Default)]
struct Still(std::sync::atomic::AtomicUsize);

#[async_trait]
impl ChangeLog for Still {
    async fn told(&self, _: &Sought, _: Duration) -> Result<LogAnswer, StoreDown> {
        self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        Ok(LogAnswer::NotYet { read_to: Some(Lsn(20)) })
    }
}

impl Still {
    fn asked(&self) -> usize {
        self.0.load(std::sync::atomic::Ordering::Relaxed)
    }
}

#[tokio::test]
async fn a_log_that_stands_still_is_asked_once_for_all_that_await_it() {
    let (house, tool) = (House::new().await, tool(Level::L2, "20.00"));
    for _ in 0..3 {
        unwitnessed(&house, &tool, bounds()).await;
    }
    let still = Arc::new(Still::default());
    let gate = beside(&house, &tool, still.clone());
    assert_eq!((gate.sweep(Sweep::Evidence).await.unwrap(), still.asked()), (0, 1));
    // Runs whose end nobody saw may never be told of, and keep nobody waiting.
    tool.answer(unknown());
    let (other, still) = (House::new().await, Arc::new(Still::default()));
    for _ in 0..3 {
        unwitnessed(&other, &tool, bounds()).await;
    }
    let gate = beside(&other, &tool, still.clone());
    assert_eq!((gate.sweep(Sweep::Evidence).await.unwrap(), still.asked()), (0, 3));
    let told = beside(&house, &tool, log([frame(), frame(), frame()]));
    assert_eq!(told.sweep(Sweep::Evidence).await.unwrap(), 3);
}
