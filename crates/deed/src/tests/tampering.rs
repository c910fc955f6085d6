//! What somebody with the database, but without the keys, could try.

use serde_json::Value;

use super::{
    support::{Log, faults, lines, trust},
    verifying::forge,
};
use crate::{
    DEED_TYPE, specimen,
    verify::{CheckId, Trust, Verdict, examine},
};

#[test]
fn a_changed_byte_anywhere_in_a_deed_is_never_valid() {
    let mut log = Log::new();
    log.seal(specimen::admin).unwrap();
    log.seal(|mint| specimen::action(mint).unwrap()).unwrap();
    // 0x06 turns `+` into `-`, the other base64 alphabet; 0x20 the case of a letter.
    for (form, flips) in log.forms.iter().zip([&[0x01, 0x06, 0x20, 0x80][..], &[0x01][..]]) {
        let text = form.to_string().into_bytes();
        assert_eq!(examine(&text, &trust()).verdict, Verdict::Valid);
        for (place, flip) in (0..text.len()).flat_map(|place| flips.iter().map(move |f| (place, f)))
        {
            let mut changed = text.clone();
            changed[place] ^= flip;
            let report = examine(&changed, &trust());
            let shown = String::from_utf8_lossy(&changed[place.saturating_sub(20)..=place]);
            assert_ne!(report.verdict, Verdict::Valid, "byte {place} ^ {flip:#x}: {shown}");
        }
    }
}

fn verdict(forms: &[Value]) -> (Verdict, Vec<CheckId>) {
    let report = examine(lines(forms).as_bytes(), &trust());
    (report.verdict, faults(&report))
}

#[test]
fn a_dropped_swapped_or_repeated_deed_is_found() {
    let log = Log::of(6);
    let forms = &log.forms;
    let dropped = [&forms[..2], &forms[3..]].concat();
    assert_eq!(verdict(&dropped), (Verdict::Invalid, vec![CheckId::Sequence, CheckId::Prev]));
    let mut swapped = forms.clone();
    swapped.swap(2, 3);
    let (found, ids) = verdict(&swapped);
    assert_eq!(found, Verdict::Invalid);
    assert!(ids.contains(&CheckId::Sequence) && ids.contains(&CheckId::Prev), "{ids:?}");
    let repeated = [&forms[..3], &forms[2..]].concat();
    let (found, ids) = verdict(&repeated);
    assert_eq!(found, Verdict::Invalid);
    assert!(ids.contains(&CheckId::Unique) && ids.contains(&CheckId::Sequence), "{ids:?}");
}

#[test]
fn a_deed_of_another_log_does_not_fit_in() {
    let (log, other) = (Log::of(4), {
        let mut other = Log::new();
        other.head = crate::ChainHead::genesis(
            other.head.log().as_str().replace("specimen", "elsewhere").parse().unwrap(),
        );
        for _ in 0..4 {
            other.seal(specimen::admin).unwrap();
        }
        other
    });
    let mut forms = log.forms.clone();
    forms[2] = other.forms[2].clone();
    let (found, ids) = verdict(&forms);
    assert_eq!(found, Verdict::Invalid);
    assert!(ids.contains(&CheckId::Log) && ids.contains(&CheckId::Prev), "{ids:?}");
}

#[test]
fn a_cut_tail_is_only_found_by_who_kept_something() {
    let log = Log::of(6);
    let cut = lines(&log.forms[..4]);
    assert_eq!(
        examine(cut.as_bytes(), &trust()).verdict,
        Verdict::Valid,
        "a chain alone shows nothing"
    );
    let kept = Trust { known_checkpoint: Some(log.checkpoint()), ..trust() };
    let report = examine(cut.as_bytes(), &kept);
    assert_eq!((report.verdict, faults(&report)), (Verdict::Invalid, vec![CheckId::Root]));
    let counted = Trust { expected_size: Some(6), ..trust() };
    let report = examine(cut.as_bytes(), &counted);
    assert_eq!((report.verdict, faults(&report)), (Verdict::Invalid, vec![CheckId::Size]));
}

#[test]
fn a_tail_that_was_cut_and_grown_again_is_found_by_a_checkpoint() {
    let log = Log::of(6);
    let mut other = Log::of(4);
    // The other history draws other bytes from here on.
    other.entropy = super::support::Counting::default();
    for _ in 0..4 {
        other.seal(specimen::admin).unwrap();
    }
    assert_eq!(other.forms[..4], log.forms[..4]);
    assert_ne!(other.forms[4], log.forms[4]);
    let regrown = lines(&other.forms);
    assert_eq!(examine(regrown.as_bytes(), &trust()).verdict, Verdict::Valid);
    let kept = Trust { known_checkpoint: Some(log.checkpoint()), ..trust() };
    let report = examine(regrown.as_bytes(), &kept);
    assert_eq!((report.verdict, faults(&report)), (Verdict::Invalid, vec![CheckId::Root]));
}

#[test]
fn the_first_deed_cannot_be_another() {
    let log = Log::of(3);
    let body = log.sealed[0].body.clone();
    let prev = crate::genesis_digest(log.head.log()).to_string();
    let other = body.replace(&prev, &crypto::sha256("another past").to_string());
    let report = examine(forge(&other, DEED_TYPE).as_bytes(), &trust());
    assert_eq!((report.verdict, faults(&report)), (Verdict::Invalid, vec![CheckId::Prev]));
}

#[test]
fn a_signature_counts_for_its_payload_type_only() {
    let body = Log::of(1).sealed[0].body.clone();
    let other = "application/vnd.service.evidence.v1+json";
    let report = examine(forge(&body, other).as_bytes(), &trust());
    assert_eq!((report.verdict, faults(&report)), (Verdict::Invalid, vec![CheckId::Type]));
    let relabelled = forge(&body, other).replace(other, DEED_TYPE);
    let report = examine(relabelled.as_bytes(), &trust());
    assert_eq!((report.verdict, faults(&report)), (Verdict::Invalid, vec![CheckId::Signature]));
}

#[test]
fn a_body_that_we_signed_in_another_spelling_is_refused() {
    let body = Log::of(1).sealed[0].body.clone();
    for (spelling, check) in [
        (body.replace("\"seq\":0", "\"seq\": 0"), CheckId::Canonical),
        (body.replace("\"seq\":0", "\"seq\":0.0"), CheckId::Canonical),
        (body.replace("\"seq\":0", "\"seq\":-0"), CheckId::Canonical),
        (body.replace("\"seq\":0", "\"seq\":0,\"seq\":0"), CheckId::Canonical),
        (body.replace("\"seq\":0", "\"\\u0073eq\":0"), CheckId::Canonical),
        (body.replace("\"seq\":0", "\"seq\":9007199254740993"), CheckId::Canonical),
        (format!("{body}\n"), CheckId::Canonical),
        (format!("\u{feff}{body}"), CheckId::Canonical),
        (body.replace("\"seq\":0", "\"seq\":\"0\""), CheckId::Shape),
        (body.replace("\"seq\":0,", ""), CheckId::Shape),
        (body.replace("\"seq\":0", "\"seq\":0,\"sey\":1"), CheckId::Shape),
        (body.replace("\"livemode\":false", "\"livemode\":null"), CheckId::Shape),
        (body.replace("12:00:00.000Z", "12:00:00.000z"), CheckId::Shape),
        (body.replace("12:00:00.000Z", "12:00:60.000Z"), CheckId::Shape),
        (body.replace("12:00:00.000Z", "12:00:00+00:00"), CheckId::Shape),
    ] {
        assert_ne!(spelling, body);
        let report = examine(forge(&spelling, DEED_TYPE).as_bytes(), &trust());
        assert_eq!(
            (report.verdict, faults(&report)),
            (Verdict::Invalid, vec![check]),
            "{spelling}"
        );
    }
}

#[test]
fn the_readable_part_of_a_deed_cannot_say_something_else() {
    let log = Log::of(2);
    let changed = |change: &dyn Fn(&mut Value)| {
        let mut form = log.forms[0].clone();
        change(&mut form);
        verdict(&[form])
    };
    let form = |member: &str, value: &str| {
        changed(&|form| *form.pointer_mut(member).unwrap() = serde_json::from_str(value).unwrap())
    };
    let bad = (Verdict::Invalid, vec![CheckId::Form]);
    assert_eq!(form("/id", "\"deed_01h455vb4pex5vsknk084sn02q\""), bad);
    assert_eq!(form("/kind", "\"action\""), bad);
    assert_eq!(form("/body/livemode", "true"), bad);
    assert_eq!(form("/log/index", "1"), bad);
    assert_eq!(form("/log/origin", "\"x\""), bad);
    let (found, ids) = form("/signature/key_id", "\"kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4l\"");
    assert_eq!((found, ids), (Verdict::Invalid, vec![CheckId::KeyId]));
    let digest = format!("\"{}\"", log.sealed[1].digest);
    assert_eq!(form("/digest", &digest), (Verdict::Invalid, vec![CheckId::Digest]));
    let signature = log.forms[1]["signature"]["value"].to_string();
    let swapped = form("/signature/value", &signature);
    assert_eq!(swapped, (Verdict::Invalid, vec![CheckId::Signature]));
}
