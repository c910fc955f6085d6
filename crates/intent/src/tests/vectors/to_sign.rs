//! Calls for a signer to sign. The arguments are texts, since some of them are no arguments.

use serde_json::{Value, json};

use super::{AGENT, NOW, SEEDS, key};
use crate::Claims;

const SIGNED: [(&str, &str); 12] = [
    ("nothing", "{}"),
    ("keys_out_of_order", r#"{"b":1,"a":2,"B":3,"aa":4}"#),
    ("keys_beyond_ascii", r#"{"\ud83d\ude00":1,"\ufb33":2,"é":3,"z":4}"#),
    ("texts", r#"{"t":"Grüße \u2028 \" \\ \/ \u007f \b\f\n\r\t \u0001 \ud83d\ude00"}"#),
    ("decomposed_is_not_composed", r#"{"a":"e\u0301","b":"\u00e9"}"#),
    (
        "whole_numbers",
        r#"{"n":[0,-0,-0.0,1,1.0,-7,1e3,12300e-2,9007199254740991,-9007199254740991]}"#,
    ),
    ("fractions", r#"{"n":[0.1,1e-6,1e-7,1.5e-9,123.456,0.00001,5e-324,4.5,333333333.3333333]}"#),
    ("nested", r#"{"a":[{"d":{"c":[[],{}]},"b":null},true,false]}"#),
    ("spaces", "{ \"a\" : [ 1 , 2 ] ,\n\t\"b\" : { } }"),
    ("on_behalf_of_somebody", r#"{"order":"1001"}"#),
    ("of_a_session", r#"{"order":"1001"}"#),
    ("with_an_idempotency_key", r#"{"order":"1001"}"#),
];

/// What the service would refuse as arguments, and what no signer may sign.
const REFUSED: [(&str, &str); 4] = [
    ("a_number_beyond_2_53", r#"{"n":9007199254740993}"#),
    ("a_power_beyond_2_53", r#"{"n":1e21}"#),
    ("a_lone_surrogate", r#"{"t":"\ud800"}"#),
    ("a_nul_character", r#"{"t":"a\u0000b"}"#),
];

pub(super) fn cases() -> Vec<Value> {
    let signed = SIGNED.iter().enumerate().map(|(place, (name, args))| signed(place, name, args));
    let refused = REFUSED.iter().map(|(name, args)| {
        assert!(crypto::json::parse(args.as_bytes()).is_err(), "{name}");
        json!({ "name": name, "refuse": true, "sign": asked(name, args, 99) })
    });
    signed.chain(refused).collect()
}

/// What a signer is given: a key, a call, and the claims that it would make up itself.
fn asked(name: &str, args: &str, place: usize) -> Value {
    let only = |wanted: &str, value: &str| (name == wanted).then(|| value.to_owned());
    json!({
        "private_key": SEEDS[0],
        "audience": "https://chancery.example.com",
        "agent": AGENT,
        "tool": "shop.refunds.create",
        "args": args,
        "mode": "gateway",
        "on_behalf_of": only("on_behalf_of_somebody", "ann@example.com"),
        "session": only("of_a_session", "s-1"),
        "idempotency_key": only("with_an_idempotency_key", "refund-1001"),
        "iat": NOW,
        "exp": NOW + 60,
        "jti": format!("AAECAwQFBgcICQoLDA0O{place:02}"),
    })
}

fn signed(place: usize, name: &str, args: &str) -> Value {
    let sign = asked(name, args, place);
    let value = crypto::json::parse(args.as_bytes()).unwrap();
    let bound = json!({ "args": value, "tool": "shop.refunds.create" });
    let canonical = String::from_utf8(crypto::json::canonical(&bound)).unwrap();
    let text = |member: &str| sign[member].as_str().map(str::to_owned);
    let claims = Claims {
        aud: text("audience").unwrap(),
        sub: AGENT.to_owned(),
        tool: "shop.refunds.create".to_owned(),
        req: crypto::sha256(&canonical),
        mode: "gateway".to_owned(),
        obo: text("on_behalf_of"),
        ses: text("session"),
        idem: text("idempotency_key"),
        iat: NOW,
        exp: NOW + 60,
        jti: text("jti").unwrap(),
        tdg: None,
        purpose: None,
    };
    let intent = crate::sign(&claims, &key(SEEDS[0]));
    json!({ "name": name, "refuse": false, "sign": sign, "canonical": canonical, "intent": intent })
}
