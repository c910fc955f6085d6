//! Seeded mutation: nothing panics, and whatever holds is the intent that was signed.

use model::Timestamp;

use super::vectors::{NOW, active, agents_key, call, claims};
use crate::{examine, is_compact, key::sign_raw, kid_of, sign};

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
}

const TOKENS: [&str; 12] =
    [".", "=", "null", "{}", "\"", ",", "-1", "1e9", "\\u0000", "é", "\n", "9007199254740993"];

fn mutate(text: &[u8], dice: &mut Dice) -> Vec<u8> {
    let mut bytes = text.to_vec();
    for _ in 0..=dice.roll(3) {
        let from = dice.roll(bytes.len() + 1);
        let to = (from + dice.roll(30)).min(bytes.len());
        match dice.roll(5) {
            0 => bytes.iter_mut().skip(from).take(1).for_each(|byte| *byte ^= 1 << dice.roll(8)),
            1 => drop(bytes.drain(from..to)),
            2 => bytes.truncate(from),
            3 => drop(bytes.splice(from..from, TOKENS[dice.roll(12)].bytes())),
            _ => drop(bytes.splice(from..to, TOKENS[dice.roll(12)].bytes())),
        }
    }
    bytes
}

/// What was changed after it was signed does not hold.
#[test]
fn a_mutated_intent_never_holds() {
    let text = sign(&claims(), &agents_key());
    let now = Timestamp::from_unix_millis(NOW * 1000);
    for seed in 0..3000 {
        let Ok(mutated) = String::from_utf8(mutate(text.as_bytes(), &mut Dice(seed))) else {
            continue;
        };
        let report = examine(&mutated, &active(), &call(), now);
        assert_eq!(report.verified.is_some(), mutated == text, "{seed}: {mutated}");
        let compact = report.checks.iter().filter(|checked| checked.ok).count() >= 2;
        assert_eq!(is_compact(&mutated), compact, "{seed}");
        assert_eq!(kid_of(&mutated).is_some(), report.checks.iter().filter(|c| c.ok).count() >= 3);
    }
}

/// Header and payload that were changed before they were signed hold only if they say the same.
#[test]
fn a_mutated_claim_holds_only_for_what_it_says() {
    let header = serde_json::json!({
        "alg": crate::ALG, "kid": crate::thumbprint(agents_key().public()), "typ": crate::TYP,
    });
    let (header, payload) =
        (header.to_string().into_bytes(), serde_json::json!(claims()).to_string().into_bytes());
    let now = Timestamp::from_unix_millis(NOW * 1000);
    for seed in 0..1500 {
        let mut dice = Dice(seed);
        let changed = if dice.roll(4) == 0 {
            sign_raw(&mutate(&header, &mut dice), &payload, &agents_key())
        } else {
            sign_raw(&header, &mutate(&payload, &mut dice), &agents_key())
        };
        if let Some(verified) = examine(&changed, &active(), &call(), now).verified {
            let told = claims();
            let free = crate::Claims {
                iat: told.iat,
                exp: told.exp,
                jti: told.jti.clone(),
                purpose: None,
                ..verified.claims.clone()
            };
            assert_eq!(free, told, "{seed}");
        }
    }
}
