//! Payloads that were kept long enough are gone; everything else stays as it was, and verifies.

use std::time::Duration;

use act::Changed;
use admin::{ChangeError, OrgAsRun, OrgEdit};
use deed::verify::{Trust, Verdict, examine};
use model::PendingApprovals;
use serde_json::{Value, json};

use super::house::{Answer, House};

const DAY: Duration = Duration::from_hours(24);

async fn read(house: &House, id: &str) -> Answer {
    // A key is looked up again at every read, and a year is long.
    house.get(&format!("/v1/actions/{id}"), &house.org_key).await
}

async fn keeps(house: &House, days: u16) -> Result<Changed<OrgAsRun>, ChangeError> {
    let edit = OrgEdit { retention_days: Some(days), ..OrgEdit::default() };
    house.deployment().own(house.org).update_org(edit).await
}

/// Checks the action's deed with the published keys alone.
async fn verdict(house: &House, action: &Value) -> Verdict {
    let keys = house.get("/.well-known/service/keys.json", "").await;
    let keys = Some(deed::KeySet::parse(&keys.bytes).unwrap());
    let deed = action["deeds"][0].to_string();
    examine(deed.as_bytes(), &Trust { keys, ..Trust::default() }).verdict
}

#[tokio::test]
async fn payloads_go_after_a_year_and_the_deeds_still_verify() {
    let house = House::new().await;
    let old = house.refund(5).await.id();
    let denied = house.post("/v1/actions", json!({ "tool": "shop.delete", "args": {} })).await;
    let denied = denied.body["error"]["action"]["id"].as_str().unwrap().to_owned();
    house.clock.pass(DAY * 200);
    let young = house.refund(6).await.id();
    assert_eq!(house.deployment().prune().await.unwrap(), 0, "nothing is a year old");
    let before = read(&house, &old).await.body;
    assert_eq!(before["request"], json!({ "amount": 5 }));
    assert!(!before["deeds"][0]["disclosures"].as_array().unwrap().is_empty());
    house.clock.pass(DAY * 165);
    assert_eq!(house.deployment().prune().await.unwrap(), 2);
    assert_eq!(house.deployment().prune().await.unwrap(), 0, "they are gone already");
    for id in [&old, &denied] {
        let after = read(&house, id).await.body;
        assert_eq!((&after["request"], &after["result"]), (&Value::Null, &Value::Null));
        assert!(after["payload_pruned_at"].is_string());
        assert_eq!(after["deeds"][0]["disclosures"], json!([]));
        assert_eq!(verdict(&house, &after).await, Verdict::Valid);
    }
    let after = read(&house, &old).await.body;
    for kept in ["status", "decision", "execution", "witness", "events", "result_digest", "deed"] {
        assert_eq!(after[kept], before[kept], "{kept}");
    }
    assert_eq!(after["deeds"][0]["payload"], before["deeds"][0]["payload"]);
    let young = read(&house, &young).await.body;
    assert_eq!(
        (&young["request"], &young["payload_pruned_at"]),
        (&json!({ "amount": 6 }), &Value::Null)
    );
}

#[tokio::test]
async fn a_pruning_is_sealed_with_the_part_of_the_log_that_it_touched() {
    let house = House::new().await;
    let first = house.refund(5).await.id();
    house
        .operator()
        .stop_agent(house.other.agent, "a drill", PendingApprovals::Void)
        .await
        .unwrap();
    let last = house.refund(6).await.id();
    let place = |answer: &Answer| answer.body["deeds"][0]["log"]["index"].clone();
    let (first, last) = (place(&read(&house, &first).await), place(&read(&house, &last).await));
    keeps(&house, 1).await.unwrap();
    let set = house.store.deeds(house.org).pop().unwrap();
    let set: Value = serde_json::from_str(&set.body).unwrap();
    assert_eq!(set["admin"]["event"], "org.updated");
    assert!(set["admin"]["before"].is_object() && set["admin"]["after"].is_object(), "{set}");
    house.clock.pass(DAY);
    assert_eq!(house.deployment().prune().await.unwrap(), 2);
    let deed = house.store.deeds(house.org).pop().unwrap();
    let body: Value = serde_json::from_str(&deed.body).unwrap();
    assert_eq!(body["admin"]["event"], "retention.pruned");
    assert_eq!(body["actor"], json!({ "type": "system", "id": "service" }));
    let told = json!({ "from_seq": first, "to_seq": last, "count": 2 });
    assert_eq!(body["admin"]["data"], told);
}

#[tokio::test]
async fn more_payloads_than_one_turn_takes_go_in_several_and_two_instances_do_not_clash() {
    let house = House::new().await;
    let actions = 600;
    for _ in 0..actions {
        house.post("/v1/actions", json!({ "tool": "shop.delete", "args": {} })).await;
    }
    house.clock.pass(DAY * 365);
    let elsewhere = house.second_instance();
    let (here, there) = (house.deployment(), elsewhere.operate(&testkit::Operator));
    let (here, there) = tokio::join!(here.prune(), there.prune());
    assert_eq!(here.unwrap() + there.unwrap(), actions);
    let told: u64 = house
        .store
        .deeds(house.org)
        .iter()
        .map(|deed| {
            let body: Value = serde_json::from_str(&deed.body).unwrap();
            let pruned = body["admin"]["event"] == "retention.pruned";
            if pruned { body["admin"]["data"]["count"].as_u64().unwrap() } else { 0 }
        })
        .sum();
    assert_eq!(told, actions as u64, "each action is told of once");
}

#[tokio::test]
async fn an_org_keeps_payloads_for_1_to_3650_days() {
    let house = House::new().await;
    for days in [0, 3651] {
        let refused = keeps(&house, days).await.unwrap_err().to_string();
        assert!(refused.contains("retention_days") && refused.contains("1 to 3650"), "{refused}");
    }
    assert_eq!(keeps(&house, 3650).await.unwrap().object.retention_days, 3650);
    assert!(keeps(&house, 3650).await.is_err(), "they are kept that long already");
}
