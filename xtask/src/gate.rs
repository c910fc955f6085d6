//! `cargo xtask gate`: what must hold before a change lands; `cargo xtask release-check`: what must
//! hold beside that before a release. Both are tables of steps, the quick ones first. Each step is
//! carried out by the tool it names.

use std::process::Command;

use crate::cli::Publish;
use crate::docs::{self, Pages};
use crate::failure::{Failure, Result};
use crate::pg::Consent;
use crate::process;
use crate::steps::{self, Report, Step};
use crate::workspace::{Build, Workspace};
use crate::{bench, layers, public_api, publish, test, tidy};

/// The version of `cargo-deny` whose configuration `deny.toml` is written in.
const CARGO_DENY: &str = "0.20.2";

#[rustfmt::skip]
const GATE: [Step; 8] = [
    Step { name: "fmt",     run: |workspace, _| done(cargo(workspace, &["fmt", "--all", "--check"])) },
    Step { name: "layers",  run: |workspace, _| done(layers::run(workspace)) },
    Step { name: "tidy",    run: |workspace, _| done(tidy::run(workspace)) },
    Step { name: "deny",    run: |workspace, _| done(deny_where_installed(workspace)) },
    Step { name: "clippy",  run: |workspace, _| done(cargo(workspace, &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"])) },
    Step { name: "compile", run: |workspace, _| done(workspace.build_service(Build::WithTests).map(drop)) },
    Step { name: "docs",    run: |workspace, _| done(docs::run(workspace, Pages::Compare, Build::WithTests)) },
    Step { name: "test",    run: test::all },
];

#[rustfmt::skip]
const RELEASE: [Step; 8] = [
    Step { name: "deny",       run: |workspace, _| done(deny(workspace)) },
    Step { name: "advisories", run: |workspace, _| done(advisories(workspace)) },
    Step { name: "rustdoc",    run: |workspace, _| done(rustdoc(workspace)) },
    Step { name: "api",        run: |workspace, _| done(public_api::run(workspace, Pages::Compare)) },
    Step { name: "alone",      run: |workspace, _| done(cargo(workspace, &["clippy", "--package", "policy", "--no-default-features", "--all-targets", "--", "-D", "warnings"])) },
    Step { name: "publish",    run: |workspace, _| done(publish::run(workspace, &Publish { dry_run: true, crates: Vec::new() })) },
    Step { name: "outside",    run: |workspace, _| done(test::outside(workspace)) },
    Step { name: "bench",      run: bench::smoke },
];

/// Runs what must hold before a change lands.
pub(crate) fn run(workspace: &Workspace, consent: Consent) -> Result<()> {
    steps::run("gate", workspace, consent, &GATE)
}

/// Runs what must hold beside the gate before a release.
pub(crate) fn release(workspace: &Workspace, consent: Consent) -> Result<()> {
    steps::run("release-check", workspace, consent, &RELEASE)
}

/// The report of a step that has no parts and nothing to add.
fn done(result: Result<()>) -> Result<Report> {
    result.map(|()| Report::default())
}

fn cargo(workspace: &Workspace, arguments: &[&str]) -> Result<()> {
    process::shown_and_kept(&mut workspace.cargo(arguments.iter().copied()))
}

fn rustdoc(workspace: &Workspace) -> Result<()> {
    let mut command = workspace.cargo(["doc", "--workspace", "--no-deps", "--quiet"]);
    process::shown_and_kept(command.env("RUSTDOCFLAGS", "-D warnings"))
}

fn deny_where_installed(workspace: &Workspace) -> Result<()> {
    if is_denied_here() {
        return deny(workspace);
    }
    println!("left out: `cargo xtask release-check` installs `cargo-deny`, which it needs");
    Ok(())
}

fn is_denied_here() -> bool {
    Command::new("cargo-deny").arg("--version").output().is_ok()
}

fn deny(workspace: &Workspace) -> Result<()> {
    if !is_denied_here() {
        // It looks once at a few hundred packages, so that optimizing it takes longer than it saves.
        let words = ["install", "--debug", "--locked", "cargo-deny", "--version", CARGO_DENY];
        process::run(workspace.cargo(words).env("CARGO_PROFILE_DEV_DEBUG", "0"))?;
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
