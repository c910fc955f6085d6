//! Agents and their keys over the interface: what is refused how, and what a change leaves behind.

use std::time::Duration;

use model::{Clock, PendingApprovals};
use serde_json::{Value, json};

use super::house::{Answer, House, request};

async fn ask(house: &House, method: &str, path: &str, body: Option<Value>) -> Answer {
    house.send(request(method, path, &house.org_key, &[], body)).await
}

async fn get(house: &House, path: &str) -> Answer {
    ask(house, "GET", path, None).await
}

async fn post(house: &House, path: &str, body: Value) -> Answer {
    ask(house, "POST", path, Some(body)).await
}

/// The names of a list, page by page.
async fn names(house: &House, filters: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut cursor = String::new();
    loop {
        let page = get(house, &format!("/v1/agents?limit=2{filters}{cursor}")).await;
        assert_eq!(page.status, 200, "{}", page.body);
        let data = page.body["data"].as_array().unwrap();
        assert!(data.len() <= 2);
        names.extend(data.iter().map(|agent| agent["name"].as_str().unwrap().to_owned()));
        match page.body["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return names,
        }
    }
}

#[tokio::test]
async fn an_agent_is_made_described_and_changed_each_with_its_deed() {
    let house = House::new().await;
    let body = json!({ "name": "night", "description": "For the night.", "labels": { "a": "b" } });
    let made = post(&house, "/v1/agents", body).await;
    assert_eq!((made.status, &made.body["revision"]), (201, &json!(1)));
    assert_eq!([&made.body["status"], &made.body["intent_mode"]], ["active", "off"]);
    let path = format!("/v1/agents/{}", made.id());
    let edit = json!({ "name": "day", "labels": {}, "expected_revision": 1 });
    let changed = post(&house, &path, edit.clone()).await;
    assert_eq!((changed.status, &changed.body["revision"]), (200, &json!(2)));
    assert_eq!((&changed.body["name"], &changed.body["labels"]), (&json!("day"), &json!({})));
    assert_eq!(changed.body["description"], "For the night.");
    assert_ne!(changed.body["deed"], made.body["deed"]);
    let mut shown = changed.body;
    shown.as_object_mut().unwrap().remove("deed");
    let mut read = get(&house, &path).await.body;
    for (name, value) in [
        ("keys_count", json!(0)),
        ("last_action_at", Value::Null),
        ("today", json!({ "actions": 0, "denied": 0, "cost": [] })),
    ] {
        assert_eq!(read.as_object_mut().unwrap().remove(name), Some(value), "{name}");
    }
    assert_eq!(read, shown);
    let mut told = house.sealed().await;
    told.retain(|event| event.starts_with("agent."));
    assert_eq!(told[told.len() - 2..], ["agent.created", "agent.updated"]);
}

#[tokio::test]
async fn an_agent_ends_at_its_time_and_is_run_in_its_modes_alone() {
    let house = House::new().await;
    let path = format!("/v1/agents/{}", house.support.agent);
    let shown = get(&house, &path).await.body;
    assert_eq!(shown["modes"], json!(["gateway", "proxy"]));
    assert_eq!((&shown["expires_at"], &shown["owner"]), (&Value::Null, &Value::Null));
    let changed = post(&house, &path, json!({ "modes": ["proxy", "proxy"] })).await.body;
    assert_eq!((&changed["modes"], &changed["revision"]), (&json!(["proxy"]), &json!(2)));
    let refused = house.refund(20).await;
    assert_eq!(refused.code(), (403, "policy_denied"));
    assert!(refused.body["error"]["action"]["deed"].is_string(), "{}", refused.body);
    let end = (house.clock.now() + Duration::from_hours(1)).to_string();
    let bounded = post(&house, &path, json!({ "modes": ["gateway"], "expires_at": end })).await;
    assert_eq!((bounded.status, &bounded.body["expires_at"]), (200, &json!(end)));
    assert_eq!(house.refund(20).await.status, 200);
    house.clock.pass(Duration::from_hours(1));
    assert_eq!(house.refund(20).await.code(), (403, "agent_suspended"));
    let over = get(&house, &path).await.body;
    assert_eq!((&over["status"], &over["suspension"]), (&json!("suspended"), &Value::Null));
    assert_eq!(names(&house, "&status=suspended").await, ["support"]);
    let resumed = post(&house, &format!("{path}/resume"), json!({ "reason": "why not" })).await;
    assert_eq!(resumed.code(), (409, "conflict"));
    let late = post(&house, &path, json!({ "expires_at": end })).await;
    assert_eq!((late.code(), late.param()), ((400, "validation_failed"), Some("expires_at")));
    let freed = post(&house, &path, json!({ "expires_at": null })).await.body;
    assert_eq!((&freed["status"], &freed["expires_at"]), (&json!("active"), &Value::Null));
    assert_eq!(house.refund(20).await.status, 200);
}

#[tokio::test]
async fn a_change_of_an_agent_of_another_revision_is_refused() {
    let house = House::new().await;
    let path = format!("/v1/agents/{}", house.support.agent);
    let edit = json!({ "description": "new", "expected_revision": 7 });
    assert_eq!(post(&house, &path, edit).await.code(), (409, "conflict"));
    assert_eq!(get(&house, &path).await.body["revision"], 1);
}

#[tokio::test]
async fn a_name_is_one_agents_alone() {
    let house = House::new().await;
    let taken = post(&house, "/v1/agents", json!({ "name": "support" })).await;
    assert_eq!((taken.code(), taken.param()), ((409, "name_taken"), Some("name")));
    let other = format!("/v1/agents/{}", house.other.agent);
    let taken = post(&house, &other, json!({ "name": "support" })).await;
    assert_eq!((taken.code(), taken.param()), ((409, "name_taken"), Some("name")));
    // Its own name it may be given again.
    assert_eq!(post(&house, &other, json!({ "name": "other" })).await.status, 200);
}

#[tokio::test]
async fn of_an_agent_that_is_made_twice_at_once_one_is_made() {
    let house = House::new().await;
    let make = || post(&house, "/v1/agents", json!({ "name": "twin" }));
    let (one, two, three) = tokio::join!(make(), make(), make());
    let mut codes = [one, two, three].map(|made| made.status);
    codes.sort_unstable();
    assert_eq!(codes, [201, 409, 409]);
    assert_eq!(names(&house, "&q=twin").await, ["twin"]);
}

#[tokio::test]
async fn an_agent_is_made_of_what_fits_alone() {
    let house = House::new().await;
    let long = "x".repeat(65);
    let wrong = [
        ("name", json!({})),
        ("name", json!({ "name": 7 })),
        ("name", json!({ "name": "" })),
        ("name", json!({ "name": long })),
        ("name", json!({ "name": "-first" })),
        ("name", json!({ "name": "Upper" })),
        ("name", json!({ "name": "m\u{fc}ller" })),
        ("name", json!({ "name": "two words" })),
        ("description", json!({ "name": "fits", "description": "x".repeat(1001) })),
        ("labels", json!({ "name": "fits", "labels": { "a": 1 } })),
        ("labels", json!({ "name": "fits", "labels": { "A": "b" } })),
        ("intent_mode", json!({ "name": "fits", "intent_mode": "sometimes" })),
        ("modes", json!({ "name": "fits", "modes": [] })),
        ("modes", json!({ "name": "fits", "modes": "proxy" })),
        ("modes", json!({ "name": "fits", "modes": ["proxy", "tunnel"] })),
        ("owner", json!({ "name": "fits", "owner": "ada" })),
        ("owner", json!({ "name": "fits", "owner": "mem_00000000000000000000000000" })),
        ("expires_at", json!({ "name": "fits", "expires_at": "soon" })),
        ("expires_at", json!({ "name": "fits", "expires_at": "2020-01-01T00:00:00Z" })),
        ("colour", json!({ "name": "fits", "colour": "red" })),
    ];
    for (param, body) in wrong {
        let refused = post(&house, "/v1/agents", body.clone()).await;
        let found = (refused.code(), refused.param());
        assert_eq!(found, ((400, "validation_failed"), Some(param)), "{body}");
    }
    let path = format!("/v1/agents/{}", house.other.agent);
    let nothing = post(&house, &path, json!({ "expected_revision": 1 })).await;
    assert_eq!(nothing.code(), (400, "validation_failed"));
    assert_eq!(names(&house, "").await.len(), 3);
}

#[tokio::test]
async fn the_services_own_agent_is_listed_and_stays_as_it_is() {
    let house = House::new().await;
    let listed = get(&house, "/v1/agents?q=console").await;
    let console = &listed.body["data"][0];
    assert_eq!((&console["name"], &console["system"]), (&json!("console"), &json!(true)));
    let path = format!("/v1/agents/{}", console["id"].as_str().unwrap());
    let refused = post(&house, &path, json!({ "name": "mine" })).await;
    assert_eq!(refused.code(), (409, "conflict"));
}

#[tokio::test]
async fn agents_are_listed_page_by_page_by_status_and_by_the_beginning_of_a_name() {
    let house = House::new().await;
    for name in ["sup", "supper", "tea"] {
        assert_eq!(post(&house, "/v1/agents", json!({ "name": name })).await.status, 201);
    }
    let operator = house.operator();
    operator.stop_agent(house.support.agent, "a drill", PendingApprovals::Void).await.unwrap();
    let all = names(&house, "").await;
    assert_eq!(all.len(), 6);
    assert_eq!(names(&house, "&q=sup").await, ["sup", "supper", "support"]);
    assert_eq!(names(&house, "&q=sup&status=active").await, ["sup", "supper"]);
    assert_eq!(names(&house, "&status=stopped").await, ["support"]);
    assert_eq!(names(&house, "&status=active").await.len(), 5);
    assert_eq!(names(&house, "&status=suspended").await, [""; 0]);
    assert_eq!(names(&house, "&status=archived").await, [""; 0]);
    for (param, query) in [
        ("status", "status=gone"),
        ("q", "q=A"),
        ("q", "q=%25"),
        ("archived", "archived=1"),
        ("limit", "limit=0"),
        ("cursor", "cursor=x"),
        ("colour", "colour=red"),
    ] {
        let refused = get(&house, &format!("/v1/agents?{query}")).await;
        let found = (refused.code(), refused.param());
        assert_eq!(found, ((400, "validation_failed"), Some(param)), "{query}");
    }
    // A cursor is good for the filters that it was given with.
    let first = get(&house, "/v1/agents?limit=1").await;
    let cursor = first.body["next_cursor"].as_str().unwrap();
    let moved = get(&house, &format!("/v1/agents?q=sup&cursor={cursor}")).await;
    assert_eq!(moved.param(), Some("cursor"));
}

fn keys_of(house: &House) -> String {
    format!("/v1/agents/{}/keys", house.support.agent)
}

fn both() -> Value {
    json!({ "name": "ci", "scopes": ["actions:read", "actions:execute"] })
}

#[tokio::test]
async fn a_key_is_shown_once_and_listed_by_its_hint() {
    let house = House::new().await;
    let keys = keys_of(&house);
    let made = post(&house, &keys, both()).await;
    assert_eq!(made.status, 201, "{}", made.body);
    let secret = made.body["secret"].as_str().unwrap().to_owned();
    assert!(
        secret.starts_with("svc_live_") && secret.ends_with(made.body["hint"].as_str().unwrap())
    );
    assert_eq!(house.get("/v1/actions", &secret).await.status, 200);
    let first = get(&house, &format!("{keys}?limit=1")).await;
    assert_eq!(first.body["has_more"], true);
    let cursor = first.body["next_cursor"].as_str().unwrap();
    let second = get(&house, &format!("{keys}?limit=1&cursor={cursor}")).await;
    let shown = [&first.body["data"][0], &second.body["data"][0]];
    assert!(shown.iter().any(|key| key["id"] == made.body["id"]));
    assert!(!format!("{shown:?}").contains("svc_live_"));
    // A cursor of one agent's keys leads nowhere among another's.
    let other = format!("/v1/agents/{}/keys?cursor={cursor}", house.other.agent);
    assert_eq!(get(&house, &other).await.param(), Some("cursor"));
    let test = json!({ "name": "t", "scopes": ["actions:read"], "livemode": false });
    let test = post(&house, &keys, test).await;
    assert!(test.body["secret"].as_str().unwrap().starts_with("svc_test_"));
}

#[tokio::test]
async fn an_agent_has_eight_keys_and_no_ninth_even_of_many_at_once() {
    let house = House::new().await;
    let keys = keys_of(&house);
    let made = futures_util::future::join_all((0..12).map(|_| post(&house, &keys, both()))).await;
    let count = |status| made.iter().filter(|made| made.status == status).count();
    // It had one.
    assert_eq!((count(201), count(409)), (7, 5));
    let refused = made.iter().find(|made| made.status == 409).unwrap();
    assert_eq!(refused.code(), (409, "limit_reached"));
    // A key that ends at once makes room for the one that replaces it, one that lives on does not.
    let one = made.iter().find(|made| made.status == 201).unwrap();
    let roll = format!("{keys}/{}/roll", one.id());
    let kept = post(&house, &roll, json!({ "expires_in": 60 })).await;
    assert_eq!(kept.code(), (409, "limit_reached"));
    assert_eq!(post(&house, &roll, json!({ "expires_in": 0 })).await.status, 201);
    let revoked = ask(&house, "DELETE", &format!("{keys}/{}", house.support.id), None).await;
    assert_eq!((revoked.status, &revoked.body["status"]), (200, &json!("revoked")));
    assert_eq!(post(&house, &keys, both()).await.status, 201);
}

#[tokio::test]
async fn a_rolled_key_lives_on_for_as_long_as_was_said() {
    let house = House::new().await;
    let keys = keys_of(&house);
    let roll = format!("{keys}/{}/roll", house.support.id);
    for wrong in [json!({}), json!({ "expires_in": 604_801 }), json!({ "expires_in": "1h" })] {
        let refused = post(&house, &roll, wrong.clone()).await;
        assert_eq!(
            (refused.code(), refused.param()),
            ((400, "validation_failed"), Some("expires_in")),
            "{wrong}"
        );
    }
    let rolled = post(&house, &roll, json!({ "expires_in": 3600 })).await;
    assert_eq!(rolled.status, 201, "{}", rolled.body);
    assert_ne!(rolled.id(), house.support.id.to_string());
    let new = rolled.body["secret"].as_str().unwrap().to_owned();
    let opens = async |key: &str| house.get("/v1/actions", key).await.status;
    assert_eq!((opens(&house.support.key).await, opens(&new).await), (200, 200));
    // A second key in its place would have its end, which is near by now.
    let second = post(&house, &roll, json!({ "expires_in": 3600 })).await;
    assert_eq!(second.code(), (409, "conflict"));
    assert_eq!(rolled.body["expires_at"], Value::Null);
    house.clock.pass(std::time::Duration::from_hours(1));
    assert_eq!((opens(&house.support.key).await, opens(&new).await), (401, 200));
    let again = post(&house, &roll, json!({ "expires_in": 0 })).await;
    assert_eq!(again.code(), (409, "conflict"));
    // Rolled without an overlap, the old key ends at once.
    let roll = format!("{keys}/{}/roll", rolled.id());
    assert_eq!(post(&house, &roll, json!({ "expires_in": 0 })).await.status, 201);
    assert_eq!(opens(&new).await, 401);
    let mut told = house.sealed().await;
    told.retain(|event| event.starts_with("agent_key."));
    assert_eq!(
        told[told.len() - 3..],
        ["agent_key.rolled", "agent_key.rolled", "agent_key.revoked"]
    );
}

#[tokio::test]
async fn a_key_is_made_of_what_fits_alone() {
    let house = House::new().await;
    let keys = keys_of(&house);
    let scopes = ["actions:read"];
    for (param, body) in [
        ("name", json!({ "scopes": scopes })),
        ("name", json!({ "name": "", "scopes": scopes })),
        ("scopes", json!({ "name": "one" })),
        ("scopes", json!({ "name": "one", "scopes": [] })),
        ("scopes", json!({ "name": "one", "scopes": ["admin"] })),
        ("scopes", json!({ "name": "one", "scopes": ["all"] })),
        ("livemode", json!({ "name": "one", "scopes": scopes, "livemode": "no" })),
        (
            "expires_at",
            json!({ "name": "one", "scopes": scopes, "expires_at": "2020-01-01T00:00:00Z" }),
        ),
        ("colour", json!({ "name": "one", "scopes": scopes, "colour": "red" })),
    ] {
        let refused = post(&house, &keys, body.clone()).await;
        let found = (refused.code(), refused.param());
        assert_eq!(found, ((400, "validation_failed"), Some(param)), "{body}");
    }
    let console = get(&house, "/v1/agents?q=console").await.body["data"][0]["id"].clone();
    let refused =
        post(&house, &format!("/v1/agents/{}/keys", console.as_str().unwrap()), both()).await;
    assert_eq!(refused.code(), (409, "conflict"));
}
