//! `cargo xtask test`: cargo's own test runs, with the PostgreSQL, the binaries and the published
//! data that the tests find through the environment.

use std::path::PathBuf;
use std::process::Command;

use crate::failure::Result;
use crate::pg::{Consent, Launcher, Place};
use crate::process;
use crate::tools;
use crate::workspace::{Build, Workspace};

/// The package of the end-to-end tests, which alone needs the service's binaries.
pub(crate) const END_TO_END: &str = "tests";

/// What is built as somebody outside builds it: the cases of the workspace `tests/outside`.
const OUTSIDE: [&str; 5] =
    ["outside-decide", "outside-model", "outside-policy", "outside-deed", "outside-chancery"];

/// The folder of published test data, which is not part of the checkout.
const TEST_DATA: &str = "../shared/data";

/// Runs `cargo test` with the arguments, on all packages unless they name some.
pub(crate) fn run(workspace: &Workspace, consent: Consent, arguments: &[String]) -> Result<()> {
    let packages = packages(arguments);
    let launcher = Launcher::find(consent)?;
    let mut command = workspace.cargo(["test"]);
    if packages.is_empty() {
        command.arg("--workspace");
    }
    command.args(arguments);
    if packages.is_empty() || packages.contains(&END_TO_END) {
        // The build with failpoints goes first, so that cargo's own name ends on the plain one.
        command.env("CHANCERY_FAILPOINT_BIN", workspace.build_service(Build::Failpoints)?);
        command.env("CHANCERY_BIN", workspace.build_service(Build::Plain)?);
        tools::name(workspace, &mut command);
    }
    name_test_data(workspace, &mut command);
    on_a_cluster(workspace, &launcher, &mut command)?;
    if packages.is_empty() && arguments.is_empty() { without_us(workspace) } else { Ok(()) }
}

/// Tests what depends on the choice of features and on nothing else of this workspace: the evaluator
/// without the prover, and the examples of each published crate as an outsider builds them.
fn without_us(workspace: &Workspace) -> Result<()> {
    process::run(&mut workspace.cargo(["test", "--package", "policy", "--no-default-features"]))?;
    // One case at a time, since cargo joins the features of all that it builds together.
    for case in OUTSIDE {
        let manifest = ["test", "--manifest-path", "tests/outside/Cargo.toml", "--package", case];
        let mut command = workspace.cargo(manifest);
        process::run(command.arg("--target-dir").arg(workspace.target().join("outside")))?;
    }
    Ok(())
}

/// Runs the command beside a PostgreSQL cluster of its own, which is gone when the command is.
pub(crate) fn on_a_cluster(
    workspace: &Workspace,
    launcher: &Launcher,
    command: &mut Command,
) -> Result<()> {
    let place = Place::Checkout(workspace.root().join(".chancery"));
    let cluster = launcher.throwaway(&place)?;
    command.env("CHANCERY_TEST_POSTGRES", cluster.url());
    command.env("CHANCERY_PG_BIN", launcher.folder());
    process::run(command)
}

/// Tells the tests where the published data is, or the person which suites will be left out.
fn name_test_data(workspace: &Workspace, command: &mut Command) {
    if std::env::var_os("CHANCERY_TEST_DATA").is_some() {
        return;
    }
    let folder: PathBuf = workspace.root().join(TEST_DATA);
    match folder.canonicalize() {
        Ok(folder) => {
            command.env("CHANCERY_TEST_DATA", folder);
        }
        Err(_) => println!(
            "no published test data (`CHANCERY_TEST_DATA` is not set): the suites of RFC 8785, \
             JSON parsing and CEL are left out"
        ),
    }
}

/// The packages that the arguments of `cargo test` name.
fn packages(arguments: &[String]) -> Vec<&str> {
    let mut words = arguments.iter().map(String::as_str).take_while(|word| *word != "--");
    let mut named = Vec::new();
    while let Some(word) = words.next() {
        if word == "-p" || word == "--package" {
            named.extend(words.next());
        } else {
            let joined = word.strip_prefix("--package=").or_else(|| word.strip_prefix("-p"));
            named.extend(joined);
        }
    }
    named
}

#[cfg(test)]
mod tests;
