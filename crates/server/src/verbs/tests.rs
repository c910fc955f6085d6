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
            let made = sealer.seal(&mut head, draft, org, now).expect("a sealed deed");
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
fn a_key_id_may_begin_with_a_hyphen() {
    let kid = format!("-{}", "A".repeat(42));
    for words in [vec!["retire", &kid], vec!["revoke", &kid, "--reason", "key_compromise"]] {
        let words = ["chancery", "keys"].into_iter().chain(words);
        assert!(Cli::try_parse_from(words).is_ok());
    }
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

/// Two logs that begin the same and then fork: keys, deeds, checkpoints of 2, 4 and 4 deeds, and
/// the proof from 2 to 4.
struct Fork {
    keys: String,
    left: Vec<String>,
    right: Vec<String>,
    notes: [String; 3],
    proof: Vec<model::Digest>,
}

fn fork() -> Fork {
    let entropy = SystemEntropy::new();
    let now = Timestamp::from_unix_millis(1_790_000_000_000);
    let mint = Mint::new(now, &entropy);
    let keys = SealKeys::from_pem(SealKeys::generate_pem(&entropy).expose()).expect("keys");
    let registered = keys.keys().map(|(purpose, key)| SealKey::new(*key.public(), purpose, now));
    let registered = KeySet::new(registered.collect()).expect("a key set");
    let sealer = Sealer::new(keys, registered);
    let org = specimen::org(&mint);
    let grow = |head: &mut ChainHead, to: u64| {
        let mut digests = Vec::new();
        let mut lines = Vec::new();
        while head.size() < to {
            let (draft, _) = specimen::admin(&mint);
            let made = sealer.seal(head, draft, org, now).expect("a sealed deed");
            digests.push(made.digest);
            lines.push(deed::api_form(&made.body, &made.signature, &[]).expect("form").to_string());
        }
        (digests, lines)
    };
    let mut common = ChainHead::genesis(specimen::log(&mint).expect("a log"));
    let (mut digests, first) = grow(&mut common, 2);
    let (mut one, mut other) = (common.clone(), common.clone());
    let (more, left) = grow(&mut one, 4);
    let (_, right) = grow(&mut other, 4);
    digests.extend(more);
    let note = |head: &ChainHead| sealer.checkpoint(head, now).expect("a checkpoint");
    Fork {
        keys: sealer.registered().to_json(),
        left: [first.clone(), left].concat(),
        right: [first, right].concat(),
        notes: [note(&common), note(&one), note(&other)],
        proof: deed::tree::consistency(&deed::tree::Tree::of(digests), 2, 4).expect("a proof"),
    }
}

#[test]
fn consistency_tells_a_log_that_grew_from_one_that_forked() {
    let (folder, fork) = (Folder::new("consistency"), fork());
    let keys = folder.put("keys.json", &fork.keys);
    let [old, one, other] = ["old", "one", "other"];
    let [old, one, other] =
        [(old, 0), (one, 1), (other, 2)].map(|(name, place)| folder.put(name, &fork.notes[place]));
    let proof = folder.put("proof.json", serde_json::json!(fork.proof).to_string());
    let answer = serde_json::json!({ "from": 2, "to": 4, "path": fork.proof }).to_string();
    let answer = folder.put("answer.json", answer);
    let run = |words: [&str; 2], proof: &[&str]| {
        let words = [&["consistency"], &words[..], &["--keys", &keys], proof].concat();
        chancery(&words)
    };
    assert_eq!(run([&old, &one], &["--proof", &proof]), Exit::Ok);
    assert_eq!(run([&old, &one], &["--proof", &answer]), Exit::Ok);
    assert_eq!(run([&old, &one], &[]), Exit::Undecidable);
    assert_eq!(run([&one, &one], &[]), Exit::Ok);
    assert_eq!(run([&old, &other], &["--proof", &proof]), Exit::FoundBad);
    assert_eq!(run([&one, &old], &["--proof", &proof]), Exit::FoundBad, "a log never shrinks");
    assert_eq!(run([&one, &other], &[]), Exit::FoundBad);
    assert_eq!(run([&old, &keys], &[]), Exit::Malformed);
    assert_eq!(run([&old, &one], &["--proof", &old]), Exit::Malformed);
}

#[test]
fn diff_proves_a_split_view() {
    let (folder, fork) = (Folder::new("diff"), fork());
    let keys = folder.put("keys.json", &fork.keys);
    let left = folder.put("left", fork.left.join("\n"));
    let right = folder.put("right", fork.right.join("\n"));
    let part = folder.put("part", fork.left[..3].join("\n"));
    let tail = folder.put("tail", &fork.left[3]);
    let notes = [0, 1, 2].map(|place| folder.put(&format!("note{place}"), &fork.notes[place]));
    let run = |one: &str, other: &str| chancery(&["diff", one, other, "--keys", &keys]);
    assert_eq!(run(&left, &right), Exit::FoundBad);
    assert_eq!(run(&left, &part), Exit::Ok);
    assert_eq!(run(&part, &tail), Exit::Undecidable);
    assert_eq!(run(&notes[1], &notes[2]), Exit::FoundBad);
    assert_eq!(run(&notes[1], &notes[1]), Exit::Ok);
    assert_eq!(run(&notes[0], &notes[1]), Exit::Undecidable);
    assert_eq!(run(&left, &keys), Exit::Malformed);
}

#[test]
fn what_cannot_be_read_is_told_by_its_file_and_what_would_be_taken() {
    let (folder, log) = (Folder::new("refused"), log());
    let put = |name: &str, text: &str| folder.put(name, text);
    let (keys, note) = (put("keys.json", &log.keys), put("note", &log.checkpoint));
    let deeds = put("deeds", &log.deeds.join("\n"));
    let wrong = put("wrong", &log.checkpoint.replace("\n3\n", "\n4\n"));
    let cut = put("cut", log.deeds[0].get(..300).expect("a longer deed"));
    let in_folder = folder.0.display().to_string();
    let refused = |arguments: &[&str]| {
        let arguments = std::iter::once("chancery").chain(arguments.iter().copied());
        let cli = Cli::try_parse_from(arguments).expect("arguments that parse");
        dispatch(cli).expect_err("a refusal").sentence
    };
    for (arguments, file, accepted) in [
        (&["verify", &in_folder] as &[&str], &in_folder, "could not read"),
        (&["verify", &deeds, "--keys", &cut], &cut, "keys.json"),
        (&["inspect", &deeds], &deeds, "one deed"),
        (&["inspect", &note], &note, "one deed"),
        (&["export", "--dsse", &cut], &cut, "line 1"),
        (&["consistency", &cut, &note, "--keys", &keys], &cut, "signed note"),
        (&["consistency", &note, &note, "--keys", &keys, "--proof", &cut], &cut, "digests"),
        (&["diff", &note, &wrong, "--keys", &keys], &wrong, "signature"),
    ] {
        let sentence = refused(arguments);
        assert!(sentence.contains(&format!("`{file}`")), "{arguments:?}: {sentence}");
        assert!(sentence.contains(accepted), "{arguments:?}: {sentence}");
    }
    let sentence = refused(&["diff", &deeds, &note, "--keys", &keys]);
    assert!(sentence.contains("--known-checkpoint"), "{sentence}");
    for size in ["-1", "x", "1.5", "18446744073709551616"] {
        let cli = Cli::try_parse_from(["chancery", "verify", &deeds, "--expected-size", size]);
        let sentence = cli.expect_err("no number of deeds").to_string();
        assert!(sentence.contains("a number of deeds, from 0"), "{sentence}");
    }
}

#[test]
fn exported_envelopes_verify_as_the_deeds_do() {
    let log = log();
    let envelopes = deed::verify::envelopes(log.deeds.join("\n").as_bytes()).expect("envelopes");
    let lines: Vec<_> = envelopes.iter().map(|one| serde_json::json!(one).to_string()).collect();
    let trust = deed::verify::Trust {
        keys: Some(KeySet::parse(log.keys.as_bytes()).expect("keys")),
        ..deed::verify::Trust::default()
    };
    let report = deed::verify::examine(lines.join("\n").as_bytes(), &trust);
    assert_eq!(report.grade, Some(deed::verify::Grade::Chained));
    let folder = Folder::new("export");
    let deeds = folder.put("deeds", log.deeds.join("\n"));
    assert_eq!(chancery(&["export", "--dsse", &deeds]), Exit::Ok);
    assert_eq!(chancery(&["export", "--dsse", &folder.put("none", "{}")]), Exit::Malformed);
    assert!(Cli::try_parse_from(["chancery", "export", &deeds]).is_err(), "the form is asked for");
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
    let report = deed::verify::examine(log.deeds[1].as_bytes(), &trust);
    let lines = verify::readable(&report);
    assert_eq!(lines[0], "VALID: signed");
    assert!(lines[1].starts_with("  TEST admin deed_"), "{lines:?}");
    assert!(lines.contains(&"  pass  signature".to_owned()), "{lines:?}");
    let report = deed::verify::examine(b"{}", &trust);
    let lines = verify::readable(&report);
    assert!(
        lines[0].starts_with("MALFORMED") && lines[1].starts_with("  FAIL  input"),
        "{lines:?}"
    );
}

#[test]
fn several_deeds_are_summed_up_and_those_that_fail_are_told_in_full() {
    let log = log();
    let keys = Some(KeySet::parse(log.keys.as_bytes()).expect("keys"));
    let trust = deed::verify::Trust { keys, ..deed::verify::Trust::default() };
    let input = log.deeds.join("\n");
    let report = deed::verify::examine(input.as_bytes(), &trust);
    let lines = verify::readable(&report);
    assert!(lines[1].starts_with("  3 deeds: ") && lines[1].ends_with(", 3 TEST"), "{lines:?}");
    assert!(!lines.concat().contains("deed_"), "{lines:?}");
    assert_eq!(verify::each(&report).concat().matches("deed_").count(), 3);
    let changed = input.replacen("\"payload\":\"e", "\"payload\":\"f", 1);
    let told = verify::alone(changed.as_bytes(), &trust);
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told[0].contains("2 VALID") && told[1].starts_with("  line 1"), "{told:?}");
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

fn taken(words: &[&str]) -> Result<Cli, clap::Error> {
    Cli::try_parse_from(["chancery"].into_iter().chain(words.iter().copied()))
}

#[test]
fn a_key_is_made_only_for_whom_it_was_said() {
    for holder in [&["--agent", "bot"][..], &["--org-admin"], &["--read-only"]] {
        assert!(taken(&[&["key", "create"], holder].concat()).is_ok(), "{holder:?}");
    }
    let refusal = |words: &[&str]| taken(&[&["key", "create"], words].concat()).unwrap_err();
    let neither = refusal(&[]).to_string();
    assert!(neither.contains("--agent <NAME>|--org-admin|--read-only"), "{neither}");
    for both in [&["--agent", "bot", "--org-admin"][..], &["--org-admin", "--read-only"]] {
        assert!(refusal(both).to_string().contains("cannot be used with"), "{both:?}");
    }
    // An org key has one scope, which the flag says.
    assert!(taken(&["key", "create", "--org-admin", "--scope", "actions:read"]).is_err());
}

#[test]
fn a_key_ends_at_a_moment_or_after_a_time() {
    let ends = |when: &str| taken(&["key", "create", "--agent", "bot", "--expires", when]);
    for when in ["2027-03-31T18:00:00Z", "90d", "12h", "30m"] {
        assert!(ends(when).is_ok(), "{when}");
    }
    for when in ["", "d", "0h", "1 h", "1.5h", "90", "90y", "99999999999999999999h", "tomorrow"] {
        let refused = ends(when).unwrap_err().to_string();
        assert!(refused.contains("--expires"), "{when}: {refused}");
    }
}
