//! The published vectors judged by programs that share no code with ours: the verifiers of
//! `docs/verifiers` in Python, in Node and in a browser, and a DSSE library of other people.
//!
//! `cargo xtask test` installs what they need and names it; what is not named is left out.

mod agreement;
mod changes;
mod left_out;
mod random;

use std::{
    fs,
    path::PathBuf,
    process::{Command, Output},
};

use base64::{Engine, engine::general_purpose::STANDARD};
use deed::verify::CheckId;
use serde_json::{Value, json};

use crate::house::{program, root};

/// Runs a command to its end and returns each line of JSON that it printed.
fn printed(command: &mut Command) -> Vec<Value> {
    let Output { status, stdout, stderr } = command.output().unwrap();
    assert!(status.success(), "{}", String::from_utf8_lossy(&stderr));
    let text = String::from_utf8(stdout).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn cases() -> Vec<Value> {
    let read = |name| fs::read_to_string(root().join("docs/vectors").join(name)).unwrap();
    let texts = [read("valid.jsonl"), read("refused.jsonl")];
    texts.iter().flat_map(|text| text.lines()).map(|line| line.parse().unwrap()).collect()
}

/// Every case comes out of the verifier as the published file tells.
fn agrees(command: &mut Command) {
    let found = printed(command.arg("--vectors").arg(root().join("docs/vectors")));
    let told: Vec<_> = cases()
        .iter()
        .map(|case| {
            let member = |name: &str| case[name].clone();
            json!({
                "name": member("name"),
                "verdict": member("verdict"),
                "grade": member("grade"),
                "checks": member("checks"),
            })
        })
        .collect();
    assert!(told.len() > 100, "the vectors are not there");
    // Only where it matters a case tells which intents are not shown, and what is archived.
    let mut found = found;
    for (found, case) in found.iter_mut().zip(cases()) {
        for name in ["not_shown", "archived"] {
            let said = found.as_object_mut().unwrap().remove(name).unwrap();
            if let Some(told) = case.get(name) {
                assert_eq!(&said, told, "{}", case["name"]);
            }
        }
    }
    let differing: Vec<_> = found.iter().zip(&told).filter(|(found, told)| found != told).collect();
    assert!(differing.is_empty(), "{differing:#?}");
    assert_eq!(found.len(), told.len());
}

#[test]
fn the_python_verifier_agrees_on_every_vector() {
    let Some(python) = program("CHANCERY_PYTHON") else { return };
    agrees(Command::new(python).arg("-B").arg(root().join("docs/verifiers/verify.py")));
}

#[test]
fn the_javascript_verifier_agrees_on_every_vector() {
    let Some(node) = program("CHANCERY_NODE") else { return };
    agrees(Command::new(node).arg(root().join("docs/verifiers/verify.mjs")));
}

#[test]
fn the_page_holds_the_javascript_verifier() {
    let Some(node) = program("CHANCERY_NODE") else { return };
    let page = root().join("docs/verifiers/page.mjs");
    let Output { status, stderr, .. } =
        Command::new(node).arg(page).arg("--check").output().unwrap();
    assert!(status.success(), "{}", String::from_utf8_lossy(&stderr));
}

#[test]
fn a_verifier_is_small_enough_to_read() {
    let folder = fs::read_dir(root().join("docs/verifiers")).unwrap();
    let mut read = 0;
    for path in folder.map(|entry| entry.unwrap().path()) {
        if path.extension().is_some_and(|kind| kind == "py" || kind == "mjs") {
            let text = fs::read_to_string(&path).unwrap();
            let (lines, longest) = (text.lines().count(), text.lines().map(str::len).max());
            assert!(lines <= 200, "`{}` has {lines} lines", path.display());
            assert!(longest <= Some(100), "`{}` has a line of {longest:?}", path.display());
            read += 1;
        }
    }
    assert!(read > 2, "{read} verifiers were found");
}

#[test]
fn the_tables_of_the_verifiers_name_every_check_and_every_rule() {
    let text = fs::read_to_string(root().join("docs/verifiers/rules.json")).unwrap();
    let tables: Value = text.parse().unwrap();
    let checks =
        CheckId::ALL.iter().map(|check| (check.as_str().to_owned(), check.asserts().into()));
    assert_eq!(tables["checks"], Value::Object(checks.collect()));
    // These compare what no table can.
    let mut named = vec!["agent_on_action", "data_bounded", "amends_earlier"];
    for group in ["action", "run", "amendment"] {
        named.extend(tables[group].as_object().unwrap().keys().map(String::as_str));
    }
    named.sort_unstable();
    let mut rules: Vec<_> = deed::honesty_rules().into_iter().map(|(name, _)| name).collect();
    rules.sort_unstable();
    assert_eq!(named, rules);
}

/// A folder of its own that goes with the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("chancery-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn put(&self, name: String, text: &str) -> PathBuf {
        let path = self.0.join(name);
        fs::write(&path, text).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Left behind, it harms nobody.
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn the_page_says_the_same_in_a_browser_and_asks_for_nothing() {
    let (node, browser) = (program("CHANCERY_NODE"), program("CHANCERY_CHROMIUM"));
    let (Some(node), Some(browser)) = (node, browser) else { return };
    // Each case loads the page anew, so of the many that are refused every fifth is enough.
    let shown: Vec<_> = cases()
        .into_iter()
        .enumerate()
        .filter(|(place, case)| case["verdict"] == "valid" || place % 5 == 0)
        .collect();
    let folder = Folder::new("page");
    let line = |(place, case): &(usize, Value)| {
        let put = |name: &str, text: &str| json!(folder.put(format!("{place}.{name}"), text));
        let keys = match &case["keys"] {
            Value::Null => json!(null),
            Value::String(_) => json!(root().join("docs/vectors/keys.json")),
            set => put("keys", &set.to_string()),
        };
        let known = case["known_checkpoint"].as_str().map(|text| put("note", text));
        let file = put("file", case["input"].as_str().unwrap());
        json!({ "file": file, "keys": keys, "note": known, "size": case["expected_size"] })
    };
    let list: String = shown.iter().map(|case| line(case).to_string() + "\n").collect();
    let list = folder.put("cases".to_owned(), &list);
    let page = root().join("docs/verifiers/index.html");
    let driver = root().join("tests/it/verifiers/browser.mjs");
    let mut found = printed(Command::new(node).arg(driver).arg(browser).arg(&page).arg(list));
    let asked = found.pop().unwrap();
    assert_eq!(asked, json!([format!("file://{}", page.display())]), "only the page was loaded");
    assert_eq!(found.len(), shown.len());
    for (found, (_, case)) in found.iter().zip(&shown) {
        // Verdict and grade stand apart, and the vectors, all of them tests, say so.
        let lines: Vec<_> =
            found["told"].as_array().unwrap().iter().map(|line| line.as_str().unwrap()).collect();
        let grade = lines.iter().find_map(|line| line.strip_prefix("Grade: "));
        let says_test = lines.iter().any(|line| line.starts_with("TEST: "));
        assert!(says_test || case["verdict"] != "valid", "{}", case["name"]);
        let found = json!({
            "verdict": found["verdict"],
            "title": found["title"],
            "grade": grade,
            "checks": found["checks"],
        });
        let told = json!({
            "verdict": case["verdict"],
            "title": case["verdict"],
            "grade": case["grade"],
            "checks": case["checks"],
        });
        assert_eq!(found, told, "{}", case["name"]);
    }
}

#[test]
fn a_dsse_library_of_other_people_accepts_our_envelopes_and_no_changed_one() {
    let Some(python) = program("CHANCERY_PYTHON") else { return };
    let of = |name: &str| cases().into_iter().find(|case| case["name"] == name).unwrap();
    let whole = of("a whole log of envelopes");
    let lines: Vec<&str> = whole["input"].as_str().unwrap().lines().collect();
    let mut changed: Value = lines[0].parse().unwrap();
    let body = STANDARD.decode(changed["payload"].as_str().unwrap()).unwrap();
    let body = String::from_utf8(body).unwrap().replace("\"seq\":0", "\"seq\":1");
    changed["payload"] = json!(STANDARD.encode(body));
    let folder = Folder::new("dsse");
    let file = folder.put("envelopes".to_owned(), &format!("{}\n{changed}\n", lines.join("\n")));
    let script = root().join("tests/it/verifiers/dsse.py");
    let keys = root().join("docs/vectors/keys.json");
    let found = printed(Command::new(python).arg("-B").arg(script).arg(keys).arg(file));
    assert_eq!(found.len(), lines.len() + 1);
    let (refused, accepted) = found.split_last().unwrap();
    assert_eq!(refused, &json!([]));
    for by in accepted {
        assert_eq!(by, &json!(["kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"]));
    }
}
