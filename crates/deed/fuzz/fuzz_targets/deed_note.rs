//! A note, a verifier key, a proof and a key set are refused or read back the same.
#![no_main]

use deed::{Checkpoint, KeySet, note::NoteKey, tree::TlogProof};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let _ = Checkpoint::open_with(text, &KeySet::default());
    if let Ok(key) = NoteKey::from_vkey(text) {
        assert_eq!(key.to_vkey(), text);
    }
    if let Ok(proof) = TlogProof::parse(text) {
        assert_eq!(proof.to_text(), text);
    }
    if let Ok(keys) = KeySet::parse(text.as_bytes()) {
        assert_eq!(KeySet::parse(keys.to_json().as_bytes()), Ok(keys));
    }
});
