//! Approvals that a Stop made void: what waited for them ends as denied, whoever comes first.

use std::time::Duration;

use gate::{ActionStore, CancelError, Canceller};
use ledger::record::Action;
use model::{ApprovalStatus, State, Status, VoidReason};

use crate::house::{House, body};

async fn as_it_stands(house: &House, action: &Action) -> Action {
    house.gate.action(house.org, action.id).await.unwrap().unwrap()
}

#[tokio::test]
async fn what_waits_for_a_void_approval_is_denied_and_gives_its_budget_back() {
    let house = House::new().await;
    let mut waiting = Vec::new();
    for _ in 0..3 {
        waiting.push(house.refund(500).await);
    }
    house.void().await;
    assert_eq!(house.sweep().await, 3);
    for action in &waiting {
        let ended = as_it_stands(&house, action).await;
        assert_eq!((ended.state, ended.status), (State::Sealed, Status::Denied));
        assert_eq!(body(&house, &ended)["action"]["approval"]["status"], "voided");
    }
    // Nothing says so any more, and what is asked for from now on waits.
    assert!(house.store.voiding(10).await.unwrap().is_empty());
    house.pass(Duration::from_millis(1));
    assert_eq!(house.refund(500).await.status, Status::PendingApproval);
    assert_eq!(house.sweep().await, 0);
}

#[tokio::test]
async fn an_org_that_is_stopped_voids_the_approvals_of_every_agent() {
    let house = House::new().await;
    let action = house.refund(500).await;
    house.void_all().await;
    assert_eq!(house.sweep().await, 1);
    let approval = as_it_stands(&house, &action).await.approval.unwrap();
    assert_eq!(approval.status, ApprovalStatus::Voided);
    assert!(house.store.voiding(10).await.unwrap().is_empty());
}

#[tokio::test]
async fn what_is_ended_names_the_stop_also_where_that_was_lifted_before() {
    let house = House::new().await;
    let first = house.refund(500).await;
    let org = house.void_all_by("A drill.").await;
    house.sweep().await;
    let approval = as_it_stands(&house, &first).await.approval.unwrap();
    assert_eq!((approval.void_reason, approval.voided), (Some(VoidReason::OrgStopped), Some(org)));
    let known = house.gate.ledger().look(house.org).await.unwrap();
    let noted = known.org().map(|org| (org.voids, org.voided.clone()));
    assert_eq!(noted, Some((None, None)), "the note is gone with what it was for");
    // The agent's own Stop, and one from before the reason was noted.
    house.pass(Duration::from_millis(1));
    let second = house.refund(500).await;
    house.void().await;
    house.sweep().await;
    let approval = as_it_stands(&house, &second).await.approval.unwrap();
    assert_eq!((approval.void_reason, approval.voided), (Some(VoidReason::AgentStopped), None));
}

#[tokio::test]
async fn of_two_marks_the_first_that_holds_a_call_is_named() {
    let house = House::new().await;
    let before = house.refund(500).await;
    // The org is stopped, then its agent; and the other way round, with a call between.
    let org = house.void_all_by("The org.").await;
    house.pass(Duration::from_millis(1));
    let between = house.refund(500).await;
    house.pass(Duration::from_millis(1));
    let agent = house.void_by("The agent.").await;
    house.sweep().await;
    let named = async |action: &Action| {
        let approval = as_it_stands(&house, action).await.approval.unwrap();
        (approval.void_reason, approval.voided)
    };
    assert_eq!(named(&before).await, (Some(VoidReason::OrgStopped), Some(org)));
    assert_eq!(named(&between).await, (Some(VoidReason::AgentStopped), Some(agent)));
    house.pass(Duration::from_millis(1));
    let agent = house.void_by("The agent again.").await;
    house.pass(Duration::from_millis(1));
    let later = house.refund(500).await;
    house.pass(Duration::from_millis(1));
    let org = house.void_all_by("The org again.").await;
    house.sweep().await;
    assert_eq!(named(&later).await, (Some(VoidReason::OrgStopped), Some(org)), "not {agent:?}");
}

#[tokio::test]
async fn the_first_that_are_void_are_ended_without_the_sweep_and_no_others() {
    let house = House::new().await;
    let action = house.refund(500).await;
    house.void_all().await;
    let voiding = house.store.voiding(10).await.unwrap().remove(0);
    house.pass(Duration::from_millis(1));
    let later = house.refund(500).await;
    house.gate.end_first_void(&voiding).await.unwrap();
    house.gate.end_first_void(&voiding).await.unwrap();
    assert_eq!(as_it_stands(&house, &action).await.status, Status::Denied);
    assert_eq!(as_it_stands(&house, &later).await.status, Status::PendingApproval);
}

#[tokio::test]
async fn a_void_approval_cannot_be_cancelled_before_it_is_ended() {
    let house = House::new().await;
    let action = house.refund(500).await;
    house.void().await;
    let by = Canceller::Agent(house.agent, house.key);
    let refused = house.cancel(&action, by).await.unwrap_err();
    assert!(matches!(refused, CancelError::Conflict("The action has already finished.")));
    let ended = as_it_stands(&house, &action).await;
    assert_eq!((ended.status, ended.state), (Status::Denied, State::Sealed));
    assert_eq!(ended.approval.unwrap().status, ApprovalStatus::Voided);
}

#[tokio::test]
async fn an_approval_that_was_kept_goes_on_waiting() {
    let house = House::new().await;
    let action = house.refund(500).await;
    house.stop_agent().await;
    assert_eq!(house.sweep().await, 0);
    assert_eq!(as_it_stands(&house, &action).await.status, Status::PendingApproval);
}

#[tokio::test]
async fn what_runs_when_an_agent_is_stopped_is_told_oldest_first() {
    let house = House::new().await;
    let mut sent = Vec::new();
    for _ in 0..3 {
        let call = house.edge_call();
        sent.push(house.submit(call).await.unwrap().id);
    }
    house.refund(500).await;
    house.refund(20).await;
    let told = house.gate.under_way(house.org, Some(house.agent), 2).await.unwrap();
    assert_eq!((told.count, &told.actions[..]), (3, &sent[..2]));
    let of_all = house.gate.under_way(house.org, None, 10).await.unwrap();
    assert_eq!(of_all.actions, sent);
    let of_other = house.gate.under_way(house.org, Some(house.other.0), 10).await.unwrap();
    assert_eq!(of_other.count, 0);
}
