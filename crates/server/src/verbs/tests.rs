//! The verbs as an operator calls them: arguments and files in, exit codes out.

use std::{
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use clap::{CommandFactory, Parser};
use crypto::SystemEntropy;
use deed::{ChainHead, KeySet, SealKey, SealKeys, Sealer, specimen};
use model::{Mint, Timestamp};

use super::*;

/// A folder that goes away with its test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("chancery-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder for the test");
        Self(path)
    }

    fn put(&self, name: &str, text: impl AsRef<[u8]>) -> String {
        let path = self.0.join(name);
        std::fs::write(&path, text).expect("a file for the test");
        path.display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn chancery(arguments: &[&str]) -> Exit {
    let arguments = std::iter::once("chancery").chain(arguments.iter().copied());
    run(Cli::try_parse_from(arguments).expect("arguments that parse"))
}

/// A log of three deeds: its key set, its deeds as JSON lines, and a checkpoint of all three.
struct Log {
    keys: String,
    deeds: Vec<String>,
    checkpoint: String,
}

fn log() -> Log {
    let entropy = SystemEntropy::new();
    let now = Timestamp::from_unix_millis(1_790_000_000_000);
    let mint = Mint::new(now, &entropy);
    let keys = SealKeys::from_pem(SealKeys::generate_pem(&entropy).expose()).expect("keys");
    let registered = keys.keys().map(|(purpose, key)| SealKey::new(*key.public(), purpose, now));
    let registered = KeySet::new(registered.collect()).expect("a key set");
    let sealer = Sealer::new(keys, registered);
    let mut head = ChainHead::genesis(specimen::log(&mint).expect("a log"));
    let org = specimen::org(&mint);
    let deeds = (0..3)
        .map(|_| {
            let (draft, disclosures) = specimen::admin(&mint);
            let made = sealer.seal(&mut head, &draft, org, now).expect("a sealed deed");
            deed::api_form(&made.body, &made.signature, &disclosures).expect("form").to_string()
        })
        .collect();
    let checkpoint = sealer.checkpoint(&head, now).expect("a checkpoint");
    Log { keys: sealer.registered().to_json(), deeds, checkpoint }
}

#[test]
fn the_command_line_is_consistent() {
    Cli::command().debug_assert();
}

#[test]
fn verify_ends_with_the_verdict() {
    let (folder, log) = (Folder::new("verify"), log());
    let keys = folder.put("keys.json", &log.keys);
    let checkpoint = folder.put("checkpoint", &log.checkpoint);
    let whole = folder.put("whole.jsonl", log.deeds.join("\n"));
    let cut = folder.put("cut.jsonl", log.deeds[..2].join("\n"));
    let gap = folder.put("gap.jsonl", [log.deeds[0].as_str(), &log.deeds[2]].join("\n"));
    let other = folder.put("other.json", super::tests::log().keys);
    let changed = folder.put("changed.json", log.deeds[0].replace("\"index\":0", "\"index\":1"));
    let garbage = folder.put("garbage", "{");

    assert_eq!(chancery(&["verify", &whole, "--keys", &keys]), Exit::Ok);
    let known = ["--known-checkpoint", &checkpoint];
    assert_eq!(chancery(&["verify", &whole, "--keys", &keys, known[0], known[1]]), Exit::Ok);
    assert_eq!(chancery(&["verify", &whole, "--keys", &keys, "--expected-size", "3"]), Exit::Ok);
    assert_eq!(chancery(&["verify", &cut, "--keys", &keys]), Exit::Ok);
    assert_eq!(
        chancery(&["verify", &cut, "--keys", &keys, known[0], known[1]]),
        Exit::FoundBad,
        "a cut tail is seen through a checkpoint"
    );
    assert_eq!(
        chancery(&["verify", &cut, "--keys", &keys, "--expected-size", "3"]),
        Exit::FoundBad
    );
    assert_eq!(chancery(&["verify", &gap, "--keys", &keys]), Exit::FoundBad);
    assert_eq!(chancery(&["verify", &changed, "--keys", &keys]), Exit::FoundBad);
    assert_eq!(chancery(&["verify", &whole, "--json"]), Exit::Undecidable, "no keys");
    assert_eq!(chancery(&["verify", &whole, "--keys", &other]), Exit::Undecidable);
    assert_eq!(chancery(&["verify", &garbage]), Exit::Malformed);
    assert_eq!(chancery(&["verify", &whole, "--keys", &garbage]), Exit::Malformed);
    assert_eq!(chancery(&["verify", "/nowhere/deed.json"]), Exit::Usage);
}

#[test]
fn inspect_prints_deeds_and_nothing_else() {
    let (folder, log) = (Folder::new("inspect"), log());
    let deed = folder.put("deed.json", &log.deeds[0]);
    let keys = folder.put("keys.json", &log.keys);
    assert_eq!(chancery(&["inspect", &deed]), Exit::Ok);
    assert_eq!(chancery(&["inspect", &keys]), Exit::Malformed);
    assert_eq!(chancery(&["inspect", "/nowhere"]), Exit::Usage);
}

#[test]
fn a_report_reads_with_verdict_deeds_and_checks() {
    let log = log();
    let trust = deed::verify::Trust {
        keys: Some(KeySet::parse(log.keys.as_bytes()).expect("keys")),
        ..deed::verify::Trust::default()
    };
    let report = deed::verify::verify(log.deeds[1].as_bytes(), &trust);
    let lines = verify::readable(&report);
    assert_eq!(lines[0], "VALID: signed");
    assert!(lines[1].starts_with("  admin deed_"), "{lines:?}");
    assert!(lines.contains(&"  pass  signature".to_owned()), "{lines:?}");
    let report = deed::verify::verify(b"{}", &trust);
    let lines = verify::readable(&report);
    assert!(
        lines[0].starts_with("MALFORMED") && lines[1].starts_with("  FAIL  input"),
        "{lines:?}"
    );
}

#[test]
fn a_new_seal_key_file_is_for_its_owner_alone_and_never_overwritten() {
    let folder = Folder::new("keys");
    let path = folder.0.join("seal.pem");
    let arguments = ["keys", "new", "--out", path.to_str().expect("a path of text")];
    assert_eq!(chancery(&arguments), Exit::Ok);
    let mode = std::fs::metadata(&path).expect("the file").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let first = read_text(&path).expect("its text");
    assert!(SealKeys::from_pem(&first).is_ok());
    assert_eq!(chancery(&arguments), Exit::Usage);
    assert_eq!(read_text(&path).expect("its text"), first);
}

#[test]
fn lint_finds_errors_and_passes_the_starter_policy() {
    let folder = Folder::new("lint");
    let starter = folder.put("starter.yaml", ::policy::STARTER);
    let broken = folder.put("broken.yaml", "schema: 1\nrules: []\n");
    let binary = folder.put("binary.yaml", [0xff, 0xfe]);
    assert_eq!(chancery(&["policy", "lint", &starter]), Exit::Ok);
    assert_eq!(chancery(&["policy", "lint", &broken]), Exit::FoundBad);
    assert_eq!(chancery(&["policy", "lint", &binary]), Exit::Malformed);
    assert_eq!(chancery(&["policy", "lint", "/nowhere"]), Exit::Usage);
}

#[test]
fn pages_of_the_docs_print() {
    for page in ["settings", "vocabulary", "routes", "errors"] {
        assert_eq!(chancery(&["internal-docs", page]), Exit::Ok);
    }
    assert!(read(Path::new("/")).is_err(), "a folder is no file");
}
