//! The published vectors, `src/vectors.json`: made here, compared with the file, and read from it.
//!
//! Which check must fail is written by hand beside each. To write the file again after a change:
//! `UPDATE_EXPECT=1 cargo test -p intent vectors`.

mod broken;
mod to_sign;

use std::collections::BTreeSet;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use crypto::{ed25519::SigningKey, json::canonical};
use expect_test::expect_file;
use model::Timestamp;
use serde_json::{Value, json};

use crate::{Call, Check, Claims, Key, VECTORS, examine, sign, thumbprint, verify};

pub(super) const AGENT: &str = "agt_01jd8m3q4r5s6t7v8w9x0y1z2a";
pub(super) const OTHER_AGENT: &str = "agt_01jd8m3q4r5s6t7v8w9x0y1z2b";
pub(super) const NOW: i64 = 1_795_000_000;

/// The private keys of RFC 8032, section 7.1, tests 1 to 3.
const SEEDS: [&str; 3] = [
    "nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A",
    "TM0Imyj_ltqdtsNG7BFOD1uKMZ81q6Yk2oz27U-4pvs",
    "xaqN9D-fg3vtt0QvMdyWWTthWHbBHM6BnoxW9_zVdPc",
];

pub(super) fn key(seed: &str) -> SigningKey {
    let seed: [u8; 32] = URL_SAFE_NO_PAD.decode(seed).unwrap().try_into().unwrap();
    SigningKey::from_seed(&seed).unwrap()
}

pub(super) fn agents_key() -> SigningKey {
    key(SEEDS[0])
}

pub(super) fn others_key() -> SigningKey {
    key(SEEDS[2])
}

fn args() -> Value {
    json!({ "amount": "12.50", "order": "1001" })
}

pub(super) fn request(tool: &str, args: &Value) -> model::Digest {
    crypto::sha256(canonical(&json!({ "args": args, "tool": tool })))
}

pub(super) fn call() -> Call<'static> {
    Call {
        audience: "https://chancery.example.com",
        agent: AGENT,
        tool: "shop.refunds.create",
        request: request("shop.refunds.create", &args()),
        mode: "gateway",
        on_behalf_of: Some("ann@example.com"),
        session: None,
        idempotency_key: Some("refund-1001"),
        tool_digest: Some(crypto::sha256("definition")),
    }
}

pub(super) fn claims() -> Claims {
    let text = |part: Option<&str>| part.map(str::to_owned);
    let call = call();
    Claims {
        aud: call.audience.to_owned(),
        sub: call.agent.to_owned(),
        tool: call.tool.to_owned(),
        req: call.request,
        mode: call.mode.to_owned(),
        obo: text(call.on_behalf_of),
        ses: text(call.session),
        idem: text(call.idempotency_key),
        iat: NOW - 10,
        exp: NOW + 60,
        jti: "AAECAwQFBgcICQoLDA0ODw".to_owned(),
        tdg: None,
        purpose: None,
    }
}

/// An intent of these claims after a change to them, by the agent's key.
fn with(change: impl FnOnce(&mut Claims)) -> String {
    let mut changed = claims();
    change(&mut changed);
    sign(&changed, &agents_key())
}

fn good() -> Vec<(&'static str, String)> {
    vec![
        ("plain", with(|_| ())),
        ("by_the_agents_second_key", sign(&claims(), &key(SEEDS[1]))),
        ("with_a_purpose", with(|claims| claims.purpose = Some("a refund, grüße".to_owned()))),
        ("with_the_tools_digest", with(|claims| claims.tdg = call().tool_digest)),
        ("the_longest_life", with(|claims| claims.exp = claims.iat + 300)),
        ("ahead_by_the_leeway", with(|claims| (claims.iat, claims.exp) = (NOW + 60, NOW + 61))),
        ("its_last_second", with(|claims| claims.exp = NOW + 1)),
        ("a_long_nonce", with(|claims| claims.jti = "x".repeat(64))),
        (
            "the_older_name_of_the_algorithm",
            broken::with_header(|header| {
                header["alg"] = json!("EdDSA");
            }),
        ),
        ("members_in_another_order", broken::in_another_order()),
    ]
}

fn expected_call() -> Value {
    let call = call();
    json!({
        "audience": call.audience, "agent": call.agent, "tool": call.tool, "args": args(),
        "mode": call.mode, "on_behalf_of": call.on_behalf_of, "session": call.session,
        "idempotency_key": call.idempotency_key, "tool_digest": call.tool_digest,
        "request_digest": call.request,
    })
}

fn document() -> Value {
    let shown = |seed: &&str| {
        let public = *key(seed).public();
        let x = crate::key::encode(public.as_bytes());
        json!({ "kid": thumbprint(&public), "public_key": x, "private_key": seed })
    };
    let good = good().into_iter().map(|(name, intent)| json!({ "name": name, "intent": intent }));
    let bad = broken::bad()
        .into_iter()
        .map(|(name, check, intent)| json!({ "name": name, "fails": check, "intent": intent }));
    json!({
        "object": "intent_vectors",
        "about": "Each of good holds for call at now, with the first two of keys active; \
            of each of bad, fails is the first check that does not hold; each of signing is \
            a call for a signer to sign or, where refuse is true, to refuse. The keys are those \
            of RFC 8032 and protect nothing.",
        "checks": Check::ALL,
        "now": NOW,
        "keys": SEEDS.iter().map(shown).collect::<Vec<_>>(),
        "call": expected_call(),
        "good": good.collect::<Vec<_>>(),
        "bad": bad.collect::<Vec<_>>(),
        "signing": to_sign::cases(),
    })
}

fn published() -> Value {
    serde_json::from_str(VECTORS).unwrap()
}

#[test]
fn the_published_vectors_are_those_that_this_code_makes() {
    let text = serde_json::to_string_pretty(&document()).unwrap() + "\n";
    expect_file!["../vectors.json"].assert_eq(&text);
}

#[test]
fn every_published_vector_comes_out_as_it_says() {
    let (keys, now) = (active(), Timestamp::from_unix_millis(NOW * 1000 + 999));
    let published = published();
    let cases = published["good"].as_array().unwrap().iter();
    let cases = cases.chain(published["bad"].as_array().unwrap());
    let mut wrong = Vec::new();
    for case in cases {
        let text = case["intent"].as_str().unwrap();
        let failed = verify(text, &keys, &call(), now).err().map(|error| error.check);
        let report = examine(text, &keys, &call(), now);
        let first = report.checks.iter().find(|checked| !checked.ok).map(|checked| checked.check);
        if json!(failed) != case["fails"]
            || failed != first
            || report.verified.is_some() == failed.is_some()
        {
            wrong.push((case["name"].clone(), failed, first));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The nonce alone is not checked here: whether it was seen, whoever keeps nonces knows.
#[test]
fn every_check_but_the_nonces_has_a_vector() {
    let published = published();
    let bad = published["bad"].as_array().unwrap();
    assert!(bad.len() >= 40, "{}", bad.len());
    let names: BTreeSet<_> = bad.iter().map(|case| case["name"].as_str().unwrap()).collect();
    assert_eq!(names.len(), bad.len());
    let used: BTreeSet<_> = bad.iter().map(|case| case["fails"].as_str().unwrap()).collect();
    let all = Check::ALL.iter().filter(|check| **check != Check::Nonce);
    assert_eq!(used, all.map(|check| check.as_str()).collect());
}

pub(super) fn active() -> [Key; 2] {
    [Key::from(*agents_key().public()), Key::from(*key(SEEDS[1]).public())]
}
