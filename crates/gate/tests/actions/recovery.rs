//! Runs whose instance is gone, and what becomes of them.

use std::time::Duration;

use futures_util::future::join_all;
use gate::{ActionStore, Filter, Submitted, Sweep};
use ledger::{LedgerStore, record::Action};
use model::{ExecutionStatus, State, Status};
use serde_json::json;
use testkit::{ScriptedTool, eventually::WITHIN};
use tool::{Settled, Tool};

use crate::house::House;

/// Begins a run that never comes back, as if its instance were gone.
async fn abandoned(house: &House) -> Action {
    house.refund.hold();
    let call = house.call("shop.refund", json!({ "amount": 20 }));
    let Submitted::Running(running) = house.gate.submit(call).await.unwrap() else {
        panic!("the call runs");
    };
    while house.refund.runs() == 0 {
        tokio::task::yield_now().await;
    }
    house.pass(Duration::from_mins(1));
    Action::clone(&running.action)
}

async fn recovered(house: &House, settled: Settled) -> Action {
    let action = abandoned(house).await;
    house.refund.settle_as(settled);
    assert_eq!(house.sweep().await, 1);
    assert_eq!(house.refund.runs(), 1, "a run is never repeated");
    house.gate.action(house.org, action.id).await.unwrap().unwrap()
}

#[tokio::test]
async fn a_lost_run_that_was_not_applied_failed() {
    let action = recovered(&House::new().await, Settled::NotApplied).await;
    assert_eq!(action.status, Status::Failed);
    assert_eq!(action.execution.unwrap().error_code.unwrap().as_str(), "instance_lost");
}

#[tokio::test]
async fn a_lost_run_that_was_applied_succeeded_without_a_report() {
    let action = recovered(&House::new().await, Settled::Applied).await;
    assert_eq!(action.status, Status::Executed);
    assert_eq!(action.execution.unwrap().status, ExecutionStatus::Succeeded);
    assert_eq!(action.witness.unwrap().reasons, ["report_lost"]);
}

#[tokio::test]
async fn a_lost_run_that_nobody_knows_of_is_unknown() {
    let action = recovered(&House::new().await, Settled::Unknowable).await;
    assert_eq!(action.status, Status::Executed);
    assert_eq!(action.execution.unwrap().status, ExecutionStatus::Unknown);
}

#[tokio::test]
async fn an_unreachable_system_is_asked_again_until_the_witness_gives_up() {
    let house = House::new().await;
    let mut action = recovered(&house, Settled::Unreachable).await;
    assert_eq!(action.state, State::Executing);
    for _ in 0..8 {
        house.pass(Duration::from_mins(1));
        house.sweep().await;
        action = house.gate.action(house.org, action.id).await.unwrap().unwrap();
    }
    assert_eq!(action.state, State::Sealed);
    assert_eq!(action.execution.unwrap().error_code.unwrap().as_str(), "witness_gave_up");
}

#[tokio::test]
async fn a_late_run_cannot_seal_what_was_taken_over() {
    let house = House::new().await;
    let before = house.store.deeds(house.org).len();
    let action = recovered(&house, Settled::NotApplied).await;
    house.refund.release();
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    let now = house.gate.action(house.org, action.id).await.unwrap().unwrap();
    assert_eq!(now, action);
    assert_eq!(house.store.deeds(house.org).len(), before + 1);
}

/// How many runs are interrupted at once: some pages of a sweep, the last of them not full.
const INTERRUPTED: usize = 1_000;

async fn version(house: &House) -> u64 {
    house.store.base(house.org).await.unwrap().0.unwrap().head.version
}

async fn unsealed(house: &House) -> usize {
    let open = vec![State::Executing, State::Witnessing, State::PendingApproval];
    let filter = Filter { states: open, ..Filter::default() };
    house.store.list(house.org, &filter, None, usize::MAX).await.unwrap().actions.len()
}

#[tokio::test]
async fn many_interrupted_runs_are_ended_by_one_sweep_in_few_turns() {
    let house = House::new().await;
    house.batch.hold();
    house.batch.settle_as(Settled::NotApplied);
    let calls = (0..INTERRUPTED).map(|number| {
        let call = house.call("shop.batch", json!({ "number": number }));
        house.gate.submit(call)
    });
    join_all(calls).await;
    house.pass(Duration::from_mins(1));
    let before = version(&house).await;
    assert_eq!(house.sweep().await, INTERRUPTED);
    assert_eq!(unsealed(&house).await, 0);
    let turns = version(&house).await - before;
    assert!(turns <= INTERRUPTED as u64 / 16, "{turns} turns");
}

#[tokio::test]
async fn runs_that_cannot_be_ended_hold_nothing_else_up() {
    let house = House::new().await;
    house.batch.hold();
    house.batch.settle_as(Settled::Unreachable);
    let calls = (0..300).map(|_| house.gate.submit(house.call("shop.batch", json!({}))));
    join_all(calls).await;
    house.pass(Duration::from_secs(20));
    let waiting = house.refund(500).await;
    house.pass(Duration::from_mins(30));
    assert_eq!(house.sweep().await, 301);
    let ended = house.gate.action(house.org, waiting.id).await.unwrap().unwrap();
    assert_eq!(ended.state, State::Sealed);
    assert_eq!(unsealed(&house).await, 300);
}

#[tokio::test]
async fn a_run_that_is_handed_back_is_ended_at_once() {
    let house = House::new().await;
    house.refund.hold();
    let call = house.call("shop.refund", json!({ "amount": 20 }));
    let Submitted::Running(running) = house.gate.submit(call).await.unwrap() else {
        panic!("the call runs");
    };
    while house.refund.runs() == 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(house.sweep().await, 0, "its lease lasts");
    assert_eq!(house.gate.hand_back_leases().await.unwrap(), 1);
    assert_eq!(house.gate.hand_back_leases().await.unwrap(), 0, "it is given back once");
    house.refund.settle_as(Settled::Applied);
    assert_eq!(house.sweep().await, 1);
    let ended = house.gate.action(house.org, running.action.id).await.unwrap().unwrap();
    assert_eq!(ended.status, Status::Executed);
    let deeds = house.store.deeds(house.org).len();
    house.refund.release();
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert_eq!(house.store.deeds(house.org).len(), deeds, "the run that wakes seals nothing");
}

/// Begins so many runs that never come back, as if their instance were gone.
async fn orphans(house: &House, tool: &ScriptedTool, count: usize) {
    tool.hold();
    let name = tool.definition().name.to_string();
    let calls = (0..count).map(|_| house.gate.submit(house.call(&name, json!({}))));
    for begun in join_all(calls).await {
        begun.unwrap();
    }
    house.pass(Duration::from_mins(1));
}

#[tokio::test]
async fn a_report_that_is_overdue_waits_for_no_governed_system() {
    let house = House::new().await;
    orphans(&house, &house.batch, 900).await;
    house.batch.fall_silent();
    let gate = house.gate.clone();
    let hanging = tokio::spawn(async move { gate.sweep(Sweep::Takeovers).await });
    while house.batch.settlings() == 0 {
        tokio::task::yield_now().await;
    }
    let sent = house.submit(house.edge_call()).await.unwrap();
    house.pass(Duration::from_mins(11));
    let sweep = house.gate.sweep(Sweep::Reports);
    let looked = tokio::time::timeout(WITHIN, sweep).await;
    assert_eq!(looked.expect("the sweep waits for nobody").unwrap(), 1);
    let ended = house.gate.action(house.org, sent.id).await.unwrap().unwrap();
    assert_eq!(ended.state, State::Sealed);
    assert!(!hanging.is_finished());
    hanging.abort();
}

#[tokio::test]
async fn a_connector_that_hangs_keeps_no_run_of_another_from_being_ended() {
    let house = House::new().await;
    orphans(&house, &house.batch, 900).await;
    house.batch.fall_silent();
    let gate = house.gate.clone();
    let hanging = tokio::spawn(async move { gate.sweep(Sweep::Takeovers).await });
    while house.batch.settlings() == 0 {
        tokio::task::yield_now().await;
    }
    orphans(&house, &house.desk, 1).await;
    let sweep = tokio::time::timeout(WITHIN, house.gate.sweep(Sweep::Takeovers));
    sweep.await.expect("the sweep waits for no other").unwrap();
    assert_eq!(unsealed(&house).await, 900);
    let asked = house.batch.settlings();
    assert!(asked <= 8, "{asked} were asked for at once");
    hanging.abort();
}

#[tokio::test]
async fn a_connector_that_gave_no_answer_rests_before_it_is_asked_again() {
    let house = House::new().await;
    house.batch.settle_as(Settled::Unreachable);
    orphans(&house, &house.batch, 100).await;
    let asked = || house.batch.settlings();
    house.sweep().await;
    assert_eq!(asked(), 4);
    house.pass(Duration::from_secs(4));
    house.sweep().await;
    assert_eq!(asked(), 4, "it rests");
    house.pass(Duration::from_secs(1));
    house.sweep().await;
    assert_eq!(asked(), 8);
    house.pass(Duration::from_secs(9));
    house.sweep().await;
    assert_eq!(asked(), 8, "it rests for longer each time");
    house.batch.settle_as(Settled::NotApplied);
    house.pass(Duration::from_mins(1));
    house.sweep().await;
    assert_eq!(unsealed(&house).await, 0, "once it answers all of them end");
}
