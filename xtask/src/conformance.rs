//! `cargo xtask conformance`: what others say of interfaces, held against the service. Schemathesis calls
//! a live service by its API description; descriptions of public APIs become tools; and a mock that
//! refuses wrong requests is called with these. The end-to-end tests drive them. The programs are
//! installed below `target`.

use std::path::PathBuf;
use std::process::Command;

use crate::descriptions;
use crate::failure::{Failure, Result};
use crate::pg::{Checkpoints, Consent, Launcher};
use crate::process;
use crate::test::{END_TO_END, on_a_cluster};
use crate::workspace::{Build, Workspace};

/// The versions that are installed; their checks differ from one to the next.
const SCHEMATHESIS: &str = "4.32.5";
const PRISM: &str = "5.16.0";

/// Installs what is missing and runs the tests.
pub(crate) fn run(workspace: &Workspace, consent: Consent) -> Result<()> {
    let launcher = Launcher::find(consent)?;
    let binary = workspace.build_service(Build::Plain)?;
    let mut command = workspace.cargo(["test", "--package", END_TO_END, "--test", "it", "--"]);
    command.args(["conformance::", "--nocapture"]);
    command.env("CHANCERY_BIN", &binary);
    command.env("CHANCERY_SCHEMATHESIS", schemathesis(workspace)?);
    command.env("CHANCERY_PRISM", prism(workspace)?);
    let folder = descriptions::all(workspace)?;
    command.env(descriptions::VARIABLE, &folder).env(descriptions::MORE_VARIABLE, &folder);
    on_a_cluster(workspace, &launcher, Checkpoints::Rare, &mut command, process::run)
}

fn schemathesis(workspace: &Workspace) -> Result<PathBuf> {
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

/// A mock of any described API.
fn prism(workspace: &Workspace) -> Result<PathBuf> {
    let folder = workspace.target().join(format!("prism-{PRISM}"));
    let tool = folder.join("node_modules/.bin/prism");
    if !tool.exists() {
        println!("installing prism {PRISM} in `{}`", folder.display());
        std::fs::create_dir_all(&folder).map_err(Failure::on("make", &folder))?;
        let mut npm = Command::new("npm");
        npm.args([
            "install",
            "--ignore-scripts",
            "--no-audit",
            "--no-fund",
            "--silent",
            "--prefix",
        ]);
        process::run(npm.arg(&folder).arg(format!("@stoplight/prism-cli@{PRISM}")))?;
    }
    Ok(tool)
}
