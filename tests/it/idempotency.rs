//! One key names one action, however often and wherever it is sent.

use serde_json::json;

use crate::{
    calls::caller,
    edge::{authorized, report},
    eventually::until,
    house::{Answer, Request, call, name},
};

fn note(mark: &str) -> Request {
    Request::post("/v1/actions", &call("lab.note", json!({ "mark": mark })))
}

fn is_replay(answer: &Answer) -> bool {
    answer.header("service-idempotent-replayed") == Some("true")
}

#[tokio::test]
async fn the_same_call_under_the_same_key_is_answered_with_its_action() {
    let Some((shared, caller)) = caller().await else { return };
    let mark = name();
    let first = caller.send(note(&mark).keyed(&mark)).await;
    let again = caller.send(note(&mark).keyed(&mark)).await;
    assert!(!is_replay(&first) && is_replay(&again));
    assert_eq!(first.ok()["id"], again.ok()["id"]);
    assert_eq!(first.ok()["deed"], again.ok()["deed"]);
    assert_eq!(shared.house.notes(&mark).await, 1);
}

#[tokio::test]
async fn spelling_and_waiting_are_no_part_of_what_is_compared() {
    let Some((_shared, caller)) = caller().await else { return };
    let mark = name();
    let first = caller.send(note(&mark).keyed(&mark)).await.ok();
    let spelled = format!(
        "{{ \"args\" : {{\"mark\":\"\\u0068{}\" }}, \"tool\": \"lab.note\", \"wait\": 3 }}",
        mark.strip_prefix('h').unwrap()
    );
    let again = Request::raw("/v1/actions", spelled).header("Content-Type", "application/json");
    assert_eq!(caller.send(again.keyed(&mark)).await.ok()["id"], first["id"]);
}

#[tokio::test]
async fn a_different_request_under_a_used_key_is_a_conflict() {
    let Some((shared, caller)) = caller().await else { return };
    let mark = name();
    let first = note(&mark).keyed(&mark);
    caller.send(first.clone()).await.ok();
    let tool = call("lab.counted", json!({ "mark": mark }));
    let different = [
        note("another mark").keyed(&mark),
        Request::post("/v1/actions", &tool).keyed(&mark),
        first.clone().header("Service-On-Behalf-Of", "ann"),
        first.clone().header("Service-Session", "s1"),
    ];
    for request in different {
        let answer = caller.send(request).await;
        answer.error(422, "idempotency_conflict", Some("Idempotency-Key"));
    }
    assert_eq!(shared.house.notes(&mark).await, 1);
    assert_eq!(shared.house.notes("another mark").await, 0);
}

#[tokio::test]
async fn a_key_is_each_agents_own() {
    let Some((shared, caller)) = caller().await else { return };
    let mark = name();
    let other = shared.caller().await;
    let first = caller.send(note(&mark).keyed("1")).await.ok();
    let second = other.send(note(&mark).keyed("1")).await.ok();
    assert_ne!(first["id"], second["id"]);
    assert_eq!(shared.house.notes(&mark).await, 2);
}

#[tokio::test]
async fn refusals_and_held_calls_are_replayed_as_they_were_answered() {
    let Some((_, caller)) = caller().await else { return };
    let refused = call("shop.orders.delete", json!({ "order": 5 }));
    let refused = Request::post("/v1/actions", &refused).keyed("refused");
    let first = caller.send(refused.clone()).await;
    let again = caller.send(refused).await;
    let first = first.error(403, "policy_denied", None);
    assert!(is_replay(&again));
    let again = again.error(403, "policy_denied", None);
    assert_eq!(first["action"], again["action"]);
    assert_eq!(first["message"], again["message"]);
    let held = json!({ "order": 10, "amount": 60, "reason": "broken" });
    let held = Request::post("/v1/actions", &call("shop.refunds.create", held)).keyed("held");
    let first = caller.send(held.clone()).await;
    let again = caller.send(held).await;
    assert!(is_replay(&again));
    assert_eq!(first.is(202), again.is(202));
}

#[tokio::test]
async fn a_report_is_replayed_under_its_key() {
    let Some((_, caller)) = caller().await else { return };
    let action = authorized(&caller).await;
    let sent = report(&action, json!({ "result": { "n": 1 } })).keyed("r");
    let first = caller.send(sent.clone()).await;
    let again = caller.send(sent).await;
    assert!(!is_replay(&first) && is_replay(&again));
    assert_eq!(first.ok(), again.ok());
    let other = report(&action, json!({ "result": { "n": 2 } })).keyed("r");
    caller.send(other).await.error(422, "idempotency_conflict", Some("Idempotency-Key"));
}

#[tokio::test]
async fn a_duplicate_waits_for_the_call_that_still_runs() {
    let Some((shared, caller)) = caller().await else { return };
    let mark = name();
    let args = json!({ "mark": mark, "milliseconds": 700 });
    let slow = Request::post("/v1/actions", &call("lab.slow-note", args)).keyed(&mark);
    let (first, again) = tokio::join!(caller.send(slow.clone()), async {
        let recorded = async || caller.read("/v1/actions").await["data"][0].is_object();
        until("the first is recorded", recorded).await;
        caller.send(slow).await
    });
    assert_eq!(first.ok()["status"], "executed");
    assert_eq!(again.ok()["status"], "executed");
    assert_eq!(first.ok()["id"], again.ok()["id"]);
    assert!(is_replay(&again));
    assert_eq!(shared.house.notes(&mark).await, 1);
}
