//! Versions that become active only once a second person confirmed it.

use std::time::Duration;

use model::{Role, Scope};
use serde_json::{Value, json};

use super::house::{Answer, House, org_key};

const DENY_ALL: &str = "{ schema: 1, default: { outcome: deny }, rules: [] }";
const ALLOWED: &str = "
now: 2026-10-01T12:00:00Z
agents: { bot: {} }
calls: { refund: { tool: shop.refund, args: { amount: 5 } } }
cases:
  - { name: refunds pass, agent: bot, call: refund, expect: { outcome: allow } }
";

/// A house in which two people make a version active, and two admins.
struct Two {
    house: House,
    owner: String,
    ada: String,
    bob: String,
    policy: String,
    version: String,
}

impl Two {
    async fn new() -> Self {
        let house = House::new().await;
        let owner = house.browser("owner@example.com", Role::Owner).await.key;
        let ada = house.browser("ada@example.com", Role::Admin).await.key;
        let bob = house.browser("bob@example.com", Role::Admin).await.key;
        let body = json!({ "policy_two_person": true });
        let set = house.ask(("POST", "/v1/org"), &owner, Some(body)).await;
        assert_eq!((set.status, &set.body["policy_two_person"]), (200, &json!(true)));
        let made = json!({ "name": "strict" });
        let policy = house.ask(("POST", "/v1/policies"), &ada, Some(made)).await.id();
        let version = Self::version(&house, &ada, &policy).await;
        Self { house, owner, ada, bob, policy, version }
    }

    async fn version(house: &House, key: &str, policy: &str) -> String {
        let path = format!("/v1/policies/{policy}/versions");
        house.ask(("POST", &path), key, Some(json!({ "document": DENY_ALL }))).await.id()
    }

    async fn activate(&self, key: &str, more: Value) -> Answer {
        let mut body =
            json!({ "version": self.version, "mode": "enforce", "reason": "The night begins." });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let path = format!("/v1/policies/{}/activate", self.policy);
        self.house.ask(("POST", &path), key, Some(body)).await
    }

    async fn answer(&self, key: &str, id: &str, verb: &str, body: Value) -> Answer {
        let path = format!("/v1/policies/activations/{id}/{verb}");
        self.house.ask(("POST", &path), key, Some(body)).await
    }

    async fn status(&self, id: &str) -> Value {
        let path = format!("/v1/policies/activations/{id}");
        self.house.get(&path, &self.house.org_key).await.body["status"].clone()
    }

    async fn active(&self) -> Value {
        self.house.get("/v1/policies/active", &self.ada).await.body
    }
}

#[tokio::test]
async fn a_version_decides_once_another_person_confirmed_it() {
    let two = Two::new().await;
    let before = two.active().await["enforce"]["version"].clone();
    let proposed = two.activate(&two.ada, json!({})).await;
    assert_eq!(
        (proposed.status, &proposed.body["status"]),
        (202, &json!("pending_second_person")),
        "{}",
        proposed.body
    );
    assert_eq!(proposed.body["previous"], before);
    let id = proposed.id();
    assert_eq!(two.house.refund(5).await.status, 200);
    let active = two.active().await;
    assert_eq!(
        (&active["enforce"]["version"], &active["proposals"][0]["id"]),
        (&before, &json!(id))
    );

    let own = two.answer(&two.ada, &id, "confirm", json!({})).await;
    assert_eq!(own.code(), (403, "self_approval"));
    let confirmed = two.answer(&two.bob, &id, "confirm", json!({ "reason": "Agreed." })).await;
    assert_eq!((confirmed.status, &confirmed.body["version"]), (200, &json!(two.version)));
    assert_eq!(confirmed.body["reason"], "The night begins.");
    assert_eq!(confirmed.body["proposal"], json!(id));
    assert_eq!(confirmed.body["proposed_by"], proposed.body["proposed_by"]);
    assert_ne!(confirmed.body["by"], confirmed.body["proposed_by"]);
    assert_eq!(two.house.refund(5).await.status, 403);
    assert_eq!(two.status(&id).await, "confirmed");
    assert_eq!(two.active().await["proposals"], json!([]));
    let again = two.answer(&two.bob, &id, "confirm", json!({})).await;
    assert_eq!(again.code(), (409, "conflict"));
    let history = two.house.get("/v1/policies/activations?limit=1", &two.ada).await;
    assert_eq!(history.body["data"][0], confirmed.body);
    let deed = confirmed.body["deed"].as_str().unwrap();
    let deed = two.house.get(&format!("/v1/deeds/{deed}"), &two.ada).await;
    let data = &deed.body["body"]["admin"]["data"];
    assert_eq!(
        (&data["proposal"], &data["proposed_by"]),
        (&json!(id), &proposed.body["proposed_by"])
    );
    let told = two.house.sealed().await;
    let told: Vec<_> = told.iter().filter(|it| it.starts_with("policy.activat")).collect();
    assert_eq!(told[told.len() - 2..], ["policy.activation_proposed", "policy.activated"]);
}

#[tokio::test]
async fn one_waits_in_a_mode_until_it_is_rejected_or_taken_back() {
    let two = Two::new().await;
    let first = two.activate(&two.ada, json!({})).await.id();
    let second = two.activate(&two.bob, json!({})).await;
    assert_eq!(second.code(), (409, "conflict"));
    let shadow = two.activate(&two.bob, json!({ "mode": "shadow" })).await;
    assert_eq!(shadow.status, 202, "{}", shadow.body);
    let without = two.answer(&two.bob, &first, "reject", json!({})).await;
    assert_eq!((without.code(), without.param()), ((400, "validation_failed"), Some("reason")));
    let rejected = two.answer(&two.bob, &first, "reject", json!({ "reason": "Too wide." })).await;
    assert_eq!((rejected.status, &rejected.body["status"]), (200, &json!("rejected")));
    assert_eq!(rejected.body["closed_reason"], "Too wide.");
    assert_eq!(two.answer(&two.bob, &first, "confirm", json!({})).await.code(), (409, "conflict"));
    // Whoever proposed it may take it back.
    let second = two.activate(&two.bob, json!({})).await.id();
    let back = two.answer(&two.bob, &second, "reject", json!({ "reason": "A mistake." })).await;
    assert_eq!(back.status, 200);
    assert_eq!(two.active().await["proposals"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn what_nobody_confirmed_in_a_day_expires_and_gives_way() {
    let two = Two::new().await;
    let first = two.activate(&two.ada, json!({})).await.id();
    two.house.clock.pass(Duration::from_hours(24));
    assert_eq!(two.status(&first).await, "expired");
    let again = two.house.browser("eve@example.com", Role::Admin).await.key;
    assert_eq!(two.answer(&again, &first, "confirm", json!({})).await.code(), (409, "conflict"));
    let second = two.activate(&again, json!({})).await;
    assert_eq!(second.status, 202, "{}", second.body);
    assert_eq!(two.status(&first).await, "expired");
    assert_eq!(two.status(&second.id()).await, "pending_second_person");
}

#[tokio::test]
async fn a_proposal_is_stale_once_what_it_was_made_on_has_moved() {
    let two = Two::new().await;
    let first = two.activate(&two.ada, json!({})).await.id();
    let path = format!("/v1/policies/{}", two.policy);
    let edit = json!({ "description": "For the night." });
    two.house.ask(("POST", &path), &two.ada, Some(edit)).await;
    assert_eq!(two.status(&first).await, "stale");
    assert_eq!(two.answer(&two.bob, &first, "confirm", json!({})).await.code(), (409, "conflict"));

    let second = two.activate(&two.ada, json!({})).await.id();
    // The switch is off for a moment, and another version becomes active.
    let switch = async |on: bool| {
        let body = json!({ "policy_two_person": on });
        let set = two.house.ask(("POST", "/v1/org"), &two.owner, Some(body)).await;
        assert_eq!(set.status, 200, "{}", set.body);
    };
    switch(false).await;
    assert_eq!(two.status(&second).await, "pending_second_person");
    let version = Two::version(&two.house, &two.ada, &two.policy).await;
    let alone = two.activate(&two.ada, json!({ "version": version })).await;
    assert_eq!((alone.status, &alone.body["proposal"]), (200, &Value::Null));
    switch(true).await;
    assert_eq!(two.status(&second).await, "stale");
}

#[tokio::test]
async fn an_owner_overrules_failing_tests_and_still_needs_a_second_person() {
    let two = Two::new().await;
    let path = format!("/v1/policies/{}/tests", two.policy);
    let put = two.house.ask(("PUT", &path), &two.ada, Some(json!({ "suite": ALLOWED }))).await;
    assert_eq!(put.status, 200, "{}", put.body);
    let force = || json!({ "force": true });
    assert_eq!(two.activate(&two.owner, json!({})).await.code(), (409, "policy_tests_failed"));
    assert_eq!(two.activate(&two.ada, force()).await.code(), (403, "role_required"));
    let by_key = two.activate(&two.house.org_key, force()).await;
    assert_eq!(by_key.code(), (403, "role_required"));
    let proposed = two.activate(&two.owner, force()).await;
    assert_eq!((proposed.status, &proposed.body["failed_tests"]), (202, &json!(1)));
    let confirmed = two.answer(&two.ada, &proposed.id(), "confirm", json!({})).await;
    assert_eq!((confirmed.status, &confirmed.body["forced"]), (200, &json!(true)));
    let deed = confirmed.body["deed"].as_str().unwrap();
    let deed = two.house.get(&format!("/v1/deeds/{deed}"), &two.ada).await;
    assert_eq!(deed.body["body"]["admin"]["data"]["failed_tests"], 1);
}

#[tokio::test]
async fn a_key_proposes_and_whoever_made_it_is_no_second_person() {
    let two = Two::new().await;
    let body = json!({ "name": "pipeline", "scopes": ["admin"] });
    let key = two.house.ask(("POST", "/v1/api_keys"), &two.owner, Some(body)).await;
    assert_eq!(key.status, 201, "{}", key.body);
    let proposed = two.activate(key.body["secret"].as_str().unwrap(), json!({})).await;
    assert_eq!(proposed.status, 202, "{}", proposed.body);
    let own = two.answer(&two.owner, &proposed.id(), "confirm", json!({})).await;
    assert_eq!(own.code(), (403, "self_approval"));
    let other_key = org_key(&two.house.operator(), Scope::Admin).await;
    let by_key = two.answer(&other_key, &proposed.id(), "confirm", json!({})).await;
    assert_eq!(by_key.status, 403);
    assert_eq!(two.answer(&two.bob, &proposed.id(), "confirm", json!({})).await.status, 200);
}

#[tokio::test]
async fn an_admin_who_is_one_no_more_confirms_nothing() {
    let two = Two::new().await;
    let id = two.activate(&two.ada, json!({})).await.id();
    let session = two.house.get("/v1/session", &two.bob).await.body;
    let path = format!("/v1/members/{}", session["member"]["id"].as_str().unwrap());
    let demoted = json!({ "role": "viewer" });
    assert_eq!(two.house.ask(("POST", &path), &two.owner, Some(demoted)).await.status, 200);
    let refused = two.answer(&two.bob, &id, "confirm", json!({})).await;
    assert!(matches!(refused.status, 401 | 403), "{}", refused.body);
    assert_eq!(two.status(&id).await, "pending_second_person");
}
