//! `cargo xtask bench`: the release build of service and benchmark, beside a PostgreSQL of their
//! own. What is measured and printed is the benchmark's own work.

use std::process::Command;

use crate::failure::Result;
use crate::pg::{Consent, Launcher};
use crate::test;
use crate::workspace::{Build, Workspace};

/// The benchmark of the store's lists.
const LISTS: &str = "lists";
/// The benchmark of sealing and checking, which takes no service either.
const DEEDS: &str = "deeds";

/// Runs the benchmark with the arguments.
pub(crate) fn run(workspace: &Workspace, consent: Consent, arguments: &[String]) -> Result<()> {
    let launcher = Launcher::find(consent)?;
    if arguments.first().is_some_and(|name| name == LISTS) {
        // It measures the store alone, without a service.
        let mut command = Command::new(workspace.build_lists()?);
        return test::on_a_cluster(workspace, &launcher, &mut command);
    }
    let mut command = Command::new(workspace.build_bench()?);
    command.args(arguments).current_dir(workspace.root());
    if arguments.first().is_none_or(|name| name != DEEDS) {
        command.env("CHANCERY_BIN", workspace.build_service(Build::Release)?);
    }
    test::on_a_cluster(workspace, &launcher, &mut command)
}
