//! The signers of `docs/intents`, and the lines that its page says to type.

use std::{
    fs,
    os::unix::fs::symlink,
    process::{Command, Stdio},
};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use crypto::ed25519::PublicKey;
use serde_json::Value;

use crate::{
    house::{binaries, name},
    house::{program, root},
};

const PAGE: &str = include_str!("../../docs/intents/README.md");

/// Our own signer and those in Python and JavaScript sign every vector to the byte, and the key
/// that is made proves itself.
#[test]
fn each_line_of_the_page_runs_as_printed_and_every_signer_conforms() {
    let (Some(binaries), Some(python)) = (binaries(), program("CHANCERY_PYTHON")) else { return };
    let Some(node) = program("CHANCERY_NODE") else { return };
    let folder = std::env::temp_dir().join(name());
    fs::create_dir_all(folder.join("bin")).unwrap();
    symlink(&binaries.plain, folder.join("bin/chancery")).unwrap();
    symlink(root().join("docs"), folder.join("docs")).unwrap();
    let beside = |program: &std::path::Path| program.parent().unwrap().display().to_string();
    let paths = [folder.join("bin").display().to_string(), beside(&python), beside(&node)];
    let section = PAGE.split("\n## By hand\n").nth(1).unwrap();
    let script = section.split("\n```sh\n").nth(1).unwrap().split("```").next().unwrap();
    let mut shell = Command::new("bash");
    shell.args(["-euo", "pipefail", "-c", script]).current_dir(&folder).env_clear();
    shell.env("PATH", paths.join(":") + ":/usr/bin:/bin").env("PYTHONDONTWRITEBYTECODE", "1");
    let output = shell.stdin(Stdio::null()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let complained = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}\n{complained}");
    assert_eq!(said.matches("CONFORMS: all of 17 vectors").count(), 3, "{said}");
    assert!(intent::is_compact(said.lines().next().unwrap()), "{said}");
    let made: Value = fs::read_to_string(folder.join("key.json")).unwrap().parse().unwrap();
    let public = URL_SAFE_NO_PAD.decode(made["public_key"].as_str().unwrap()).unwrap();
    let public = PublicKey::from_bytes(&public).unwrap();
    let agent = "agt_01jd8m3q4r5s6t7v8w9x0y1z2a";
    assert!(intent::proves(agent, &public, made["proof"].as_str().unwrap()));
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_signer_has_at_most_sixty_lines() {
    for script in ["sign.py", "sign.mjs"] {
        let text = fs::read_to_string(root().join("docs/intents").join(script)).unwrap();
        assert!(text.lines().count() <= 60, "{script}");
    }
}
