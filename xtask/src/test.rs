//! `cargo xtask test`: the tests of the crates and the end-to-end target `it`, with the PostgreSQL, the
//! binaries and the published data that they find through the environment. With arguments it is
//! cargo's own test run with the same environment.

mod binaries;
mod harness;

use std::num::NonZero;
use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

use crate::failure::Result;
use crate::pg::{Checkpoints, Consent, Launcher, Place};
use crate::process;
use crate::steps::{self, Report, Step};
use crate::tools;
use crate::workspace::{ALL, Build, Workspace};
use harness::{Binary, Failed, Outcome};

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

/// Runs the tests of the crates and of `it`, every one whatever fails before it. A test of `it` that
/// fails is run once more by itself: if it passes then, a note names it and nothing has failed.
pub(crate) fn all(workspace: &Workspace, consent: Consent) -> Result<Report> {
    let launcher = Launcher::find(consent)?;
    let mut report = Report::default();
    let started = Instant::now();
    let service = workspace.build_service(Build::WithTests)?;
    let binaries = binaries::compiled(workspace)?;
    report.parts.push(("test: compile".to_owned(), started.elapsed()));

    let cluster = launcher.throwaway(&of_tests(workspace), Checkpoints::Rare)?;
    let mut names = Command::new("cargo");
    names.env("CHANCERY_FAILPOINT_BIN", &service).env("CHANCERY_BIN", &service);
    tools::name(workspace, &mut names);
    name_test_data(workspace, &mut names);
    names.env("CHANCERY_TEST_POSTGRES", cluster.url()).env("CHANCERY_PG_BIN", launcher.folder());
    if std::env::var_os(THREADS).is_none() {
        names.env(THREADS, threads().to_string());
    }

    let is_trial = |it: &&Binary| it.package == END_TO_END && it.target.starts_with("--test");
    let mut suite = Suite { names, passed: 0, report };
    let started = Instant::now();
    for binary in binaries.iter().filter(|it| !is_trial(it)) {
        let outcome = suite.run(binary)?;
        suite.note(binary, outcome);
    }
    suite.report.parts.push(("test: crates".to_owned(), started.elapsed()));

    let started = Instant::now();
    for binary in binaries.iter().filter(is_trial).filter(|it| it.target == GATED) {
        suite.names.env(DEADLINE.0, DEADLINE.1);
        let mut outcome = suite.run(binary)?;
        outcome.failed = suite.once_more(binary, outcome.failed)?;
        suite.note(binary, outcome);
    }
    suite.report.parts.push(("test: it".to_owned(), started.elapsed()));

    let started = Instant::now();
    suite.doc_tests(workspace)?;
    suite.report.parts.push(("test: docs".to_owned(), started.elapsed()));
    Ok(suite.ended())
}

/// Tests that run one binary after the other, and what came of them so far.
struct Suite {
    /// Names to a test what it finds in the environment.
    names: Command,
    passed: usize,
    report: Report,
}

impl Suite {
    fn run(&self, binary: &Binary) -> Result<Outcome> {
        println!("\n     Running {} {}", binary.package, binary.target);
        harness::run(self.with_names(&mut binary.command(&[])))
    }

    /// Gives the command the environment of the tests.
    fn with_names<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        let named = self.names.get_envs();
        command.envs(named.filter_map(|(name, value)| Some((name, value?))))
    }

    /// Runs each of these once more by itself, and returns those that fail again.
    fn once_more(&mut self, binary: &Binary, failed: Vec<Failed>) -> Result<Vec<Failed>> {
        let mut again = Vec::new();
        for first in failed {
            println!("\n     Running {} once more", first.name);
            let mut command = binary.command(&["--exact", &first.name]);
            let outcome = harness::run(self.with_names(&mut command))?;
            if outcome.passed == 1 && outcome.broken.is_none() {
                self.passed += 1;
                let Failed { name, output } = first;
                self.report
                    .notes
                    .push(format!("flaky: {name}, which failed first with:\n{output}"));
            } else {
                again.push(first);
            }
        }
        Ok(again)
    }

    /// Keeps what came of a binary.
    fn note(&mut self, binary: &Binary, outcome: Outcome) {
        self.passed += outcome.passed;
        let Binary { package, target, .. } = binary;
        for Failed { name, output } in outcome.failed {
            let alone = binary.alone(&name);
            self.report
                .failures
                .push(format!("{package} {target}: {name}\n{output}\nalone: {alone}"));
        }
        if let Some(why) = outcome.broken {
            self.report.failures.push(format!("{package} {target}: {why}"));
        }
    }

    fn doc_tests(&mut self, workspace: &Workspace) -> Result<()> {
        let mut command = workspace.cargo(["test", "--doc", "--no-fail-fast"]);
        command.args(ALL);
        let outcome = harness::run(self.with_names(&mut command))?;
        self.passed += outcome.passed;
        for Failed { name, output } in outcome.failed {
            self.report.failures.push(format!("doc test {name}\n{output}"));
        }
        self.report.failures.extend(outcome.broken.map(|why| format!("doc tests: {why}")));
        Ok(())
    }

    /// The report, with the count that closes it.
    fn ended(mut self) -> Report {
        let failed = self.report.failures.len();
        self.report.notes.push(format!("{} passed, {failed} failed", self.passed));
        self.report
    }
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
    on_a_cluster(workspace, &launcher, Checkpoints::Rare, &mut command)
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
fn of_tests(workspace: &Workspace) -> Place {
    Place::of_tests(workspace.root().join(".chancery"))
}

/// Runs the command beside a PostgreSQL cluster of its own, which is gone when the command is.
pub(crate) fn on_a_cluster(
    workspace: &Workspace,
    launcher: &Launcher,
    checkpoints: Checkpoints,
    command: &mut Command,
) -> Result<()> {
    let place = match checkpoints {
        Checkpoints::Rare => of_tests(workspace),
        Checkpoints::Usual => Place::Checkout(workspace.root().join(".chancery")),
    };
    let cluster = launcher.throwaway(&place, checkpoints)?;
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

/// Whether the arguments of `cargo test` name a target.
fn names_target(arguments: &[String]) -> bool {
    let mut words = arguments.iter().map(String::as_str).take_while(|word| *word != "--");
    words.any(|word| ["--test", "--lib", "--doc", "--bins", "--tests"].contains(&word))
}

#[cfg(test)]
mod tests;
