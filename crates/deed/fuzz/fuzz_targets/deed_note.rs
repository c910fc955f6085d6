//! A note, a verifier key and a proof are refused or read back the same, and a checkpoint that
//! opens says what was signed.
#![no_main]

use deed::{Checkpoint, note::NoteKey, tree::TlogProof};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(checkpoint) = Checkpoint::open_with(text, published::keys()) {
        let signed = published::text_of(text).expect("a note");
        assert!(published::signed().checkpoints.contains(signed));
        assert!(signed.starts_with(&format!("{}\n{}\n", checkpoint.log, checkpoint.tree.size)));
    }
    if let Ok(key) = NoteKey::from_vkey(text) {
        assert_eq!(key.to_vkey(), text);
    }
    if let Ok(proof) = TlogProof::parse(text) {
        assert_eq!(proof.to_text(), text);
    }
});
