//! `cargo xtask fuzz`: the readers of the deed format under a fuzzer that begins with the published
//! vectors, and the reader of change streams, which begins with the recorded ones. What each target
//! asserts is written in the `fuzz` folder of its crate.

use std::process::Command;

use crate::cli;
use crate::failure::{Failure, Result};
use crate::process;
use crate::workspace::Workspace;

/// A crate with targets.
struct Fuzzed {
    krate: &'static str,
    /// The example that writes what its targets begin with.
    seeds: &'static str,
    targets: &'static [&'static str],
}

/// The targets, in the order in which they run.
const FUZZED: [Fuzzed; 2] = [
    Fuzzed {
        krate: "deed",
        seeds: "fuzz_seeds",
        targets: &[
            "deed_verify",
            "deed_evidence",
            "deed_note",
            "deed_body",
            "deed_keys",
            "deed_disclosure",
            "deed_key_file",
        ],
    },
    Fuzzed { krate: "decoder", seeds: "stream_seeds", targets: &["decoder_stream"] },
];

/// What one input may take, in seconds and in megabytes.
const LIMITS: [&str; 2] = ["-timeout=20", "-rss_limit_mb=2048"];

/// Runs one target, or each for the same time.
pub(crate) fn run(workspace: &Workspace, fuzz: &cli::Fuzz) -> Result<()> {
    let named = fuzz.target.as_deref();
    let chosen = |target: &str| named.is_none_or(|named| named == target);
    let all: Vec<_> = FUZZED.iter().flat_map(|fuzzed| fuzzed.targets).copied().collect();
    if !all.iter().any(|target| chosen(target)) {
        let named = named.unwrap_or_default();
        let why = format!("there is no target `{named}`; there are {}", all.join(", "));
        return Err(Failure::because(why));
    }
    for fuzzed in &FUZZED {
        let targets: Vec<_> = fuzzed.targets.iter().filter(|target| chosen(target)).collect();
        if targets.is_empty() {
            continue;
        }
        let folder = workspace.root().join("crates").join(fuzzed.krate).join("fuzz");
        let mut seeds = workspace.cargo(["run", "--quiet", "--package", fuzzed.krate]);
        seeds.args(["--example", fuzzed.seeds]).arg(folder.join("corpus"));
        process::run(seeds.current_dir(workspace.root()))?;
        for target in targets {
            println!("{target}: {} seconds", fuzz.seconds);
            let mut command = Command::new("rustup");
            command.args(["run", "nightly", "cargo", "fuzz", "run", "--fuzz-dir"]);
            command.arg(&folder).arg(target).arg("--").args(LIMITS);
            process::run(command.arg(format!("-max_total_time={}", fuzz.seconds)))?;
        }
    }
    Ok(())
}
