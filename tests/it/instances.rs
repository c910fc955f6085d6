//! Two instances of the service on one org at once: one truth.

use std::{collections::BTreeMap, time::Duration};

use rustix::process::Signal;
use serde_json::json;

use crate::{
    house::{Caller, House, Request, Start, Stream, binaries, call},
    proxy::{authorized, report},
    straight_way::assert_sealed,
};

/// Callers of each instance.
const CALLERS: usize = 8;
/// Rounds of each caller.
const ROUNDS: usize = 4;

/// Sends one call of every kind; each must come out as it would alone.
async fn round(caller: &Caller, mark: &str) {
    let action = caller.executed("lab.note", json!({ "mark": mark })).await;
    assert_sealed(&action, "executed");
    assert_eq!(action["execution"]["result"]["mark"], mark, "somebody else's result");
    let read = caller.executed("shop.customers.read", json!({ "customer": 42 })).await;
    assert_eq!(read["execution"]["result"]["email"], "customer42@shop.example");
    let refused = caller.call("shop.orders.delete", json!({ "order": 42 })).await;
    assert_sealed(&refused.error(403, "policy_denied", None)["action"], "denied");
    let action = authorized(caller).await;
    let sealed = caller.send(report(&action, json!({ "result": mark }))).await.ok();
    assert_sealed(&sealed, "executed");
    // What one instance sealed, every instance shows.
    assert_eq!(caller.detail(&sealed).await["result"], mark);
}

#[tokio::test]
async fn under_load_nothing_comes_out_wrong_and_every_deed_has_its_place() {
    let Some(house) = House::new("").await else { return };
    let (one, other) = tokio::join!(house.serve(), house.serve());
    let agent = house.agent("busy").await;
    let org = house.org_key().await;
    let stream = Stream::open(&other.caller(&org), Request::get("/v1/events")).await;
    let calls = 2 * CALLERS * ROUNDS;
    let heard = tokio::spawn(hear(stream, 4 * calls));
    let tasks = (0..2 * CALLERS).map(|number| {
        let service = if number % 2 == 0 { &one } else { &other };
        let caller = service.caller(&agent.key);
        tokio::spawn(async move {
            for turn in 0..ROUNDS {
                round(&caller, &format!("{number}.{turn}")).await;
            }
        })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await.unwrap();
    }
    for number in 0..2 * CALLERS {
        for turn in 0..ROUNDS {
            assert_eq!(house.notes(&format!("{number}.{turn}")).await, 1);
        }
    }
    let log = house.sound_log(&one.anonymous()).await;
    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    for deed in &log {
        *kinds.entry(deed.json()["kind"].as_str().unwrap().to_owned()).or_default() += 1;
    }
    assert_eq!(kinds["action"], 4 * calls, "one deed for each action");
    // The stream of one instance tells what both did.
    assert_eq!(heard.await.unwrap(), 4 * calls);
}

/// Counts the actions that are sealed, each event of which must follow the one before it.
async fn hear(mut stream: Stream, sealed: usize) -> usize {
    let (mut last, mut heard) = (None, 0);
    while heard < sealed {
        let message = stream.next().await;
        let place: u64 = message.id.split_once('.').unwrap().1.parse().unwrap();
        assert!(last.is_none_or(|last| place == last + 1), "{last:?} then {place}");
        last = Some(place);
        let of_action = message.data["data"]["object"]["kind"] == "action";
        heard += usize::from(message.event == "deed.sealed" && of_action);
    }
    heard
}

#[tokio::test]
async fn a_budget_is_never_overspent_by_two_instances() {
    let Some(house) = House::new("").await else { return };
    let (one, other) = tokio::join!(house.serve(), house.serve());
    let agent = house.agent("spender").await;
    let sent = (0..64).map(|number| {
        let service = if number % 2 == 0 { &one } else { &other };
        let caller = service.caller(&agent.key);
        let body = call("lab.counted", json!({ "mark": "spent" }));
        tokio::spawn(async move {
            caller.send(Request::post("/v1/actions", &body)).await.status.as_u16()
        })
    });
    let mut statuses: BTreeMap<u16, usize> = BTreeMap::new();
    for sent in sent.collect::<Vec<_>>() {
        *statuses.entry(sent.await.unwrap()).or_default() += 1;
    }
    assert_eq!(statuses, BTreeMap::from([(200, 20), (429, 44)]));
    assert_eq!(house.notes("spent").await, 20);
}

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
