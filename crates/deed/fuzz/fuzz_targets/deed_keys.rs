//! A key set is refused or read back the same, every key under its own thumbprint and once.
#![no_main]

use std::collections::BTreeSet;

use deed::{KeySet, thumbprint};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok(keys) = KeySet::parse(data) else { return };
    let written = keys.to_json();
    assert_eq!(KeySet::parse(written.as_bytes()).as_ref(), Ok(&keys));
    // Nothing but spacing, escapes and the order of members may have differed.
    let read = crypto::json::parse(data).expect("strict JSON");
    assert_eq!(read.to_string(), written);
    let kids: BTreeSet<_> = keys.keys().iter().map(|key| thumbprint(&key.public)).collect();
    assert_eq!(kids.len(), keys.keys().len());
    assert!(kids.iter().all(|kid| keys.find(kid).is_some_and(|key| key.kid() == *kid)));
});
