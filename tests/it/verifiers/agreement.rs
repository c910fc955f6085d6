//! The service's verifier, the Python one and the JavaScript one judge the same changed deeds, and
//! must come to the same verdict, grade, failing checks, intents not shown and archived deeds.
//!
//! `CHANCERY_VERIFIER_CASES` says how many cases, `CHANCERY_VERIFIER_SEED` which ones.

use std::{
    collections::BTreeMap,
    env, fs,
    process::{Command, Stdio},
};

use base64::{Engine, engine::general_purpose::STANDARD};
use deed::{
    KeySet,
    verify::{CheckStatus, IntentShown, Trust, examine},
};
use serde_json::{Value, json};

use super::{
    Folder,
    changes::{Case, Source},
    program, root,
};
use crate::house::number;

/// How many cases one run of a verifier is given.
const BATCH: u64 = 2_000;

#[test]
fn all_three_verifiers_agree_on_changed_deeds() {
    let (Some(python), Some(node)) = (program("CHANCERY_PYTHON"), program("CHANCERY_NODE")) else {
        return;
    };
    let (many, seed) =
        (number("CHANCERY_VERIFIER_CASES", BATCH), number("CHANCERY_VERIFIER_SEED", 1));
    let (source, folder) = (Source::published(), Folder::new("agreement"));
    let mut found: BTreeMap<String, usize> = BTreeMap::new();
    let mut differ = Vec::new();
    for first in (0..many).step_by(usize::try_from(BATCH).unwrap()) {
        let cases: Vec<_> =
            (first..many.min(first + BATCH)).map(|number| source.changed(seed, number)).collect();
        let lines: String = cases.iter().map(|case| asked(case).to_string() + "\n").collect();
        let file = folder.put("cases".to_owned(), &lines);
        let others = [(&python, "drive.py"), (&node, "drive.mjs")].map(|(program, driver)| {
            let path = root().join("tests/it/verifiers").join(driver);
            (driver, started(Command::new(program).arg(path).arg(&file)))
        });
        let ours: Vec<_> = cases.iter().map(judged).collect();
        for (driver, other) in others {
            differ.extend(differing(driver, &cases, (&ours, &other.join().unwrap())));
        }
        for answer in &ours {
            *found.entry(answer["verdict"].as_str().unwrap().to_owned()).or_default() += 1;
            for check in answer["checks"].as_array().unwrap() {
                *found.entry(check.as_str().unwrap().to_owned()).or_default() += 1;
            }
        }
    }
    none_differs(&differ);
    println!("{found:?}");
    // Changes that all end at the first check would show nothing of the others.
    let missed: Vec<_> = CHECKS.iter().filter(|check| !found.contains_key(**check)).collect();
    assert!(many < BATCH || missed.is_empty(), "no case failed {missed:?}");
}

/// Verdicts and checks that changed deeds reach often; the vectors reach the others.
const CHECKS: &[&str] = &[
    "valid",
    "invalid",
    "undecidable",
    "malformed",
    "keys",
    "canonical",
    "shape",
    "honesty",
    "form",
    "digest",
    "key",
    "signature",
    "disclosures",
    "log",
    "sequence",
    "prev",
    "time",
    "amends",
    "archived",
    "intents",
    "checkpoint",
    "root",
    "manifest",
    "inclusion",
    "size",
];

/// The cases on which a verifier differs from ours, with what both come to.
fn differing(driver: &str, cases: &[Case], (ours, others): (&[Value], &[Value])) -> Vec<Value> {
    assert_eq!(ours.len(), others.len(), "{driver}");
    let answers = cases.iter().zip(ours.iter().zip(others));
    let told = |(case, (ours, other))| json!({ "case": asked(case), "ours": ours, driver: other });
    answers.filter(|(_, (ours, other))| ours != other).map(told).collect()
}

/// Fails with the first of these cases, and keeps them all in a file.
fn none_differs(differing: &[Value]) {
    let Some(first) = differing.first() else { return };
    let kept = env::temp_dir().join("chancery-verifiers-differ.jsonl");
    let lines: String = differing.iter().map(|case| case.to_string() + "\n").collect();
    fs::write(&kept, lines).unwrap();
    let input = STANDARD.decode(first["case"]["input"].as_str().unwrap()).unwrap();
    panic!(
        "{} cases differ, see `{}`; the first is\n{}\n{first}",
        differing.len(),
        kept.display(),
        shown(&input)
    );
}

/// Runs a verifier beside this thread and returns what it prints.
fn started(command: &mut Command) -> std::thread::JoinHandle<Vec<Value>> {
    let child = command.env("PYTHONDONTWRITEBYTECODE", "1").stdout(Stdio::piped()).spawn().unwrap();
    std::thread::spawn(move || {
        let output = child.wait_with_output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines().map(|line| line.parse().unwrap()).collect()
    })
}

/// The case as the drivers read it.
fn asked(case: &Case) -> Value {
    json!({
        "input": STANDARD.encode(&case.input),
        "keys": case.keys.as_ref().map(|keys| STANDARD.encode(keys)),
        "note": case.note,
        "size": case.size,
    })
}

/// What our verifier comes to.
fn judged(case: &Case) -> Value {
    let Ok(keys) = case.keys.as_ref().map(|keys| KeySet::parse(keys)).transpose() else {
        return json!({
            "verdict": "keys", "grade": null, "checks": [], "not_shown": [], "archived": [],
        });
    };
    let trust = Trust { keys, known_checkpoint: case.note.clone(), expected_size: case.size };
    let report = examine(&case.input, &trust);
    let failing = report.checks.iter().filter(|check| check.status != CheckStatus::Passed);
    let checks: Vec<_> = failing.map(|check| check.id).collect();
    let hidden = report.deeds.iter().filter(|deed| deed.intent == Some(IntentShown::NotShown));
    let hidden: Vec<_> = hidden.map(|deed| deed.seq).collect();
    let archived = report.archived.iter().map(|part| (part.from, part.to, part.proved));
    json!({
        "verdict": report.verdict, "grade": report.grade, "checks": checks, "not_shown": hidden,
        "archived": archived.collect::<Vec<_>>(),
    })
}

/// The input with its payloads, for a person.
fn shown(input: &[u8]) -> String {
    let mut text = String::from_utf8_lossy(input).into_owned();
    let payloads: Vec<_> = text
        .split('"')
        .filter(|part| part.len() > 100)
        .filter_map(|part| STANDARD.decode(part).ok())
        .map(|payload| String::from_utf8_lossy(&payload).into_owned())
        .collect();
    text.push_str("\n\n");
    text + &payloads.join("\n")
}
