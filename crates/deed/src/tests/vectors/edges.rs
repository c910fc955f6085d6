//! Inputs right at the edge of a rule, on either side: where readers of one page come to differ.

use std::time::Duration;

use base64::{Engine, engine::general_purpose::STANDARD};
use crypto::ed25519::SigningKey;
use serde_json::{Value, json};

use super::cases::{Case, Keys, body, edit, envelope, signed};
use crate::{
    KeySet, Purpose, SealKey, api_form,
    tests::{
        evidence::evidence,
        support::{Log, hex, lines, moment, public_keys},
    },
};

/// The inputs that are valid.
pub(super) fn kept(log: &Log) -> Vec<Case> {
    let first = Log::of(1);
    let fact = |value: Value| signed(edit(&body(log, 0), "/admin/data/scopes", value));
    let mixed = format!("{}\n{}\n", log.forms[0], envelope(&log.sealed[1]));
    let pretty = serde_json::to_string_pretty(&log.forms[2]).unwrap();
    let spaced = format!("\n{}\n \t\r\n{}\r\n", log.forms[0], log.forms[1]);
    let voided = ended(log, &[("/action/approval/status", json!("voided"))]);
    let introduced = Keys::Other(KeySet::new(introduced()).unwrap());
    let member = ("/action/approval/decisions/0/by", json!("mem_01h455vb4pex5vsknk084sn02q"));
    let no = [
        ("/action/approval/status", json!("denied")),
        ("/action/approval/decisions/0/decision", json!("deny")),
        member.clone(),
    ];
    vec![
        Case::valid("a value at the last step of nesting", "signed", fact(json!([[[[[1]]]]]))),
        Case::valid("an empty list at the last step", "signed", fact(json!([[[[[[]]]]]]))),
        Case::valid("a deed written over many lines", "signed", pretty),
        Case::valid("lines with empty ones between them", "chained", spaced),
        Case::valid("lines in both forms", "chained", mixed),
        Case::valid("an amendment without its deed", "chained", lines(&log.forms[3..5])),
        Case::valid("an approval that was voided", "signed", voided),
        Case::valid("an approval by a member of the org", "signed", action(log, &[member])),
        Case::valid("an approval that a member of the org refused", "signed", ended(log, &no)),
        Case::valid("a key that an older one introduced", "signed", &log.forms[0])
            .under(introduced),
        Case::valid("the only deed of a log under its checkpoint", "checkpointed", &first.forms[0])
            .knowing(&first.checkpoint()),
        Case::valid("a log beside the checkpoint of none", "chained", log.lines())
            .knowing(&Log::new().checkpoint()),
    ]
}

/// The published keys, after an older one (RFC 8032, 7.1, test 3) that introduces the first.
fn introduced() -> Vec<SealKey> {
    let seed = hex("c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7");
    let older = SigningKey::from_seed(&seed.try_into().unwrap()).unwrap();
    let mut keys = public_keys();
    let since = moment().before(Duration::from_hours(2));
    keys[0] = keys[0].clone().introduced(&older);
    keys.insert(0, SealKey::new(*older.public(), Purpose::Deed, since));
    keys
}

/// The inputs that are refused.
pub(super) fn broken(log: &Log) -> Vec<Case> {
    [frames(log), shapes(log), claims(log), around(log)].concat()
}

/// A body of the action, with edits.
fn action(log: &Log, edits: &[(&str, Value)]) -> String {
    let edited = edits
        .iter()
        .fold(body(log, 2), |body, (pointer, value)| edit(&body, pointer, value.clone()));
    signed(edited)
}

/// The action as one that was denied in the end, with edits.
fn ended(log: &Log, edits: &[(&str, Value)]) -> String {
    let end = [
        ("/action/status", json!("denied")),
        ("/action/execution", json!(null)),
        ("/action/witness", json!(null)),
    ];
    action(log, &[&end, edits].concat())
}

fn frames(log: &Log) -> Vec<Case> {
    let form = &log.forms[0];
    let frame: Value = serde_json::from_str(&envelope(&log.sealed[0])).unwrap();
    let kind = "\"kind\":\"admin\",\"log\":{";
    let nul = form.to_string().replace(kind, "\"kind\":\"admin\\u0000\",\"log\":{");
    assert_ne!(nul, form.to_string());
    vec![
        Case::malformed(
            "an envelope whose key id is none",
            edit(&frame, "/signatures/0/keyid", json!("k")),
        ),
        Case::malformed("a NUL character beside the payload", nul),
        Case::malformed(
            "an integer of 2^53+1 beside the payload",
            edit(form, "/log/index", json!(9_007_199_254_740_993_u64)),
        ),
    ]
}

fn shapes(log: &Log) -> Vec<Case> {
    let admin = |pointer: &str, value: Value| signed(edit(&body(log, 0), pointer, value));
    let of_action = |pointer: &str, value: Value| action(log, &[(pointer, value)]);
    let bad: &[&str] = &["shape"];
    let lsn = "/action/witness/sources/0/lsn_from";
    vec![
        Case::invalid(
            "a value one step too deep",
            &["canonical"],
            admin("/admin/data/scopes", json!([[[[[[1]]]]]])),
        ),
        Case::invalid("an event of three parts", bad, admin("/admin/event", json!("a.b.c"))),
        Case::invalid(
            "a decision without a policy",
            bad,
            of_action("/action/decision/policy", json!(null)),
        ),
        Case::invalid("a code that is none", bad, of_action("/action/decision/code", json!("no"))),
        Case::invalid(
            "an amount with a needless zero",
            bad,
            of_action("/action/cost/amount", json!("01.50")),
        ),
        Case::invalid("a log position in small letters", bad, of_action(lsn, json!("0/16b3748"))),
        Case::invalid(
            "a tool without a connector",
            bad,
            of_action("/action/tool", json!("refund")),
        ),
    ]
}

fn claims(log: &Log) -> Vec<Case> {
    let bad: &[&str] = &["honesty"];
    let no = edit(&body(log, 2)["action"]["approval"]["decisions"][0], "/decision", json!("deny"));
    let yes = body(log, 2)["action"]["approval"]["decisions"][0].clone();
    let unheard = [
        ("/action/execution/attestation", json!(null)),
        ("/action/execution/status", json!("unknown")),
        ("/action/execution/result", json!(null)),
        ("/action/witness/verdict", json!("UNVERIFIABLE")),
    ];
    let footprint = [
        ("/action/witness/level", json!("L1")),
        ("/action/witness/method", json!("undo_footprint")),
        ("/action/witness/verdict", json!("MISMATCH")),
    ];
    let intent = |mode: &str, status: &str| {
        ("/action/intent", json!({"mode": mode, "status": status, "jws": null}))
    };
    let refused = [
        ("/action/decision/outcome", json!("deny")),
        ("/action/approval", json!(null)),
        intent("required", "absent"),
    ];
    let pending = [("/action/approval/status", json!("pending"))];
    let both = [("/action/approval/decisions", json!([yes, no]))];
    vec![
        Case::invalid("an approved action that ended as denied", bad, ended(log, &[])),
        Case::invalid("an approval that is pending", bad, ended(log, &pending)),
        Case::invalid("an approval with a no among its decisions", bad, action(log, &both)),
        Case::invalid("a run that nobody attests above L0", bad, action(log, &unheard)),
        Case::invalid("an undo's footprint at L1", bad, action(log, &footprint)),
        Case::invalid(
            "an intent ignored that was wanted",
            bad,
            action(log, &[intent("optional", "ignored")]),
        ),
        Case::invalid("a denied call without the intent it needs", bad, ended(log, &refused)),
    ]
}

fn around(log: &Log) -> Vec<Case> {
    let tick = Duration::from_millis(1);
    let mut gone = public_keys();
    gone[0].activated_at = moment() + tick;
    gone[0].revoked_at = Some(moment() + tick);
    let gone = Keys::Other(KeySet::new(gone).unwrap());
    let only_deeds = Keys::Other(KeySet::new(public_keys()[..1].to_vec()).unwrap());
    let form = evidence(log, &[0, 1], &[]);
    let set: Value = serde_json::from_str(&KeySet::new(introduced()).unwrap().to_json()).unwrap();
    let strange = edit(&form, "/keys/keys/1", set["keys"][1].clone());
    let strange = edit(&strange, "/keys/keys/0", set["keys"][2].clone());
    let lie = [
        ("/amendment/changes/execution/status", json!("unknown")),
        ("/amendment/changes/witness", json!(null)),
    ];
    let lie = lie.iter().fold(body(log, 4), |body, (at, value)| edit(&body, at, value.clone()));
    let foreign = [
        ("/amendment/changes/execution/attestation", json!("edge_claimed")),
        ("/amendment/changes/witness/level", json!("L0")),
        ("/amendment/changes/witness/method", json!("edge_reported")),
    ];
    let foreign =
        foreign.iter().fold(body(log, 4), |body, (at, value)| edit(&body, at, value.clone()));
    let amended = |by: Value| format!("{}{}\n", lines(&log.forms[2..4]), signed(by));
    vec![
        Case::invalid("a disclosure of two values", &["disclosures"], two_values(log)),
        Case::invalid("a key revoked, and too young", &["revoked"], &log.forms[0]).under(gone),
        Case::invalid("an amendment that leaves a lie", &["amends"], amended(lie)),
        Case::invalid("an amendment that attests for another", &["amends"], amended(foreign)),
        Case::undecidable("a checkpoint and no keys", &["key", "checkpoint"], log.lines())
            .under(Keys::None)
            .knowing(&log.checkpoint()),
        Case::invalid(
            "evidence whose own keys are none",
            &["key"],
            edit(&form, "/keys", json!({})),
        )
        .under(Keys::None),
        Case::invalid("evidence whose own key a stranger introduced", &["key"], strange)
            .under(Keys::None),
        Case::invalid("evidence under keys without the checkpoint's", &["inclusion"], form)
            .under(only_deeds),
    ]
}

/// A deed that commits to two values at one place, and what opens it.
fn two_values(log: &Log) -> Value {
    let text = format!("[\"{}\",\"admin.before\",1,2]", "A".repeat(43));
    let commitment = json!({"commit": crypto::sha256(&text), "size": 3});
    let body = edit(&body(log, 0), "/admin/before", commitment);
    let envelope: Value = serde_json::from_str(&signed(&body)).unwrap();
    let signature = STANDARD.decode(envelope["signatures"][0]["sig"].as_str().unwrap()).unwrap();
    let mut form = api_form(&body.to_string(), &signature.try_into().unwrap(), &[]).unwrap();
    form["disclosures"] = json!([STANDARD.encode(text)]);
    form
}
