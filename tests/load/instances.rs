//! Two busy instances on one org: nothing comes out wrong, and no budget is overspent.

use std::collections::BTreeMap;

use serde_json::json;

use crate::{
    calls::assert_sealed,
    edge::{authorized, report},
    house::{Caller, House, Request, Stream, call},
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
