//! Changed deeds: the published vectors with bytes, values and signed bodies changed at random, many
//! of them signed again with the published test keys, so that the checks behind the signature are
//! reached too. What comes out may be valid still; nobody says here what it must come to.

mod intents;
mod signed;
mod text;
mod tree;

use serde_json::Value;

use super::{cases, random::Random, root};
use signed::Signer;
use tree::Words;

/// What the verifiers are asked.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Case {
    /// What is to be judged.
    pub(super) input: Vec<u8>,
    /// The text of the trusted key set, if there is one.
    pub(super) keys: Option<Vec<u8>>,
    /// The known checkpoint, if there is one.
    pub(super) note: Option<String>,
    /// How many deeds the log must have, if that is known.
    pub(super) size: Option<u64>,
}

/// What changed deeds are made from.
pub(super) struct Source {
    vectors: Vec<Case>,
    // Those that were valid, from which a change leads further.
    valid: usize,
    words: Words,
    signer: Signer,
}

impl Source {
    /// The published vectors as a source of changed ones.
    pub(super) fn published() -> Self {
        let published = std::fs::read(root().join("docs/vectors/keys.json")).unwrap();
        let case = |told: &Value| Case {
            input: told["input"].as_str().unwrap().into(),
            keys: match &told["keys"] {
                Value::Null => None,
                Value::String(_) => Some(published.clone()),
                set => Some(set.to_string().into()),
            },
            note: told["known_checkpoint"].as_str().map(str::to_owned),
            size: told["expected_size"].as_u64(),
        };
        let (mut told, refused): (Vec<_>, Vec<_>) =
            cases().into_iter().partition(|case| case["verdict"] == "valid");
        let valid = told.len();
        told.extend(refused);
        Self {
            vectors: told.iter().map(case).collect(),
            valid,
            words: Words::known(),
            signer: Signer::rfc8032(),
        }
    }

    /// The changed case of this seed and number.
    pub(super) fn changed(&self, seed: u64, number: u64) -> Case {
        let mut random = Random::new(seed, number);
        let valid = random.chance(75);
        let mut case =
            self.vectors[random.below(if valid { self.valid } else { self.vectors.len() })].clone();
        match random.below(100) {
            0..60 => self.change_signed(&mut case, &mut random),
            60..75 => text::change(&mut case.input, &mut random),
            75..88 => self.change_form(&mut case, &mut random),
            88..95 => self.change_keys(&mut case, &mut random),
            _ => self.change_note(&mut case, &mut random),
        }
        if random.chance(5) {
            case.size = Some(random.below(9) as u64);
        }
        if random.chance(3) {
            case.keys = None;
        }
        case
    }

    /// Changes what was signed, and signs most of it again.
    fn change_signed(&self, case: &mut Case, random: &mut Random) {
        let Ok(text) = std::str::from_utf8(&case.input) else { return };
        let forms = match serde_json::from_str::<Value>(text) {
            Ok(form) => Ok(vec![form]),
            Err(_) => text.lines().map(serde_json::from_str).collect::<Result<Vec<Value>, _>>(),
        };
        let Ok(mut forms) = forms else { return text::change(&mut case.input, random) };
        let change = signed::Change { words: &self.words, signer: &self.signer };
        change.forms(&mut forms, random);
        if case.note.is_some() && random.chance(60) {
            case.note = self.signer.checkpoint(&forms, random).or(case.note.take());
        }
        case.input = forms.iter().map(|form| form.to_string() + "\n").collect::<String>().into();
    }

    /// Changes what stands beside what was signed.
    fn change_form(&self, case: &mut Case, random: &mut Random) {
        let text = String::from_utf8_lossy(&case.input).into_owned();
        let lines = text.lines().map(|line| match serde_json::from_str::<Value>(line) {
            Ok(mut form) => {
                self.words.change(&mut form, random);
                form.to_string() + "\n"
            }
            Err(_) => line.to_owned() + "\n",
        });
        case.input = lines.collect::<String>().into();
    }

    fn change_keys(&self, case: &mut Case, random: &mut Random) {
        let Some(keys) = &mut case.keys else { return };
        if random.chance(30) {
            return text::change(keys, random);
        }
        let mut set: Value = serde_json::from_slice(keys).unwrap();
        self.words.change(&mut set, random);
        *keys = set.to_string().into();
    }

    fn change_note(&self, case: &mut Case, random: &mut Random) {
        let noted: Vec<_> = self.vectors.iter().filter(|case| case.note.is_some()).collect();
        *case = (*random.pick(&noted)).clone();
        let note = case.note.take().unwrap_or_default();
        let changed = if random.chance(50) {
            let mut bytes = note.into_bytes();
            text::change(&mut bytes, random);
            String::from_utf8_lossy(&bytes).into_owned()
        } else {
            self.signer.changed_note(&note, random)
        };
        case.note = Some(changed);
    }
}
