//! Intents that do not hold, with the check that must fail first.

use serde_json::{Value, json};

use super::{NOW, OTHER_AGENT, SEEDS, agents_key, args, claims, key, others_key, request, with};
use crate::{
    ALG, TYP,
    key::{encode, sign_raw},
    sign, thumbprint,
};

fn header() -> Value {
    json!({ "alg": ALG, "kid": thumbprint(agents_key().public()), "typ": TYP })
}

fn bytes(value: &Value) -> Vec<u8> {
    crypto::json::canonical(value)
}

pub(super) fn with_header(change: impl FnOnce(&mut Value)) -> String {
    let mut header = header();
    change(&mut header);
    sign_raw(&bytes(&header), &bytes(&json!(claims())), &agents_key())
}

fn with_payload(change: impl FnOnce(&mut Value)) -> String {
    let mut payload = json!(claims());
    change(&mut payload);
    raw_payload(&payload.to_string())
}

fn raw_payload(payload: &str) -> String {
    sign_raw(&bytes(&header()), payload.as_bytes(), &agents_key())
}

fn raw_header(header: &str) -> String {
    sign_raw(header.as_bytes(), &bytes(&json!(claims())), &agents_key())
}

pub(super) fn in_another_order() -> String {
    let payload = json!(claims());
    let mut members: Vec<_> = payload.as_object().unwrap().iter().collect();
    members.reverse();
    let members: Vec<_> =
        members.iter().map(|(name, value)| format!("{}: {value}", json!(name))).collect();
    raw_payload(&format!("{{ {} }}", members.join(", ")))
}

/// The parts of a good intent.
fn parts() -> [String; 3] {
    let text = with(|_| ());
    let parts: Vec<_> = text.split('.').map(str::to_owned).collect();
    parts.try_into().unwrap()
}

type Case = (&'static str, &'static str, String);

pub(super) fn bad() -> Vec<Case> {
    [forms(), headers(), signatures(), payloads(), bindings(), times()].concat()
}

fn forms() -> Vec<Case> {
    let [header, payload, signature] = parts();
    vec![
        ("longer_than_4096_bytes", "size", raw_payload(&" ".repeat(4000))),
        ("nothing", "form", String::new()),
        ("two_parts", "form", format!("{header}.{payload}")),
        ("four_parts", "form", format!("{header}.{payload}.{signature}.")),
        ("no_signature", "form", format!("{header}.{payload}.")),
        ("padded", "form", format!("{header}.{payload}.{signature}==")),
        ("the_other_base64", "form", format!("{header}.{payload}.+/{}", signature.split_at(2).1)),
        ("a_space_before_it", "form", format!(" {header}.{payload}.{signature}")),
        (
            "json_serialization",
            "form",
            json!({ "payload": payload, "protected": header, "signature": signature }).to_string(),
        ),
    ]
}

fn headers() -> Vec<Case> {
    let set = |name: &'static str, value: Value| with_header(move |header| header[name] = value);
    let kid = thumbprint(agents_key().public());
    vec![
        ("algorithm_none", "header", set("alg", json!("none"))),
        ("algorithm_of_a_shared_secret", "header", set("alg", json!("HS256"))),
        ("algorithm_of_another_key", "header", set("alg", json!("ES256"))),
        ("algorithm_in_lower_case", "header", set("alg", json!("ed25519"))),
        ("a_plain_jwt", "header", set("typ", json!("JWT"))),
        ("the_type_with_its_prefix", "header", set("typ", json!("application/service-intent+jwt"))),
        ("a_key_in_the_header", "header", set("jwk", json!({ "kty": "OKP" }))),
        ("a_link_to_keys", "header", set("jku", json!("https://example.com/keys"))),
        ("a_certificate", "header", set("x5c", json!(["MIIB"]))),
        ("a_critical_extension", "header", set("crit", json!(["exp"]))),
        ("an_unencoded_payload", "header", set("b64", json!(false))),
        (
            "no_key_named",
            "header",
            with_header(|header| {
                header.as_object_mut().unwrap().remove("kid");
            }),
        ),
        (
            "no_type",
            "header",
            with_header(|header| {
                header.as_object_mut().unwrap().remove("typ");
            }),
        ),
        (
            "an_algorithm_twice",
            "header",
            raw_header(&format!(r#"{{"alg":"none","alg":"Ed25519","kid":"{kid}","typ":"{TYP}"}}"#)),
        ),
        (
            "an_algorithm_twice_by_an_escape",
            "header",
            raw_header(&format!(
                r#"{{"\u0061lg":"none","alg":"Ed25519","kid":"{kid}","typ":"{TYP}"}}"#
            )),
        ),
        ("a_header_that_is_no_json", "header", raw_header("alg=Ed25519")),
        ("bytes_behind_the_header", "header", raw_header(&format!("{}{{}}", header()))),
    ]
}

fn signatures() -> Vec<Case> {
    let [header, payload, signature] = parts();
    let others = sign(&claims(), &others_key());
    let [_, _, by_the_second] = {
        let text = sign(&claims(), &key(SEEDS[1]));
        let parts: Vec<_> = text.split('.').map(str::to_owned).collect();
        <[String; 3]>::try_from(parts).unwrap()
    };
    let changed = encode(&bytes(&json!(crate::Claims { exp: NOW + 90, ..claims() })));
    let identity = encode(&[&[1][..], &[0; 63]].concat());
    vec![
        ("a_key_that_is_not_the_agents", "key", others),
        ("a_key_by_another_name", "key", with_header(|header| header["kid"] = json!("key-1"))),
        ("a_payload_changed_afterwards", "signature", format!("{header}.{changed}.{signature}")),
        (
            "signed_with_another_key_than_named",
            "signature",
            format!("{header}.{payload}.{by_the_second}"),
        ),
        (
            "a_signature_cut_short",
            "signature",
            format!("{header}.{payload}.{}", signature.split_at(84).0),
        ),
        ("a_signature_of_zeros", "signature", format!("{header}.{payload}.{}", encode(&[0; 64]))),
        (
            "the_signature_that_fits_weak_keys",
            "signature",
            format!("{header}.{payload}.{identity}"),
        ),
    ]
}

fn payloads() -> Vec<Case> {
    let set = |name: &'static str, value: Value| with_payload(move |claims| claims[name] = value);
    let without = |name: &'static str| {
        with_payload(move |claims| drop(claims.as_object_mut().unwrap().remove(name)))
    };
    let text = json!(claims()).to_string();
    vec![
        ("a_payload_that_is_no_json", "payload", raw_payload("aud=x")),
        ("a_payload_that_is_a_list", "payload", raw_payload("[]")),
        ("a_claim_too_many", "payload", set("scope", json!("all"))),
        ("a_claim_too_few", "payload", without("aud")),
        ("on_behalf_of_left_out", "payload", without("obo")),
        ("a_claim_twice", "payload", raw_payload(&text.replacen('{', r#"{"mode":"proxy","#, 1))),
        (
            "a_claim_twice_by_an_escape",
            "payload",
            raw_payload(&text.replacen('{', r#"{"\u006dode":"proxy","#, 1)),
        ),
        ("a_time_as_text", "payload", set("iat", json!(NOW.to_string()))),
        ("a_time_with_a_fraction", "payload", set("exp", json!(1_795_000_060.5))),
        ("a_time_before_1970", "payload", set("iat", json!(-1))),
        (
            "a_time_beyond_2_53",
            "payload",
            raw_payload(&text.replace(&(NOW + 60).to_string(), "9007199254740993")),
        ),
        ("a_short_nonce", "payload", set("jti", json!("AAECAwQFBgcICQoLDA0OD"))),
        ("a_nonce_with_a_space", "payload", set("jti", json!("AAECAwQFBgcICQoLDA0O Dw"))),
        ("a_long_nonce_by_one", "payload", set("jti", json!("x".repeat(65)))),
        (
            "a_digest_in_capitals",
            "payload",
            set("req", json!(claims().req.to_string().replace("sha256:", "SHA256:"))),
        ),
        ("a_tool_digest_of_null", "payload", set("tdg", Value::Null)),
        ("a_long_purpose", "payload", set("purpose", json!("x".repeat(257)))),
        ("a_nul_character", "payload", set("tool", json!("shop.refunds.create\0"))),
    ]
}

fn bindings() -> Vec<Case> {
    let tool = "shop.refunds.create";
    vec![
        ("for_another_service", "audience", with(|c| c.aud = "https://example.org".to_owned())),
        ("for_the_service_with_a_slash", "audience", with(|c| c.aud.push('/'))),
        ("of_another_agent", "agent", with(|c| c.sub = OTHER_AGENT.to_owned())),
        ("of_another_tool", "tool", with(|c| c.tool = "shop.orders.read".to_owned())),
        ("of_other_arguments", "request", with(|c| c.req = request(tool, &json!({})))),
        ("of_the_arguments_alone", "request", with(|c| c.req = crypto::sha256(bytes(&args())))),
        (
            "of_arguments_not_canonical",
            "request",
            with(|c| {
                let text =
                    r#"{"args":{"order":"1001","amount":"12.50"},"tool":"shop.refunds.create"}"#;
                c.req = crypto::sha256(text);
            }),
        ),
        ("for_the_edge", "mode", with(|c| c.mode = "proxy".to_owned())),
        ("on_behalf_of_nobody", "on_behalf_of", with(|c| c.obo = None)),
        (
            "on_behalf_of_somebody_else",
            "on_behalf_of",
            with(|c| c.obo = Some("Ann@example.com".to_owned())),
        ),
        ("of_a_session", "session", with(|c| c.ses = Some("s-1".to_owned()))),
        ("without_its_idempotency_key", "idempotency_key", with(|c| c.idem = None)),
        (
            "with_another_idempotency_key",
            "idempotency_key",
            with(|c| c.idem = Some("refund-1002".to_owned())),
        ),
        ("of_another_definition", "tool_digest", with(|c| c.tdg = Some(crypto::sha256("another")))),
    ]
}

fn times() -> Vec<Case> {
    vec![
        ("from_the_future", "issued_at", with(|c| (c.iat, c.exp) = (NOW + 61, NOW + 90))),
        (
            "in_milliseconds",
            "issued_at",
            with(|c| (c.iat, c.exp) = (NOW * 1000, (NOW + 60) * 1000)),
        ),
        ("over_since_now", "expires_at", with(|c| c.exp = NOW)),
        ("over_for_long", "expires_at", with(|c| (c.iat, c.exp) = (NOW - 7200, NOW - 7000))),
        ("a_life_too_long", "lifetime", with(|c| c.exp = c.iat + 301)),
        ("over_before_it_was_made", "lifetime", with(|c| (c.iat, c.exp) = (NOW + 30, NOW + 20))),
    ]
}
