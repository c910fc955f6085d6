//! Whether a change log is read as evidence: what it is found to tell, and that it is said and sealed.

use model::LogGap;
use serde_json::{Value, json};

use super::house::{Answer, House};

async fn post(house: &House, path: &str, body: Value) -> Answer {
    house.ask(("POST", path), &house.org_key, Some(body)).await
}

/// A connector whose database tells this of its change log; its path.
async fn depot(house: &House, log: Value) -> String {
    let mut body = json!({
        "name": "depot", "type": "fake", "config": {},
        "credential": { "kind": "token", "fields": { "token": "canary-4711" } },
    });
    if !log.is_null() {
        body["config"]["log"] = log;
    }
    let made = post(house, "/v1/connectors", body).await;
    assert_eq!(made.status, 201, "{}", made.body);
    format!("/v1/connectors/{}/witness", made.id())
}

fn ready() -> Value {
    json!({ "login": true, "tables": { "public.orders": [] } })
}

#[tokio::test]
async fn a_setup_tells_what_is_missing_of_each_table_and_what_it_would_cost() {
    let house = House::new().await;
    let gaps = json!(["identity_not_full", "published_in_part"]);
    let log = json!({ "login": true, "tables": { "public.orders": gaps } });
    let path = depot(&house, log).await;
    let body = json!({ "tables": ["public.notes"] });
    let found = post(&house, &format!("{path}/setup"), body).await;
    assert_eq!((found.status, &found.body["ready"]), (200, &json!(false)), "{}", found.body);
    let [orders, notes] = found.body["tables"].as_array().unwrap().as_slice() else { panic!() };
    assert_eq!((&orders["name"], &orders["covered"]), (&json!("public.orders"), &json!(false)));
    assert_eq!(orders["missing"], gaps);
    assert_eq!(orders["partial_publications"], json!(["reports"]));
    assert_eq!(
        (&notes["asked"], &notes["missing"]),
        (&json!("public.notes"), &json!(["not_published"]))
    );
    assert_eq!(orders["full_identity_bytes"], 6000);
    assert!(found.body["script"].as_str().unwrap().starts_with("alter publication"));
    // It was only looked.
    let now = house.get(&path, &house.org_key).await;
    assert_eq!((&now.body["state"], &now.body["tables"]), (&json!("disabled"), &json!([])));
}

#[tokio::test]
async fn a_witness_is_enabled_once_its_database_is_ready_and_each_step_is_a_deed() {
    let house = House::new().await;
    let path = depot(&house, ready()).await;
    let enabled = post(&house, &format!("{path}/enable"), json!({ "reason": "Proof." })).await;
    assert_eq!(
        (enabled.status, &enabled.body["state"]),
        (200, &json!("enabled")),
        "{}",
        enabled.body
    );
    let tables = json!([{ "name": "public.orders", "missing": [] }]);
    assert_eq!(enabled.body["tables"], tables);
    let shown = house.get(&path, &house.org_key).await;
    assert_eq!((&shown.body["state"], &shown.body["tables"]), (&json!("enabled"), &tables));
    assert!(shown.body["since"].is_string());
    let disabled = post(&house, &format!("{path}/disable"), json!({ "reason": "A move." })).await;
    assert_eq!((disabled.status, &disabled.body["state"]), (200, &json!("disabled")));
    let again = post(&house, &format!("{path}/disable"), json!({ "reason": "A move." })).await;
    assert_eq!(again.code(), (409, "conflict"));
    for (answer, event) in
        [(&enabled, "connector.witness_enabled"), (&disabled, "connector.witness_disabled")]
    {
        let deed = format!("/v1/deeds/{}", answer.body["deed"].as_str().unwrap());
        let deed = house.get(&deed, &house.org_key).await;
        assert_eq!(deed.body["body"]["admin"]["event"], event, "{}", deed.body);
    }
}

#[tokio::test]
async fn a_database_that_lacks_something_is_not_read_and_what_is_missing_is_named() {
    let house = House::new().await;
    let log = json!({ "login": false, "tables": { "public.orders": ["no_key", "not_published"] } });
    let path = depot(&house, log).await;
    let enable = format!("{path}/enable");
    let refused = post(&house, &enable, json!({ "reason": "Proof." })).await;
    assert_eq!(refused.code(), (409, "witness_not_ready"));
    let missing = &refused.body["error"]["missing"];
    let expected = ["login: run the setup script", "`public.orders`: no_key, not_published"];
    assert_eq!(missing, &json!(expected));
    // Who accepts that a table is not told still needs a log that can be read.
    let partial = json!({ "reason": "Proof.", "partial": true });
    let refused = post(&house, &enable, partial).await;
    assert_eq!(refused.body["error"]["missing"], json!(["login: run the setup script"]));
    assert_eq!(house.get(&path, &house.org_key).await.body["state"], "disabled");
}

#[tokio::test]
async fn tables_that_are_not_told_whole_may_be_accepted_and_are_kept_with_what_they_lack() {
    let house = House::new().await;
    let path = depot(&house, ready()).await;
    let body = json!({ "tables": ["notes"], "reason": "Proof." });
    let refused = post(&house, &format!("{path}/enable"), body.clone()).await;
    assert_eq!(refused.body["error"]["missing"], json!(["`notes`: not_published"]));
    let mut body = body;
    body["partial"] = json!(true);
    let enabled = post(&house, &format!("{path}/enable"), body).await;
    assert_eq!(enabled.status, 200, "{}", enabled.body);
    let notes = json!({ "name": "notes", "missing": ["not_published"] });
    assert_eq!(enabled.body["tables"][1], notes);
}

#[tokio::test]
async fn a_slot_is_shown_as_it_stands_and_made_anew_only_where_it_is_broken() {
    let house = House::new().await;
    let path = depot(&house, ready()).await;
    let connector = path.split('/').nth(3).unwrap().to_owned();
    let slot = async || house.get(&path, &house.org_key).await.body["slot"].clone();
    let anew = format!("{path}/recreate_slot");
    let body = || json!({ "reason": "The standby took over without it." });
    assert_eq!(post(&house, &anew, body()).await.code(), (409, "conflict"), "it is not read");
    assert_eq!(slot().await, Value::Null);
    let enabled = post(&house, &format!("{path}/enable"), json!({ "reason": "Proof." })).await;
    assert_eq!(enabled.body["slot"]["state"], "setup", "{}", enabled.body);
    assert_eq!(post(&house, &anew, body()).await.code(), (409, "conflict"), "there is none yet");
    house.follow_log(&connector, None).await;
    assert_eq!(slot().await["state"], "streaming");
    assert_eq!(post(&house, &anew, body()).await.code(), (409, "conflict"), "it can be read");

    house.follow_log(&connector, Some(LogGap::SlotInvalidated)).await;
    let shown = house.get(&path, &house.org_key).await;
    let found = (&shown.body["slot"]["state"], &shown.body["slot"]["cause"]);
    assert_eq!(found, (&json!("invalidated"), &json!("slot_invalidated")));
    assert_eq!(shown.body["gaps"][0]["cause"], "slot_invalidated");
    let bare = post(&house, &anew, json!({ "reason": "" })).await;
    assert_eq!(bare.code(), (400, "validation_failed"));
    let made = post(&house, &anew, body()).await;
    assert_eq!((made.status, &made.body["slot"]["state"]), (200, &json!("setup")), "{}", made.body);
    assert_eq!(made.body["tables"], json!([{ "name": "public.orders", "missing": [] }]));
    let deed = format!("/v1/deeds/{}", made.body["deed"].as_str().unwrap());
    let deed = house.get(&deed, &house.org_key).await;
    assert_eq!(deed.body["body"]["admin"]["event"], "connector.slot_recreated", "{}", deed.body);
    assert_eq!(post(&house, &anew, body()).await.code(), (409, "conflict"), "it was asked for");
}

#[tokio::test]
async fn no_slot_is_made_anew_in_a_database_that_lacks_what_reading_takes() {
    let house = House::new().await;
    let path = depot(&house, ready()).await;
    let connector = path.split('/').nth(3).unwrap().to_owned();
    post(&house, &format!("{path}/enable"), json!({ "reason": "Proof." })).await;
    house.follow_log(&connector, Some(LogGap::EvidenceGap)).await;
    let config = json!({ "log": { "login": false, "tables": {} } });
    let edit = json!({ "config": config });
    let edited = post(&house, &format!("/v1/connectors/{connector}"), edit).await;
    assert_eq!(edited.status, 200, "{}", edited.body);
    let refused = post(&house, &format!("{path}/recreate_slot"), json!({ "reason": "Now." })).await;
    assert_eq!(refused.code(), (409, "witness_not_ready"));
    assert_eq!(refused.body["error"]["missing"], json!(["login: run the setup script"]));
}

#[tokio::test]
async fn what_is_no_table_or_has_no_change_log_is_refused() {
    let house = House::new().await;
    let path = depot(&house, ready()).await;
    for tables in [json!("orders"), json!([1]), json!([""]), json!(["a.b.c"]), json!(["a\nb"])] {
        let refused = post(&house, &format!("{path}/setup"), json!({ "tables": tables })).await;
        assert_eq!(refused.code(), (400, "validation_failed"), "{tables}");
        assert_eq!(refused.param(), Some("tables"), "{tables}");
    }
    let none = House::new().await;
    let path = depot(&none, Value::Null).await;
    for (verb, body) in [("setup", json!({})), ("enable", json!({ "reason": "Proof." }))] {
        let refused = post(&none, &format!("{path}/{verb}"), body).await;
        assert_eq!(refused.code(), (409, "conflict"), "{verb}");
    }
}
