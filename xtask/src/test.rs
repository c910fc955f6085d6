//! `cargo xtask test`: the tests of the crates and the end-to-end target `it`, with the PostgreSQL, the
//! binaries and the published data that they find through the environment. With arguments it is
//! cargo's own test run with the same environment.

mod binaries;
mod harness;
mod suite;

use std::num::NonZero;
use std::path::PathBuf;
use std::process::Command;

use crate::failure::Result;
use crate::pg::{Checkpoints, Cluster, Consent, Launcher, Place};
use crate::process;
use crate::steps::{self, Step};
use crate::tools;
use crate::workspace::{ALL, Build, Workspace};
pub(crate) use suite::{Trial, all, trial};

/// The package of the end-to-end tests, which alone needs the service's binaries.
pub(crate) const END_TO_END: &str = "tests";

/// The end-to-end target of the gate; the others of its package are trials with verbs of their own.
const GATED: &str = "--test it";

/// What is built as somebody outside builds it: the cases of the workspace `tests/outside`.
const OUTSIDE: [&str; 5] =
    ["outside-decide", "outside-model", "outside-policy", "outside-deed", "outside-chancery"];

/// The libraries as they are built where nobody has set anything, and not as this workspace does.
const UNTUNED: &str = "profile.dev.package.\"*\".opt-level=0";

/// The folder of published test data, which is not part of the checkout.
const TEST_DATA: &str = "../shared/data";

/// What the houses of `it` give their database: on a busy machine, the service's own two seconds would
/// measure the machine.
const DEADLINE: (&str, &str) = ("CHANCERY_TEST_DATABASE_DEADLINE", "20s");

/// How many tests run at once, to the harness.
const THREADS: &str = "RUST_TEST_THREADS";

/// Half as many again as there are cores: end to end, a test waits for most of its time.
fn threads() -> usize {
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    cores + cores.div_ceil(2)
}

/// Runs all tests of the gate, or what the arguments name.
pub(crate) fn run(workspace: &Workspace, consent: Consent, arguments: &[String]) -> Result<()> {
    if arguments.is_empty() {
        let test = [Step { name: "test", run: all }];
        return steps::run("test", workspace, consent, &test);
    }
    some(workspace, consent, arguments)
}

/// Runs `cargo test` with the arguments, on all packages unless they name some.
fn some(workspace: &Workspace, consent: Consent, arguments: &[String]) -> Result<()> {
    let packages = packages(arguments);
    let launcher = Launcher::find(consent)?;
    let mut command = workspace.cargo(["test"]);
    if packages.is_empty() {
        let service = workspace.build_service(Build::WithTests)?;
        command.args(ALL).env("CHANCERY_FAILPOINT_BIN", &service).env("CHANCERY_BIN", service);
    } else if packages.contains(&END_TO_END) {
        // The build with failpoints goes first, so that cargo's own name ends on the plain one.
        command.env("CHANCERY_FAILPOINT_BIN", workspace.build_service(Build::Failpoints)?);
        command.env("CHANCERY_BIN", workspace.build_service(Build::Plain)?);
        if !names_target(arguments) {
            command.args(GATED.split(' ')).env(DEADLINE.0, DEADLINE.1);
        }
    }
    command.args(arguments);
    if packages.is_empty() || packages.contains(&END_TO_END) {
        tools::name(workspace, &mut command);
    }
    name_test_data(workspace, &mut command);
    if std::env::var_os(THREADS).is_none() {
        command.env(THREADS, threads().to_string());
    }
    on_a_cluster(workspace, &launcher, Checkpoints::Rare, &mut command, process::run)
}

/// Tests what depends on the choice of features and on nothing else of this workspace: the evaluator
/// without the prover, and the examples of each published crate as an outsider builds them.
pub(crate) fn outside(workspace: &Workspace) -> Result<()> {
    let plain = ["test", "--package", "policy", "--no-default-features", "--config", UNTUNED];
    process::shown_and_kept(&mut built_outside(workspace, &plain))?;
    // One case at a time, since cargo joins the features of all that it builds together.
    for case in OUTSIDE {
        let manifest = ["test", "--manifest-path", "tests/outside/Cargo.toml", "--package", case];
        process::shown_and_kept(&mut built_outside(workspace, &manifest))?;
    }
    Ok(())
}

/// A cargo command that builds with the libraries of all that is built as an outsider builds it.
fn built_outside(workspace: &Workspace, arguments: &[&str]) -> Command {
    let mut command = workspace.cargo(arguments.iter().copied());
    command.arg("--target-dir").arg(workspace.built_outside()).env("CARGO_PROFILE_DEV_DEBUG", "0");
    command
}

/// Where the throwaway clusters of tests are put.
pub(crate) fn of_tests(workspace: &Workspace) -> Place {
    Place::of_tests(workspace.root().join(".chancery"))
}

/// Runs the command in this way beside a PostgreSQL cluster of its own, which is gone when the command
/// is.
pub(crate) fn on_a_cluster(
    workspace: &Workspace,
    launcher: &Launcher,
    checkpoints: Checkpoints,
    command: &mut Command,
    run: fn(&mut Command) -> Result<()>,
) -> Result<()> {
    let place = match checkpoints {
        Checkpoints::Rare => of_tests(workspace),
        Checkpoints::Usual => Place::Checkout(workspace.root().join(".chancery")),
    };
    let cluster = launcher.throwaway(&place, checkpoints)?;
    run(name_cluster(command, launcher, &cluster))
}

/// Tells the tests which cluster is theirs, and where its programs are.
pub(crate) fn name_cluster<'a>(
    command: &'a mut Command,
    launcher: &Launcher,
    cluster: &Cluster,
) -> &'a mut Command {
    command.env("CHANCERY_TEST_POSTGRES", cluster.url());
    command.env("CHANCERY_PG_BIN", launcher.folder())
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

/// Whether the arguments of `cargo test` name a target.
fn names_target(arguments: &[String]) -> bool {
    let mut words = arguments.iter().map(String::as_str).take_while(|word| *word != "--");
    words.any(|word| ["--test", "--lib", "--doc", "--bins", "--tests"].contains(&word))
}

#[cfg(test)]
mod tests;
