//! Whatever comes in, the verifier answers; and what it calls valid was signed, and repeats the
//! payload in every member beside it.
//!
//! What may differ from a valid text in one that is valid too: spacing and escapes outside the
//! payload, the order of members outside it, which disclosures are shown, whether a deed is in
//! its API form or bare, and how much of a log there is at its two ends.
#![no_main]

use base64::{Engine, engine::general_purpose::STANDARD};
use deed::verify::{Grade, Report, Verdict, envelopes, verify};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

fuzz_target!(|data: &[u8]| {
    let report = verify(data, &published::trust());
    assert_eq!(report.grade.is_some(), report.verdict == Verdict::Valid);
    let bare = envelopes(data);
    assert!(bare.is_err() || report.verdict != Verdict::Malformed);
    if report.verdict == Verdict::Valid {
        let bare = bare.expect("the envelopes of what is valid");
        let signed = &published::signed().payloads;
        assert!(bare.iter().all(|envelope| signed.contains(&envelope.payload)));
        repeats(data, &bare);
        chained(&report);
    }
});

/// An API form is the one that its payload, signature and disclosures make.
fn repeats(data: &[u8], bare: &[deed::Envelope]) {
    let Ok(form) = serde_json::from_slice::<Value>(data) else { return };
    if form["object"] != "deed" {
        return;
    }
    let body = STANDARD.decode(&bare[0].payload).expect("base64");
    let signature = STANDARD.decode(&bare[0].signatures[0].sig).expect("base64");
    let made = deed::api_form(
        std::str::from_utf8(&body).expect("a text"),
        &signature.try_into().expect("64 bytes"),
        &[],
    );
    let mut shown = form;
    shown["disclosures"] = Value::Array(vec![]);
    assert_eq!(made, Ok(shown));
}

/// Lines that are valid follow each other without a gap.
fn chained(report: &Report) {
    if report.grade == Some(Grade::Chained) {
        assert!(report.deeds.windows(2).all(|pair| pair[1].seq == pair[0].seq + 1));
    }
}
