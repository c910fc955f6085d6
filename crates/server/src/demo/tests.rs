//! The story comes out as told, and quickly.

use super::*;

#[tokio::test]
async fn everything_in_the_story_comes_out_as_it_should() {
    assert_eq!(run().await.expect("a story"), Exit::Ok);
}

#[tokio::test]
async fn the_refund_runs_and_the_delete_is_refused_with_the_rules_sentence() {
    let stage = Stage::set().await.expect("a stage");
    let refund = stage.call("shop.refund", json!({ "order": 1001, "amount": 25 })).await;
    let refund = refund.expect("an action");
    assert_eq!(refund.status, model::Status::Executed);
    assert_eq!(stage.shop.status_of(1001), "refunded");
    let delete = stage.call("shop.delete", json!({ "order": 1001 })).await.expect("an action");
    assert_eq!(delete.status, model::Status::Denied);
    let sentence = delete.decision.message.as_deref();
    assert_eq!(sentence, Some("Orders are kept for ten years; cancel them instead."));
    assert_eq!(stage.shop.status_of(1001), "refunded");
    assert!(refund.deed.is_some() && delete.deed.is_some() && refund.deed != delete.deed);
    assert!(told("1.", &refund).contains("executed: Reported at L0"), "{}", told("1.", &refund));
    let failed = stage.call("shop.refund", json!({ "order": 7, "amount": 25 })).await;
    let failed = told("2.", &failed.expect("an action"));
    assert!(failed.contains("failed: there is no order 7"), "{failed}");
}

#[tokio::test]
async fn the_tool_that_lies_is_caught_and_its_deed_says_so() {
    let stage = Stage::set().await.expect("a stage");
    let lie = stage.call("shop.close", json!({ "order": 1001 })).await.expect("an action");
    let witness = lie.witness.as_ref().expect("a witness");
    assert_eq!((witness.level, witness.verdict), (model::Level::L1, model::Verdict::Mismatch));
    assert_eq!(witness.reasons, ["row_count", "missing_rows"]);
    assert!(lie.deed.is_some());
}

#[tokio::test]
async fn a_refund_above_the_sum_waits_and_nothing_happens_to_the_order() {
    let stage = Stage::set().await.expect("a stage");
    let held = stage.call("shop.refund", json!({ "order": 1001, "amount": 101 })).await;
    assert_eq!(held.expect("an action").status, model::Status::PendingApproval);
    assert_eq!(stage.shop.status_of(1001), "paid");
}
