//! Good payloads with something wrong around them, each with the checks that must say so.

use std::time::Duration;

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use super::cases::{Case, Keys, body, edit, signed};
use crate::{
    DEED_TYPE, EVIDENCE_TYPE, KeySet, Purpose, SealKey,
    tests::{
        evidence::evidence,
        support::{Counting, Log, lines, moment, public_keys},
        verifying::forge,
    },
};

pub(super) fn cases(log: &Log) -> Vec<Case> {
    let groups = [
        forms(log),
        signatures(log),
        keys(log),
        disclosures(log),
        chains(log),
        checkpoints(),
        of_evidence(log),
    ];
    groups.concat()
}

/// The members beside the payload, saying something else.
fn forms(log: &Log) -> Vec<Case> {
    let form = &log.forms[0];
    let with = |pointer: &str, value: Value| edit(form, pointer, value);
    let other = &log.forms[1];
    vec![
        Case::invalid("another id shown", &["form"], with("/id", other["id"].clone())),
        Case::invalid("another kind shown", &["form"], with("/kind", json!("action"))),
        Case::invalid("another body shown", &["form"], with("/body/livemode", json!(true))),
        Case::invalid("another log shown", &["form"], with("/log/origin", json!("x"))),
        Case::invalid("another place shown", &["form"], with("/log/index", json!(1))),
        Case::invalid(
            "another digest shown",
            &["digest"],
            with("/digest", other["digest"].clone()),
        ),
        Case::invalid("no digest shown", &["digest"], with("/digest", json!(""))),
        Case::invalid("another key shown", &["key_id"], with("/signature/key_id", json!("k"))),
        Case::invalid(
            "another payload",
            &["form", "digest", "signature", "disclosures"],
            with("/payload", other["payload"].clone()),
        ),
    ]
}

/// Adds the group's order to the scalar of a signature: the same equation, another signature.
fn malleated(signature: &[u8; 64]) -> String {
    let order: [u8; 32] = [
        0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58, 0xd6, 0x9c, 0xf7, 0xa2, 0xde, 0xf9, 0xde,
        0x14, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x10,
    ];
    let mut changed = *signature;
    let mut carry = 0;
    for (byte, add) in changed[32..].iter_mut().zip(order) {
        let sum = u16::from(*byte) + u16::from(add) + carry;
        *byte = u8::try_from(sum & 0xff).unwrap();
        carry = sum >> 8;
    }
    STANDARD.encode(changed)
}

fn signatures(log: &Log) -> Vec<Case> {
    let form = &log.forms[0];
    let text = &log.sealed[0].body;
    let with = |value: String| edit(form, "/signature/value", json!(value));
    let mut flipped = log.sealed[0].signature;
    flipped[40] ^= 1;
    let bad: &[&str] = &["signature"];
    let other = forge(text, EVIDENCE_TYPE);
    vec![
        Case::invalid(
            "another deed's signature",
            bad,
            edit(form, "/signature/value", log.forms[1]["signature"]["value"].clone()),
        ),
        Case::invalid("a signature with a changed bit", bad, with(STANDARD.encode(flipped))),
        Case::invalid("a signature of zeroes", bad, with(STANDARD.encode([0; 64]))),
        Case::invalid("a signature that is too short", bad, with(STANDARD.encode([1; 63]))),
        Case::invalid("an empty signature", bad, with(String::new())),
        Case::invalid(
            "a signature with the order added",
            bad,
            with(malleated(&log.sealed[0].signature)),
        ),
        Case::invalid(
            "a signature for another type of payload",
            bad,
            other.replace(EVIDENCE_TYPE, DEED_TYPE),
        ),
        Case::invalid("a payload of another type", &["type"], other),
    ]
}

fn keys(log: &Log) -> Vec<Case> {
    let form = &log.forms[0];
    let set = |change: &dyn Fn(&mut SealKey)| {
        let mut keys = public_keys();
        change(&mut keys[0]);
        Keys::Other(KeySet::new(keys).unwrap())
    };
    let tick = Duration::from_millis(1);
    vec![
        Case::undecidable("no keys", &["key"], form).under(Keys::None),
        Case::undecidable("keys without the one that signed", &["key"], form)
            .under(Keys::Other(KeySet::new(public_keys().split_off(1)).unwrap())),
        Case::invalid("a key that was active a millisecond later", &["window"], form)
            .under(set(&|key| key.activated_at = moment() + tick)),
        Case::invalid("a key that had just been retired", &["window"], form)
            .under(set(&|key| key.retired_at = Some(moment()))),
        Case::invalid("a key for checkpoints", &["window"], form)
            .under(set(&|key| key.purpose = Purpose::Checkpoint)),
        Case::invalid("a key that was revoked later", &["revoked"], form)
            .under(set(&|key| key.revoked_at = Some(moment() + tick))),
    ]
}

fn disclosures(log: &Log) -> Vec<Case> {
    let form = &log.forms[0];
    let bad: &[&str] = &["disclosures"];
    let opened = |place: usize| {
        let text = STANDARD.decode(form["disclosures"][place].as_str().unwrap()).unwrap();
        String::from_utf8(text).unwrap()
    };
    let with = |text: &str| edit(form, "/disclosures/0", json!(STANDARD.encode(text)));
    let twice = edit(form, "/disclosures/1", form["disclosures"][0].clone());
    vec![
        Case::invalid("a changed value", bad, with(&opened(0).replace("active", "absent"))),
        Case::invalid("a value in another spelling", bad, with(&opened(0).replace(':', ": "))),
        Case::invalid(
            "a disclosure at another place",
            bad,
            with(&opened(0).replace("before", "after")),
        ),
        Case::invalid(
            "a disclosure of what is no commitment",
            bad,
            with(&opened(0).replace("admin.before", "admin.event")),
        ),
        Case::invalid(
            "a disclosure at no place",
            bad,
            with(&opened(0).replace("admin.before", "admin.x.y")),
        ),
        Case::invalid("a disclosure that stands twice", bad, twice),
        Case::invalid("a disclosure that is none", bad, with("[]")),
        Case::invalid(
            "a disclosure that is no base64",
            bad,
            edit(form, "/disclosures/0", json!("*")),
        ),
    ]
}

fn chains(log: &Log) -> Vec<Case> {
    let forms = &log.forms;
    let of =
        |places: &[usize]| lines(&places.iter().map(|at| forms[*at].clone()).collect::<Vec<_>>());
    let after = |edits: &[(&str, Value)]| {
        let next = edits
            .iter()
            .fold(body(log, 1), |body, (pointer, value)| edit(&body, pointer, value.clone()));
        format!("{}{}\n", of(&[0]), signed(next))
    };
    let origin = log.head.log().as_str().replace("specimen", "elsewhere");
    let amending = |pointer: &str, value: Value| {
        format!("{}{}\n", of(&[2, 3]), signed(edit(&body(log, 4), pointer, value)))
    };
    let other = json!(crypto::sha256("other"));
    let to_admin = json!({"id": forms[3]["id"], "digest": forms[3]["digest"], "seq": 3});
    let earlier = json!(moment().before(Duration::from_millis(1)));
    vec![
        Case::invalid(
            "a first deed after another past",
            &["prev"],
            signed(edit(&body(log, 0), "/prev", json!(crypto::sha256("past")))),
        ),
        Case::invalid("a deed dropped", &["sequence", "prev"], of(&[0, 1, 3])),
        Case::invalid("two deeds swapped", &["sequence", "prev", "time"], of(&[0, 2, 1])),
        Case::invalid("a deed repeated", &["sequence", "prev", "unique"], of(&[0, 1, 1])),
        Case::invalid(
            "a deed that names another before it",
            &["prev"],
            after(&[("/prev", json!(crypto::sha256("x")))]),
        ),
        Case::invalid("a deed at a place further on", &["sequence"], after(&[("/seq", json!(2))])),
        Case::invalid("a deed of another log", &["log"], after(&[("/log", json!(origin))])),
        Case::invalid(
            "a deed of another org",
            &["log"],
            after(&[("/org", json!("org_01h455vb4pex5vsknk084sn02q"))]),
        ),
        Case::invalid(
            "a deed issued before the one before",
            &["time"],
            after(&[("/issued_at", earlier)]),
        ),
        Case::invalid(
            "a deed with the id of the one before",
            &["unique"],
            after(&[("/id", forms[0]["id"].clone())]),
        ),
        Case::invalid(
            "an amendment of a deed that is another",
            &["amends"],
            amending("/amendment/amends/digest", other),
        ),
        Case::invalid(
            "an amendment of an admin deed",
            &["amends"],
            amending("/amendment/amends", to_admin),
        ),
        Case::invalid(
            "an amendment about another action",
            &["amends"],
            amending("/subject/id", json!("act_01h455vb4pex5vsknk084sn02q")),
        ),
    ]
}

fn checkpoints() -> Vec<Case> {
    let log = Log::of(3);
    let note = log.checkpoint();
    let bad: &[&str] = &["checkpoint"];
    let under =
        |name: &str, checks, note: &str| Case::invalid(name, checks, log.lines()).knowing(note);
    let mut regrown = Log::of(1);
    regrown.entropy = Counting::default();
    for _ in 0..2 {
        regrown.seal(crate::specimen::admin).unwrap();
    }
    let mut elsewhere = Log::new();
    let origin = log.head.log().as_str().replace("specimen", "elsewhere");
    elsewhere.head = crate::ChainHead::genesis(origin.parse().unwrap());
    elsewhere.seal(crate::specimen::admin).unwrap();
    let mut revoked = public_keys();
    revoked[1].revoked_at = Some(moment());
    let revoked = Keys::Other(KeySet::new(revoked).unwrap());
    vec![
        Case::invalid("a tail that was cut", &["root"], lines(&log.forms[..2])).knowing(&note),
        Case::invalid(
            "a tail that was cut, with the size known",
            &["size"],
            lines(&log.forms[..2]),
        )
        .expecting(3),
        Case::invalid("a tail that was cut and grown again", &["root"], regrown.lines())
            .knowing(&note),
        under("a checkpoint of another log", &["root"], &elsewhere.checkpoint()),
        under("a checkpoint of another size", bad, &note.replace("\n3\n", "\n2\n")),
        under(
            "a checkpoint whose size has a zero before it",
            bad,
            &note.replace("\n3\n", "\n03\n"),
        ),
        under("a checkpoint with a line more", bad, &note.replacen("\n\n", "\nmore\n\n", 1)),
        under(
            "a checkpoint without its signature",
            bad,
            note.split_inclusive("\n\n").next().unwrap(),
        ),
        under("a checkpoint with lines of another system", bad, &note.replace('\n', "\r\n")),
        under(
            "a checkpoint of a stranger",
            bad,
            &note.replace("\u{2014} specimen", "\u{2014} elsewhere"),
        ),
        under("an empty checkpoint", bad, ""),
        under("a checkpoint by a revoked key", bad, &note).under(revoked),
        Case::undecidable("a part of a log beside a checkpoint", &["root"], lines(&log.forms[1..]))
            .knowing(&note),
        Case::undecidable("a single deed beside a checkpoint", &["root"], &log.forms[0])
            .knowing(&note),
    ]
}

fn of_evidence(log: &Log) -> Vec<Case> {
    let form = evidence(log, &[0, 1], &[]);
    let other = evidence(log, &[1, 3], &[]);
    let with = |pointer: &str, value: Value| edit(&form, pointer, value);
    let mut fewer = form.clone();
    for member in ["deeds", "proofs", "disclosures"] {
        fewer[member].as_array_mut().unwrap().remove(1);
    }
    let bad: &[&str] = &["manifest"];
    let older = Log::of(1).checkpoint();
    vec![
        Case::undecidable("evidence under its own keys", &["key"], &form).under(Keys::None),
        Case::malformed("evidence without a deed", with("/deeds", json!([]))),
        Case::invalid("evidence with a deed taken out", bad, fewer),
        Case::invalid("evidence with an amendment left out", bad, evidence(log, &[2, 6], &[])),
        Case::invalid(
            "evidence with another list",
            bad,
            with("/manifest", other["manifest"].clone()),
        ),
        Case::invalid(
            "evidence with a deed for a list",
            bad,
            with("/manifest", form["deeds"][0].clone()),
        ),
        Case::invalid(
            "evidence with a list that is not signed",
            bad,
            with("/manifest/signatures/0/sig", other["manifest"]["signatures"][0]["sig"].clone()),
        ),
        Case::invalid(
            "evidence with another proof",
            &["inclusion"],
            with("/proofs/0", other["proofs"][0].clone()),
        ),
        Case::invalid(
            "evidence with a proof less",
            &["inclusion"],
            with("/proofs", json!([form["proofs"][0]])),
        ),
        Case::invalid(
            "evidence with what opens a deed that is not there",
            &["disclosures"],
            with("/disclosures/0/deed", log.forms[3]["id"].clone()),
        ),
        Case::undecidable("evidence without a proof from the known checkpoint", &["root"], &form)
            .knowing(&older),
        Case::invalid("evidence of a log of another size", &["size"], &form).expecting(8),
    ]
}
