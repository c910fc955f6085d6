//! Connectors over the interface: made, changed, tested, switched, and their tools pinned.

use model::{Clock as _, ExecutionErrorCode, Role};
use serde_json::{Value, json};

use super::{
    console::text,
    house::{Answer, House},
};
use crate::health::OutOfReach;

async fn post(house: &House, path: &str, body: Value) -> Answer {
    house.ask(("POST", path), &house.org_key, Some(body)).await
}

const SECRET: &str = "canary-4711-of-a-long-token";

fn depot() -> Value {
    json!({
        "name": "depot",
        "type": "fake",
        "config": { "tools": { "depot.read": { "title": "Reads", "side_effect": "read" } } },
        "credential": { "kind": "token", "fields": { "token": SECRET } },
    })
}

#[tokio::test]
async fn a_connector_is_made_and_told_of_without_its_secret() {
    let house = House::new().await;
    let made = post(&house, "/v1/connectors", depot()).await;
    assert_eq!((made.status, &made.body["status"]), (201, &json!("enabled")), "{}", made.body);
    assert_eq!(
        made.body["tools"],
        json!({ "pinned": 1, "new": 0, "changed": 0, "gone": 0, "shown_bytes": 19 })
    );
    let credential = &made.body["credential"];
    assert_eq!((&credential["kind"], &credential["hint"]), (&json!("token"), &json!("oken")));
    assert_eq!(credential["fields"], json!(["token"]));
    let path = format!("/v1/connectors/{}", made.id());
    let tools = house.get(&format!("{path}/tools"), &house.org_key).await;
    assert_eq!(tools.body["data"][0]["state"], "pinned", "{}", tools.body);
    assert_eq!(tools.body["data"][0]["side_effect"], "read");
    let listed = house.get("/v1/connectors", &house.org_key).await;
    let listed_one = listed.body["data"].as_array().unwrap();
    let listed_one = listed_one.iter().find(|one| one["name"] == "depot").unwrap();
    assert!(listed_one.get("config").is_none());
    let deed = made.body["deed"].as_str().unwrap();
    let deed = house.get(&format!("/v1/deeds/{deed}"), &house.org_key).await;
    for answer in [&made, &tools, &listed, &deed, &house.get(&path, &house.org_key).await] {
        assert_eq!(answer.status / 100, 2);
        assert!(!answer.body.to_string().contains(SECRET));
    }
}

#[tokio::test]
async fn what_does_not_fit_names_the_member_and_makes_nothing() {
    let house = House::new().await;
    let with = |member: &str, value: Value| {
        let mut body = depot();
        body[member] = value;
        body
    };
    let fields = |kind: Value, fields: Value| json!({ "kind": kind, "fields": fields });
    #[rustfmt::skip]
    let table = [
        (with("name", json!("Depot")),                               400, "validation_failed",      Some("name")),
        (with("name", json!("service")),                             400, "validation_failed",      Some("name")),
        (with("name", json!("shop")),                                409, "name_taken",             Some("name")),
        (with("title", json!(" x")),                                 400, "validation_failed",      Some("title")),
        (with("type", json!("oracle")),                              404, "connector_type_unknown", Some("type")),
        (with("config", json!("text")),                              400, "validation_failed",      Some("config")),
        (with("config", json!({ "host": "wrong" })),                 400, "validation_failed",      Some("config")),
        (with("config", json!({ "host": "169.254.169.254" })),       400, "egress_refused",         Some("config")),
        (with("config", json!({ "host": "down" })),                  409, "connector_unreachable",  Some("config")),
        (with("credential", fields(json!("basic"), json!({ "token": "x" }))), 400, "validation_failed", Some("credential")),
        (with("credential", fields(json!("token"), json!({ "other": "x" }))), 400, "validation_failed", Some("credential")),
        (with("credential", fields(json!("token"), json!({ "token": 7 }))),   400, "validation_failed", Some("credential.fields")),
        (with("credential", fields(json!("token"), json!({}))),      400, "validation_failed",      Some("credential")),
        (with("colour", json!("red")),                               400, "validation_failed",      Some("colour")),
        (json!({}),                                                  400, "validation_failed",      Some("name")),
    ];
    for (body, status, code, param) in table {
        let refused = post(&house, "/v1/connectors", body.clone()).await;
        assert_eq!((refused.code(), refused.param()), ((status, code), param), "{body}");
        assert!(!refused.body.to_string().contains(SECRET));
    }
    let listed = house.get("/v1/connectors", &house.org_key).await;
    assert_eq!(listed.body["data"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_changed_tool_waits_beside_what_was_pinned_until_somebody_pins_it() {
    let house = House::new().await;
    let made = post(&house, "/v1/connectors", depot()).await;
    let path = format!("/v1/connectors/{}", made.id());
    let config = json!({ "tools": {
        "depot.read": { "title": "Reads more", "side_effect": "write" },
        "depot.list": { "title": "Lists", "side_effect": "read", "args": { "type": "object" } },
    } });
    let changed = post(&house, &path, json!({ "config": config, "expected_revision": 1 })).await;
    let counts = json!({ "pinned": 0, "new": 1, "changed": 1, "gone": 0, "shown_bytes": 0 });
    assert_eq!((changed.status, &changed.body["tools"]), (200, &counts), "{}", changed.body);
    let stale = post(&house, &path, json!({ "title": "x", "expected_revision": 1 })).await;
    assert_eq!((stale.code(), stale.param()), ((409, "conflict"), Some("expected_revision")));

    let tools = house.get(&format!("{path}/tools"), &house.org_key).await.body;
    let (new, read) = (&tools["data"][0], &tools["data"][1]);
    assert_eq!((&new["state"], &new["pinned_digest"]), (&json!("new"), &Value::Null));
    assert_eq!(new["input_schema"], json!({ "type": "object" }));
    assert_eq!(read["definition"]["title"], "Reads more");
    assert_eq!(read["pinned_definition"]["title"], "Reads");
    assert_eq!(read["side_effect"], "read", "what runs is what was pinned");

    let one = house.get(&format!("{path}/tools/depot.read"), &house.org_key).await;
    assert_eq!((one.status, &one.body), (200, read));
    let none = house.get(&format!("{path}/tools/depot.none"), &house.org_key).await;
    assert_eq!(none.code(), (404, "not_found"));

    let pin = format!("{path}/tools/depot.read/pin");
    let old = post(&house, &pin, json!({ "digest": read["pinned_digest"] })).await;
    assert_eq!((old.code(), old.param()), ((400, "validation_failed"), Some("digest")));
    let pinned = post(&house, &pin, json!({ "digest": read["digest"] })).await;
    assert_eq!((pinned.status, &pinned.body["state"]), (200, &json!("pinned")), "{}", pinned.body);
    let again = post(&house, &pin, json!({ "digest": read["digest"] })).await;
    assert_eq!(again.code(), (409, "conflict"));
    let nobody = format!("{path}/tools/depot.none/pin");
    let nobody = post(&house, &nobody, json!({ "digest": read["digest"] })).await;
    assert_eq!(nobody.code(), (404, "not_found"));
    assert!(house.sealed().await.contains(&"tool.pinned".to_owned()));

    // A type that the governed system gives is part of what is accepted.
    let mut other = config.clone();
    for (column, state) in [("int4", "changed"), ("int8", "changed")] {
        other["tools"]["depot.read"]["column"] = json!(column);
        post(&house, &path, json!({ "config": other })).await;
        let read = house.get(&format!("{path}/tools/depot.read"), &house.org_key).await.body;
        let types = json!({ "parameters": [], "columns": [{ "name": "id", "type": column }] });
        assert_eq!((&read["state"], &read["types"]), (&json!(state), &types), "{read}");
        assert_eq!(read["pinned_types"], Value::Null);
    }

    let all = post(&house, &path, json!({ "config": config, "pin_tools": true })).await;
    assert_eq!(all.body["tools"]["pinned"], 2, "{}", all.body);
    let refresh = format!("{path}/tools/refresh");
    let refreshed = house.ask(("POST", &refresh), &house.org_key, None).await.body;
    assert!(refreshed["data"].as_array().unwrap().iter().all(|tool| tool["state"] == "pinned"));
}

#[tokio::test]
async fn the_answer_says_how_many_bytes_an_agent_is_shown_and_what_is_not_served() {
    let house = House::new().await;
    let read = json!({ "title": "Reads", "description": "Any row.", "args": { "type": "object" } });
    let mut new = depot();
    new["config"] = json!({
        "tools": { "depot.read": read, "depot.list": { "title": "Lists" } },
        "not_served": { "POST /files": "its body is `application/zip`, and neither JSON nor a form" },
    });
    let made = post(&house, "/v1/connectors", new).await;
    let texts = [r#""depot.read""#, r#""Reads""#, r#""Any row.""#, r#"{"type":"object"}"#];
    let read: usize = texts.iter().map(|text| text.len()).sum();
    let list = r#""depot.list""#.len() + r#""Lists""#.len();
    assert_eq!(made.body["tools"]["shown_bytes"], read + list, "{}", made.body);
    let path = format!("/v1/connectors/{}", made.id());
    let hide = json!({ "visibility": "hidden" });
    assert_eq!(post(&house, &format!("{path}/tools/depot.list"), hide).await.status, 200);
    let after = house.get(&path, &house.org_key).await.body;
    assert_eq!(after["tools"]["shown_bytes"], read, "{after}");

    let listed = house.get(&format!("{path}/not_served"), &house.org_key).await;
    let part = json!({
        "object": "not_served", "operation": "POST /files",
        "reason": "its body is `application/zip`, and neither JSON nor a form",
    });
    assert_eq!((listed.status, &listed.body["data"]), (200, &json!([part])));
    let none = post(&house, &path, json!({ "config": { "tools": {} } })).await;
    assert_eq!(none.status, 200, "{}", none.body);
    let listed = house.get(&format!("{path}/not_served"), &house.org_key).await;
    assert_eq!(listed.body["data"], json!([]));
}

#[tokio::test]
async fn a_connector_that_this_instance_cannot_reach_says_why() {
    let house = House::new().await;
    let made = post(&house, "/v1/connectors", depot()).await;
    assert_eq!(made.body["unreachable"], Value::Null);
    let lost = OutOfReach {
        connector: made.id().parse().unwrap(),
        name: "depot".parse().unwrap(),
        revision: 1,
        code: ExecutionErrorCode::ConnectorAuthFailed.into(),
        message: "the login was refused".to_owned(),
    };
    *house.probe.lost.lock().unwrap() = vec![(house.org, lost)];
    let path = format!("/v1/connectors/{}", made.id());
    let found = house.get(&path, &house.org_key).await;
    let expected = json!({ "code": "connector_auth_failed", "message": "the login was refused" });
    assert_eq!(found.body["unreachable"], expected);
    let listed = house.get("/v1/connectors", &house.org_key).await.body;
    for one in listed["data"].as_array().unwrap() {
        assert!(one.get("unreachable").is_none(), "{one}");
        if one["name"] != "depot" {
            let path = format!("/v1/connectors/{}", one["id"].as_str().unwrap());
            let other = house.get(&path, &house.org_key).await.body;
            assert_eq!(other["unreachable"], Value::Null, "{other}");
        }
    }
    // What failed before the credential was set says nothing of the new one.
    let given = json!({ "fields": { "token": "a-new-one" } });
    let credential = format!("{path}/credential");
    let set = house.ask(("PUT", &credential), &house.org_key, Some(given)).await;
    assert_eq!((set.status, &set.body["unreachable"]), (200, &Value::Null), "{}", set.body);
}

#[tokio::test]
async fn a_tool_is_hidden_and_made_stricter_by_an_admin() {
    let house = House::new().await;
    let made = post(&house, "/v1/connectors", depot()).await;
    let path = format!("/v1/connectors/{}/tools/depot.read", made.id());
    let wish = json!({
        "visibility": "hidden", "side_effect": "destructive", "required_level": "L2",
    });
    let set = post(&house, &path, wish).await;
    let found = ["visibility", "side_effect", "required_level"].map(|name| &set.body[name]);
    assert_eq!(found, ["hidden", "destructive", "L2"], "{}", set.body);
    let back = post(&house, &path, json!({ "side_effect": null, "required_level": null })).await;
    let found = ["visibility", "side_effect", "required_level"].map(|name| &back.body[name]);
    assert_eq!(found, ["hidden", "read", "L0"]);
    // A definition that became stricter than the setting counts.
    let stricter = json!({ "tools": { "depot.read": {
        "title": "Reads", "side_effect": "destructive", "required_level": "L1",
    } } });
    let set = post(&house, &path, json!({ "side_effect": "write", "required_level": "L0" })).await;
    assert_eq!(set.body["side_effect"], "write", "{}", set.body);
    let connector = format!("/v1/connectors/{}", made.id());
    post(&house, &connector, json!({ "config": stricter, "pin_tools": true })).await;
    let now = house.get(&path, &house.org_key).await.body;
    assert_eq!(
        (&now["side_effect"], &now["required_level"]),
        (&json!("destructive"), &json!("L1"))
    );
    let wrong = post(&house, &path, json!({ "side_effect": "much" })).await;
    assert_eq!((wrong.code(), wrong.param()), ((400, "validation_failed"), Some("side_effect")));
}

#[tokio::test]
async fn a_credential_is_set_removed_and_tested_and_a_connector_switched_and_archived() {
    let house = House::new().await;
    let mut new = depot();
    new.as_object_mut().unwrap().remove("credential");
    let made = post(&house, "/v1/connectors", new).await;
    let path = format!("/v1/connectors/{}", made.id());
    let (credential, test) = (format!("{path}/credential"), format!("{path}/test"));
    let send =
        async |method, path: &str, body| house.ask((method, path), &house.org_key, body).await;
    let failing = send("POST", &test, None).await;
    assert_eq!((failing.status, &failing.body["ok"]), (200, &json!(false)), "{}", failing.body);
    let given = json!({ "fields": { "token": SECRET } });
    let set = send("PUT", &credential, Some(given)).await;
    assert_eq!((set.status, &set.body["tools"]["pinned"]), (200, &json!(1)), "{}", set.body);
    assert_eq!(send("POST", &test, None).await.body["ok"], true);
    let removed = send("DELETE", &credential, None).await;
    assert_eq!((removed.status, &removed.body["credential"]), (200, &Value::Null));
    assert_eq!(send("DELETE", &credential, None).await.code(), (409, "conflict"));

    let reason = || Some(json!({ "reason": "Maintenance." }));
    for (verb, status) in [("disable", "disabled"), ("enable", "enabled")] {
        let switched = send("POST", &format!("{path}/{verb}"), reason()).await;
        assert_eq!((switched.status, &switched.body["status"]), (200, &json!(status)));
        let again = send("POST", &format!("{path}/{verb}"), reason()).await;
        assert_eq!(again.code(), (409, "conflict"));
    }
    let without = send("POST", &format!("{path}/disable"), Some(json!({}))).await;
    assert_eq!((without.code(), without.param()), ((400, "validation_failed"), Some("reason")));
    let archived = send("DELETE", &path, reason()).await;
    assert_eq!((archived.status, &archived.body["status"]), (200, &json!("disabled")));
    let listed = async |query: &str| {
        let page = house.get(&format!("/v1/connectors{query}"), &house.org_key).await.body;
        page["data"].as_array().unwrap().len()
    };
    assert_eq!((listed("").await, listed("?archived=true").await), (1, 2));
    let mut told = house.sealed().await;
    told.retain(|event| event != "deed.sealed");
    let last: Vec<_> = told.iter().rev().take(5).rev().map(String::as_str).collect();
    let expected = [
        "connector.credential_set",
        "connector.credential_removed",
        "connector.disabled",
        "connector.enabled",
        "connector.archived",
    ];
    assert_eq!(last, expected);
}

#[tokio::test]
async fn who_changes_a_credential_has_signed_in_lately() {
    let house = House::new().await;
    let made = post(&house, "/v1/connectors", depot()).await;
    let stale = house.browser("stale@example.com", Role::Admin).await.key;
    house.clock.pass(std::time::Duration::from_hours(2));
    let path = format!("/v1/connectors/{}/credential", made.id());
    let body = Some(json!({ "fields": { "token": SECRET } }));
    let refused = house.ask(("PUT", &path), &stale, body).await;
    assert_eq!(refused.code(), (403, "reauthentication_required"));
}

#[tokio::test]
async fn who_changes_a_connector_or_its_tools_has_signed_in_lately() {
    let house = House::new().await;
    let made = post(&house, "/v1/connectors", depot()).await;
    let admin = house.browser("stale@example.com", Role::Admin).await.key;
    let path = format!("/v1/connectors/{}", made.id());
    let tools = house.get(&format!("{path}/tools"), &admin).await.body;
    let tool = &tools["data"][0];
    let at = format!("{path}/tools/{}", tool["name"].as_str().unwrap());
    let reason = json!({ "reason": "Maintenance." });
    house.clock.pass(std::time::Duration::from_hours(2));
    let send = async |path: String, body| house.ask(("POST", &path), &admin, Some(body)).await;
    for (path, body) in [
        (path.clone(), json!({ "title": "other", "pin_tools": true })),
        (at.clone(), json!({ "visibility": "visible" })),
        (format!("{at}/pin"), json!({ "digest": tool["digest"] })),
        (format!("{path}/enable"), reason.clone()),
    ] {
        let refused = send(path.clone(), body).await;
        assert_eq!(refused.code(), (403, "reauthentication_required"), "{path}");
    }
    // Nobody has to wait for a mail to take power away.
    assert_eq!(send(format!("{path}/disable"), reason).await.status, 200);
}

#[tokio::test]
async fn a_config_that_leads_elsewhere_takes_no_credential_with_it() {
    let house = House::new().await;
    let made = post(&house, "/v1/connectors", depot()).await;
    let admin = house.browser("admin@example.com", Role::Admin).await.key;
    let path = format!("/v1/connectors/{}", made.id());
    let send = async |path: &str, body| house.ask(("POST", path), &admin, body).await;
    let mut config = depot()["config"].clone();
    config["note"] = json!("at the same host");
    let kept = send(&path, Some(json!({ "config": config }))).await;
    assert_eq!((kept.status, &kept.body["credential"]["kind"]), (200, &json!("token")));
    config["host"] = json!("elsewhere");
    let lacking = send(&path, Some(json!({ "config": config }))).await;
    assert_eq!((lacking.code(), lacking.param()), ((400, "validation_failed"), Some("credential")));
    // By a key as well, and nothing of it is half done.
    let lacking = post(&house, &path, json!({ "config": config })).await;
    assert_eq!((lacking.code(), lacking.param()), ((400, "validation_failed"), Some("credential")));
    let stays = house.get(&path, &house.org_key).await.body;
    assert_eq!((&stays["revision"], &stays["config"]["host"]), (&json!(2), &Value::Null));
    assert!(house.sealed().await.contains(&"connector.change_refused".to_owned()));

    let credential = json!({ "fields": { "token": "another-canary-of-a-long-token" } });
    let alone = send(&path, Some(json!({ "credential": credential }))).await;
    assert_eq!((alone.code(), alone.param()), ((400, "validation_failed"), Some("credential")));
    let moved = json!({ "config": config, "credential": credential });
    let moved = send(&path, Some(moved)).await;
    assert_eq!((moved.status, &moved.body["credential"]["kind"]), (200, &json!("token")));
    assert!(!moved.body.to_string().contains("another-canary"));
    let tested = send(&format!("{path}/test"), None).await;
    assert_eq!(tested.body["ok"], true, "{}", tested.body);
}

#[tokio::test]
async fn the_last_test_of_a_connector_is_stored_and_shown() {
    let house = House::new().await;
    let made = post(&house, "/v1/connectors", depot()).await;
    let path = format!("/v1/connectors/{}/test", made.id());
    let page = format!("/app/connectors/{}", made.id());
    let (owner, viewer) = (
        house.browser("owner@example.com", Role::Owner).await.key,
        house.browser("viewer@example.com", Role::Viewer).await.key,
    );
    assert_eq!(house.get(&path, &viewer).await.code(), (404, "not_found"));
    assert!(text(&house.get(&page, &owner).await).contains("Not tested yet."));
    let tested = house.ask(("POST", &path), &owner, None).await;
    let at = house.clock.now();
    assert_eq!((tested.status, &tested.body["tested_at"]), (200, &json!(at)));
    assert_eq!((&tested.body["revision"], &tested.body["ok"]), (&json!(1), &json!(true)));
    house.clock.pass(std::time::Duration::from_secs(10));
    assert_eq!(house.get(&path, &viewer).await.body, tested.body);
    let shown = text(&house.get(&page, &viewer).await);
    assert!(shown.contains("<bdi>login</bdi>") && !shown.contains("changed since"), "{shown}");
    // A change of the connector is one since then, and without a credential its test fails.
    let connector = format!("/v1/connectors/{}", made.id());
    let removed = house.ask(("DELETE", &format!("{connector}/credential")), &owner, None).await;
    assert_eq!(removed.status, 200, "{}", removed.body);
    assert!(text(&house.get(&page, &owner).await).contains("changed since"));
    let failing = house.ask(("POST", &path), &owner, None).await.body;
    assert_eq!((&failing["revision"], &failing["ok"]), (&json!(2), &json!(false)));
    assert_eq!(house.get(&path, &owner).await.body, failing);
    let shown = text(&house.get(&page, &owner).await);
    assert!(shown.contains("failed") && !shown.contains("changed since"), "{shown}");
    // What cannot be stored is not said to be the last test.
    house.store.fail_next("keep a connector's test", 1);
    assert_eq!(house.ask(("POST", &path), &owner, None).await.status, 503);
    assert_eq!(house.get(&path, &owner).await.body, failing);
    let reason = Some(json!({ "reason": "Moved." }));
    assert_eq!(house.ask(("DELETE", &connector), &owner, reason).await.status, 200);
    assert_eq!(house.ask(("POST", &path), &owner, None).await.code(), (409, "conflict"));
}

#[tokio::test]
async fn a_setup_script_is_made_from_the_config_for_calls_or_for_a_witness_too() {
    let house = House::new().await;
    let mut new = depot();
    new["config"]["script"] = json!("create role runner");
    let made = post(&house, "/v1/connectors", new).await;
    let path = format!("/v1/connectors/{}/setup", made.id());
    let asked = async |query: &str| house.get(&format!("{path}{query}"), &house.org_key).await;
    let calls = asked("").await;
    assert_eq!((calls.status, &calls.body["object"]), (200, &json!("connector_setup")));
    assert_eq!(calls.body["connector"], made.id());
    assert_eq!(calls.body["witness"], false);
    assert_eq!(calls.body["script"], "create role runner -- Calls");
    let witness = asked("?witness=true").await;
    assert_eq!(witness.body["witness"], true);
    assert_eq!(witness.body["script"], "create role runner -- CallsAndWitness");
    assert!(!witness.body.to_string().contains(SECRET));
    let wrong = asked("?witness=perhaps").await;
    assert_eq!((wrong.code(), wrong.param()), ((400, "validation_failed"), Some("witness")));

    let other = post(&house, "/v1/connectors", {
        let mut new = depot();
        new["name"] = json!("barn");
        new
    });
    let other = other.await;
    let none = house.get(&format!("/v1/connectors/{}/setup", other.id()), &house.org_key).await;
    assert_eq!((none.status, &none.body["script"]), (200, &Value::Null));
    let nobody = "/v1/connectors/con_01k6ga3wvwf2h4j6k8m0n2p4q6/setup";
    assert_eq!(house.get(nobody, &house.org_key).await.code(), (404, "not_found"));
}
