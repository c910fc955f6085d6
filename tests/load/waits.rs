//! Callers that wait are told soon after the change that they wait for, and not before.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::{
    calls::{assert_sealed, caller},
    house::{Request, call, name},
};

fn path(action: &Value, wait: &str) -> String {
    format!("/v1/actions/{}?wait={wait}", action["id"].as_str().unwrap())
}

#[tokio::test]
async fn the_end_of_a_run_is_told_soon() {
    let Some((_, caller)) = caller().await else { return };
    let mut body = call("lab.slow-note", json!({ "mark": name(), "milliseconds": 800 }));
    body["wait"] = json!(0.1);
    let running = caller.send(Request::post("/v1/actions", &body)).await.is(202);
    let began = Instant::now();
    assert_sealed(&caller.get(&path(&running, "25")).await.ok(), "executed");
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
}

#[tokio::test]
async fn a_wait_lasts_as_long_as_asked_for_and_ends_with_a_change() {
    let Some((_, caller)) = caller().await else { return };
    let args = json!({ "order": 12, "amount": 99, "reason": "broken" });
    let held = caller.call("shop.refunds.create", args).await.is(202);
    let began = Instant::now();
    let unchanged = caller.get(&path(&held, "0.5")).await.ok();
    assert_eq!(unchanged["status"], "pending_approval");
    assert!(began.elapsed() >= Duration::from_millis(500), "{:?}", began.elapsed());
    let waiting = {
        let (caller, path) = (caller.clone(), path(&held, "25"));
        tokio::spawn(async move { caller.get(&path).await.ok() })
    };
    tokio::time::sleep(Duration::from_millis(200)).await;
    let cancel = format!("/v1/actions/{}/cancel", held["id"].as_str().unwrap());
    let began = Instant::now();
    caller.send(Request::raw(&cancel, "")).await.ok();
    let ended = waiting.await.unwrap();
    assert_sealed(&ended, "cancelled");
    assert_sealed(&caller.get(&path(&ended, "20")).await.ok(), "cancelled");
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
}
