//! Two instances of the service on one org, and the wall clock of one of them steps.

use std::time::Duration;

use model::Timestamp;
use serde_json::{Value, json};

use crate::{
    calls::assert_sealed,
    edge::{authorized, report},
    house::{Caller, Faketime, House, Request, Start},
    upkeep::until,
};

/// The steps: an hour and a year, forward and back.
pub(crate) const STEPS: [&str; 4] = ["+3600s", "-3600s", "+31536000s", "-31536000s"];
/// How far the two clocks that are not stepped may be from each other, and a slow machine behind.
const NEAR: Duration = Duration::from_secs(30);

fn now() -> Timestamp {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    Timestamp::from_unix_millis(since.as_millis().try_into().unwrap())
}

fn is_near(what: &str, moment: &Value) {
    let moment: Timestamp = moment.as_str().unwrap().parse().unwrap();
    let apart = now().since(moment).max(moment.since(now()));
    assert!(apart < NEAR, "{what} is of {moment}");
}

/// One call of each way that begins an action; whatever is dated is of now.
async fn every_way(caller: &Caller, step: &str) {
    let refused = caller.call("shop.orders.delete", json!({ "order": 42 })).await;
    let refused = refused.error(403, "policy_denied", None)["action"].clone();
    assert_sealed(&refused, "denied");
    let executed = caller.executed("lab.note", json!({ "mark": step })).await;
    assert_sealed(&executed, "executed");
    for action in [&refused, &executed] {
        is_near(step, &action["created_at"]);
        let deed = format!("/v1/deeds/{}", action["deed"].as_str().unwrap());
        is_near(step, &caller.get(&deed).await.ok()["body"]["issued_at"]);
    }
    let open = authorized(caller).await;
    is_near(step, &open["created_at"]);
    let sealed = caller.send(report(&open, json!({ "result": step }))).await.ok();
    assert_sealed(&sealed, "executed");
}

#[tokio::test]
async fn a_step_of_one_instances_clock_moves_no_time_of_the_org() {
    let Some(house) = House::new("").await else { return };
    let Some(faketime) = Faketime::of(house.folder()) else { return };
    let (stepped, other) = tokio::join!(house.start(Start::Stepped(&faketime)), house.serve());
    let agent = house.agent("timely").await;
    let [one, two] = [&stepped, &other].map(|service| service.caller(&agent.key));
    for step in STEPS {
        // The turn before it is remembered, so the next one is decided by the time that is tracked.
        every_way(&one, "before").await;
        faketime.step(step);
        every_way(&one, step).await;
        until(&stepped, "clock", "degraded").await;
        until(&other, "clock", "ok").await;
        every_way(&two, step).await;
        faketime.step("+0s");
        every_way(&two, "back").await;
        every_way(&one, "back").await;
        until(&stepped, "clock", "ok").await;
    }
    house.sound_log(&other.anonymous()).await;
    let org = other.caller(&house.org_key().await);
    let asked = org.send(Request::post("/v1/ledger/chain_checks", &json!({}))).await.is(202);
    let path = format!("/v1/ledger/chain_checks/{}", asked["id"].as_str().unwrap());
    let deadline = std::time::Instant::now() + Duration::from_mins(1);
    loop {
        let check = org.get(&path).await.ok();
        match check["result"].as_str() {
            Some(result) => break assert_eq!(result, "passed", "{check}"),
            None => assert!(std::time::Instant::now() < deadline, "{check}"),
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
