//! Files of evidence with what agents signed: as it was, and with one thing wrong.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use super::cases::{Case, Keys, edit};
use crate::{
    Content, DecisionCode, DecisionOutcome, Ending, Path, Tool, commit, specimen,
    tests::{
        evidence::{evidence, story},
        intents::{Wording, encode, seal_signed, worded},
        support::{Log, amendment_of, private_keys},
    },
    thumbprint,
};

/// An admin deed, two actions that their agent signed, and one that it did not.
fn several() -> Log {
    let mut log = Log::of(1);
    for _ in 0..2 {
        seal_signed(&mut log, |_, _, _| {}, |_| {});
    }
    log.seal_action(|draft| {
        if let Content::Action(action) = &mut draft.content {
            action.intent.mode = crate::IntentMode::Optional;
            (action.intent.status, action.intent.jws) = (crate::IntentStatus::Absent, None);
        }
    })
    .unwrap();
    log
}

/// A call on nobody's behalf, in no session, of a tool whose digest is not known.
fn bare() -> Value {
    let mut log = Log::new();
    let change =
        |draft: &mut crate::Draft, opened: &mut Vec<crate::Disclosure>, _: &model::Mint<'_>| {
            let Content::Action(action) = &mut draft.content else { return };
            (action.on_behalf_of, action.session, action.tool_digest) = (None, None, None);
            opened.retain(|open| ![Path::ON_BEHALF_OF, Path::SESSION].contains(open.path()));
        };
    seal_signed(&mut log, change, |intent| {
        intent.claim("idem", "order-7");
        intent.claim("purpose", "\u{e9}".repeat(128));
    });
    evidence(&log, &[0], &[])
}

/// A refused call of what is no tool name, signed for this.
fn no_name(signed: Option<&str>) -> Value {
    let mut log = Log::new();
    let change = |draft: &mut crate::Draft, opened: &mut Vec<_>, mint: &model::Mint<'_>| {
        let Content::Action(action) = &mut draft.content else { return };
        let (tool, open) = commit(mint, Path::TOOL, &json!("refund \u{2028}it"));
        opened.push(open);
        action.tool = Tool::NoName(tool);
        action.decision.outcome = DecisionOutcome::Deny;
        action.decision.code = Some(DecisionCode::ToolUnknown);
        (action.approval, action.ending, action.undo) = (None, Ending::Denied, None);
        let gone = ["action.approval", "action.execution", "action.witness", "action.undo"];
        opened.retain(|open| !gone.iter().any(|path| open.path().as_str().starts_with(path)));
    };
    seal_signed(&mut log, change, |intent| {
        if let Some(tool) = signed {
            intent.claim("tool", tool);
        }
    });
    evidence(&log, &[0], &[])
}

/// The file without what opens its commitments.
fn withheld(file: &Value) -> Value {
    edit(file, "/disclosures", json!([]))
}

/// The file without its intents, as files were before they had some.
fn older(file: &Value) -> Value {
    let mut file = file.clone();
    file.as_object_mut().unwrap().remove("intents").unwrap();
    file
}

fn amended() -> (Log, Value) {
    let mut log = Log::new();
    seal_signed(&mut log, |_, _, _| {}, |_| {});
    let action = log.sealed[0].clone();
    log.seal(specimen::admin).unwrap();
    log.seal(amendment_of(&action)).unwrap();
    let file = evidence(&log, &[0, 2], &[2]);
    (log, file)
}

/// The inputs that are valid.
pub(super) fn shown() -> Vec<Case> {
    let (signed, several, (_, amended)) = (worded(|_| {}), several(), amended());
    let all = evidence(&several, &[0, 1, 2, 3], &[]);
    let none = edit(&signed, "/intents", json!([]));
    let edge = worded(|intent| {
        intent.claim("iat", intent.now() + 60);
        intent.claim("exp", intent.now() + 360);
    });
    let last = worded(|intent| {
        intent.claim("iat", intent.now() - 299);
        intent.claim("exp", intent.now() + 1);
    });
    let old_name = worded(|intent| intent.header["alg"] = json!("EdDSA"));
    let named = worded(|intent| intent.claim("tdg", json!(crypto::sha256("tool"))));
    let valid = |name: &str, file: &Value| Case::valid(name, "signed", file);
    vec![
        valid("evidence with a signed intent", &signed).not_showing(&[]),
        valid("an intent of a call whose payloads were pruned", &withheld(&signed)),
        valid("an intent with everything that may be null or left out", &bare()),
        valid("an intent that names the tool's digest", &named),
        valid("an intent whose header has the old name of Ed25519", &old_name),
        valid("an intent for what is no tool name", &no_name(None)),
        valid("an intent as early and as long as may be", &edge),
        valid("an intent in its last second", &last),
        valid("evidence with several intents and deeds that have none", &all).not_showing(&[]),
        valid("evidence of a signed action and its amendment", &amended).not_showing(&[]),
        valid("evidence of before there were intents in it", &older(&signed)).not_showing(&[0]),
        valid("evidence with an empty list of intents", &none).not_showing(&[0]),
        valid(
            "evidence with one intent of two",
            &edit(&all, "/intents", json!([all["intents"][1]])),
        )
        .not_showing(&[1]),
        valid("evidence of an action that was not signed", &evidence(&several, &[3], &[]))
            .not_showing(&[]),
        valid("an action's deed whose intent is not beside it", &several.forms[1])
            .not_showing(&[1]),
    ]
}

const BAD: &[&str] = &["intents"];

/// The inputs that are not.
pub(super) fn refused() -> Vec<Case> {
    [of_claims(), of_texts(), of_keys(), of_files()].concat()
}

fn bad(name: &str, word: impl FnOnce(&mut Wording)) -> Case {
    Case::invalid(name, BAD, worded(word))
}

fn of_claims() -> Vec<Case> {
    let with =
        |name: &str, claim: &str, value: Value| bad(name, |intent| intent.claim(claim, value));
    let after = |claim: &'static str, seconds: i64| {
        move |intent: &mut Wording| intent.claim(claim, intent.now() + seconds)
    };
    let other = json!(crypto::sha256(r#"{"args":{"amount":13,"order":7},"tool":"shop.refund"}"#));
    let mut opened = worded(|intent| intent.claim("req", other.clone()));
    opened["disclosures"] = json!([]);
    vec![
        with("an intent by another agent", "sub", json!("agt_01h455vb4pex5vsknk084sn02q")),
        with("an intent for another tool", "tool", json!("shop.refunds")),
        with("an intent for other arguments", "req", other),
        with("an intent for the other mode", "mode", json!("proxy")),
        with("an intent on another's behalf", "obo", json!("customer 8")),
        with("an intent on nobody's behalf", "obo", json!(null)),
        with("an intent in another session", "ses", json!("chat 1")),
        with("an intent in no session", "ses", json!(null)),
        with("an intent for another form of the tool", "tdg", json!(crypto::sha256("other"))),
        with("an intent with a tool digest that is null", "tdg", json!(null)),
        with("an intent with a nonce that is too short", "jti", json!("A".repeat(21))),
        with("an intent with a purpose that is too long", "purpose", json!("x".repeat(257))),
        with("an intent with a claim more", "max_cost", json!("1.00")),
        with("an intent that claims a text for a time", "iat", json!("now")),
        with("an intent of before 1970", "iat", json!(-1)),
        bad("an intent that was made too far ahead", after("iat", 61)),
        bad("an intent that was over", after("exp", 0)),
        bad("an intent that lives too long", after("exp", 301)),
        bad("an intent with a claim less", |intent| {
            intent.claims.as_object_mut().unwrap().remove("idem").unwrap();
        }),
        bad("an intent with a claim that stands twice", |intent| {
            let text = intent.claims.to_string();
            intent.payload = Some(text.replacen('{', r#"{"sub":"agt_0","#, 1));
        }),
        bad("an intent whose payload is no JSON", |intent| intent.payload = Some("{".to_owned())),
        Case::invalid(
            "an intent for another text that is no tool name",
            BAD,
            no_name(Some("refund \u{2029}it")),
        ),
    ]
}

fn of_texts() -> Vec<Case> {
    let header = |name: &str, member: &'static str, value: Value| {
        bad(name, |intent| intent.header[member] = value)
    };
    let written =
        |name: &str, written: fn(String) -> String| bad(name, |intent| intent.written = written);
    let signed = worded(|_| {});
    let (head, signature) = signed["intents"][0]["jws"].as_str().unwrap().rsplit_once('.').unwrap();
    let (first, rest) = signature.split_at(1);
    let changed = format!("{head}.{}{rest}", if first == "A" { "B" } else { "A" });
    vec![
        header("an intent without an algorithm", "alg", json!("none")),
        header("an intent with a secret for a key", "alg", json!("HS256")),
        header("an intent of another type", "typ", json!("JWT")),
        header("an intent that brings a key", "jwk", json!({ "kty": "OKP" })),
        header("an intent whose header names another key", "kid", json!("k")),
        written("an intent of two parts", |text| text.rsplit_once('.').unwrap().0.to_owned()),
        written("an intent of four parts", |text| format!("{text}.e30")),
        written("an intent with padding", |text| text + "=="),
        written("an intent that is no base64url", |text| text.replacen("eyJ", "e+J", 1)),
        written("an intent in two lines", |text| text.replacen('.', ".\n", 1)),
        written("an empty intent", |_| String::new()),
        bad("an intent that is too long", |intent| intent.claim("aud", "x".repeat(3_000))),
        Case::invalid(
            "an intent other than the one that its deed names",
            BAD,
            edit(&signed, "/intents/0/jws", json!(changed)),
        ),
    ]
}

fn of_keys() -> Vec<Case> {
    let strange = private_keys();
    let (_, strange) = strange.keys().next().unwrap();
    let public = encode(strange.public().as_bytes());
    let signed = worded(|_| {});
    let shown = |name: &str, key: Value| {
        Case::invalid(name, BAD, edit(&signed, "/intents/0/public_key", key))
    };
    // Under the neutral point this signature holds for every message.
    let mut neutral = [0; 64];
    neutral[0] = 1;
    let weak = encode(&neutral[..32]);
    let kid = crypto::sha256(format!(r#"{{"crv":"Ed25519","kty":"OKP","x":"{weak}"}}"#));
    let kid = encode(kid.as_bytes());
    let alg = worded(|intent| intent.alg = "ES256");
    vec![
        shown("an intent beside another key", json!(public)),
        shown("an intent beside no key", json!("")),
        shown("an intent beside a key in another alphabet", {
            let key = signed["intents"][0]["public_key"].as_str().unwrap();
            json!(key.replace('-', "+").replace('_', "/") + "=")
        }),
        bad("an intent by a key that the deed does not name", |intent| {
            intent.key_id = thumbprint(strange.public()).to_string();
        }),
        bad("an intent signed with another key", |intent| intent.signature = Some([7; 64])),
        bad("an intent under the neutral point", |intent| {
            intent.header["kid"] = json!(kid);
            (intent.key_id, intent.public_key) = (kid, weak);
            intent.signature = Some(neutral);
        }),
        Case::undecidable("an intent of an algorithm that is not known", BAD, &alg),
    ]
}

fn of_files() -> Vec<Case> {
    let log = several();
    let all = evidence(&log, &[0, 1, 2, 3], &[]);
    let (first, second) = (&all["intents"][0], &all["intents"][1]);
    let with =
        |name: &str, intents: Value| Case::invalid(name, BAD, edit(&all, "/intents", intents));
    let of = |seq: usize| edit(first, "/deed", json!(log.sealed[seq].id));
    let swapped =
        [edit(first, "/jws", second["jws"].clone()), edit(second, "/jws", first["jws"].clone())];
    let elsewhere = edit(first, "/deed", json!(story().sealed[2].id));
    let (one, wrong) = (worded(|_| {}), worded(|intent| intent.claim("mode", "proxy")));
    let mut more = one.clone();
    more["intents"][0]["kid"] = json!("k");
    let opened = one["disclosures"][0]["disclosures"][1].as_str().unwrap();
    let opened = String::from_utf8(STANDARD.decode(opened).unwrap()).unwrap();
    let lied = edit(
        &one,
        "/disclosures/0/disclosures/1",
        json!(STANDARD.encode(opened.replace("12.5", "12.6"))),
    );
    let malformed =
        |name: &str, intents: Value| Case::malformed(name, edit(&one, "/intents", intents));
    vec![
        with("an intent that stands twice", json!([first, first])),
        with("an intent of a deed that is not there", json!([elsewhere, second])),
        with("an intent that no deed names", json!([first, second, of(3)])),
        with("an intent of an admin deed", json!([first, second, of(0)])),
        with("two intents in each other's place", json!(swapped)),
        Case::invalid("an intent under the file's own keys", &["key", "intents"], &wrong)
            .under(Keys::None),
        Case::invalid("an intent beside arguments that do not open", &["disclosures"], lied),
        Case::malformed("an intent with a member more", more),
        malformed("intents that are no list", json!({})),
        malformed("intents that are null", json!(null)),
    ]
}
