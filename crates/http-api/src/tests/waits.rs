//! Waits for one action.

use std::time::Duration;

use model::PendingApprovals;
use serde_json::json;
use tokio::time::Instant;

use super::{
    house::{House, request},
    rooms::refunding,
};

#[tokio::test(start_paused = true)]
async fn a_run_that_outlasts_its_wait_is_202_and_is_sealed_all_the_same() {
    let house = House::new().await;
    house.refund.hold();
    let started = Instant::now();
    let body = json!({ "tool": "shop.refund", "args": { "amount": 1 }, "wait": 2.5 });
    let answer = house.post("/v1/actions", body).await;
    assert_eq!((answer.status, &answer.body["status"]), (202, &"processing".into()));
    assert_eq!(started.elapsed(), Duration::from_millis(2500));
    house.refund.release();
    let path = format!("/v1/actions/{}?wait=25", answer.id());
    let sealed = house.get(&path, &house.support.key).await;
    assert_eq!((sealed.status, &sealed.body["state"]), (200, &"sealed".into()));
    assert_eq!(sealed.body["result"], json!({ "refunded": 1 }));
}

#[tokio::test]
async fn a_read_back_that_is_late_is_202_and_its_verdict_is_waited_for_as_the_end_of_a_run() {
    let tool = refunding("20.00");
    tool.read_back_misses();
    let house = House::that_runs(tool).await;
    let call = json!({ "tool": "mail.refund", "args": {}, "wait": 25 });
    let answer = house.post("/v1/actions", call).await;
    assert_eq!((answer.status, &answer.body["status"]), (202, &"processing".into()));
    let (state, run) = (&answer.body["state"], &answer.body["execution"]["status"]);
    assert_eq!((state, run), (&"witnessing".into(), &"running".into()));
    let path = format!("/v1/actions/{}?wait=25", answer.id());
    let sealed = house.get(&path, &house.support.key).await;
    assert_eq!((sealed.status, &sealed.body["state"]), (200, &"sealed".into()));
    let (verdict, level) = (&sealed.body["witness"]["verdict"], &sealed.body["witness"]["level"]);
    assert_eq!((verdict, level), (&"VERIFIED".into(), &"L1".into()));
    assert_eq!(sealed.body["result"], json!({ "id": 7, "amount": "20.00" }));
}

#[tokio::test(start_paused = true)]
async fn a_wait_ends_with_the_change_it_waits_for() {
    let house = House::new().await;
    let held = house.refund(500).await;
    let path = format!("/v1/actions/{}", held.id());
    let started = Instant::now();
    let wait = house.get_later(&format!("{path}?wait=25"));
    tokio::time::sleep(Duration::from_secs(5)).await;
    let cancel = request("POST", &format!("{path}/cancel"), &house.support.key, &[], None);
    house.send(cancel).await;
    let answer = wait.await.unwrap();
    assert_eq!(answer.status(), 200);
    assert!(started.elapsed() < Duration::from_secs(6), "{:?}", started.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_wait_for_nothing_ends_when_it_said_and_a_sealed_action_is_not_waited_for() {
    let house = House::new().await;
    let held = house.refund(500).await;
    let started = Instant::now();
    let path = format!("/v1/actions/{}?wait=25", held.id());
    assert_eq!(house.get(&path, &house.support.key).await.body["status"], "pending_approval");
    assert_eq!(started.elapsed(), Duration::from_secs(25));
    let sealed = house.refund(1).await;
    let started = Instant::now();
    house.get(&format!("/v1/actions/{}?wait=25", sealed.id()), &house.support.key).await;
    assert_eq!(started.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn a_stop_ends_an_agents_wait_with_the_stop_error() {
    let house = House::new().await;
    let held = house.refund(500).await;
    let path = format!("/v1/actions/{}?wait=25", held.id());
    let wait = house.get_later(&path);
    tokio::time::sleep(Duration::from_secs(1)).await;
    house
        .operator()
        .stop_agent(house.support.agent, "a drill", PendingApprovals::Void)
        .await
        .unwrap();
    let started = Instant::now();
    assert_eq!(wait.await.unwrap().status(), 403);
    assert!(started.elapsed() < Duration::from_secs(1));
    house.clock.pass(Duration::from_secs(2));
    let again = house.get(&path, &house.support.key).await;
    assert_eq!(again.code(), (403, "agent_stopped"));
    assert_eq!(house.get(&path.replace("=25", "=1"), &house.org_key).await.status, 200);
}

#[tokio::test(start_paused = true)]
async fn a_revoked_key_ends_its_wait_at_the_revocations_own_event() {
    let house = House::new().await;
    let held = house.refund(500).await;
    let wait = house.get_later(&format!("/v1/actions/{}?wait=25", held.id()));
    tokio::time::sleep(Duration::from_secs(1)).await;
    house.operator().revoke_key(house.support.id).await.unwrap();
    let started = Instant::now();
    assert_eq!(wait.await.unwrap().status(), 401);
    assert!(started.elapsed() < Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_begins_right_after_a_stop_elsewhere_ends_at_once_too() {
    let house = House::new().await;
    let held = house.refund(500).await;
    let path = format!("/v1/actions/{}?wait=25", held.id());
    let elsewhere = house.second_instance();
    let elsewhere = elsewhere.operate(&testkit::Operator).org(house.org);
    // This instance has just looked the key up, and nobody has told it of the Stop.
    elsewhere.stop_agent(house.support.agent, "a drill", PendingApprovals::Void).await.unwrap();
    let started = Instant::now();
    let answer = house.get(&path, &house.support.key).await;
    assert_eq!(answer.code(), (403, "agent_stopped"));
    elsewhere.start_agent(house.support.agent, "it is over").await.unwrap();
    elsewhere.stop_org("a drill", PendingApprovals::Void).await.unwrap();
    assert_eq!(house.get(&path, &house.support.key).await.code(), (403, "org_stopped"));
    assert_eq!(started.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn an_agent_holds_twenty_waits() {
    let house = House::new().await;
    let held = house.refund(500).await;
    let path = format!("/v1/actions/{}?wait=25", held.id());
    let open: Vec<_> = (0..20).map(|_| house.get_later(&path)).collect();
    tokio::time::sleep(Duration::from_secs(1)).await;
    let answer = house.get(&path, &house.support.key).await;
    assert_eq!(answer.code(), (429, "rate_limited"));
    assert_eq!(answer.headers["retry-after"], "1");
    assert_eq!(house.get(&path.replace("=25", "=1"), &house.org_key).await.status, 200);
    for wait in open {
        assert_eq!(wait.await.unwrap().status(), 200);
    }
    assert_eq!(house.get(&path, &house.support.key).await.status, 200);
}

#[tokio::test(start_paused = true)]
async fn a_duplicate_waits_for_the_original() {
    let house = House::new().await;
    house.refund.hold();
    let ask = || {
        let body = Some(json!({ "tool": "shop.refund", "args": { "amount": 1 } }));
        let headers = [("Idempotency-Key", "one")];
        request("POST", "/v1/actions", &house.support.key, &headers, body)
    };
    let first = house.send_later(ask());
    tokio::time::sleep(Duration::from_secs(1)).await;
    let second = house.send_later(ask());
    tokio::time::sleep(Duration::from_secs(1)).await;
    house.refund.release();
    let (first, second) = (first.await.unwrap(), second.await.unwrap());
    assert_eq!((first.status(), second.status()), (http::StatusCode::OK, http::StatusCode::OK));
    assert_eq!(second.headers()["service-idempotent-replayed"], "true");
}

#[tokio::test(start_paused = true)]
async fn a_closing_server_ends_its_waits_with_what_it_knows() {
    let house = House::new().await;
    house.refund.hold();
    let body = json!({ "tool": "shop.refund", "args": { "amount": 1 }, "wait": 25 });
    let call = request("POST", "/v1/actions", &house.support.key, &[], Some(body));
    let sent = house.send_later(call);
    let held = house.authorize().await;
    let wait = house.get_later(&format!("/v1/actions/{}?wait=25", held.id()));
    tokio::time::sleep(Duration::from_secs(1)).await;
    house.control.close();
    let started = Instant::now();
    assert_eq!(sent.await.unwrap().status(), 202);
    assert_eq!(wait.await.unwrap().status(), 200);
    assert_eq!(started.elapsed(), Duration::ZERO);
}
