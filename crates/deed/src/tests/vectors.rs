//! The published vectors, `docs/vectors/`: made here, compared with the files, and read from them.
//!
//! What each case must come out as is written by hand beside it. To write the files again after
//! a change: `UPDATE_EXPECT=1 cargo test -p deed vectors`.

mod archived;
mod cases;
mod edges;
mod intents;
mod misused;
mod refused;

use std::{collections::BTreeSet, fs, path::Path};

use expect_test::expect_file;
use serde_json::{Value, json};

use super::{
    intents::not_shown,
    support::{faults, key_set},
};
use crate::{
    KeySet,
    verify::{CheckId, Trust, examine},
};

#[test]
fn the_published_vectors_are_those_that_this_code_makes() {
    let text = |cases: Vec<cases::Case>| -> String {
        cases.iter().map(|case| case.to_json().to_string() + "\n").collect()
    };
    let log = super::evidence::story();
    expect_file!["../../../../docs/vectors/keys.json"].assert_eq(&key_set().to_json());
    expect_file!["../../../../docs/vectors/valid.jsonl"].assert_eq(&text(
        [
            cases::valid(),
            edges::kept(&log),
            intents::shown(),
            archived::kept_and_archived(),
            archived::amended(),
        ]
        .concat(),
    ));
    expect_file!["../../../../docs/vectors/refused.jsonl"].assert_eq(&text(
        [
            refused::cases(&log),
            misused::cases(&log),
            edges::broken(&log),
            intents::refused(),
            archived::refused(),
        ]
        .concat(),
    ));
}

pub(super) fn published(file: &str) -> Vec<Value> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/vectors");
    let text = fs::read_to_string(folder.join(file)).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

pub(super) fn trust(case: &Value) -> Trust {
    let keys = match &case["keys"] {
        Value::String(name) if name == "keys.json" => Some(key_set()),
        Value::Null => None,
        set => Some(KeySet::parse(set.to_string().as_bytes()).unwrap()),
    };
    Trust {
        keys,
        known_checkpoint: case["known_checkpoint"].as_str().map(str::to_owned),
        expected_size: case["expected_size"].as_u64(),
    }
}

#[test]
fn every_published_vector_comes_out_as_it_says() {
    let cases = [published("valid.jsonl"), published("refused.jsonl")].concat();
    let wrong: Vec<_> = cases.iter().filter_map(difference).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// What came out differently, if anything did.
fn difference(case: &Value) -> Option<String> {
    let report = examine(case["input"].as_str().unwrap().as_bytes(), &trust(case));
    let checks: Vec<_> = faults(&report).into_iter().map(CheckId::as_str).collect();
    // Only where it matters a case tells which intents are not shown, and what is archived.
    let hidden = case.get("not_shown").map(|_| json!(not_shown(&report)));
    let archived = report.archived.iter().map(|part| (part.from, part.to, part.proved));
    let archived = case.get("archived").map(|_| archived.collect::<Vec<_>>());
    let found = json!([report.verdict, report.grade, checks, hidden, archived]);
    let told = ["verdict", "grade", "checks", "not_shown", "archived"].map(|name| &case[name]);
    let told = json!(told);
    (found != told).then(|| format!("{}: {found} and not {told}", case["name"]))
}

#[test]
fn every_check_has_a_vector_that_it_alone_or_with_others_refuses() {
    let refused = published("refused.jsonl");
    assert!(refused.len() >= 60, "{}", refused.len());
    let names: BTreeSet<_> = refused.iter().map(|case| case["name"].as_str().unwrap()).collect();
    assert_eq!(names.len(), refused.len(), "each case has a name of its own");
    let used: BTreeSet<_> = refused
        .iter()
        .flat_map(|case| case["checks"].as_array().unwrap())
        .map(|check| check.as_str().unwrap())
        .collect();
    let all: BTreeSet<_> = CheckId::ALL.iter().map(|check| check.as_str()).collect();
    assert_eq!(used, all);
}
