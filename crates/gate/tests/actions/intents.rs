//! Signed intents: what each mode makes of them, and that each is used once.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use crypto::ed25519::SigningKey;
use gate::{IntentFilter, IntentToCheck, Rejection, Submission, Submitted};
use intent::{Check, Claims};
use ledger::record::{Agent, IntentKey, IntentKeys, Stop, UsedIntent};
use model::{Digest, IntentKeyId, IntentMode, Uuid};
use serde_json::{Value, json};
use testkit::AUDIENCE;

use crate::{calls::rejection, house::House};

fn pair(seed: u8) -> SigningKey {
    SigningKey::from_seed(&[seed; 32]).unwrap()
}

/// A key of this agent's, active from now on.
fn key(house: &House, seed: u8) -> IntentKey {
    let public = *pair(seed).public();
    IntentKey {
        id: IntentKeyId::from_uuid(Uuid::from_u128(u128::from(seed))),
        kid: intent::thumbprint(&public),
        public_key: URL_SAFE_NO_PAD.encode(public.as_bytes()),
        created_at: house.now(),
        not_before: None,
        not_after: None,
        revoked_at: None,
    }
}

/// The house's agent in this mode.
fn support(house: &House, mode: IntentMode) -> Agent {
    Agent { intent_mode: mode, ..house.agent_row() }
}

async fn agent(house: &House, mode: IntentMode, keys: Vec<IntentKey>) {
    house.write(support(house, mode)).await;
    house.write(IntentKeys { agent: house.agent, keys }).await;
}

async fn signing(mode: IntentMode) -> House {
    let house = House::new().await;
    agent(&house, mode, vec![key(&house, 7)]).await;
    house
}

fn claims(house: &House, args: &Value, nonce: &str) -> Claims {
    let request = json!({ "args": args, "tool": "shop.refund" });
    let now = house.now().unix_millis() / 1000;
    Claims {
        aud: AUDIENCE.to_owned(),
        sub: house.agent.to_string(),
        tool: "shop.refund".to_owned(),
        req: crypto::sha256(crypto::json::canonical(&request)),
        mode: "gateway".to_owned(),
        obo: None,
        ses: None,
        idem: None,
        iat: now,
        exp: now + 60,
        jti: format!("{nonce:A<22}"),
        tdg: None,
        purpose: None,
    }
}

fn signed_by(house: &House, seed: u8, nonce: &str) -> Submission {
    let args = json!({ "amount": 20 });
    let text = intent::sign(&claims(house, &args, nonce), &pair(seed));
    Submission { intent: Some(text), ..house.call("shop.refund", args) }
}

fn signed(house: &House, nonce: &str) -> Submission {
    signed_by(house, 7, nonce)
}

/// The intents that were used, the newest first.
async fn used(house: &House) -> Vec<UsedIntent> {
    house.gate.used_intents(house.org, &IntentFilter::default(), None, 100).await.unwrap()
}

async fn refused(house: &House, call: Submission) -> Rejection {
    let deeds = house.store.deeds(house.org).len();
    let rejected = rejection(house.submit(call).await.unwrap_err());
    assert_eq!(house.store.deeds(house.org).len(), deeds, "nothing is recorded");
    rejected
}

async fn failed_check(house: &House, call: Submission) -> Check {
    match refused(house, call).await {
        Rejection::IntentInvalid(error) => error.check,
        other => panic!("{other:?}"),
    }
}

fn deed_intent(house: &House) -> Value {
    let deeds = house.store.deeds(house.org);
    let body: Value = serde_json::from_str(&deeds.last().unwrap().body).unwrap();
    body["action"]["intent"].clone()
}

#[tokio::test]
async fn a_call_that_must_be_signed_runs_and_its_deed_names_key_and_digest() {
    let house = signing(IntentMode::Required).await;
    let call = signed(&house, "one");
    let digest: Digest = crypto::sha256(call.intent.as_deref().unwrap());
    let action = house.submit(call).await.unwrap();
    assert_eq!(action.intent, deed::IntentStatus::Verified);
    let jws = json!({ "alg": "Ed25519", "digest": digest, "key_id": key(&house, 7).kid });
    let told = json!({ "jws": jws, "mode": "required", "status": "verified" });
    assert_eq!(deed_intent(&house), told);
    assert_eq!(action.signed.clone().unwrap().public_key, key(&house, 7).public_key);
    let [used] = &*used(&house).await else { panic!("one intent was used") };
    assert_eq!(
        (used.action, used.agent, used.used_at),
        (action.id, house.agent, action.created_at)
    );
    assert_eq!((&used.kid, used.digest), (&key(&house, 7).kid, digest));
    assert_eq!(used.nonce, crypto::sha256(format!("{:A<22}", "one")));
    let lives = used.expires_at.unix_millis() - used.issued_at.unix_millis();
    assert_eq!((used.issued_at, lives), (house.now(), 60_000));
    let unsigned = house.call("shop.refund", json!({ "amount": 20 }));
    assert_eq!(refused(&house, unsigned).await, Rejection::IntentRequired);
    assert_eq!(house.refund.runs(), 1);
}

#[tokio::test]
async fn an_intent_is_good_for_one_action() {
    let house = signing(IntentMode::Optional).await;
    let call = signed(&house, "one");
    let first = house.submit(call.clone()).await.unwrap();
    assert_eq!(refused(&house, call).await, Rejection::IntentReplay(first.id));
    house.submit(signed(&house, "two")).await.unwrap();
    assert_eq!(house.refund.runs(), 2);
}

#[tokio::test]
async fn a_refused_call_burns_its_nonce_and_one_that_leaves_no_record_does_not() {
    let house = signing(IntentMode::Required).await;
    let bad = json!({ "long": "x".repeat(1_000) });
    let text = intent::sign(&claims(&house, &bad, "one"), &pair(7));
    let misfit = Submission { intent: Some(text), ..house.call("shop.refund", bad) };
    assert!(matches!(refused(&house, misfit).await, Rejection::Invalid { .. }));
    house.submit(signed(&house, "one")).await.unwrap();

    let call = signed(&house, "two");
    let stop = Stop { stopped_at: house.now(), by: "operator".to_owned(), reason: "t".to_owned() };
    let stopped = Agent { stop: Some(stop), ..support(&house, IntentMode::Required) };
    house.write(stopped).await;
    let denied = house.submit(call.clone()).await.unwrap();
    assert_eq!(denied.status, model::Status::Denied);
    assert_eq!(refused(&house, call).await, Rejection::IntentReplay(denied.id));
    // What burnt a nonce is listed, whatever was decided, and nothing else is.
    let used: Vec<_> = used(&house).await.iter().map(|used| used.action).collect();
    assert_eq!((used.len(), used.contains(&denied.id)), (2, true));
}

#[tokio::test]
async fn a_retry_gets_its_action_though_its_intent_is_over() {
    let house = signing(IntentMode::Required).await;
    let args = json!({ "amount": 20 });
    let idem = Some("k".to_owned());
    let claims = Claims { idem: idem.clone(), ..claims(&house, &args, "one") };
    let text = Some(intent::sign(&claims, &pair(7)));
    let call =
        Submission { intent: text, idempotency_key: idem, ..house.call("shop.refund", args) };
    let first = house.submit(call.clone()).await.unwrap();
    house.clock.pass(std::time::Duration::from_hours(1));
    let again = house.gate.submit(call.clone()).await.unwrap();
    assert!(matches!(again, Submitted::Replayed(action) if action.id == first.id));
    let other = Submission { idempotency_key: Some("l".to_owned()), ..call };
    assert_eq!(failed_check(&house, other).await, Check::IdempotencyKey);
}

#[tokio::test]
async fn what_does_not_hold_is_told_by_its_check() {
    let house = signing(IntentMode::Optional).await;
    let text = |text: &str| Submission { intent: Some(text.to_owned()), ..signed(&house, "one") };
    assert_eq!(failed_check(&house, text("a.b.c")).await, Check::Form);
    assert_eq!(failed_check(&house, text("YQ.YQ.YQ")).await, Check::Header);
    assert_eq!(failed_check(&house, signed_by(&house, 8, "one")).await, Check::Key);
    let behalf = |call: Submission| {
        let mut call = call;
        call.call.facts.on_behalf_of = Some("ann".to_owned());
        call
    };
    assert_eq!(failed_check(&house, behalf(signed(&house, "one"))).await, Check::OnBehalfOf);
    let late = signed(&house, "one");
    house.clock.pass(std::time::Duration::from_secs(61));
    assert_eq!(failed_check(&house, late).await, Check::ExpiresAt);
    assert_eq!(house.refund.runs(), 0);
}

#[tokio::test]
async fn a_key_counts_within_its_time_and_until_it_is_revoked() {
    let house = signing(IntentMode::Required).await;
    house.submit(signed(&house, "one")).await.unwrap();
    let revoked = IntentKey { revoked_at: Some(house.now()), ..key(&house, 7) };
    agent(&house, IntentMode::Required, vec![revoked]).await;
    assert_eq!(failed_check(&house, signed(&house, "two")).await, Check::Key);

    let hour = std::time::Duration::from_hours(1);
    let later = IntentKey {
        not_before: Some(house.now() + hour),
        not_after: Some(house.now() + 2 * hour),
        ..key(&house, 9)
    };
    agent(&house, IntentMode::Required, vec![later]).await;
    assert_eq!(failed_check(&house, signed_by(&house, 9, "three")).await, Check::Key);
    house.clock.pass(hour);
    house.submit(signed_by(&house, 9, "three")).await.unwrap();
    house.clock.pass(hour);
    assert_eq!(failed_check(&house, signed_by(&house, 9, "four")).await, Check::Key);
}

/// The key itself has not ended; whose it is has. The process knows it from the call before.
#[tokio::test]
async fn what_an_archived_agent_signs_is_refused_and_not_recorded() {
    let house = signing(IntentMode::Required).await;
    house.submit(signed(&house, "one")).await.unwrap();
    let archived =
        Agent { archived_at: Some(house.now()), ..support(&house, IntentMode::Required) };
    house.write(archived).await;
    assert_eq!(refused(&house, signed(&house, "two")).await, Rejection::Unauthenticated);
    let Submission { org, call, edge, idempotency_key, intent, .. } = signed(&house, "three");
    let intent = intent.unwrap();
    let asked = IntentToCheck { org, call, edge, idempotency_key, intent };
    let checked = house.gate.check_intent(asked).await;
    assert_eq!(rejection(checked.unwrap_err()), Rejection::Unauthenticated);
    assert_eq!(house.refund.runs(), 1);
}

/// A key that is known to the process is nobody's for that.
#[tokio::test]
async fn another_agents_key_does_not_count() {
    let house = signing(IntentMode::Required).await;
    house.submit(signed(&house, "one")).await.unwrap();
    agent(&house, IntentMode::Required, vec![key(&house, 8)]).await;
    assert_eq!(failed_check(&house, signed(&house, "two")).await, Check::Key);
}

#[tokio::test]
async fn where_the_mode_is_off_an_intent_is_ignored_and_not_burnt() {
    let house = signing(IntentMode::Required).await;
    house.submit(signed(&house, "one")).await.unwrap();
    agent(&house, IntentMode::Off, vec![key(&house, 7)]).await;
    for text in ["one", "one", "two"] {
        let action = house.submit(signed(&house, text)).await.unwrap();
        assert_eq!((action.intent, action.signed), (deed::IntentStatus::Ignored, None));
    }
    let told = json!({ "jws": null, "mode": "off", "status": "ignored" });
    assert_eq!(deed_intent(&house), told);
}

#[tokio::test]
async fn of_fifty_at_once_with_one_intent_one_begins() {
    let house = signing(IntentMode::Required).await;
    let call = signed(&house, "one");
    let racers = (0..50).map(|_| house.submit(call.clone()));
    let ends = futures_util::future::join_all(racers).await;
    assert_eq!(ends.iter().filter(|end| end.is_ok()).count(), 1);
    for end in ends.into_iter().filter_map(Result::err) {
        assert!(matches!(rejection(end), Rejection::IntentReplay(_)));
    }
    assert_eq!(house.refund.runs(), 1);
}

/// Neither process has seen the other's calls when it decides; the record lets one of them in.
#[tokio::test]
async fn of_two_instances_with_one_intent_one_begins() {
    let house = signing(IntentMode::Required).await;
    let beside = house.gate_beside(77);
    for round in 0..20 {
        let call = signed(&house, &format!("round-{round}"));
        let (here, there) = tokio::join!(house.gate.submit(call.clone()), beside.submit(call));
        let (begun, refused): (Vec<_>, Vec<_>) = [here, there].into_iter().partition(Result::is_ok);
        assert_eq!((begun.len(), refused.len()), (1, 1), "{round}");
        for end in refused.into_iter().filter_map(Result::err) {
            assert!(matches!(rejection(end), Rejection::IntentReplay(_)), "{round}");
        }
    }
}

/// The turn's time never runs behind the last deed, and a nonce outlives its intent.
#[tokio::test]
async fn a_clock_that_is_set_back_brings_no_used_intent_back() {
    let house = signing(IntentMode::Required).await;
    let call = signed(&house, "one");
    let first = house.submit(call.clone()).await.unwrap();
    house.clock.pass(std::time::Duration::from_mins(10));
    assert_eq!(failed_check(&house, call.clone()).await, Check::ExpiresAt);
    house.submit(signed(&house, "two")).await.unwrap();
    house.clock.set(first.created_at);
    assert_eq!(failed_check(&house, call).await, Check::ExpiresAt);
    assert_eq!(house.refund.runs(), 2);
}

/// A policy can ask for a signature, tool by tool.
#[tokio::test]
async fn a_policy_sees_an_intent_that_holds() {
    let house = signing(IntentMode::Optional).await;
    let rules = "schema: 1\ndefault: { outcome: deny }\nrules: [{ id: signed, match: shop.refund, \
                 when: \"call.intent == 'verified'\", outcome: allow }]\n";
    house.activate(9, rules, ledger::record::PolicyMode::Enforce).await;
    let unsigned = house.submit(house.call("shop.refund", json!({ "amount": 20 }))).await.unwrap();
    assert_eq!(unsigned.status, model::Status::Denied);
    let action = house.submit(signed(&house, "one")).await.unwrap();
    assert_eq!(action.decision.rule_id.as_deref(), Some("signed"));
}
