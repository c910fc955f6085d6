//! Stops, suspensions and the end of agents over the interface.

use std::time::Duration;

use model::{Clock, Role};
use serde_json::{Value, json};
use testkit::eventually::until;

use super::{
    console::{approver, text},
    house::{Answer, House, request},
};

async fn ask(house: &House, method: &str, path: &str, body: Value) -> Answer {
    house.send(request(method, path, &house.org_key, &[], Some(body))).await
}

async fn tell(house: &House, verb: &str, more: Value) -> Answer {
    let mut body = json!({ "reason": "a drill" });
    body.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap_or_default());
    ask(house, "POST", &format!("/v1/agents/{}/{verb}", house.support.agent), body).await
}

#[tokio::test]
async fn a_stop_answers_with_what_had_started_and_holds_until_the_start() {
    let house = House::new().await;
    let started = house.authorize().await.id();
    let stopped = tell(&house, "stop", json!({})).await;
    assert_eq!((stopped.status, &stopped.body["status"]), (200, &json!("stopped")), "{stopped:?}");
    assert_eq!(stopped.body["in_flight"], json!([started]));
    assert_eq!(stopped.body["in_flight_count"], 1);
    assert_eq!(stopped.body["stop"]["reason"], "a drill");
    assert_eq!(house.refund(20).await.code(), (403, "agent_stopped"));
    assert_eq!(tell(&house, "stop", json!({})).await.code(), (409, "conflict"));
    let running = tell(&house, "start", json!({})).await;
    assert_eq!((&running.body["status"], &running.body["stop"]), (&json!("active"), &Value::Null));
    assert_eq!(house.refund(20).await.status, 200);
    assert_eq!(tell(&house, "start", json!({})).await.code(), (409, "conflict"));
    let told = house.sealed().await;
    assert!(
        told.contains(&"agent.stopped".to_owned()) && told.contains(&"agent.started".to_owned())
    );
}

#[tokio::test]
async fn an_org_stop_counts_what_had_started_and_stops_every_agent() {
    let house = House::new().await;
    house.authorize().await;
    let stopped = ask(&house, "POST", "/v1/org/stop", json!({ "reason": "a drill" })).await;
    assert_eq!((stopped.status, &stopped.body["in_flight_count"]), (200, &json!(1)));
    assert_eq!(stopped.body["stop"]["reason"], "a drill");
    assert!(stopped.body["deed"].is_string());
    assert_eq!(house.refund(20).await.code(), (403, "org_stopped"));
    let running = ask(&house, "POST", "/v1/org/start", json!({ "reason": "over" })).await;
    assert_eq!((running.status, &running.body["stop"]), (200, &Value::Null));
    assert_eq!(house.refund(20).await.status, 200);
}

/// Sends a refund that waits, and returns its action and its approval.
async fn held(house: &House) -> (String, String) {
    let held = house.refund(500).await;
    (held.id(), held.body["approval"]["id"].as_str().unwrap().to_owned())
}

/// Waits until the call has ended as denied, which the answer of a Stop does not wait for.
async fn ended(house: &House, action: &str) {
    let path = format!("/v1/actions/{action}");
    until("the call is ended", async || {
        house.get(&path, &house.org_key).await.body["status"] == "denied"
    })
    .await;
}

/// The entry of the history that tells of this approval being void.
async fn voided_entry(house: &House, action: &str) -> Value {
    let path = format!("/v1/ledger?subject={action}");
    let entries = house.get(&path, &house.org_key).await.body["data"].clone();
    let entries = entries.as_array().unwrap().clone();
    entries.into_iter().find(|entry| entry["type"] == "approval.voided").expect("an entry")
}

#[tokio::test]
async fn what_a_stop_took_away_names_the_stop_and_whoever_made_it() {
    let house = House::new().await;
    let (ada, _) = approver(&house, "ada@example.com", Role::Owner).await;
    let (action, approval) = held(&house).await;
    let stop = json!({ "reason": "A <b> drill." });
    let stop = request("POST", "/v1/org/stop", &ada.key, &[], Some(stop));
    assert_eq!(house.send(stop).await.body["pending_approvals"], "void");
    ended(&house, &action).await;
    let path = format!("/v1/actions/{action}");
    let shown = house.get(&path, &house.support.key).await.body;
    assert_eq!(shown["status"], "denied");
    assert_eq!(shown["approval"]["void_reason"], "org_stopped");
    let path = format!("/v1/approvals/{approval}");
    let by_ada = json!({ "id": ada.user, "type": "user" });
    let voided = json!({ "by": by_ada, "reason": "A <b> drill." });
    assert_eq!(house.get(&path, &ada.key).await.body["voided"], voided);
    let agents = house.get(&path, &house.support.key).await.body;
    assert_eq!(agents["void_reason"], "org_stopped");
    assert_eq!(agents.get("voided"), None, "the reason is written for people: {agents}");
    let entry = voided_entry(&house, &action).await;
    assert_eq!(entry["actor"], json!({ "kind": "user", "id": ada.user, "name": null }));
    assert_eq!(entry["summary"], "approval.voided shop.refund voided org_stopped");
    let page = async |path: &str| text(&house.get(path, &ada.key).await);
    for path in [format!("/app/approvals/{approval}"), format!("/app/actions/{action}")] {
        let html = page(&path).await;
        for told in [
            "Voided by a Stop of the whole org; it never ran.",
            "A &lt;b&gt; drill.",
            "<bdi>ada@example.com</bdi>",
        ] {
            assert!(html.contains(told), "{told} is not at {path}: {html}");
        }
    }
    assert!(
        page("/app/actions").await.contains("Voided by a Stop of the whole org; it never ran.")
    );
    let row = page("/app/ledger").await;
    let row = row.split("shop.refund voided org_stopped").nth(1).unwrap();
    assert!(row.split("</tr>").next().unwrap().contains("<bdi>ada@example.com</bdi>"), "{row}");
}

#[tokio::test]
async fn what_the_stop_or_the_end_of_an_agent_took_away_names_that() {
    let house = House::new().await;
    let kept = held(&house).await.0;
    let stopped = tell(&house, "stop", json!({ "pending_approvals": "keep" })).await;
    assert_eq!(stopped.body["pending_approvals"], "keep");
    tell(&house, "start", json!({})).await;
    let shown = house.get(&format!("/v1/actions/{kept}"), &house.org_key).await.body;
    assert_eq!(shown["status"], "pending_approval");
    let agent = format!("/v1/agents/{}", house.support.agent);
    for (method, path, reason) in [
        ("POST", format!("{agent}/stop"), "agent_stopped"),
        ("DELETE", agent.clone(), "agent_archived"),
    ] {
        house.clock.pass(Duration::from_secs(1));
        let (action, approval) = held(&house).await;
        assert_eq!(ask(&house, method, &path, json!({ "reason": "why" })).await.status, 200);
        ended(&house, &action).await;
        let shown = house.get(&format!("/v1/approvals/{approval}"), &house.org_key).await.body;
        assert_eq!(
            (&shown["void_reason"], &shown["voided"]["reason"]),
            (&json!(reason), &json!("why"))
        );
        let newest = house.get("/v1/ledger?limit=20", &house.org_key).await.body;
        let newest = newest["data"].as_array().unwrap();
        let types = ["agent.stopped", "agent.archived"];
        let change =
            newest.iter().find(|it| types.contains(&it["type"].as_str().unwrap())).unwrap();
        assert_eq!(change["actor"]["kind"], "api_key");
        assert_eq!(voided_entry(&house, &action).await["actor"], change["actor"]);
        tell(&house, "start", json!({})).await;
    }
}

#[tokio::test]
async fn the_pages_of_a_stop_say_what_becomes_of_what_waits() {
    let house = House::new().await;
    let (ada, _) = approver(&house, "ada@example.com", Role::Owner).await;
    let agent = format!("/app/agents/{}/stop", house.support.agent);
    for waiting in 0..2 {
        for path in ["/app/stop", &agent] {
            let html = text(&house.get(path, &ada.key).await);
            let legend = format!("ending approvals: {waiting} now</legend>");
            for told in [&*legend, "Void them: the calls never run", "value=\"keep\"", "Cancel"] {
                assert!(html.contains(told), "{told} is not at {path}: {html}");
            }
        }
        held(&house).await;
    }
}

#[tokio::test]
async fn of_the_members_an_owner_alone_starts_a_stopped_org() {
    let house = House::new().await;
    let admin = house.browser("mallory@example.com", Role::Admin).await;
    let owner = house.browser("ada@example.com", Role::Owner).await;
    ask(&house, "POST", "/v1/org/stop", json!({ "reason": "a drill" })).await;
    let start = async |key: &str| {
        let body = Some(json!({ "reason": "over" }));
        house.send(request("POST", "/v1/org/start", key, &[], body)).await
    };
    assert_eq!(start(&admin.key).await.code(), (403, "role_required"));
    assert_eq!(house.refund(20).await.code(), (403, "org_stopped"));
    let page = house.get("/app/stop", &admin.key).await;
    let html = String::from_utf8_lossy(&page.bytes).into_owned();
    assert!(html.contains("requires the role owner") && !html.contains("/v1/org/start"), "{html}");
    assert_eq!(start(&owner.key).await.status, 200);
}

#[tokio::test]
async fn a_suspended_agent_is_refused_until_the_moment_comes() {
    let house = House::new().await;
    let until = house.clock.now() + Duration::from_mins(5);
    let held = tell(&house, "suspend", json!({ "until": until })).await;
    assert_eq!((held.status, &held.body["status"]), (200, &json!("suspended")), "{held:?}");
    let suspension = &held.body["suspension"];
    assert_eq!((&suspension["cause"], &suspension["until"]), (&json!("person"), &json!(until)));
    assert_eq!(house.refund(20).await.code(), (403, "agent_suspended"));
    house.clock.pass(Duration::from_mins(5));
    assert_eq!(house.refund(20).await.status, 200);
    assert_eq!(tell(&house, "resume", json!({})).await.code(), (409, "conflict"));
    assert_eq!(tell(&house, "suspend", json!({})).await.status, 200);
    let resumed = tell(&house, "resume", json!({})).await;
    assert_eq!((resumed.status, &resumed.body["suspension"]), (200, &Value::Null));
}

#[tokio::test]
async fn what_a_stop_asks_for_must_make_sense() {
    let house = House::new().await;
    let long = "x".repeat(281);
    for (verb, param, more) in [
        ("stop", "reason", json!({ "reason": "" })),
        ("stop", "reason", json!({ "reason": long })),
        ("stop", "reason", json!({ "reason": null })),
        ("stop", "pending_approvals", json!({ "pending_approvals": "approve" })),
        ("stop", "until", json!({ "until": "2030-01-01T00:00:00Z" })),
        ("start", "pending_approvals", json!({ "pending_approvals": "void" })),
        ("suspend", "until", json!({ "until": "tomorrow" })),
        ("suspend", "until", json!({ "until": "2001-01-01T00:00:00Z" })),
        ("resume", "reason", json!({ "reason": 7 })),
    ] {
        let refused = tell(&house, verb, more.clone()).await;
        let found = (refused.code(), refused.param());
        assert_eq!(found, ((400, "validation_failed"), Some(param)), "{verb} {more}");
    }
    assert_eq!(house.refund(20).await.status, 200);
}

#[tokio::test]
async fn the_services_own_agent_is_neither_stopped_nor_archived_by_itself() {
    let house = House::new().await;
    let listed = house.get("/v1/agents?q=console", &house.org_key).await;
    let path = format!("/v1/agents/{}", listed.body["data"][0]["id"].as_str().unwrap());
    let body = json!({ "reason": "by mistake" });
    for (method, path) in [
        ("POST", format!("{path}/stop")),
        ("POST", format!("{path}/suspend")),
        ("DELETE", path.clone()),
    ] {
        assert_eq!(ask(&house, method, &path, body.clone()).await.code(), (409, "conflict"));
    }
    assert_eq!(house.get(&path, &house.org_key).await.body["status"], "active");
}

#[tokio::test]
async fn an_archived_agents_key_is_unknown_and_lists_show_it_where_it_is_asked_for() {
    let house = House::new().await;
    let path = format!("/v1/agents/{}", house.support.agent);
    let archived = ask(&house, "DELETE", &path, json!({ "reason": "its work is done" })).await;
    assert_eq!((archived.status, &archived.body["status"]), (200, &json!("archived")));
    assert!(archived.body["archived_at"].is_string() && archived.body["deed"].is_string());
    assert_eq!(house.refund(20).await.code(), (401, "unauthenticated"));
    let names = async |filter: &str| {
        let page = house.get(&format!("/v1/agents?{filter}"), &house.org_key).await;
        let data = page.body["data"].as_array().unwrap();
        data.iter().filter(|agent| agent["name"] == "support").count()
    };
    assert_eq!(names("limit=100").await, 0);
    assert_eq!(names("archived=true").await, 1);
    assert_eq!(names("status=archived").await, 1);
    assert_eq!(ask(&house, "DELETE", &path, json!({ "reason": "again" })).await.status, 409);
    let made = ask(&house, "POST", "/v1/agents", json!({ "name": "support" })).await;
    assert_eq!(made.status, 201);
}

#[tokio::test]
async fn a_change_on_what_is_no_more_so_names_what_it_was_asked_for_on() {
    let house = House::new().await;
    let path = format!("/v1/agents/{}", house.support.agent);
    let edit = json!({ "description": "new", "expected_revision": 7 });
    let refused = ask(&house, "POST", &path, edit).await;
    let found = (refused.code(), refused.param());
    assert_eq!(found, ((409, "conflict"), Some("expected_revision")));
}
