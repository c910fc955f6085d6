//! Seeded mutation: nothing panics, and what still counts says what it said before.

use std::collections::BTreeSet;

use super::{
    evidence::{evidence, story},
    support::{CHECKPOINT_SEED, DEED_SEED, key_file, key_set, private_keys, trust},
};
use crate::{
    Body, Checkpoint, Disclosure, KeySet, Purpose, SealKeys,
    note::{self, NoteKey},
    tree::TlogProof,
    verify::{Trust, Verdict, examine},
};

/// A small generator (splitmix64): the same mutations in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % below.max(1) as u64).unwrap()
    }

    fn range(&mut self, within: usize) -> std::ops::Range<usize> {
        let (from, length) = (self.roll(within + 1), self.roll(40));
        from..(from + length).min(within)
    }
}

const TOKENS: [&str; 16] = [
    "null",
    "{}",
    "[]",
    "\"\"",
    "0",
    "-1",
    "1e9",
    "9007199254740993",
    "\\u0000",
    "\\ud800",
    "\n",
    "\n\n",
    "=",
    ",",
    "\u{2014} ",
    "{\"object\":\"deed\"}",
];

fn mutate(text: &[u8], dice: &mut Dice) -> Vec<u8> {
    let mut bytes = text.to_vec();
    for _ in 0..=dice.roll(3) {
        let (range, place) = (dice.range(bytes.len()), dice.roll(bytes.len() + 1));
        match dice.roll(6) {
            0 => bytes.iter_mut().skip(place).take(1).for_each(|byte| *byte ^= 1 << dice.roll(8)),
            1 => drop(bytes.drain(range)),
            2 => {
                let copy = bytes[range].to_vec();
                bytes.splice(place..place, copy);
            }
            3 => bytes.truncate(place),
            4 => drop(bytes.splice(place..place, TOKENS[dice.roll(16)].bytes())),
            _ => drop(bytes.splice(range, TOKENS[dice.roll(16)].bytes())),
        }
    }
    bytes
}

fn for_each_mutation(text: &str, times: u64, mut check: impl FnMut(&[u8])) {
    for seed in 0..times {
        check(&mutate(text.as_bytes(), &mut Dice(seed)));
    }
}

#[test]
fn a_mutated_input_never_makes_a_deed_that_was_not_sealed() {
    let log = story();
    let sealed: BTreeSet<_> = log.sealed.iter().map(|deed| deed.digest).collect();
    let trust = Trust { known_checkpoint: Some(log.checkpoint()), ..trust() };
    let inputs = [
        (log.forms[0].to_string(), 1500),
        (log.forms[2].to_string(), 500),
        (log.lines(), 300),
        (evidence(&log, &[2, 4], &[]).to_string(), 300),
    ];
    let mut verdicts = BTreeSet::new();
    for (input, times) in inputs {
        for_each_mutation(&input, times, |bytes| {
            let report = examine(bytes, &trust);
            verdicts.insert(format!("{:?}", report.verdict));
            let all_sealed = report.deeds.iter().all(|deed| sealed.contains(&deed.digest));
            assert!(report.verdict != Verdict::Valid || all_sealed, "{report:?}");
        });
    }
    assert!(verdicts.contains("Malformed") && verdicts.contains("Invalid"), "{verdicts:?}");
}

#[test]
fn a_body_that_is_read_is_written_the_same() {
    let log = story();
    let (mut read, mut parsed) = (0, 0);
    for deed in [&log.sealed[0], &log.sealed[2], &log.sealed[4]] {
        for_each_mutation(&deed.body, 1000, |bytes| {
            let value = crypto::json::parse(bytes);
            if let Ok(body) = Body::read(bytes) {
                assert_eq!(body.write().unwrap().as_bytes(), bytes);
                // Step by step, the slow way, comes to the same.
                let value = value.clone().unwrap();
                assert_eq!(crypto::json::canonical_generally(&value), bytes);
                assert_eq!(serde_json::from_value::<Body>(value).unwrap(), body);
                read += 1;
            }
            if let Ok(value) = value {
                let canonical = crypto::json::canonical(&value);
                assert_eq!(crypto::json::parse(&canonical), Ok(value));
                parsed += 1;
            }
        });
    }
    // Some mutations are harmless to the form, and some to the reader of JSON alone.
    assert!(0 < read && read < parsed, "{read} read, {parsed} parsed");
}

#[test]
fn a_mutated_file_of_evidence_is_never_valid_by_its_own_keys() {
    let log = story();
    let mut found = 0;
    for_each_mutation(&evidence(&log, &[2, 4], &[]).to_string(), 300, |bytes| {
        let report = examine(bytes, &Trust::default());
        assert_ne!(report.verdict, Verdict::Valid);
        found += u32::from(report.verdict == Verdict::Invalid);
    });
    assert!(found > 0, "its own keys show that it is broken");
}

#[test]
fn a_note_that_opens_says_what_was_signed() {
    let log = story();
    let signed = log.checkpoint();
    let text = signed.split_once("\n\n").unwrap().0.to_owned() + "\n";
    let keys = private_keys();
    let (_, key) = keys.keys().nth(1).unwrap();
    let key = NoteKey::new(log.head.log().as_str(), *key.public()).unwrap();
    for_each_mutation(&signed, 3000, |bytes| {
        let Ok(note) = std::str::from_utf8(bytes) else { return };
        if let Ok(opened) = note::open(note, std::slice::from_ref(&key)) {
            assert_eq!(opened, text);
        }
        if let Ok(checkpoint) = Checkpoint::open_with(note, &key_set()) {
            assert_eq!(checkpoint, Checkpoint::of(&log.head));
        }
    });
    for_each_mutation(&key.to_vkey(), 1000, |bytes| {
        if let Some(Ok(read)) = std::str::from_utf8(bytes).ok().map(NoteKey::from_vkey) {
            assert_eq!(read.to_vkey().as_bytes(), bytes);
        }
    });
}

#[test]
fn other_texts_are_refused_or_read_back_the_same() {
    let log = story();
    for_each_mutation(&key_set().to_json(), 2000, |bytes| {
        if let Ok(keys) = KeySet::parse(bytes) {
            assert_eq!(KeySet::parse(keys.to_json().as_bytes()), Ok(keys));
        }
    });
    let proof =
        TlogProof { index: 3, path: vec![log.sealed[0].digest; 3], checkpoint: log.checkpoint() };
    for_each_mutation(&proof.to_text(), 2000, |bytes| {
        if let Some(Ok(proof)) = std::str::from_utf8(bytes).ok().map(TlogProof::parse) {
            assert_eq!(proof.to_text().as_bytes(), bytes);
        }
    });
    for_each_mutation(&log.opened[2][0].text(), 2000, |bytes| {
        let text = String::from_utf8_lossy(bytes).into_owned();
        if let Ok(open) = Disclosure::from_text(text.clone()) {
            assert_eq!(open.text(), text);
        }
    });
    let seeds = [(Purpose::Deed, DEED_SEED), (Purpose::Checkpoint, CHECKPOINT_SEED)];
    let (mut read, mut refused) = (0, 0);
    for_each_mutation(&key_file(&seeds), 2000, |bytes| {
        match SealKeys::from_pem(&String::from_utf8_lossy(bytes)) {
            Ok(keys) => {
                let made_for = |purpose| keys.keys().any(|(own, _)| own == purpose);
                assert!(made_for(Purpose::Deed) && made_for(Purpose::Checkpoint));
                read += 1;
            }
            Err(_) => refused += 1,
        }
    });
    assert!(read > 0 && refused > 0, "{read} read, {refused} refused");
}
