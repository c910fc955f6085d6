//! What is counted of requests.

use std::sync::atomic::Ordering::Relaxed;

use serde_json::json;
use testkit::eventually::until;

use super::house::House;
use crate::HeldOpen;

#[tokio::test]
async fn answers_are_counted_by_template_method_and_status() {
    let house = House::new().await;
    let id = house.refund(1).await.id();
    house.get(&format!("/v1/actions/{id}"), &house.support.key).await;
    house.get(&format!("/v1/actions/{id}"), "").await;
    house.get("/v1/actions/act_1", &house.support.key).await;
    house.get("/somewhere", "").await;
    house.post("/v1/health", json!({})).await;
    let traffic = house.router.traffic();
    let mut counted = Vec::new();
    for route in traffic.routes() {
        for (status, count) in route.answers() {
            counted.push((route.method, route.path, status, count));
        }
    }
    let expected = [
        ("POST", "/v1/actions", "200", 1),
        ("GET", "/v1/actions/{id}", "200", 1),
        ("GET", "/v1/actions/{id}", "401", 1),
        ("GET", "/v1/actions/{id}", "404", 1),
        ("other", "none", "404", 1),
        ("other", "none", "405", 1),
    ];
    for (method, path, status, count) in expected {
        let found = (method, path, status.to_owned(), count);
        assert!(counted.contains(&found), "{found:?} is not in {counted:?}");
    }
    assert_eq!(counted.len(), expected.len());
    let seconds: u64 = traffic.routes().iter().map(|route| route.seconds.get_sample_count()).sum();
    assert_eq!(seconds, 6);
    assert_eq!(traffic.in_flight.get(), 0);
}

#[tokio::test]
async fn streams_and_waits_are_counted_while_they_are_open() {
    let house = House::new().await;
    assert_eq!(house.router.state().held_open(), HeldOpen { streams: 0, waits: 0, policy_runs: 0 });
    let path = format!("/v1/actions/{}?wait=25", house.refund(500).await.id());
    let wait = house.get_later(&path);
    let stream = house.get_later("/v1/events").await.unwrap();
    let open = HeldOpen { streams: 1, waits: 1, policy_runs: 0 };
    until("both are open", async || house.router.state().held_open() == open).await;
    assert_eq!(house.router.traffic().in_flight.get(), 1);
    drop(stream);
    wait.abort();
    let _ = wait.await;
    assert_eq!(house.router.state().held_open(), HeldOpen { streams: 0, waits: 0, policy_runs: 0 });
    assert_eq!(house.router.traffic().in_flight.get(), 0);
}

#[tokio::test]
async fn what_the_ledger_did_is_told_in_figures() {
    let house = House::new().await;
    let ledger = house.ledger();
    let (turns, deeds) =
        (ledger.figures().turns.load(Relaxed), ledger.figures().deeds.load(Relaxed));
    house.refund(1).await;
    assert_eq!(ledger.figures().turns.load(Relaxed) - turns, 2);
    assert_eq!(ledger.figures().deeds.load(Relaxed) - deeds, 1);
    assert_eq!(ledger.backlog(), ledger::Backlog::default());
    assert_eq!(ledger.unreadable_policies().await.unwrap(), 0);
    assert!(!ledger.figures().sealing_is_held());
    let failed = ledger.figures().failed.load(Relaxed);
    house.store.go_down();
    house.refund(1).await;
    assert!(ledger.figures().failed.load(Relaxed) > failed);
}
