//! Payloads that are no deed's, or that no honest deed has, each with the check that must say so.

use serde_json::{Value, json};

use super::cases::{Case, body, edit, envelope, signed};
use crate::tests::support::Log;

pub(super) fn cases(log: &Log) -> Vec<Case> {
    [malformed(log), spellings(log), shapes(log), endings(log), dishonest(log)].concat()
}

fn malformed(log: &Log) -> Vec<Case> {
    let form = &log.forms[0];
    let text = form.to_string();
    let frame = envelope(&log.sealed[0]);
    let mut more = form.clone();
    more["more"] = json!(1);
    let mut less = form.clone();
    less.as_object_mut().unwrap().remove("disclosures");
    let deep = format!("{{\"object\":{}1{}}}", "[".repeat(33), "]".repeat(33));
    let second =
        frame.replace("\"signatures\":[", "\"signatures\":[{\"keyid\":\"\",\"sig\":\"\"},");
    let none = edit(&serde_json::from_str(&frame).unwrap(), "/signatures", json!([]));
    vec![
        Case::malformed("nothing", ""),
        Case::malformed("an empty object", "{}"),
        Case::malformed("a list", format!("[{text}]")),
        Case::malformed("a byte order mark before a deed", format!("\u{feff}{text}")),
        Case::malformed("an API form with a member more", more),
        Case::malformed("an API form with a member less", less),
        Case::malformed(
            "a member that stands twice",
            text.replace("{\"body\"", "{\"id\":\"\",\"body\""),
        ),
        Case::malformed("an envelope with two signatures", second),
        Case::malformed("an envelope without a signature", none),
        Case::malformed("a payload that is no base64", edit(form, "/payload", json!("*"))),
        Case::malformed(
            "a signature with stray base64 bits",
            edit(form, "/signature/value", json!("AB==")),
        ),
        Case::malformed("the algorithm `none`", edit(form, "/signature/alg", json!("none"))),
        Case::malformed("the algorithm `HS256`", edit(form, "/signature/alg", json!("HS256"))),
        Case::malformed("the algorithm `ES256`", edit(form, "/signature/alg", json!("ES256"))),
        Case::malformed("an index that is a text", edit(form, "/log/index", json!("0"))),
        Case::malformed(
            "an envelope that brings its key",
            frame.replace("{\"keyid\"", "{\"jwk\":{},\"keyid\""),
        ),
        Case::malformed("a line that is no deed", format!("{text}\n{{}}\n")),
        Case::malformed("a line that is cut off", format!("{text}\n{}\n", text.split_at(99).0)),
        Case::malformed("nesting 34 deep", deep),
    ]
}

/// Bodies that say the same in another spelling, or values that no body may have.
fn spellings(log: &Log) -> Vec<Case> {
    let text = &log.sealed[0].body;
    let seq = |with: &str| signed(text.replace("\"seq\":0", with));
    let fact = |value: Value| signed(edit(&body(log, 0), "/admin/data/scopes", value));
    let mut unsorted = text.replace("\"seq\":0,", "");
    unsorted.insert_str(1, "\"seq\":0,");
    let bad: &[&str] = &["canonical"];
    vec![
        Case::invalid("a space in the body", bad, seq("\"seq\": 0")),
        Case::invalid("a zero with a fraction", bad, seq("\"seq\":0.0")),
        Case::invalid("a zero with an exponent", bad, seq("\"seq\":0e1")),
        Case::invalid("a negative zero", bad, seq("\"seq\":-0")),
        Case::invalid("a body member that stands twice", bad, seq("\"seq\":0,\"seq\":0")),
        Case::invalid("a needless escape in a name", bad, seq("\"\\u0073eq\":0")),
        Case::invalid("an integer of 2^53+1", bad, seq("\"seq\":9007199254740993")),
        Case::invalid("a number too large for a double", bad, seq("\"seq\":1e400")),
        Case::invalid("members in another order", bad, signed(unsorted)),
        Case::invalid("a newline after the body", bad, signed(format!("{text}\n"))),
        Case::invalid("a byte order mark before the body", bad, signed(format!("\u{feff}{text}"))),
        Case::invalid("a body that is cut off", bad, signed(text.split_at(200).0)),
        Case::invalid("a body that is no object", bad, signed("1 2")),
        Case::invalid("a lone surrogate", bad, seq("\"seq\":\"\\ud800\"")),
        Case::invalid("a NUL character", bad, seq("\"seq\":\"\\u0000\"")),
        Case::invalid("a float", bad, fact(json!(1.5))),
        Case::invalid("a name with a capital", bad, fact(json!({"Key": 1}))),
        Case::invalid("a name with a hyphen", bad, fact(json!({"a-b": 1}))),
        Case::invalid("an empty name", bad, fact(json!({"": 1}))),
        Case::invalid("nesting that is too deep", bad, fact(json!([[[[[[[1]]]]]]]))),
        Case::invalid("a body over 16 KiB", bad, fact(json!("x".repeat(16_384)))),
    ]
}

fn shapes(log: &Log) -> Vec<Case> {
    let admin = body(log, 0);
    let text = &log.sealed[0].body;
    let with = |pointer: &str, value: Value| signed(edit(&admin, pointer, value));
    let mut two = admin.clone();
    two["amendment"] = body(log, 4)["amendment"].clone();
    let mut more = admin.clone();
    more["note"] = json!("x");
    let digest = admin["prev"].as_str().unwrap().to_uppercase();
    let bad: &[&str] = &["shape"];
    vec![
        Case::invalid("a place that is a text", bad, with("/seq", json!("0"))),
        Case::invalid("a negative place", bad, with("/seq", json!(-1))),
        Case::invalid("no place", bad, signed(text.replace("\"seq\":0,", ""))),
        Case::invalid("a member that no deed has", bad, signed(more)),
        Case::invalid("the content of two kinds", bad, signed(two)),
        Case::invalid("a kind that is not the content's", bad, with("/kind", json!("amendment"))),
        Case::invalid("null for a boolean", bad, with("/livemode", json!(null))),
        Case::invalid(
            "a time with a lower-case z",
            bad,
            with("/issued_at", json!("2026-10-01T12:00:00.000z")),
        ),
        Case::invalid("a leap second", bad, with("/issued_at", json!("2026-12-31T23:59:60.000Z"))),
        Case::invalid(
            "a time with an offset",
            bad,
            with("/issued_at", json!("2026-10-01T12:00:00+00:00")),
        ),
        Case::invalid(
            "a time without milliseconds",
            bad,
            with("/issued_at", json!("2026-10-01T12:00:00Z")),
        ),
        Case::invalid(
            "a day that is not",
            bad,
            with("/issued_at", json!("2026-02-30T12:00:00.000Z")),
        ),
        Case::invalid(
            "an id of another kind",
            bad,
            with("/id", json!("act_01h455vb4pex5vsknk084sn02q")),
        ),
        Case::invalid("a digest in capitals", bad, with("/prev", json!(digest))),
        Case::invalid("a key id that is too short", bad, with("/key_id", json!("kPrK"))),
        Case::invalid("an actor of no known type", bad, with("/actor/type", json!("robot"))),
        Case::invalid("a log that is no origin", bad, with("/log", json!("specimen.example"))),
        Case::invalid("an event that is none", bad, with("/admin/event", json!("Stopped!"))),
        Case::undecidable("a kind of a later version", bad, with("/kind", json!("session"))),
        Case::undecidable(
            "a format of a later version",
            bad,
            with("/format", json!("service.deed.v2")),
        ),
    ]
}

/// Actions whose parts do not go together, or are of no known form.
fn endings(log: &Log) -> Vec<Case> {
    let action = body(log, 2);
    let of_action = |pointer: &str, value: Value| signed(edit(&action, pointer, value));
    let bad: &[&str] = &["shape"];
    vec![
        Case::invalid(
            "a denied action that ran",
            bad,
            of_action("/action/status", json!("denied")),
        ),
        Case::invalid(
            "a failed action that succeeded",
            bad,
            of_action("/action/status", json!("failed")),
        ),
        Case::invalid(
            "an action that waits",
            bad,
            of_action("/action/status", json!("pending_approval")),
        ),
        Case::invalid("a run without a witness", bad, of_action("/action/witness", json!(null))),
        Case::invalid("a witness without a run", bad, of_action("/action/execution", json!(null))),
        Case::invalid(
            "an amount that is a number",
            bad,
            of_action("/action/cost/amount", json!(12)),
        ),
        Case::invalid("a payload in clear", bad, of_action("/action/request", json!({"order": 7}))),
        Case::invalid(
            "a person who is no person",
            bad,
            of_action("/action/approval/decisions/0/by", json!("jo")),
        ),
        Case::invalid(
            "an approval by an agent",
            bad,
            of_action("/action/approval/decisions/0/by", json!("agt_01h455vb4pex5vsknk084sn02q")),
        ),
    ]
}

/// A rule, a body that keeps it, and the edits that break it.
type Claim<'a> = (&'a str, &'a Value, Vec<(String, Value)>);

/// One deed for each honesty rule that breaks it.
fn dishonest(log: &Log) -> Vec<Case> {
    let (admin, action, amendment) = (body(log, 0), body(log, 2), body(log, 4));
    let request = action["action"]["request"].clone();
    let (run, witness) = ("/action/execution", "/action/witness");
    let table: Vec<Claim<'_>> = vec![
        ("deny_ends", &action, vec![("/action/decision/outcome".into(), json!("deny"))]),
        ("allow_runs", &action, vec![("/action/decision/outcome".into(), json!("allow"))]),
        ("approval_asked", &action, vec![("/action/approval".into(), json!(null))]),
        (
            "approval_fits_ending",
            &action,
            vec![("/action/approval/status".into(), json!("expired"))],
        ),
        ("person_decided", &action, vec![("/action/approval/decisions".into(), json!([]))]),
        ("rule_named", &action, vec![("/action/decision/rule_id".into(), json!(null))]),
        ("no_name_denied", &action, vec![("/action/tool".into(), request.clone())]),
        (
            "unknown_tool_denied",
            &action,
            vec![("/action/decision/code".into(), json!("tool_unknown"))],
        ),
        ("intent_fits_mode", &action, vec![("/action/intent/jws".into(), json!(null))]),
        ("mode_fits_attestation", &action, vec![("/action/mode".into(), json!("proxy"))]),
        ("agent_on_action", &action, vec![("/subject/type".into(), json!("agent"))]),
        ("run_ended", &action, vec![(format!("{run}/status"), json!("running"))]),
        (
            "success_without_error",
            &action,
            vec![(format!("{run}/error_code"), json!("tool_error"))],
        ),
        ("unattested_unknown", &action, vec![(format!("{run}/attestation"), json!(null))]),
        ("one_result", &action, vec![(format!("{run}/result_digest"), request)]),
        ("method_fits_level", &action, vec![(format!("{witness}/level"), json!("L1"))]),
        ("verified_by_evidence", &action, vec![(format!("{witness}/sources"), json!([]))]),
        (
            "nothing_verifies_nothing",
            &action,
            vec![
                (format!("{witness}/level"), json!("L0")),
                (format!("{witness}/method"), json!("none")),
            ],
        ),
        ("unknown_unverifiable", &action, vec![(format!("{run}/status"), json!("unknown"))]),
        (
            "edge_claim_l0",
            &action,
            vec![
                ("/action/mode".into(), json!("proxy")),
                (format!("{run}/attestation"), json!("edge_claimed")),
            ],
        ),
        (
            "method_fits_attestation",
            &action,
            vec![
                (format!("{witness}/level"), json!("L0")),
                (format!("{witness}/method"), json!("edge_reported")),
            ],
        ),
        ("data_bounded", &admin, vec![("/admin/data/scopes".into(), json!("x".repeat(4096)))]),
        ("counted", &amendment, vec![("/amendment/n".into(), json!(0))]),
        (
            "something_changed",
            &amendment,
            vec![
                ("/amendment/changes/execution".into(), json!(null)),
                ("/amendment/changes/witness".into(), json!(null)),
            ],
        ),
        ("amends_earlier", &amendment, vec![("/amendment/amends/seq".into(), json!(5))]),
    ];
    let rules: Vec<_> = table.iter().map(|(rule, ..)| *rule).collect();
    let all: Vec<_> = crate::honesty_rules().into_iter().map(|(rule, _)| rule).collect();
    assert_eq!(rules, all, "one case for each rule, in their order");
    let case = |(rule, from, edits): Claim<'_>| {
        let claims = edits
            .into_iter()
            .fold(from.clone(), |body, (pointer, value)| edit(&body, &pointer, value));
        Case::invalid(&format!("the rule `{rule}` broken"), &["honesty"], signed(claims))
    };
    table.into_iter().map(case).collect()
}
