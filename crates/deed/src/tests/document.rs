//! `docs/deed-format.md` tells the truth: its tables are the code's, its shell lines work.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use base64::{Engine, engine::general_purpose::STANDARD};
use model::{
    ApprovalStatus, Assurance, Attestation, DecisionCode, DecisionOutcome, DecisionSource,
    DeedKind, ExecutionStatus, IntentMode, Level, Mode, SideEffect, Verdict, WitnessMethod,
};
use serde_json::{Value, json};

use super::support::{Log, amendment_of, key_set};
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

/// The shell block that follows this heading.
fn shell(heading: &str) -> &'static str {
    let (_, section) = DOCUMENT.split_once(heading).expect(heading);
    let (_, block) = section.split_once("```sh\n").expect("a shell block");
    block.split_once("```").expect("the block's end").0
}

fn run(lines: &str, folder: &Path) -> Output {
    Command::new("sh").args(["-eu", "-c", lines]).current_dir(folder).output().unwrap()
}

fn has(program: &str) -> bool {
    Command::new(program).arg("--help").output().is_ok()
}

/// A folder of its own, gone at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("deed-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn put(&self, name: &str, value: &Value) {
        fs::write(self.0.join(name), value.to_string()).unwrap();
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn flipped(base64: &Value, place: usize) -> Value {
    let mut bytes = STANDARD.decode(base64.as_str().unwrap()).unwrap();
    bytes[place] ^= 1;
    json!(STANDARD.encode(bytes))
}

#[test]
fn the_shell_lines_accept_a_good_deed_and_refuse_changed_ones() {
    if !(has("openssl") && has("jq")) {
        println!("left out: the document's shell lines need openssl and jq");
        return;
    }
    let mut log = Log::new();
    log.seal(|mint| specimen::action(mint).unwrap()).unwrap();
    let folder = Folder::new("shell");
    folder.put("keys.json", &serde_json::from_str(&key_set().to_json()).unwrap());
    let check = |form: &Value| {
        folder.put("deed.json", form);
        run(shell("## Check one deed with a shell"), &folder.0)
    };
    let good = &log.forms[0];
    let output = check(good);
    assert!(output.status.success(), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stdout).ends_with("valid\n"), "{output:?}");
    let refused = |change: &dyn Fn(&mut Value)| {
        let mut form = good.clone();
        change(&mut form);
        let output = check(&form);
        assert!(!output.status.success(), "{output:?}");
    };
    refused(&|form| form["payload"] = flipped(&form["payload"], 300));
    refused(&|form| form["signature"]["value"] = flipped(&form["signature"]["value"], 3));
    refused(&|form| form["digest"] = json!("sha256:00"));
    let mut keys: Value = serde_json::from_str(&key_set().to_json()).unwrap();
    keys["keys"][0]["revoked_at"] = json!("2026-10-02T00:00:00.000Z");
    folder.put("keys.json", &keys);
    refused(&|_| ());
    keys["keys"][0]["revoked_at"] = json!(null);
    keys["keys"][0]["retired_at"] = json!("2026-10-01T12:00:00.000Z");
    folder.put("keys.json", &keys);
    refused(&|_| ());
}

#[test]
fn the_shell_lines_open_a_commitment() {
    if !has("jq") {
        println!("left out: the document's shell lines need jq");
        return;
    }
    let mut log = Log::new();
    log.seal(specimen::admin).unwrap();
    let folder = Folder::new("disclosure");
    let lines = shell("## Commitments and disclosures");
    folder.put("deed.json", &log.forms[0]);
    let output = run(lines, &folder.0);
    assert!(output.status.success(), "{output:?}");
    let mut form = log.forms[0].clone();
    form["disclosures"][1] = flipped(&form["disclosures"][1], 70);
    folder.put("deed.json", &form);
    assert!(!run(lines, &folder.0).status.success());
}
