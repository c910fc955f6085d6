//! Seeded histories of a model of an API: no verdict is better than what stands there.

use std::collections::BTreeMap;

use model::{
    ExecutionErrorCode, Fault, Field, Level, Outcome, ReadBack, ReadBackGap, Report, Resource,
    SideEffect, Verdict, WitnessMethod, WitnessReason as Reason,
};
use serde_json::{Value, json};

use super::world::Dice;
use crate::{Evidence, Finding, MAX_DETAIL_BYTES, Reporter, Seen, judge};

const HISTORIES: u64 = 50_000;
const IDS: u64 = 5;
/// Values of which some are easily taken for others.
const VALUES: [fn() -> Value; 9] = [
    || json!(1),
    || json!("1"),
    || json!(null),
    || json!("x"),
    || json!([1, 2]),
    || json!([2, 1]),
    || json!({"a": 1}),
    || json!(9_007_199_254_740_992_u64),
    || json!(9_007_199_254_740_993_u64),
];

type Pet = BTreeMap<&'static str, Value>;

/// One call of the API, and all that is true of it.
#[derive(Debug)]
struct History {
    outcome: Outcome,
    side_effect: SideEffect,
    read: ReadBack,
    /// What stood there when it was read; nothing where there was no such pet.
    stands: Option<Pet>,
    /// What the call says of it, field by field; nothing of a field of which it says nothing.
    claimed: BTreeMap<&'static str, Option<Value>>,
}

fn value(dice: &mut Dice) -> Value {
    VALUES[dice.place(VALUES.len())]()
}

fn pet(dice: &mut Dice) -> Pet {
    ["name", "kind"].into_iter().map(|field| (field, value(dice))).collect()
}

impl History {
    fn of(seed: u64) -> Self {
        let mut dice = Dice::new(seed + 1);
        let mut pets: BTreeMap<u64, Pet> = BTreeMap::new();
        for _ in 0..dice.below(4) {
            pets.insert(dice.below(IDS), pet(&mut dice));
        }
        let (id, wanted) = (dice.below(IDS), pet(&mut dice));
        let side_effect = if dice.one_in(8) { SideEffect::Destructive } else { SideEffect::Write };
        let applied = !dice.one_in(4);
        if applied && side_effect == SideEffect::Write {
            // Some APIs write something else than they were told to.
            let written = if dice.one_in(6) { pet(&mut dice) } else { wanted.clone() };
            pets.insert(id, written);
        } else if applied {
            pets.remove(&id);
        }
        let fault = || Fault::new(ExecutionErrorCode::ToolError, "it failed");
        let succeeded = || {
            let report = Report::default();
            Outcome::Succeeded { result: json!({}), report }
        };
        let outcome = match dice.below(12) {
            0 => Outcome::Unknown(fault()),
            1 => Outcome::Failed(fault()),
            2 => Outcome::Applied,
            _ => succeeded(),
        };
        let mut claimed: BTreeMap<_, _> =
            wanted.into_iter().map(|(field, value)| (field, Some(value))).collect();
        if dice.one_in(10) {
            claimed.insert("name", None);
        }
        if dice.one_in(10) {
            claimed.remove("kind");
        }
        if dice.one_in(20) {
            claimed.clear();
        }
        // Others write too, before anybody looks.
        for _ in 0..dice.below(2) {
            let other = dice.below(IDS);
            if dice.one_in(2) {
                pets.remove(&other);
            } else {
                pets.insert(other, pet(&mut dice));
            }
        }
        let stands = pets.get(&id).cloned();
        let read = read(&mut dice, stands.as_ref(), &claimed);
        Self { outcome, side_effect, read, stands, claimed }
    }

    fn has_succeeded(&self) -> bool {
        matches!(self.outcome, Outcome::Succeeded { .. })
    }

    /// Whether everything that is claimed stands there, and anything is claimed at all.
    fn is_true(&self) -> bool {
        let stands = |(field, claimed): (&&str, &Option<Value>)| {
            claimed.is_some()
                && self.stands.as_ref().and_then(|pet| pet.get(*field)) == claimed.as_ref()
        };
        self.has_succeeded() && !self.claimed.is_empty() && self.claimed.iter().all(stands)
    }

    /// Whether something that is claimed stands there otherwise, or what is claimed does not stand
    /// there at all.
    fn is_false(&self) -> bool {
        let Some(pet) = &self.stands else { return self.side_effect != SideEffect::Destructive };
        self.claimed.iter().any(|(field, claimed)| {
            claimed.as_ref().is_some_and(|claimed| pet.get(field) != Some(claimed))
        })
    }

    /// Whether all that was to be read was read.
    fn is_whole(&self) -> bool {
        match &self.read {
            ReadBack::Resource(Resource::There(fields)) => {
                fields.iter().all(|field| field.found.is_some() && field.told.is_some())
            }
            ReadBack::Resource(Resource::NotThere) => self.side_effect == SideEffect::Write,
            ReadBack::Unread(_) | ReadBack::Rows(_) => false,
        }
    }

    fn judged(&self) -> Finding {
        judge(&Evidence {
            outcome: &self.outcome,
            reporter: Reporter::Connector,
            side_effect: Some(self.side_effect),
            footprint: None,
            required_level: Level::L1,
            seen: Seen::ReadBack(&self.read),
            max_detail_bytes: MAX_DETAIL_BYTES,
        })
    }
}

/// What is read of the pet, sometimes in part and sometimes not at all.
fn read(
    dice: &mut Dice,
    stands: Option<&Pet>,
    claimed: &BTreeMap<&'static str, Option<Value>>,
) -> ReadBack {
    if dice.one_in(6) {
        return ReadBack::Unread(ReadBackGap::ALL[dice.place(ReadBackGap::ALL.len())]);
    }
    let Some(pet) = stands else { return ReadBack::Resource(Resource::NotThere) };
    let field = |(field, told): (&&str, &Option<Value>)| {
        let found = pet.get(*field).filter(|_| !dice.one_in(10)).cloned();
        Field { place: format!("/{field}"), told: told.clone(), found }
    };
    ReadBack::Resource(Resource::There(claimed.iter().map(field).collect()))
}

#[test]
fn fifty_thousand_histories_of_an_api_give_no_false_verdict() {
    let (mut verified, mut found_out) = (0, 0);
    for seed in 0..HISTORIES {
        let history = History::of(seed);
        let finding = history.judged();
        match finding.verdict {
            Verdict::Verified => {
                assert!(history.is_true(), "seed {seed}: {history:#?} {finding:#?}");
                assert_eq!((finding.level, finding.method), (Level::L1, WitnessMethod::ReadBack));
                verified += 1;
            }
            Verdict::Mismatch => {
                let lies = history.has_succeeded() && history.is_false();
                assert!(lies, "seed {seed}: {history:#?} {finding:#?}");
                found_out += 1;
            }
            Verdict::Unverifiable => {
                let lacks =
                    !history.has_succeeded() || !history.is_whole() || history.claimed.is_empty();
                assert!(lacks, "seed {seed}: {history:#?} {finding:#?}");
            }
        }
    }
    // The test says nothing if hardly anything is verified or found out.
    assert!(verified > HISTORIES / 5 && found_out > HISTORIES / 10, "{verified} {found_out}");
}

fn of(fields: Vec<Field>) -> Finding {
    let history = History {
        outcome: Outcome::Succeeded { result: json!({}), report: Report::default() },
        side_effect: SideEffect::Write,
        read: ReadBack::Resource(Resource::There(fields)),
        stands: None,
        claimed: BTreeMap::new(),
    };
    history.judged()
}

fn field(place: &str, told: Value, found: Value) -> Field {
    Field { place: place.to_owned(), told: Some(told), found: Some(found) }
}

#[test]
fn the_fields_that_differ_are_named_and_come_first() {
    let finding = of(vec![
        field("/id", json!(7), json!(7)),
        field("/name", json!("Rex"), json!("Mia")),
        field("/age", json!(1), json!(2)),
    ]);
    assert_eq!(finding.reasons, [Reason::ValueDiffers]);
    let expected = "The value is not the one that was reported. That is at `/name`, `/age`.";
    assert_eq!(finding.summary, expected);
    let fields = &finding.detail["fields"];
    let first =
        json!({"place": "/name", "expected": "Rex", "observed": "Mia", "result": "value_differs"});
    assert_eq!(fields[0], first);
    assert_eq!((&fields[2]["place"], &fields[2]["result"]), (&json!("/id"), &json!("pass")));
    assert_eq!(finding.detail["fields_left_out"], 0);
    assert_eq!(finding.sources.len(), 1);
}

#[test]
fn numbers_are_compared_digit_for_digit_and_never_with_texts_of_other_digits() {
    let verdict = |told: Value, found: Value| of(vec![field("/n", told, found)]).verdict;
    assert_eq!(verdict(json!(1.0), json!(1)), Verdict::Verified);
    assert_eq!(verdict(json!(1), json!("1")), Verdict::Mismatch);
    assert_eq!(verdict(json!({"a": 1, "b": 2}), json!({"b": 2, "a": 1})), Verdict::Verified);
    let near = (9_007_199_254_740_992_u64, 9_007_199_254_740_993_u64);
    assert_eq!(verdict(json!(near.0), json!(near.1)), Verdict::Mismatch);
}

#[test]
fn a_long_value_stands_in_detail_and_evidence_by_its_digest() {
    let long = json!("x".repeat(2_000));
    let finding = of(vec![field("/text", long.clone(), long)]);
    assert_eq!(finding.verdict, Verdict::Verified);
    let shown = &finding.detail["fields"][0];
    assert_eq!(shown["expected_digest"], shown["observed_digest"]);
    assert!(shown["expected_digest"].as_str().unwrap().starts_with("sha256:"));
    assert!(finding.detail.to_string().len() < 1_500, "{}", finding.detail);
}
