//! Deeds checked offline by `chancery verify`, with nothing but published keys.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use crate::{
    calls::caller,
    edge::{authorized, report},
    house::{Caller, SharedHouse, lines, name},
};

/// Makes an agent act in every way and returns its deeds in API form, oldest first.
async fn deeds(caller: &Caller) -> Vec<Value> {
    caller.executed("shop.orders.read", json!({ "order": 12 })).await;
    caller.executed("lab.note", json!({ "mark": name() })).await;
    caller.executed("lab.divide", json!({ "by": 0 })).await;
    caller.call("shop.orders.delete", json!({ "order": 12 })).await.is(403);
    caller.call("nowhere.at_all", json!({})).await.is(404);
    let action = authorized(caller).await;
    caller.send(report(&action, json!({ "result": ["done"] }))).await.ok();
    let mut actions = caller.read("/v1/actions").await["data"].as_array().unwrap().clone();
    actions.reverse();
    let mut deeds = Vec::new();
    for action in &actions {
        let detail = caller.detail(action).await;
        deeds.extend(detail["deeds"].as_array().unwrap().clone());
    }
    deeds
}

#[tokio::test]
async fn every_deed_of_an_org_checks_offline() {
    let Some((shared, caller)) = caller().await else { return };
    for deed in deeds(&caller).await {
        let checked = shared.house.verify(&caller, &deed.to_string(), &[]).await;
        assert_eq!(checked.code, 0, "{}", checked.report);
        assert_eq!(checked.report["grade"], "signed");
    }
    let log = shared.house.sound_log(&caller).await;
    let kinds: Vec<_> = log.iter().map(|deed| deed.json()["kind"].clone()).collect();
    assert!(kinds.contains(&json!("admin")) && kinds.contains(&json!("action")));
}

#[tokio::test]
async fn a_deed_of_the_interface_is_the_one_that_was_sealed() {
    let Some((shared, caller)) = caller().await else { return };
    let shown = deeds(&caller).await;
    let log = shared.house.deeds().await;
    for deed in shown {
        let place = deed["log"]["index"].as_i64().unwrap();
        let body = STANDARD.decode(deed["payload"].as_str().unwrap()).unwrap();
        let stored = log.iter().find(|stored| stored.seq == place).unwrap();
        assert_eq!(stored.body.as_bytes(), body);
    }
}

#[tokio::test]
async fn one_changed_byte_is_found_wherever_it_is() {
    let Some((shared, caller)) = caller().await else { return };
    let sent = caller.executed("lab.note", json!({ "mark": name() })).await;
    let deed = caller.detail(&sent).await["deeds"][0].clone();
    let body = STANDARD.decode(deed["payload"].as_str().unwrap()).unwrap();
    for part in 0..8 {
        let mut wrong = body.clone();
        wrong[body.len() * part / 8] ^= 1;
        let mut changed = deed.clone();
        changed["payload"] = json!(STANDARD.encode(wrong));
        let checked = shared.house.verify(&caller, &changed.to_string(), &[]).await;
        assert_eq!(checked.code, 1, "{}", checked.report);
        assert_eq!(checked.report["verdict"], "invalid");
    }
    let mut changed = deed.clone();
    changed["body"]["action"]["status"] = json!("failed");
    assert_eq!(shared.house.verify(&caller, &changed.to_string(), &[]).await.code, 1);
}

#[tokio::test]
async fn a_log_with_a_deed_changed_dropped_or_moved_is_found_out() {
    let Some((shared, caller)) = caller().await else { return };
    caller.executed("lab.note", json!({ "mark": name() })).await;
    let log = shared.house.sound_log(&caller).await;
    let check = async |log: &[_]| shared.house.verify(&caller, &lines(log), &[]).await.code;
    let middle = log.len() / 2;
    let mut changed = log.clone();
    changed[middle].body = changed[middle].body.replace("\"livemode\":true", "\"livemode\":false");
    assert_eq!(check(&changed).await, 1);
    let mut dropped = log.clone();
    dropped.remove(middle);
    assert_eq!(check(&dropped).await, 1);
    let mut moved = log.clone();
    moved.swap(middle, middle - 1);
    assert_eq!(check(&moved).await, 1);
    // A cut tail is a valid shorter log to whoever kept no checkpoint.
    assert_eq!(check(&log[..middle]).await, 0);
}

#[tokio::test]
async fn without_keys_or_with_others_a_deed_is_undecidable() {
    let Some((shared, caller)) = caller().await else { return };
    let sent = caller.executed("lab.sleep", json!({ "milliseconds": 0 })).await;
    let deed = caller.detail(&sent).await["deeds"][0].to_string();
    let file = shared.house.write(&format!("{}.json", name()), &deed);
    let output = shared.house.verbs.output(&["verify", file.to_str().unwrap()]).await;
    assert_eq!(output.status.code(), Some(3));
    let file = shared.house.write(&format!("{}.json", name()), "{\"a\": 1}");
    let output = shared.house.verbs.output(&["verify", file.to_str().unwrap()]).await;
    assert_eq!(output.status.code(), Some(4));
}

#[tokio::test]
async fn the_shared_houses_events_are_numbered_without_gaps() {
    let Some(shared) = SharedHouse::get().await else { return };
    shared.caller().await.executed("lab.sleep", json!({ "milliseconds": 0 })).await;
    let sql = "select count(*) from (
                   select seq - row_number() over (partition by org_id order by seq) as gap
                   from event) as gaps
               where gap <> 0";
    assert_eq!(shared.house.control.count(sql).await, 0);
}
