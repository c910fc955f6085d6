//! Calls that wait for a person: what a person is shown, and how the wait ends without one.

use std::time::Duration;

use gate::{CancelError, Canceller, Ended};
use ledger::record::Action;
use model::{ApprovalStatus, DecisionOutcome, State, Status};
use serde_json::{Value, json};
use tool::{Estimate, Estimated};

use crate::house::{House, body};

/// The snapshot that the action's approval shows.
pub(crate) async fn context(house: &House, action: &Action) -> Value {
    let detail = house.gate.detail(house.org, action.id).await.unwrap().unwrap();
    let shown = |opens: &&deed::Disclosure| opens.path().as_str() == "action.approval.context";
    let opened = detail.disclosures.iter().find(shown).unwrap();
    let approval = action.approval.as_ref().unwrap();
    assert_eq!(approval.context, opened.commitment());
    assert_eq!(approval.context_digest, Some(crypto::sha256(opened.value())));
    serde_json::from_str(opened.value()).unwrap()
}

#[tokio::test]
async fn a_call_that_waits_for_a_person_can_be_cancelled_once() {
    let house = House::new().await;
    let action = house.refund(500).await;
    assert_eq!(action.status, Status::PendingApproval);
    assert_eq!(action.decision.outcome, DecisionOutcome::RequireApproval);
    let by = Canceller::Agent(house.agent, house.key);
    let Ended::Now(ended) = house.cancel(&action, by).await.unwrap() else {
        panic!("a first cancellation is no repeat");
    };
    assert_eq!((ended.state, ended.status), (State::Sealed, Status::Cancelled));
    assert_eq!(body(&house, &ended)["action"]["approval"]["status"], "cancelled");
    let again = house.cancel(&action, by).await.unwrap_err();
    assert!(matches!(again, CancelError::Conflict("The action has already finished.")));
    // Its budget is free again: three more calls fit into the day.
    for _ in 0..3 {
        assert_eq!(house.refund(20).await.status, Status::Executed);
    }
}

#[tokio::test]
async fn an_unanswered_approval_means_no() {
    let house = House::new().await;
    let action = house.refund(500).await;
    house.pass(Duration::from_mins(30));
    assert_eq!(house.sweep().await, 1);
    let ended = house.gate.action(house.org, action.id).await.unwrap().unwrap();
    assert_eq!(ended.status, Status::Denied);
    assert_eq!(ended.approval.unwrap().status, ApprovalStatus::Expired);
    assert_eq!(ended.decision.outcome, DecisionOutcome::RequireApproval);
}

#[tokio::test]
async fn an_org_key_cancels_any_waiting_action_and_another_agent_none() {
    let house = House::new().await;
    let action = house.refund(500).await;
    let (agent, key) = house.other;
    let refused = house.cancel(&action, Canceller::Agent(agent, key)).await.unwrap_err();
    assert!(matches!(refused, CancelError::NotFound), "{refused}");
    let Ended::Now(ended) = house.cancel(&action, Canceller::OrgKey(house.org_key)).await.unwrap()
    else {
        panic!("a first cancellation is no repeat");
    };
    assert_eq!(ended.status, Status::Cancelled);
    assert_eq!(house.refund.runs(), 0);
}

#[tokio::test]
async fn an_expired_wait_gives_its_budget_back() {
    let house = House::new().await;
    for _ in 0..3 {
        house.refund(500).await;
    }
    assert_eq!(house.refund(20).await.status, Status::Denied, "the waiting ones count");
    house.pass(Duration::from_mins(30));
    assert_eq!(house.sweep().await, 3);
    for _ in 0..3 {
        assert_eq!(house.refund(20).await.status, Status::Executed);
    }
}

#[tokio::test]
async fn a_person_is_shown_what_was_sent_and_what_decided() {
    let house = House::new().await;
    let mut call = house.call("shop.refund", json!({ "amount": 500, "note": "late" }));
    call.call.facts.on_behalf_of = Some("ann".to_owned());
    let action = house.submit(call).await.unwrap();
    let shown = context(&house, &action).await;
    assert_eq!(shown["args_shown"], json!({ "args.amount": 500, "args.note": "late" }));
    assert_eq!(shown["tool"], "shop.refund");
    assert_eq!(shown["tool_digest"], json!(action.tool_digest));
    assert_eq!(shown["request_digest"], json!(action.request_digest));
    assert_eq!(shown["agent"], json!({ "id": action.agent.id, "name": "support" }));
    assert_eq!(shown["on_behalf_of"], "ann");
    assert_eq!(shown["rule_id"], "large");
    assert_eq!(shown["policy_version"], json!(action.decision.policy_version));
    assert_eq!(shown["side_effect"], "write");
    assert_eq!(shown["max_rows_changed"], 1);
    assert_eq!(shown["estimate"], json!({ "status": "absent", "why": "not_asked" }));
    // The rule excludes for whom the agent acts, and no member goes by that.
    assert_eq!(shown["warnings"], json!(["excludes_nobody", "first_use", "tool_new"]));
    assert_eq!(house.refund.estimates(), 0, "no rule asks for it");
    let by = Canceller::Agent(house.agent, house.key);
    let Ended::Now(ended) = house.cancel(&action, by).await.unwrap() else { panic!("no repeat") };
    let committed = json!(action.approval.unwrap().context);
    assert_eq!(body(&house, &ended)["action"]["approval"]["context"], committed);
}

#[tokio::test]
async fn the_tool_is_asked_once_what_a_call_would_do_when_the_rule_wants_it() {
    let house = House::new().await;
    let rows = vec![json!({ "rows": 3 })];
    house.refund.estimate_as(Estimate::Given(Estimated { rows: rows.clone(), is_whole: true }));
    let action = house.refund(5_000).await;
    let shown = context(&house, &action).await;
    let estimate = &shown["estimate"];
    assert_eq!([&estimate["status"], &estimate["changes"]], [&json!("given"), &json!(3)]);
    assert_eq!([&estimate["rows"], &estimate["complete"]], [&json!(rows), &json!(true)]);
    let warned = |word: &str| shown["warnings"].as_array().unwrap().contains(&json!(word));
    assert!(warned("estimate_large"), "the tool declares one row");
    assert_eq!(shown["args_shown"], json!({ "args.amount": 5_000 }));
    assert_eq!(house.refund.estimates(), 1);
    assert_eq!(action.approval.unwrap().expires_at, action.created_at + Duration::from_hours(2));
}

#[tokio::test]
async fn an_estimate_that_does_not_come_is_said_to_be_absent() {
    for (estimate, why) in [(Estimate::Late, "late"), (Estimate::Failed, "failed")] {
        let house = House::new().await;
        house.refund.estimate_as(estimate);
        let action = house.refund(5_000).await;
        assert_eq!(action.state, State::PendingApproval);
        let shown = context(&house, &action).await;
        assert_eq!(shown["estimate"], json!({ "status": "absent", "why": why }));
        assert_eq!(shown["warnings"], json!(["estimate_absent", "first_use", "tool_new"]));
    }
}

#[tokio::test]
async fn a_snapshot_stays_within_its_bound_and_says_what_it_leaves_out() {
    let house = House::new().await;
    let rows = vec![json!({ "id": 1 }), json!({ "note": "x".repeat(100_000) })];
    house.refund.estimate_as(Estimate::Given(Estimated { rows, is_whole: true }));
    let args = json!({ "amount": 5_000, "note": "x".repeat(900) });
    let action = house.submit(house.call("shop.refund", args)).await.unwrap();
    let shown = context(&house, &action).await;
    assert!(crypto::json::canonical(&shown).len() <= house.gate.limits().context_max_bytes);
    let estimate = &shown["estimate"];
    assert_eq!([&estimate["rows"], &estimate["complete"]], [&json!([{ "id": 1 }]), &json!(false)]);
    assert_eq!(shown["args_not_shown"], json!([{ "path": "args.note", "why": "not_picked" }]));
    assert_eq!(shown["warnings"], json!(["args_not_whole", "first_use", "tool_new"]));
}

/// What a person is warned of about a new call that waits.
async fn warned(house: &House) -> Vec<String> {
    let action = house.refund(500).await;
    assert_eq!(action.state, State::PendingApproval);
    serde_json::from_value(context(house, &action).await["warnings"].clone()).unwrap()
}

#[tokio::test]
async fn a_person_is_warned_of_a_first_time_and_of_a_budget_that_is_nearly_used_up() {
    let house = House::new().await;
    assert_eq!(warned(&house).await, ["first_use", "tool_new"]);
    house.refund(20).await;
    assert_eq!(warned(&house).await, ["budget_near"], "the third of three");
    let (agent, key) = house.other;
    let mut call = house.call("shop.refund", json!({ "amount": 500 }));
    (call.call.agent.id, call.key) = (agent, key);
    let action = house.submit(call).await.unwrap();
    let shown = context(&house, &action).await;
    assert_eq!(shown["warnings"], json!(["first_use"]), "another agent ran it");
}

#[tokio::test]
async fn a_person_is_warned_of_a_write_at_an_unusual_time() {
    let house = House::new().await;
    for _ in 0..8 {
        house.refund(20).await;
        house.pass(Duration::from_hours(24));
    }
    assert_eq!(warned(&house).await, [""; 0], "the usual time");
    house.pass(Duration::from_hours(12));
    assert_eq!(warned(&house).await, ["off_hours"]);
}
