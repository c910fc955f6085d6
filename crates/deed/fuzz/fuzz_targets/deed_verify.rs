//! Whatever comes in, the verifier answers; and what it calls valid was signed, and repeats the
//! payload in every member beside it.
//!
//! What may differ from a valid text in one that is valid too: spacing and escapes outside the
//! payload, the order of members outside it, which disclosures are shown, whether a deed is in
//! its API form or bare, and how much of a log there is at its two ends.
#![no_main]

use base64::{Engine, engine::general_purpose::STANDARD};
use deed::{
    Envelope,
    verify::{Grade, Report, Verdict, envelopes, examine},
};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

fuzz_target!(|data: &[u8]| {
    let report = examine(data, &published::trust());
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
fn repeats(data: &[u8], bare: &[Envelope]) {
    let text = std::str::from_utf8(data).expect("a text");
    let read = |text: &str| serde_json::from_str::<Value>(text);
    let shown = match read(text) {
        Ok(one) => vec![one],
        Err(_) => text.lines().filter_map(|line| read(line).ok()).collect(),
    };
    if shown[0]["object"] == "evidence" {
        return;
    }
    let deeds = shown.into_iter().filter(|shown| shown["object"] != "archived_deeds");
    let shown: Vec<_> = deeds.collect();
    assert_eq!(shown.len(), bare.len());
    for (mut shown, envelope) in shown.into_iter().zip(bare) {
        if shown["object"] == "deed" {
            shown["disclosures"] = Value::Array(vec![]);
            assert_eq!(made(envelope), shown);
        }
    }
}

fn made(envelope: &Envelope) -> Value {
    let decoded = |text: &str| STANDARD.decode(text).expect("base64");
    let body = String::from_utf8(decoded(&envelope.payload)).expect("a text");
    let signature = decoded(&envelope.signatures[0].sig).try_into().expect("64 bytes");
    deed::api_form(&body, &signature, &[]).expect("a body that was read")
}

/// Lines that are valid follow each other without a gap, but for what is archived and proved.
fn chained(report: &Report) {
    if report.grade == Some(Grade::Chained) {
        let follows = |end: u64, seq: u64| {
            let filled = report.archived.iter().filter(|part| part.proved && part.from >= end);
            let end = filled.take_while(|part| part.to <= seq).fold(end, |end, part| {
                assert_eq!(part.from, end);
                part.to
            });
            end == seq
        };
        assert!(report.deeds.windows(2).all(|pair| follows(pair[0].seq + 1, pair[1].seq)));
    }
}
