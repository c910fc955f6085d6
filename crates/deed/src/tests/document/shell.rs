//! The shell lines of `docs/deed-format.md`, as they are printed: kept in a file and pasted, in a
//! shell that was told nothing, against deeds that hold and deeds that do not.

use std::{
    fs,
    io::Write as _,
    path::PathBuf,
    process::{Command, Stdio},
};

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use super::{
    super::support::{Log, key_set},
    DOCUMENT,
};
use crate::specimen;

const CHECK: &str = "## Check one deed with a shell";
const OPEN: &str = "## Commitments and disclosures";
/// The programs that the lines call.
const NEEDED: [&str; 2] = ["openssl", "jq"];
/// How a reader comes to run lines: a whole file, or line by line as they are pasted.
const WAYS: [(&str, &[&str]); 2] = [("sh", &["./lines"]), ("bash", &["-s"])];

/// What becomes of a published key set.
type Change = &'static dyn Fn(&mut Value);

/// The shell block that follows this heading.
fn shell(heading: &str) -> &'static str {
    let (_, section) = DOCUMENT.split_once(heading).expect(heading);
    let (_, block) = section.split_once("```sh\n").expect("a shell block");
    block.split_once("```").expect("the block's end").0
}

fn can_run() -> bool {
    let has = |program: &&str| Command::new(program).arg("--help").output().is_ok();
    let all = NEEDED.iter().all(has);
    if !all {
        println!("left out: the document's shell lines need openssl and jq");
    }
    all
}

/// A folder of its own, gone at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("deed-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        let folder = Self(path);
        folder.put("keys.json", key_set().to_json());
        folder
    }

    fn put(&self, name: &str, text: impl AsRef<[u8]>) {
        fs::write(self.0.join(name), text).unwrap();
    }

    /// What the lines of this heading say in the end, the same in every way of running them.
    fn says(&self, heading: &str) -> String {
        self.put("lines", shell(heading));
        let said = WAYS.map(|(shell, how)| self.run(shell, how, heading));
        assert!(said.iter().all(|one| *one == said[0]), "{said:?}");
        said[0].clone()
    }

    fn run(&self, program: &str, how: &[&str], heading: &str) -> String {
        let mut command = Command::new(program);
        command.args(how).current_dir(&self.0);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(shell(heading).as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let last = text.lines().last().unwrap_or_default().to_owned();
        assert_eq!(output.status.success(), !last.starts_with("NOT "), "{text}");
        last
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

/// The form with another payload, and a digest that is the payload's.
fn with_payload(form: &Value, payload: &[u8]) -> Value {
    let mut forged = form.clone();
    forged["payload"] = json!(STANDARD.encode(payload));
    assert_ne!(forged["payload"], form["payload"]);
    forged["digest"] = json!(crypto::sha256(payload));
    forged
}

fn payload(form: &Value) -> String {
    let bytes = STANDARD.decode(form["payload"].as_str().unwrap()).unwrap();
    String::from_utf8(bytes).unwrap()
}

fn three() -> Log {
    let mut log = Log::new();
    log.seal(|mint| specimen::action(mint).unwrap()).unwrap();
    log.seal(specimen::admin).unwrap();
    log
}

#[test]
fn the_shell_lines_accept_an_honest_deed_and_refuse_forged_ones_however_they_are_run() {
    if !can_run() {
        return;
    }
    let log = three();
    let folder = Folder::new("forged");
    let good = &log.forms[0];
    let says = |form: &Value| {
        folder.put("deed.json", form.to_string());
        folder.says(CHECK)
    };
    assert_eq!(says(good), "valid");
    let changed = |name: &str, value: Value| {
        let mut form = good.clone();
        form[name] = value;
        form
    };
    let mut unsigned = good.clone();
    unsigned["signature"]["value"] = flipped(&good["signature"]["value"], 3);
    let mut borrowed = good.clone();
    borrowed["signature"] = log.forms[1]["signature"].clone();
    for (forged, what) in [
        (changed("payload", flipped(&good["payload"], 300)), "another byte"),
        (changed("digest", json!("sha256:00")), "another digest"),
        (changed("payload", json!(null)), "no payload"),
        (unsigned, "another signature"),
        (borrowed, "another deed's signature"),
        (with_payload(good, payload(good).replace("action", "notion").as_bytes()), "another text"),
        (with_payload(good, payload(&log.forms[1]).as_bytes()), "another deed's text"),
        (with_payload(good, b"null"), "no body"),
    ] {
        assert_eq!(says(&forged), "NOT VALID", "{what}");
    }
}

#[test]
fn the_shell_lines_refuse_what_was_cut_whatever_an_earlier_run_left() {
    if !can_run() {
        return;
    }
    let (log, folder) = (three(), Folder::new("cut"));
    let text = log.forms[0].to_string();
    folder.put("deed.json", &text);
    assert_eq!(folder.says(CHECK), "valid");
    for part in [0, 1, 30, text.len() / 2, text.len() - 1] {
        folder.put("deed.json", &text.as_bytes()[..part]);
        assert_eq!(folder.says(CHECK), "NOT VALID", "the first {part} bytes");
    }
    folder.put("deed.json", log.lines());
    assert_eq!(folder.says(CHECK), "NOT VALID", "two deeds in one file");
    fs::remove_file(folder.0.join("deed.json")).unwrap();
    assert_eq!(folder.says(CHECK), "NOT VALID", "no file");
}

#[test]
fn the_shell_lines_refuse_a_foreign_deed_and_one_whose_key_does_not_count() {
    if !can_run() {
        return;
    }
    let (log, folder) = (three(), Folder::new("foreign"));
    folder.put("deed.json", log.forms[0].to_string());
    let keys: Value = key_set().to_json().parse().unwrap();
    let says = |change: &dyn Fn(&mut Value)| {
        let mut keys = keys.clone();
        change(&mut keys);
        folder.put("keys.json", keys.to_string());
        folder.says(CHECK)
    };
    assert_eq!(says(&|_| ()), "valid");
    let changes: [(&str, Change); 7] = [
        ("revoked", &|keys| keys["keys"][0]["revoked_at"] = json!("2026-10-02T00:00:00.000Z")),
        ("retired", &|keys| keys["keys"][0]["retired_at"] = json!("2026-10-01T12:00:00.000Z")),
        ("too new", &|keys| keys["keys"][0]["activated_at"] = json!("2026-10-03T00:00:00.000Z")),
        ("another purpose", &|keys| keys["keys"][0]["purpose"] = json!("checkpoint")),
        ("another's set", &|keys| drop(keys["keys"].as_array_mut().unwrap().remove(0))),
        ("another key under the id", &|keys| keys["keys"][0]["x"] = keys["keys"][1]["x"].clone()),
        ("no set", &|keys| *keys = json!(null)),
    ];
    for (what, change) in changes {
        assert_eq!(says(change), "NOT VALID", "{what}");
    }
}

#[test]
fn the_shell_lines_open_every_commitment_or_say_that_they_did_not() {
    if !can_run() {
        return;
    }
    let (log, folder) = (three(), Folder::new("disclosure"));
    let good = &log.forms[1];
    let says = |form: &Value| {
        folder.put("deed.json", form.to_string());
        folder.says(OPEN)
    };
    folder.put("deed.json", good.to_string());
    assert_eq!(folder.says(CHECK), "valid");
    assert_eq!(says(good), "opened");
    let count = good["disclosures"].as_array().unwrap().len();
    assert!(count > 1, "{count} disclosures");
    for place in 0..count {
        let mut form = good.clone();
        form["disclosures"][place] = flipped(&form["disclosures"][place], 70);
        assert_eq!(says(&form), "NOT OPENED", "disclosure {place}");
        form["disclosures"][place] = json!(7);
        assert_eq!(says(&form), "NOT OPENED", "no text at {place}");
    }
    assert_eq!(says(&log.forms[0]), "NOT OPENED", "another deed than the one that was checked");
    let text = good.to_string();
    folder.put("deed.json", &text.as_bytes()[..text.len() - 9]);
    assert_eq!(folder.says(OPEN), "NOT OPENED", "cut");
}
