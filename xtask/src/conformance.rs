//! `cargo xtask conformance`: schemathesis against a live service, by the end-to-end test that
//! drives it. Here it is installed, in an environment of its own below `target`.

use std::path::PathBuf;
use std::process::Command;

use crate::failure::Result;
use crate::pg::{Checkpoints, Consent, Launcher};
use crate::process;
use crate::test::{END_TO_END, on_a_cluster};
use crate::workspace::{Build, Workspace};

/// The version that is installed; its checks differ from one to the next.
const SCHEMATHESIS: &str = "4.32.5";

/// Installs the tool where it is missing and runs the test.
pub(crate) fn run(workspace: &Workspace, consent: Consent) -> Result<()> {
    let launcher = Launcher::find(consent)?;
    let tool = install(workspace)?;
    let binary = workspace.build_service(Build::Plain)?;
    let mut command = workspace.cargo(["test", "--package", END_TO_END, "--test", "it", "--"]);
    command.args(["conformance::", "--nocapture"]);
    command.env("CHANCERY_BIN", &binary).env("CHANCERY_SCHEMATHESIS", tool);
    on_a_cluster(workspace, &launcher, Checkpoints::Rare, &mut command, process::run)
}

fn install(workspace: &Workspace) -> Result<PathBuf> {
    let folder = workspace.target().join(format!("schemathesis-{SCHEMATHESIS}"));
    let tool = folder.join("bin/schemathesis");
    if !tool.exists() {
        println!("installing schemathesis {SCHEMATHESIS} in `{}`", folder.display());
        process::run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&folder))?;
        let mut pip = Command::new(folder.join("bin/python"));
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
        process::run(pip.arg(format!("schemathesis=={SCHEMATHESIS}")))?;
    }
    Ok(tool)
}
