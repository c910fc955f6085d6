//! Intent keys, signed calls and checks of intents over the interface.

use std::time::Duration;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use crypto::ed25519::SigningKey;
use deed::{
    KeySet,
    verify::{CheckId, IntentShown, Report, Trust, Verdict, examine},
};
use intent::Claims;
use model::{AgentId, Clock as _, Role};
use serde_json::{Value, json};
use testkit::AUDIENCE;

use super::house::{Answer, House, request};

fn pair(seed: u8) -> SigningKey {
    SigningKey::from_seed(&[seed; 32]).unwrap()
}

/// The body that adds a key to an agent, with its proof.
pub(super) fn added(agent: AgentId, seed: u8) -> Value {
    let pair = pair(seed);
    let proof = pair.sign(intent::proof_message(&agent.to_string(), pair.public()).as_bytes());
    let public = URL_SAFE_NO_PAD.encode(pair.public().as_bytes());
    json!({ "public_key": public, "proof": URL_SAFE_NO_PAD.encode(proof) })
}

fn keys_of(house: &House) -> String {
    format!("/v1/agents/{}/intent_keys", house.support.agent)
}

async fn add(house: &House, body: Value) -> Answer {
    house.send(request("POST", &keys_of(house), &house.org_key, &[], Some(body))).await
}

/// Gives the house's agent a key, and returns its id.
pub(super) async fn key(house: &House) -> String {
    add(house, added(house.support.agent, 7)).await.id()
}

/// Has the house's agent sign a call, and returns the action's id.
pub(super) async fn used(house: &House) -> String {
    key(house).await;
    call(house, &intent_of(house, "one")).await.id()
}

fn args() -> Value {
    json!({ "amount": 20 })
}

fn intent_of(house: &House, nonce: &str) -> String {
    let bound = json!({ "args": args(), "tool": "shop.refund" });
    let now = house.clock.now().unix_millis() / 1000;
    let claims = Claims {
        aud: AUDIENCE.to_owned(),
        sub: house.support.agent.to_string(),
        tool: "shop.refund".to_owned(),
        req: crypto::sha256(crypto::json::canonical(&bound)),
        mode: "gateway".to_owned(),
        obo: None,
        ses: None,
        idem: None,
        iat: now,
        exp: now + 60,
        jti: format!("{nonce:A<22}"),
        tdg: None,
        purpose: None,
    };
    intent::sign(&claims, &pair(7))
}

async fn call(house: &House, intent: &str) -> Answer {
    let body = json!({ "tool": "shop.refund", "args": args() });
    let headers = [("service-intent", intent)];
    house.send(request("POST", "/v1/actions", &house.support.key, &headers, Some(body))).await
}

/// An action of the agent's that it signed with a key of its own.
pub(super) async fn signed(house: &House) -> Answer {
    let made = add(house, added(house.support.agent, 7)).await;
    assert_eq!(made.status, 201, "{}", made.body);
    call(house, &intent_of(house, "one")).await
}

async fn check(house: &House, intent: &str) -> Value {
    let body = json!({ "intent": intent, "request": { "tool": "shop.refund", "args": args() } });
    let key = &house.support.key;
    let asked = request("POST", "/v1/intents/check", key, &[], Some(body));
    let answer = house.send(asked).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    answer.body
}

#[tokio::test]
async fn a_key_is_added_signs_and_is_revoked() {
    let house = House::new().await;
    let made = add(&house, added(house.support.agent, 7)).await;
    assert_eq!((made.status, &made.body["status"]), (201, &json!("active")), "{}", made.body);
    assert_eq!(call(&house, &intent_of(&house, "one")).await.body["status"], "executed");

    let path = format!("{}/{}", keys_of(&house), made.id());
    let revoked = house.send(request("DELETE", &path, &house.org_key, &[], None)).await;
    assert_eq!((revoked.status, &revoked.body["status"]), (200, &json!("revoked")));
    let refused = call(&house, &intent_of(&house, "two")).await;
    assert_eq!(
        (refused.code(), refused.param()),
        ((403, "intent_invalid"), Some("Service-Intent"))
    );
    let again = house.send(request("DELETE", &path, &house.org_key, &[], None)).await;
    assert_eq!(again.code(), (409, "conflict"));
    let listed = house.get(&keys_of(&house), &house.org_key).await;
    assert_eq!(listed.body["data"][0]["status"], "revoked");
    let told = house.get("/v1/ledger?limit=20", &house.org_key).await.body["data"].clone();
    let types: Vec<_> = told.as_array().unwrap().iter().map(|entry| &entry["type"]).collect();
    assert!(types.contains(&&json!("intent_key.added")), "{types:?}");
    assert!(types.contains(&&json!("intent_key.revoked")), "{types:?}");
}

/// The evidence of an action, and what comes of checking it with the published keys.
async fn evidence(house: &House, action: &Value) -> (Value, Report) {
    let path = format!("/v1/deeds/{}/bundle", action["deed"].as_str().unwrap());
    let found = house.get(&path, &house.org_key).await;
    assert_eq!(found.status, 200, "{}", found.body);
    let keys = house.get("/.well-known/service/keys.json", "").await;
    let trust = Trust::from(KeySet::parse(&keys.bytes).unwrap());
    let report = examine(&found.bytes, &trust);
    (found.body, report)
}

#[tokio::test]
async fn evidence_has_what_the_agent_signed_after_retention_too() {
    let house = House::new().await;
    let action = signed(&house).await.body;
    let intent = intent_of(&house, "one");
    let public_key = added(house.support.agent, 7)["public_key"].clone();
    let shown = json!([{ "deed": action["deed"], "jws": intent, "public_key": public_key }]);
    let is_shown = |(file, report): &(Value, Report)| {
        assert_eq!(file["intents"], shown);
        assert_eq!(report.verdict, Verdict::Valid, "{report}");
        assert!(report.checks.iter().any(|check| check.id == CheckId::Intents), "{report:?}");
        assert_eq!(report.deeds[0].intent, Some(IntentShown::Shown));
    };
    let before = evidence(&house, &action).await;
    is_shown(&before);
    let asked = request("POST", "/v1/deeds/verify", &house.org_key, &[], Some(before.0.clone()));
    let told = house.send(asked).await.body;
    assert_eq!((&told["valid"], &told["deeds"][0]["intent"]), (&json!(true), &json!("shown")));
    house.clock.pass(Duration::from_hours(24 * 365));
    assert_eq!(house.deployment().prune().await.unwrap(), 1);
    let after = evidence(&house, &action).await;
    assert_eq!(after.0["disclosures"], json!([]), "its payloads are gone");
    is_shown(&after);
}

#[tokio::test]
async fn evidence_of_what_was_not_signed_has_no_intents() {
    let house = House::new().await;
    let (file, report) = evidence(&house, &house.refund(20).await.body).await;
    assert_eq!((report.verdict, report.deeds[0].intent), (Verdict::Valid, None));
    assert_eq!(file.get("intents"), None);
}

#[tokio::test]
async fn an_intent_that_was_used_is_a_replay_with_a_code_of_its_own() {
    let house = House::new().await;
    add(&house, added(house.support.agent, 7)).await;
    let intent = intent_of(&house, "one");
    assert_eq!(check(&house, &intent).await["valid"], true);
    assert_eq!(check(&house, &intent).await["valid"], true, "a check burns nothing");
    assert_eq!(call(&house, &intent).await.status, 200);
    assert_eq!(call(&house, &intent).await.code(), (403, "intent_replay"));
    let checked = check(&house, &intent).await;
    assert_eq!((&checked["valid"], &checked["code"]), (&json!(false), &json!("intent_replay")));
    assert_eq!(checked["checks"].as_array().unwrap().last().unwrap()["check"], "nonce");
}

#[tokio::test]
async fn what_a_stopped_agent_signs_is_denied_and_is_used_up() {
    let house = House::new().await;
    add(&house, added(house.support.agent, 7)).await;
    let agent = format!("/v1/agents/{}", house.support.agent);
    let turn = async |word: &str| {
        let body = Some(json!({ "reason": "a drill" }));
        house.send(request("POST", &format!("{agent}/{word}"), &house.org_key, &[], body)).await
    };
    assert_eq!(turn("stop").await.status, 200);
    let intent = intent_of(&house, "one");
    assert_eq!(call(&house, &intent).await.code(), (403, "agent_stopped"));
    assert_eq!(turn("start").await.status, 200);
    assert_eq!(call(&house, &intent).await.code(), (403, "intent_replay"));
    assert_eq!(call(&house, &intent_of(&house, "two")).await.body["status"], "executed");
}

#[tokio::test]
async fn an_archived_agent_signs_nothing_and_gets_no_intent_key() {
    let house = House::new().await;
    add(&house, added(house.support.agent, 7)).await;
    let path = format!("/v1/agents/{}", house.support.agent);
    let body = Some(json!({ "reason": "its work is done" }));
    let archived = house.send(request("DELETE", &path, &house.org_key, &[], body)).await;
    assert_eq!(archived.status, 200, "{}", archived.body);
    let refused = call(&house, &intent_of(&house, "one")).await;
    assert_eq!(refused.code(), (401, "unauthenticated"));
    assert_eq!(add(&house, added(house.support.agent, 8)).await.code(), (409, "conflict"));
}

#[tokio::test]
async fn a_check_tells_what_each_check_expected_and_got() {
    let house = House::new().await;
    add(&house, added(house.support.agent, 7)).await;
    let body = json!({
        "intent": intent_of(&house, "one"),
        "request": { "tool": "shop.refund", "args": { "amount": 21 }, "session": "s-1" },
    });
    let key = &house.support.key;
    let asked = request("POST", "/v1/intents/check", key, &[], Some(body));
    let told = house.send(asked).await.body;
    let checks = told["checks"].as_array().unwrap().iter();
    let failed: Vec<_> = checks.filter(|check| check["ok"] == false).collect();
    assert_eq!(told["canonical"], r#"{"args":{"amount":21},"tool":"shop.refund"}"#);
    assert_eq!((&failed[0]["check"], &failed[0]["expected"]), (&json!("request"), &told["digest"]));
    assert_eq!((&failed[1]["expected"], &failed[1]["got"]), (&json!("s-1"), &json!("null")));
    assert_eq!((failed.len(), &told["code"]), (2, &json!("intent_invalid")));
    let malformed = check(&house, "nothing").await;
    assert_eq!(malformed["checks"].as_array().unwrap().last().unwrap()["check"], "form");
}

#[tokio::test]
async fn an_admin_checks_the_intents_of_the_agent_that_they_name() {
    let house = House::new().await;
    add(&house, added(house.support.agent, 7)).await;
    let request_of = json!({ "tool": "shop.refund", "args": args() });
    let body = json!({
        "agent": house.support.agent, "intent": intent_of(&house, "one"), "request": request_of,
    });
    let ask = async |key: &str, body: &Value| {
        house.send(request("POST", "/v1/intents/check", key, &[], Some(body.clone()))).await
    };
    let admin = house.browser("admin@example.com", Role::Admin).await;
    for key in [&house.org_key, &admin.key] {
        let told = ask(key, &body).await;
        assert_eq!((told.status, &told.body["valid"]), (200, &json!(true)), "{}", told.body);
    }
    let unnamed = json!({ "intent": "e30.e30.AA", "request": request_of });
    let answer = ask(&house.org_key, &unnamed).await;
    assert_eq!((answer.code(), answer.param()), ((400, "validation_failed"), Some("agent")));
    let nobody = json!({
        "agent": "agt_01k6ga3wvwaa1b3c5d7e9f1g3h", "intent": "e30.e30.AA", "request": request_of,
    });
    assert_eq!(ask(&house.org_key, &nobody).await.code(), (404, "not_found"));
    // An agent is itself and names nobody.
    let answer = ask(&house.support.key, &body).await;
    assert_eq!((answer.code(), answer.param()), ((400, "validation_failed"), Some("agent")));
}

#[tokio::test]
async fn a_key_without_its_proof_a_weak_one_and_a_fifth_are_refused() {
    let house = House::new().await;
    let other = added(house.other.agent, 7);
    assert_eq!(add(&house, other).await.param(), Some("proof"));
    let weak = json!({ "public_key": URL_SAFE_NO_PAD.encode([0; 32]), "proof": "AA" });
    assert_eq!(add(&house, weak).await.param(), Some("public_key"));
    let mut over = added(house.support.agent, 7);
    over["not_after"] = json!("2020-01-01T00:00:00.000Z");
    assert_eq!(add(&house, over).await.param(), Some("not_after"));
    for seed in 1..=4 {
        assert_eq!(add(&house, added(house.support.agent, seed)).await.status, 201);
    }
    assert_eq!(add(&house, added(house.support.agent, 5)).await.code(), (409, "limit_reached"));
    assert_eq!(add(&house, added(house.support.agent, 4)).await.code(), (409, "conflict"));
}

#[tokio::test]
async fn the_vectors_are_anybodys() {
    let house = House::new().await;
    let served = house.get("/v1/intents/vectors", "").await;
    assert_eq!((served.status, &*served.bytes), (200, intent::VECTORS.as_bytes()));
}

#[tokio::test]
async fn used_intents_are_listed_by_agent_and_time_and_page_by_page() {
    let house = House::new().await;
    key(&house).await;
    assert_eq!(house.get("/v1/intents", &house.org_key).await.body["data"], json!([]));
    let mut sent = Vec::new();
    for nonce in ["one", "two", "three"] {
        let intent = intent_of(&house, nonce);
        sent.push((call(&house, &intent).await.body["id"].clone(), crypto::sha256(&intent)));
        house.clock.pass(std::time::Duration::from_secs(1));
    }
    // What was refused used nothing up.
    assert_eq!(call(&house, &intent_of(&house, "one")).await.code(), (403, "intent_replay"));
    sent.reverse();
    let first = house.get("/v1/intents?limit=2", &house.org_key).await;
    assert_eq!((first.status, &first.body["has_more"]), (200, &json!(true)), "{}", first.body);
    let cursor = first.body["next_cursor"].as_str().unwrap();
    let rest = house.get(&format!("/v1/intents?limit=2&cursor={cursor}"), &house.org_key).await;
    assert_eq!((&rest.body["has_more"], &rest.body["next_cursor"]), (&json!(false), &Value::Null));
    let listed = [&first, &rest].map(|page| page.body["data"].as_array().unwrap().clone()).concat();
    let shown: Vec<_> =
        listed.iter().map(|it| (it["action"].clone(), it["digest"].clone())).collect();
    let told: Vec<_> = sent.iter().map(|(id, digest)| (id.clone(), json!(digest))).collect();
    assert_eq!(shown, told);
    let newest = &listed[0];
    assert_eq!(newest["agent"], json!(house.support.agent));
    assert_eq!(newest["kid"], json!(intent::thumbprint(pair(7).public())));
    assert_eq!(newest["nonce_hash"], json!(crypto::sha256(format!("{:A<22}", "three"))));
    #[rustfmt::skip]
    let counts = [
        (format!("agent={}", house.support.agent), 3), (format!("agent={}", house.other.agent), 0),
        (format!("created_at[gte]={}", listed[1]["created_at"].as_str().unwrap()), 2),
        (format!("created_at[lt]={}", listed[1]["created_at"].as_str().unwrap()), 1),
    ];
    for (query, count) in counts {
        let list = house.get(&format!("/v1/intents?{query}"), &house.org_key).await;
        assert_eq!(
            list.body["data"].as_array().map(Vec::len),
            Some(count),
            "{query}: {}",
            list.body
        );
    }
    let swapped = format!("/v1/intents?agent={}&cursor={cursor}", house.support.agent);
    assert_eq!(house.get(&swapped, &house.org_key).await.param(), Some("cursor"));
    let own = house.get("/v1/intents", &house.support.key).await;
    assert_eq!(own.code(), (403, "insufficient_scope"));
}
