//! Callers that wait: for a run that takes long, for a change, and not too many at once.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::{
    calls::{assert_sealed, caller},
    house::{Request, call, name},
};

fn path(action: &Value, wait: &str) -> String {
    format!("/v1/actions/{}?wait={wait}", action["id"].as_str().unwrap())
}

#[tokio::test]
async fn a_call_that_outlasts_its_wait_is_processing_and_is_sealed_all_the_same() {
    let Some((shared, caller)) = caller().await else { return };
    let mark = name();
    let mut body = call("lab.slow-note", json!({ "mark": mark, "milliseconds": 3_000 }));
    body["wait"] = json!(0.1);
    let running = caller.send(Request::post("/v1/actions", &body)).await.is(202);
    assert_eq!(running["status"], "processing");
    assert_eq!(running["state"], "executing");
    assert_eq!(running["execution"]["status"], "running");
    assert_eq!(shared.house.notes(&mark).await, 0);
    let sealed = caller.read(&path(&running, "25")).await;
    assert_sealed(&sealed, "executed");
    assert!(sealed["result"]["id"].is_number(), "{sealed}");
    assert_eq!(shared.house.notes(&mark).await, 1);
}

#[tokio::test]
async fn a_client_that_goes_away_takes_no_call_with_it() {
    let Some((shared, caller)) = caller().await else { return };
    let mark = name();
    let args = json!({ "mark": mark, "milliseconds": 500 });
    let slow = Request::post("/v1/actions", &call("lab.slow-note", args)).keyed(&mark);
    let gone = tokio::time::timeout(Duration::from_millis(200), caller.send(slow.clone())).await;
    assert!(gone.is_err(), "it was not slow: {gone:?}");
    let sealed = caller.send(slow).await.ok();
    assert_sealed(&sealed, "executed");
    assert_eq!(shared.house.notes(&mark).await, 1);
}

#[tokio::test]
async fn a_wait_ends_with_the_next_change_and_not_before() {
    let Some((_, caller)) = caller().await else { return };
    let args = json!({ "order": 11, "amount": 99, "reason": "broken" });
    let held = caller.call("shop.refunds.create", args).await.is(202);
    let unchanged = caller.read(&path(&held, "0.5")).await;
    assert_eq!(unchanged["status"], "pending_approval");
    // It is cancelled behind a wait that began later than this one and saw no change.
    let waiting = {
        let (caller, path) = (caller.clone(), path(&held, "25"));
        tokio::spawn(async move { caller.read(&path).await })
    };
    let unchanged = caller.read(&path(&held, "0.5")).await;
    assert_eq!(unchanged["status"], "pending_approval");
    assert!(!waiting.is_finished(), "it ended without a change");
    let cancel = format!("/v1/actions/{}/cancel", held["id"].as_str().unwrap());
    caller.send(Request::raw(&cancel, "")).await.ok();
    assert_sealed(&waiting.await.unwrap(), "cancelled");
}

#[tokio::test]
async fn a_wait_for_what_has_ended_does_not_wait() {
    let Some((_, caller)) = caller().await else { return };
    let done = caller.executed("lab.sleep", json!({ "milliseconds": 0 })).await;
    assert_sealed(&caller.read(&path(&done, "20")).await, "executed");
    for wait in ["-1", "26", "soon", "1&wait=2"] {
        let answer = caller.get(&path(&done, wait)).await;
        answer.error(400, "validation_failed", Some("wait"));
    }
}

#[tokio::test]
async fn an_agent_holds_twenty_waits_and_not_one_more() {
    let Some((_, caller)) = caller().await else { return };
    let args = json!({ "order": 13, "amount": 98, "reason": "broken" });
    let held = caller.call("shop.refunds.create", args).await.is(202);
    // In whatever order they arrive, one is refused at once and all others wait for the end.
    let mut waits = JoinSet::new();
    for _ in 0..21 {
        let (caller, path) = (caller.clone(), path(&held, "25"));
        waits.spawn(async move { caller.get(&path).await });
    }
    let answer = waits.join_next().await.unwrap().unwrap();
    answer.error(429, "rate_limited", None);
    assert_eq!(answer.header("retry-after"), Some("1"));
    // Reading without waiting is not held back.
    caller.read(&path(&held, "0")).await;
    let cancel = format!("/v1/actions/{}/cancel", held["id"].as_str().unwrap());
    caller.send(Request::raw(&cancel, "")).await.ok();
    for answer in waits.join_all().await {
        assert_sealed(&answer.ok(), "cancelled");
    }
}
