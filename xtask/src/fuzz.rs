//! `cargo xtask fuzz`: the readers of the deed format under a fuzzer that begins with the published
//! vectors. What each target asserts is written in `crates/deed/fuzz`.

use std::process::Command;

use crate::cli;
use crate::failure::{Failure, Result};
use crate::process;
use crate::workspace::Workspace;

/// The targets, in the order in which they run.
const TARGETS: [&str; 7] = [
    "deed_verify",
    "deed_evidence",
    "deed_note",
    "deed_body",
    "deed_keys",
    "deed_disclosure",
    "deed_key_file",
];

/// What one input may take, in seconds and in megabytes.
const LIMITS: [&str; 2] = ["-timeout=20", "-rss_limit_mb=2048"];

/// Runs one target, or each for the same time.
pub(crate) fn run(workspace: &Workspace, fuzz: &cli::Fuzz) -> Result<()> {
    let named = fuzz.target.as_deref();
    let chosen: Vec<_> =
        TARGETS.iter().filter(|target| named.is_none_or(|named| named == **target)).collect();
    if chosen.is_empty() {
        let named = named.unwrap_or_default();
        let why = format!("there is no target `{named}`; there are {}", TARGETS.join(", "));
        return Err(Failure::because(why));
    }
    let folder = workspace.root().join("crates/deed/fuzz");
    let corpus = folder.join("corpus");
    let mut seeds = workspace.cargo(["run", "--quiet", "--package", "deed", "--example"]);
    process::run(seeds.arg("fuzz_seeds").arg(&corpus))?;
    for target in chosen {
        println!("{target}: {} seconds", fuzz.seconds);
        let mut command = Command::new("rustup");
        command.args(["run", "nightly", "cargo", "fuzz", "run", "--fuzz-dir"]);
        command.arg(&folder).arg(target).arg("--").args(LIMITS);
        process::run(command.arg(format!("-max_total_time={}", fuzz.seconds)))?;
    }
    Ok(())
}
