//! `cargo xtask bench`: the release build of service and benchmark, beside a PostgreSQL of their
//! own. What is measured and printed is the benchmark's own work.

use std::process::Command;

use crate::failure::Result;
use crate::pg::{Consent, Launcher};
use crate::test;
use crate::workspace::{Build, Workspace};

/// Runs the benchmark with the arguments.
pub(crate) fn run(workspace: &Workspace, consent: Consent, arguments: &[String]) -> Result<()> {
    let launcher = Launcher::find(consent)?;
    let service = workspace.build_service(Build::Release)?;
    let mut command = Command::new(workspace.build_bench()?);
    command.args(arguments).current_dir(workspace.root()).env("CHANCERY_BIN", service);
    test::on_a_cluster(workspace, &launcher, &mut command)
}
