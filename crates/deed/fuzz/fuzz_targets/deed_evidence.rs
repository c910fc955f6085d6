//! A file of evidence is answered too: with nothing but its own keys it is never valid, and with
//! the published ones only if deeds, list and checkpoint are what those keys signed.
#![no_main]

use deed::verify::{Trust, Verdict, envelopes, examine};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

fuzz_target!(|data: &[u8]| {
    // Keys that a file brings itself prove nothing.
    assert_ne!(examine(data, &Trust::default()).verdict, Verdict::Valid);
    let report = examine(data, &published::trust());
    if report.verdict != Verdict::Valid {
        return;
    }
    let signed = &published::signed().payloads;
    let bare = envelopes(data).expect("the envelopes of what is valid");
    assert!(bare.iter().all(|envelope| signed.contains(&envelope.payload)));
    let Ok(file) = serde_json::from_slice::<Value>(data) else { return };
    if file["object"] == "evidence" {
        let list = file["manifest"]["payload"].as_str().expect("a list");
        assert!(signed.contains(list));
        assert_eq!(file["proofs"].as_array().map(Vec::len), Some(bare.len()));
    }
});
