//! Writes what the fuzz targets begin from: the parts of the published vectors, one file each.
//! `cargo xtask fuzz` runs it; the vectors themselves are made by the tests.

use std::{
    error::Error,
    fs,
    path::{Path, PathBuf},
};

use base64::{Engine, engine::general_purpose::STANDARD};
use deed::{KeySet, SealKeys, note::NoteKey, verify::envelopes};
use serde_json::Value;

const KEYS: &str = include_str!("../../../docs/vectors/keys.json");
const VECTORS: [&str; 2] = [
    include_str!("../../../docs/vectors/valid.jsonl"),
    include_str!("../../../docs/vectors/refused.jsonl"),
];

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args_os().nth(1).ok_or("expected the folder to write to")?;
    let mut seeds = Seeds { folder: PathBuf::from(folder), written: 0 };
    let keys = KeySet::parse(KEYS.as_bytes())?;
    for line in VECTORS.iter().flat_map(|file| file.lines()) {
        seeds.of_case(&serde_json::from_str(line)?)?;
    }
    seeds.put("deed_keys", KEYS)?;
    for key in keys.keys() {
        seeds.put("deed_note", NoteKey::new("specimen.example", key.public)?.to_vkey())?;
    }
    seeds.put("deed_key_file", SealKeys::generate_pem(&Same).expose())
}

/// Entropy that is always the same: the keys made with it seal nothing.
struct Same;

impl model::Entropy for Same {
    fn fill(&self, buffer: &mut [u8]) {
        buffer.fill(7);
    }
}

struct Seeds {
    folder: PathBuf,
    written: u32,
}

impl Seeds {
    fn of_case(&mut self, case: &Value) -> Result<(), Box<dyn Error>> {
        let input = text(case, "input").unwrap_or_default();
        let value: Value = serde_json::from_str(input).unwrap_or_default();
        let is_evidence = text(&value, "object") == Some("evidence");
        self.put(if is_evidence { "deed_evidence" } else { "deed_verify" }, input)?;
        for envelope in envelopes(input.as_bytes()).unwrap_or_default() {
            self.put("deed_body", STANDARD.decode(envelope.payload)?)?;
        }
        for shown in texts(&value, "disclosures") {
            self.put("deed_disclosure", STANDARD.decode(shown).unwrap_or_default())?;
        }
        let known = text(case, "known_checkpoint");
        for shown in texts(&value, "proofs").chain(known) {
            self.put("deed_note", shown)?;
        }
        if let Some(keys) = case.get("keys").filter(|keys| keys.is_object()) {
            self.put("deed_keys", keys.to_string())?;
        }
        Ok(())
    }

    fn put(&mut self, target: &str, text: impl AsRef<[u8]>) -> Result<(), Box<dyn Error>> {
        let folder: &Path = &self.folder.join(target);
        fs::create_dir_all(folder)?;
        self.written += 1;
        Ok(fs::write(folder.join(format!("vector-{}", self.written)), text)?)
    }
}

fn text<'a>(object: &'a Value, member: &str) -> Option<&'a str> {
    object.get(member).and_then(Value::as_str)
}

fn texts<'a>(object: &'a Value, member: &str) -> impl Iterator<Item = &'a str> {
    let list = object.get(member).and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_str)
}
