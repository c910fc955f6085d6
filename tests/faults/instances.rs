//! Two instances of the service on one org at once: one truth.

use std::time::Duration;

use rustix::process::Signal;
use serde_json::json;

use crate::{
    calls::assert_sealed,
    house::{House, Request, Start, binaries, call},
};

#[tokio::test]
async fn one_instance_ends_what_another_left_behind() {
    let Some(house) = House::new("").await else { return };
    let (mut one, other) = tokio::join!(house.serve(), house.serve());
    let agent = house.agent("orphan").await;
    let mut body = call("lab.slow-note", json!({ "mark": "orphan", "milliseconds": 60_000 }));
    body["wait"] = json!(0.1);
    let left = one.caller(&agent.key).send(Request::post("/v1/actions", &body)).await.is(202);
    one.kill();
    let path = format!("/v1/actions/{}?wait=25", left["id"].as_str().unwrap());
    let ended = other.caller(&agent.key).get(&path).await.ok();
    assert_sealed(&ended, "failed");
    assert_eq!(ended["execution"]["error_code"], "instance_lost");
    assert_eq!(house.notes("orphan").await, 0);
}

#[tokio::test]
async fn a_paused_instance_does_not_seal_over_the_one_that_took_its_action() {
    // The governed database lets go of the paused one's transaction when its time is over.
    let settings = "gate: { execute_timeout: 5s }\n";
    let Some(house) = House::new(settings).await else { return };
    let (one, other) = tokio::join!(house.serve(), house.serve());
    let agent = house.agent("sleeper").await;
    let mut body = call("lab.slow-note", json!({ "mark": "sleeper", "milliseconds": 1000 }));
    body["wait"] = json!(0.1);
    let left = one.caller(&agent.key).send(Request::post("/v1/actions", &body)).await.is(202);
    one.signal(Signal::STOP);
    let path = format!("/v1/actions/{}?wait=25", left["id"].as_str().unwrap());
    let ended = other.caller(&agent.key).get(&path).await.ok();
    // The paused instance never sent COMMIT, so its write is gone for good.
    assert_sealed(&ended, "failed");
    one.signal(Signal::CONT);
    tokio::time::sleep(Duration::from_secs(2)).await;
    let now = one.caller(&agent.key).get(&path).await.ok();
    assert_eq!(now["deed"], ended["deed"]);
    assert_eq!(now["deeds"].as_array().unwrap().len(), 1);
    assert_eq!(house.notes("sleeper").await, 0);
    house.sound_log(&one.anonymous()).await;
}

#[tokio::test]
async fn an_instance_that_wakes_after_its_write_was_settled_seals_no_second_end() {
    let Some(house) = House::new("").await else { return };
    if binaries().is_none_or(|binaries| binaries.failpoints.is_none()) {
        eprintln!("left out: this test needs `CHANCERY_FAILPOINT_BIN`");
        return;
    }
    let (one, other) =
        tokio::join!(house.start(Start::Armed("gate.answered=pause:2000")), house.serve());
    let agent = house.agent("sleeper").await;
    let mut body = call("lab.note", json!({ "mark": "sleeper" }));
    body["wait"] = json!(25);
    let sender = one.caller(&agent.key);
    let sent = tokio::spawn(async move {
        sender.send(Request::post("/v1/actions", &body).keyed("sleeper")).await
    });
    while house.notes("sleeper").await == 0 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    // It has committed its write and told nobody.
    one.signal(Signal::STOP);
    let caller = other.caller(&agent.key);
    let list = caller.get("/v1/actions").await.ok();
    let path = format!("/v1/actions/{}?wait=25", list["data"][0]["id"].as_str().unwrap());
    let settled = caller.get(&path).await.ok();
    assert_sealed(&settled, "executed");
    assert_eq!(settled["execution"]["status"], "succeeded");
    one.signal(Signal::CONT);
    let told = sent.await.unwrap().ok();
    assert_eq!(told["deed"], settled["deed"], "it tells the end that stands");
    let now = caller.get(&path).await.ok();
    assert_eq!(now["deeds"].as_array().unwrap().len(), 1);
    assert_eq!(house.notes("sleeper").await, 1);
    house.sound_log(&caller).await;
}
