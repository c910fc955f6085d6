//! What the published vectors hold: the keys to check with, and everything that those keys ever
//! signed. A fuzzer cannot sign, so what counts afterwards must be among this.

use std::{collections::BTreeSet, sync::LazyLock};

use deed::{
    Checkpoint, KeySet,
    tree::TlogProof,
    verify::{Trust, envelopes},
};
use serde_json::Value;

/// The published key set, as text.
pub const KEYS: &str = include_str!("../../../../docs/vectors/keys.json");
const VALID: &str = include_str!("../../../../docs/vectors/valid.jsonl");
const REFUSED: &str = include_str!("../../../../docs/vectors/refused.jsonl");

/// What the published keys signed, as the vectors have it.
pub struct Signed {
    /// The payloads of deeds and lists, in base64.
    pub payloads: BTreeSet<String>,
    /// The texts of checkpoints.
    pub checkpoints: BTreeSet<String>,
}

/// The published keys.
pub fn keys() -> &'static KeySet {
    static KEY_SET: LazyLock<KeySet> =
        LazyLock::new(|| KeySet::parse(KEYS.as_bytes()).expect("the published keys"));
    &KEY_SET
}

/// What a verifier is given that trusts the published keys.
pub fn trust() -> Trust {
    Trust { keys: Some(keys().clone()), ..Trust::default() }
}

/// What the published keys signed.
pub fn signed() -> &'static Signed {
    static SIGNED: LazyLock<Signed> = LazyLock::new(collect);
    &SIGNED
}

fn collect() -> Signed {
    let mut signed = Signed { payloads: BTreeSet::new(), checkpoints: BTreeSet::new() };
    for line in VALID.lines().chain(REFUSED.lines()) {
        let case: Value = serde_json::from_str(line).expect("a vector");
        let input = case["input"].as_str().expect("an input");
        for envelope in envelopes(input.as_bytes()).unwrap_or_default() {
            signed.payloads.insert(envelope.payload);
        }
        let file: Value = serde_json::from_str(input).unwrap_or_default();
        let list = file["manifest"]["payload"].as_str().map(str::to_owned);
        signed.payloads.extend(list);
        let proofs = file["proofs"].as_array().into_iter().flatten();
        let proofs = proofs.filter_map(|proof| TlogProof::parse(proof.as_str()?).ok());
        let known = case["known_checkpoint"].as_str().map(str::to_owned);
        for note in proofs.map(|proof| proof.checkpoint).chain(known) {
            if Checkpoint::open_with(&note, keys()).is_ok() {
                signed.checkpoints.extend(text_of(&note).map(str::to_owned));
            }
        }
    }
    signed
}

/// A note without its signatures.
pub fn text_of(note: &str) -> Option<&str> {
    note.rsplit_once("\n\n").map(|(text, _)| text)
}
