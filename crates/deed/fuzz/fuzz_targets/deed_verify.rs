//! Whatever comes in, the verifier answers, and nothing it calls valid was not sealed.
#![no_main]

use deed::verify::{Trust, Verdict, verify};
use libfuzzer_sys::fuzz_target;

const KEYS: &str = include_str!("../../../../docs/vectors/keys.json");

fuzz_target!(|data: &[u8]| {
    let keys = deed::KeySet::parse(KEYS.as_bytes()).expect("the published keys");
    let report = verify(data, &Trust { keys: Some(keys), ..Trust::default() });
    assert!(report.grade.is_none() || report.verdict == Verdict::Valid);
    let _ = deed::verify::envelopes(data);
});
