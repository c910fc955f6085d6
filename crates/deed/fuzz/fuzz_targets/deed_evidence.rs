//! A file of evidence is answered too, with nothing but the keys it brings.
#![no_main]

use deed::verify::{Trust, Verdict, verify};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    // Keys that a file brings itself prove nothing.
    assert_ne!(verify(data, &Trust::default()).verdict, Verdict::Valid);
});
