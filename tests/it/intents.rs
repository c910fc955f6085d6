//! The signers of `docs/intents`, held to the published vectors.

use std::{
    io::Write as _,
    path::Path,
    process::{Command, Stdio},
};

use serde_json::Value;

use crate::verifiers::{program, root};

/// What a signer prints for a call, where it signs it.
fn signed(program: &Path, script: &str, call: &Value) -> Option<String> {
    let mut command = Command::new(program);
    command.arg(root().join("docs/intents").join(script)).env("PYTHONDONTWRITEBYTECODE", "1");
    let pipes = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = pipes.spawn().unwrap();
    child.stdin.take().unwrap().write_all(call.to_string().as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    output.status.success().then(|| printed.trim_end().to_owned())
}

fn signs_every_vector(program: &Path, script: &str) {
    let vectors: Value = serde_json::from_str(intent::VECTORS).unwrap();
    let cases = vectors["signing"].as_array().unwrap();
    assert!(cases.len() > 15, "{}", cases.len());
    for case in cases {
        let printed = signed(program, script, &case["sign"]);
        assert_eq!(printed.as_deref(), case["intent"].as_str(), "{}", case["name"]);
    }
}

#[test]
fn the_python_signer_signs_every_vector_to_the_byte() {
    let Some(python) = program("CHANCERY_PYTHON") else { return };
    signs_every_vector(&python, "sign.py");
}

#[test]
fn the_javascript_signer_signs_every_vector_to_the_byte() {
    let Some(node) = program("CHANCERY_NODE") else { return };
    signs_every_vector(&node, "sign.mjs");
}

#[test]
fn a_signer_has_at_most_sixty_lines() {
    for script in ["sign.py", "sign.mjs"] {
        let text = std::fs::read_to_string(root().join("docs/intents").join(script)).unwrap();
        assert!(text.lines().count() <= 60, "{script}");
    }
}
