//! Calls whose evidence is not in when their run ends: the report is kept, and outlives its instance.

use std::{future::pending, sync::Arc, time::Duration};

use async_trait::async_trait;
use gate::{
    ActionDetail, ActionStore, CancelError, Canceller, ChangeLog, Gate, Limits, Sought, Submitted,
    Sweep,
};
use ledger::{StoreDown, record::Action};
use model::{ExecutionStatus, Level, LogAnswer, Lsn, ReadBack, ReadRow, State, Status, Verdict};
use serde_json::{Value, json};
use store_memory::Doubt;
use testkit::{ScriptedLog, ScriptedTool, limits};
use tool::{Reading, Settled};

use crate::{
    house::{House, body},
    witnessing::{applied, found, frame, image, sealed, tool},
};

/// How often evidence is asked for.
const ATTEMPTS: u32 = 3;

/// A log that is never read far enough, however long somebody waits.
struct SilentLog;

#[async_trait]
impl ChangeLog for SilentLog {
    async fn told(&self, _: &Sought, patience: Duration) -> Result<LogAnswer, StoreDown> {
        if !patience.is_zero() {
            pending::<()>().await;
        }
        Ok(LogAnswer::NotYet { read_to: None })
    }
}

/// A log that cannot be asked.
struct AbsentLog;

#[async_trait]
impl ChangeLog for AbsentLog {
    async fn told(&self, _: &Sought, _: Duration) -> Result<LogAnswer, StoreDown> {
        Err(StoreDown { attempt: "ask a log", source: "there is none".into() })
    }
}

fn bounds() -> Limits {
    Limits { witness_attempts: ATTEMPTS, ..limits() }
}

/// A call that an instance runs and then waits for the log of, as it stands meanwhile.
async fn waiting(house: &House, tool: &Arc<ScriptedTool>) -> Action {
    let gate = house.gate_beside_log(Arc::clone(tool), Arc::new(SilentLog), bounds());
    let call = house.call("shop.refund", json!({ "amount": 20 }));
    let Submitted::Running(running) = gate.submit(call).await.unwrap() else {
        panic!("the call runs");
    };
    in_state(&gate, house, &running.action, State::Witnessing).await
}

async fn in_state(gate: &Gate, house: &House, action: &Action, state: State) -> Action {
    for _ in 0..1_000 {
        let now = gate.action(house.org, action.id).await.unwrap().unwrap();
        if now.state == state {
            return now;
        }
        tokio::task::yield_now().await;
    }
    panic!("it never is `{state}`");
}

/// Another instance, which finds that whoever held the action is gone and takes it up.
async fn taken_up(house: &House, tool: &Arc<ScriptedTool>, log: impl ChangeLog + 'static) -> Gate {
    house.pass(Duration::from_mins(1));
    let gate = house.other_beside_log(Arc::clone(tool), Arc::new(log), bounds());
    assert_eq!(gate.sweep(Sweep::Takeovers).await.unwrap(), 1);
    gate
}

fn result(detail: &ActionDetail) -> Option<Value> {
    let opened = detail.disclosures.iter().find(|it| it.path() == &deed::Path::RESULT)?;
    serde_json::from_str(opened.value()).ok()
}

#[tokio::test]
async fn a_report_whose_instance_is_gone_is_witnessed_by_another_with_its_own_result() {
    let house = House::new().await;
    let tool = tool(Level::L2, "20.00");
    let action = waiting(&house, &tool).await;
    assert_eq!((action.status, action.witness.as_ref()), (Status::Processing, None));
    assert_eq!(action.execution.as_ref().unwrap().status, ExecutionStatus::Running);
    let gate = taken_up(&house, &tool, ScriptedLog::of([frame()])).await;
    let end = sealed(&gate, &house, action.id).await;
    assert_eq!(found(&end), (Level::L2, Verdict::Verified, vec![]));
    assert_eq!(end.execution.as_ref().unwrap().status, ExecutionStatus::Succeeded);
    let told = json!({ "id": 7, "amount": "20.00" });
    assert_eq!(end.result_digest, Some(crypto::sha256(crypto::json::canonical(&told))));
    let detail = gate.detail(house.org, end.id).await.unwrap().unwrap();
    assert_eq!(result(&detail), Some(told));
    assert_eq!(body(&house, &end)["action"]["witness"]["sources"][0]["type"], "change_log");
    assert_eq!(tool.runs(), 1, "a run is never repeated");
    assert!(house.store.report(house.org, end.id).await.unwrap().is_none(), "nobody needs it");
}

#[tokio::test]
async fn a_lie_whose_instance_is_gone_is_found_out_by_another() {
    let house = House::new().await;
    let liar = tool(Level::L2, "10.00");
    let action = waiting(&house, &liar).await;
    let gate = taken_up(&house, &liar, ScriptedLog::of([frame()])).await;
    let end = sealed(&gate, &house, action.id).await;
    assert_eq!(found(&end), (Level::L2, Verdict::Mismatch, vec!["value_differs"]));
}

#[tokio::test]
async fn a_kept_success_that_was_never_committed_is_a_lie_whoever_finds_it() {
    let house = House::new().await;
    let tool = tool(Level::L2, "20.00");
    let action = waiting(&house, &tool).await;
    tool.settle_as(Settled::NotApplied);
    let never = LogAnswer::NeverCommitted { read_to: Lsn(50) };
    let gate = taken_up(&house, &tool, ScriptedLog::of([never])).await;
    let end = sealed(&gate, &house, action.id).await;
    assert_eq!(found(&end), (Level::L2, Verdict::Mismatch, vec!["not_committed"]));
}

#[tokio::test]
async fn what_is_being_witnessed_has_run_and_is_not_cancelled() {
    let house = House::new().await;
    let action = waiting(&house, &tool(Level::L2, "20.00")).await;
    let refused = house.cancel(&action, Canceller::Agent(house.agent, house.key)).await;
    assert!(matches!(refused, Err(CancelError::Conflict(_))), "{refused:?}");
    house.stop_and_void().await;
    house.sweep().await;
    let now = house.gate.action(house.org, action.id).await.unwrap().unwrap();
    assert_eq!(now, action, "a Stop takes nothing back that has run");
}

#[tokio::test]
async fn whoever_was_taken_over_seals_nothing() {
    let house = House::new().await;
    let tool = tool(Level::L2, "20.00");
    let first = house.gate_beside_log(Arc::clone(&tool), Arc::new(SilentLog), bounds());
    let running = applied(&house, &first, &tool).await;
    let gate = taken_up(&house, &tool, SilentLog).await;
    let end = sealed(&gate, &house, running.action.id).await;
    assert_eq!(found(&end).2, ["report_lost", "frame_timeout", "required_level_unmet"]);
    let deeds = house.store.deeds(house.org).len();
    let awaited = house.store.report(house.org, end.id).await.unwrap().unwrap();
    tool.release();
    assert!(running.done.await.is_err(), "nothing is told of what another one ended");
    assert_eq!(house.store.deeds(house.org).len(), deeds);
    let kept = house.store.report(house.org, end.id).await.unwrap().unwrap();
    assert_eq!(kept.text, awaited.text, "its own report comes too late");
}

#[tokio::test]
async fn a_report_whose_holders_all_die_is_given_up_and_sealed() {
    let house = House::new().await;
    let tool = tool(Level::L2, "20.00");
    let action = waiting(&house, &tool).await;
    for _ in 1..ATTEMPTS {
        let gate = taken_up(&house, &tool, SilentLog).await;
        let waits = gate.action(house.org, action.id).await.unwrap().unwrap();
        assert_eq!(waits.state, State::Witnessing);
    }
    let gate = taken_up(&house, &tool, SilentLog).await;
    let end = sealed(&gate, &house, action.id).await;
    let reasons = vec!["witness_gave_up", "required_level_unmet"];
    assert_eq!(found(&end), (Level::L0, Verdict::Unverifiable, reasons));
    assert_eq!(end.status, Status::Executed);
}

#[tokio::test]
async fn a_log_that_cannot_be_asked_is_given_up() {
    let house = House::new().await;
    let gate = house.gate_beside_log(tool(Level::L2, "20.00"), Arc::new(AbsentLog), bounds());
    let call = house.call("shop.refund", json!({ "amount": 20 }));
    let Submitted::Running(running) = gate.submit(call).await.unwrap() else {
        panic!("the call runs");
    };
    let end = sealed(&gate, &house, running.action.id).await;
    let reasons = vec!["witness_gave_up", "required_level_unmet"];
    assert_eq!(found(&end), (Level::L0, Verdict::Unverifiable, reasons));
}

#[tokio::test]
async fn a_caller_does_not_wait_for_a_reader_that_is_late() {
    let house = House::new().await;
    let tool = tool(Level::L1, "20.00");
    let row = ReadRow { xmin: 900, image: image() };
    tool.read_back_as(vec![Reading::Unreachable, Reading::Done(ReadBack::Rows(vec![Some(row)]))]);
    let gate = house.gate_beside_log(tool, Arc::new(SilentLog), bounds());
    let call = house.call("shop.refund", json!({ "amount": 20 }));
    let Submitted::Running(running) = gate.submit(call).await.unwrap() else {
        panic!("the call runs");
    };
    let told = running.done.await.unwrap();
    assert_eq!((told.action.state, told.result), (State::Witnessing, None));
    let end = sealed(&gate, &house, told.action.id).await;
    assert_eq!(found(&end), (Level::L1, Verdict::Verified, vec![]));
}

#[tokio::test]
async fn a_report_whose_commit_is_in_doubt_is_kept_once() {
    for doubt in [Doubt::Committed, Doubt::Dropped] {
        let house = House::new().await;
        let tool = tool(Level::L2, "20.00");
        tool.hold();
        let log = ScriptedLog::of([LogAnswer::NotYet { read_to: None }, frame()]);
        let gate = house.gate_beside_log(Arc::clone(&tool), Arc::new(log), bounds());
        let call = house.call("shop.refund", json!({ "amount": 20 }));
        let Submitted::Running(running) = gate.submit(call).await.unwrap() else {
            panic!("the call runs");
        };
        house.store.doubt_next(doubt);
        tool.release();
        let end = running.done.await.unwrap();
        assert_eq!(found(&end.action), (Level::L2, Verdict::Verified, vec![]));
        assert_eq!(end.result.as_deref(), Some(&json!({ "id": 7, "amount": "20.00" })));
        assert!(house.store.report(house.org, end.action.id).await.unwrap().is_none());
    }
}

#[tokio::test]
async fn an_instance_that_stops_hands_on_what_it_waits_for() {
    let house = House::new().await;
    let tool = tool(Level::L2, "20.00");
    let first = house.gate_beside_log(Arc::clone(&tool), Arc::new(SilentLog), bounds());
    let call = house.call("shop.refund", json!({ "amount": 20 }));
    let Submitted::Running(running) = first.submit(call).await.unwrap() else {
        panic!("the call runs");
    };
    in_state(&first, &house, &running.action, State::Witnessing).await;
    assert_eq!(first.hand_back_leases().await.unwrap(), 1);
    let log = Arc::new(ScriptedLog::of([frame()]));
    let gate = house.other_beside_log(Arc::clone(&tool), log, bounds());
    assert_eq!(gate.sweep(Sweep::Takeovers).await.unwrap(), 1, "nobody waits for the lease");
    let end = sealed(&gate, &house, running.action.id).await;
    assert_eq!(found(&end).1, Verdict::Verified);
}
