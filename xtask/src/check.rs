//! `cargo xtask check`: everything that must hold before a change is done, in one table. Each check
//! is carried out by the tool it names.

use std::process::Command;

use crate::cli::Publish;
use crate::docs::{self, Pages};
use crate::failure::{Failure, Result};
use crate::pg::Consent;
use crate::process;
use crate::workspace::Workspace;
use crate::{layers, public_api, publish, test, tidy};

/// The version of `cargo-deny` whose configuration `deny.toml` is written in.
const CARGO_DENY: &str = "0.20.2";

/// How thoroughly to check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Depth {
    /// What a person waits for while working.
    Fast,
    /// Everything.
    Full,
    /// Everything but the tests, which the build server runs by their own command; and what is
    /// missing is installed.
    Ci,
}

/// One check: its name, the depths it belongs to, and how it is done.
struct Step {
    name: &'static str,
    depths: &'static [Depth],
    run: fn(&Workspace, Depth) -> Result<()>,
}

const ALWAYS: &[Depth] = &[Depth::Fast, Depth::Full, Depth::Ci];
const THOROUGH: &[Depth] = &[Depth::Full, Depth::Ci];
const IN_CI: &[Depth] = &[Depth::Ci];
const BY_HAND: &[Depth] = &[Depth::Fast, Depth::Full];

/// The checks, the quick ones first.
#[rustfmt::skip]
const STEPS: [Step; 12] = [
    Step { name: "fmt",     depths: ALWAYS,   run: |workspace, _| cargo(workspace, &["fmt", "--all", "--check"]) },
    Step { name: "layers",  depths: ALWAYS,   run: |workspace, _| layers::run(workspace) },
    Step { name: "tidy",    depths: ALWAYS,   run: |workspace, _| tidy::run(workspace) },
    Step { name: "deny",    depths: THOROUGH, run: deny },
    Step { name: "advisories", depths: IN_CI, run: |workspace, _| advisories(workspace) },
    Step { name: "clippy",  depths: ALWAYS,   run: |workspace, _| cargo(workspace, &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]) },
    Step { name: "alone",   depths: ALWAYS,   run: |workspace, _| cargo(workspace, &["clippy", "--package", "policy", "--no-default-features", "--all-targets", "--", "-D", "warnings"]) },
    Step { name: "rustdoc", depths: THOROUGH, run: |workspace, _| rustdoc(workspace) },
    Step { name: "docs",    depths: ALWAYS,   run: |workspace, _| docs::run(workspace, Pages::Compare) },
    Step { name: "api",     depths: THOROUGH, run: |workspace, _| public_api::run(workspace, Pages::Compare) },
    Step { name: "publish", depths: IN_CI,    run: |workspace, _| publish::run(workspace, &Publish { dry_run: true, crates: Vec::new() }) },
    Step { name: "test",    depths: BY_HAND,  run: |workspace, _| test::run(workspace, Consent::Ask, &[]) },
];

/// Runs the checks of the depth one after another, up to the first that fails.
pub(crate) fn run(workspace: &Workspace, depth: Depth) -> Result<()> {
    for step in STEPS.iter().filter(|step| step.depths.contains(&depth)) {
        println!("== {}", step.name);
        (step.run)(workspace, depth)?;
    }
    Ok(())
}

fn cargo(workspace: &Workspace, arguments: &[&str]) -> Result<()> {
    process::run(&mut workspace.cargo(arguments.iter().copied()))
}

fn rustdoc(workspace: &Workspace) -> Result<()> {
    let mut command = workspace.cargo(["doc", "--workspace", "--no-deps", "--quiet"]);
    process::run(command.env("RUSTDOCFLAGS", "-D warnings"))
}

fn deny(workspace: &Workspace, depth: Depth) -> Result<()> {
    let installed = Command::new("cargo-deny").arg("--version").output().is_ok();
    match (installed, depth) {
        (true, _) => {}
        (false, Depth::Ci) => {
            cargo(workspace, &["install", "--locked", "cargo-deny", "--version", CARGO_DENY])?;
        }
        (false, Depth::Fast | Depth::Full) => {
            println!("left out: `cargo install --locked cargo-deny` would install what it needs");
            return Ok(());
        }
    }
    cargo(workspace, &["deny", "--log-level", "warn", "check", "bans", "licenses", "sources"])
}

/// Holds what is built in against the advisories that are known of it. Their database is another's
/// repository: where it cannot be had, nothing can be said of them.
fn advisories(workspace: &Workspace) -> Result<()> {
    let mut fetch = workspace.cargo(["deny", "--log-level", "off", "fetch", "db"]);
    fetch.env("GIT_TERMINAL_PROMPT", "0");
    if !process::capture(&mut fetch)?.status.success() {
        println!("left out: the database of advisories cannot be had here");
        return Ok(());
    }
    let check = ["deny", "--log-level", "warn", "--offline", "check", "advisories"];
    cargo(workspace, &check)
}

/// Fails when a check printed findings.
pub(crate) fn nothing_found(check: &'static str, findings: &[String]) -> Result<()> {
    for finding in findings {
        println!("{finding}");
    }
    if findings.is_empty() {
        return Ok(());
    }
    Err(Failure::Findings { check, count: findings.len() })
}
