//! `cargo xtask bench`: the release build of service and benchmark, beside a PostgreSQL of their
//! own; or the policy engine beside its peers, or signed intents, which need neither. What is
//! measured and printed is the benchmark's own work.

use std::process::Command;

use crate::failure::Result;
use crate::pg::{Checkpoints, Consent, Launcher};
use crate::process;
use crate::test;
use crate::workspace::{Build, Workspace};

/// The benchmark of the store's lists.
const LISTS: &str = "lists";
/// The benchmark of sealing and checking, which takes no service either.
const DEEDS: &str = "deeds";
/// The benchmark of checking signed intents, which takes neither service nor PostgreSQL.
const INTENTS: &str = "intents";
/// The benchmark of the policy engine, in a workspace of its own.
const POLICY: &str = "policy";

/// Runs the benchmark with the arguments.
pub(crate) fn run(workspace: &Workspace, consent: Consent, arguments: &[String]) -> Result<()> {
    if let Some((name, rest)) = arguments.split_first()
        && name == POLICY
    {
        return policy(workspace, rest);
    }
    if arguments.first().is_some_and(|name| name == INTENTS) {
        return process::run(Command::new(workspace.build_bench()?).args(arguments));
    }
    let launcher = Launcher::find(consent)?;
    if arguments.first().is_some_and(|name| name == LISTS) {
        // It measures the store alone, without a service.
        for program in workspace.build_lists()? {
            test::on_a_cluster(
                workspace,
                &launcher,
                Checkpoints::Usual,
                &mut Command::new(program),
            )?;
        }
        return Ok(());
    }
    let mut command = Command::new(workspace.build_bench()?);
    command.args(arguments).current_dir(workspace.root());
    if arguments.first().is_none_or(|name| name != DEEDS) {
        command.env("CHANCERY_BIN", workspace.build_service(Build::Release)?);
    }
    test::on_a_cluster(workspace, &launcher, Checkpoints::Usual, &mut command)
}

/// Builds the peers, which takes minutes the first time, and measures.
fn policy(workspace: &Workspace, arguments: &[String]) -> Result<()> {
    let folder = workspace.root().join("bench").join("policy-peers");
    let mut command = Command::new("cargo");
    command.args(["run", "--release", "--quiet", "--locked", "--"]).args(arguments);
    process::run(command.current_dir(folder))
}
