//! The verbs as somebody calls them: commands and files in, exit codes and files out.

use std::{fs, os::unix::fs::PermissionsExt, path::PathBuf};

use super::*;

/// A folder that goes away with its test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("intent-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).expect("a folder for the test");
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_key_is_kept_from_others_and_never_written_over() {
    let folder = Folder::new("keygen");
    let out = folder.0.join("signer.key");
    let agent: AgentId = "agt_01jd8m3q4r5s6t7v8w9x0y1z2a".parse().expect("an id");
    assert_eq!(keygen(agent, &out).expect("a key"), Exit::Ok);
    let mode = fs::metadata(&out).expect("a file").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert!(key_in(&out).is_ok());
    let before = fs::read(&out).expect("a file");
    assert_eq!(keygen(agent, &out).expect_err("it is there").exit, Exit::Usage);
    assert_eq!(fs::read(&out).expect("a file"), before);
}

#[test]
fn what_is_no_key_and_no_call_is_told_and_not_shown() {
    let folder = Folder::new("sign");
    let file = |name: &str, text: &str| {
        let path = folder.0.join(name);
        fs::write(&path, text).expect("a file");
        path
    };
    let error = key_in(&file("key", "not a key")).expect_err("no key");
    assert_eq!(error.exit, Exit::Malformed);
    assert!(!error.sentence.contains("not a key"), "{}", error.sentence);
    let error = sign(&file("call", "{}"), None).expect_err("no call");
    assert_eq!((error.exit, error.sentence.contains("audience")), (Exit::Malformed, true));
    let gone = folder.0.join("gone");
    assert_eq!(sign(&gone, None).expect_err("no file").exit, Exit::Usage);
}

/// Signers that are wrong in one thing each.
#[test]
fn a_signer_that_differs_is_found() {
    assert_eq!(conform::run("cat").expect("it ran"), Exit::FoundBad);
    assert_eq!(conform::run("exit 3").expect("it ran"), Exit::FoundBad);
    let error = conform::run("./no-such-signer").expect_err("it is not there");
    assert_eq!(error.exit, Exit::Usage);
    assert!(error.sentence.contains("no-such-signer"), "{}", error.sentence);
}
