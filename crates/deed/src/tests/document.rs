//! `docs/deed-format.md` tells the truth: its tables are the code's, its shell lines work.

mod shell;

use std::collections::BTreeSet;

use model::{
    ApprovalStatus, Assurance, Attestation, DecisionCode, DecisionOutcome, DecisionSource,
    DeedKind, ExecutionStatus, IntentMode, Level, Mode, SideEffect, Verdict, WitnessMethod,
};
use serde_json::{Value, json};

use super::support::{Log, amendment_of};
use crate::{
    honesty_rules, specimen,
    verify::{CheckId, REQUIRED},
};

const DOCUMENT: &str = include_str!("../../../../docs/deed-format.md");
const RULES: &str = include_str!("../../../../docs/verifiers/rules.json");
const SHAPES: &str = include_str!("../../../../docs/verifiers/shapes.json");

#[test]
fn the_tables_of_checks_and_rules_are_complete() {
    for check in CheckId::ALL {
        let row = format!("| `{}` | {} |", check.as_str(), check.asserts());
        assert!(DOCUMENT.contains(&row), "the table of checks lacks\n{row}");
    }
    for (rule, sentence) in honesty_rules() {
        let row = format!("| `{rule}` | {sentence} |");
        assert!(DOCUMENT.contains(&row), "the table of honesty rules lacks\n{row}");
    }
}

#[test]
fn what_a_valid_verdict_needs_stands_alike_in_the_code_the_document_and_the_other_verifiers() {
    let rules: Value = serde_json::from_str(RULES).unwrap();
    let mut named = serde_json::Map::new();
    for (of, words, checks) in REQUIRED {
        let listed: Vec<_> = checks.iter().map(|check| check.as_str()).collect();
        let row = format!("| {words} | `{}` |", listed.join("`, `"));
        assert!(DOCUMENT.contains(&row), "the table of required checks lacks\n{row}");
        named.insert(format!("{of:?}").to_lowercase(), json!(listed));
    }
    assert_eq!(rules["required"], Value::Object(named));
    let used: BTreeSet<_> = REQUIRED.iter().flat_map(|(_, _, checks)| *checks).collect();
    assert_eq!(used, CheckId::ALL.iter().collect(), "every check is required of something");
}

#[test]
fn every_member_of_every_kind_is_described() {
    let mut log = Log::new();
    let first = log.seal(|mint| specimen::action(mint).unwrap()).unwrap();
    log.seal(specimen::admin).unwrap();
    log.seal(amendment_of(&first)).unwrap();
    for form in &log.forms {
        for name in names(&form["body"]) {
            assert!(DOCUMENT.contains(&format!("`{name}`")), "no word of the member `{name}`");
        }
    }
}

#[test]
fn the_published_shapes_know_every_word_that_a_deed_may_hold() {
    let shapes: Value = serde_json::from_str(SHAPES).unwrap();
    let words = |pointer: &str| {
        let shape = shapes.pointer(pointer).unwrap_or_else(|| panic!("no {pointer}"));
        let texts = shape.as_array().cloned().unwrap_or_else(|| vec![shape.clone()]);
        let texts = texts.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("|");
        texts.split('|').map(str::to_owned).collect::<BTreeSet<_>>()
    };
    for (pointer, known) in [
        ("/code", DecisionCode::WORDS),
        ("/outcome", DecisionOutcome::WORDS),
        ("/decision/source", DecisionSource::WORDS),
        ("/approval/status", ApprovalStatus::WORDS),
        ("/approval/decisions/0/assurance", Assurance::WORDS),
        ("/execution/status", ExecutionStatus::WORDS),
        ("/execution/attestation", Attestation::WORDS),
        ("/witness/level", Level::WORDS),
        ("/witness/verdict", Verdict::WORDS),
        ("/witness/method", WitnessMethod::WORDS),
        ("/action/mode", Mode::WORDS),
        ("/action/side_effect", SideEffect::WORDS),
        ("/action/intent/mode", IntentMode::WORDS),
        ("/every/kind", DeedKind::WORDS),
    ] {
        let known: BTreeSet<_> = known.iter().map(|word| (*word).to_owned()).collect();
        assert_eq!(words(pointer), known, "{pointer}");
    }
}

/// Every member name of the value, without those that `data` holds.
fn names(value: &Value) -> Vec<String> {
    match value {
        Value::Object(members) => members
            .iter()
            .flat_map(|(name, value)| {
                let inner = if name == "data" { vec![] } else { names(value) };
                [vec![name.clone()], inner].concat()
            })
            .collect(),
        Value::Array(items) => items.iter().flat_map(names).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => vec![],
    }
}
