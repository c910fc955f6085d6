//! The test binaries of the workspace, compiled once and run one after the other on one cluster, and the
//! report of what came of them.

use std::process::Command;
use std::time::{Duration, Instant};

use super::harness::{self, Binary, Failed, Outcome};
use super::{DEADLINE, END_TO_END, GATED, THREADS, binaries, name_test_data, of_tests, threads};
use crate::failure::Result;
use crate::pg::{Checkpoints, Cluster, Consent, Launcher};
use crate::steps::Report;
use crate::tools;
use crate::workspace::{ALL, Build, Workspace};

/// Runs the tests of the crates and of `it`, every one whatever fails before it. A test of `it` that
/// fails is run once more by itself: if it passes then, a note names it and nothing has failed.
pub(crate) fn all(workspace: &Workspace, consent: Consent) -> Result<Report> {
    let mut suite = Suite::compiled(workspace, consent)?;
    if std::env::var_os(THREADS).is_none() {
        suite.names.env(THREADS, threads().to_string());
    }
    let is_end_to_end = |it: &Binary| it.package == END_TO_END && it.target.starts_with("--test");
    let (end_to_end, crates): (Vec<_>, Vec<_>) =
        suite.binaries.clone().into_iter().partition(is_end_to_end);

    let started = Instant::now();
    for binary in &crates {
        let outcome = suite.run(binary)?;
        suite.note(binary, outcome);
    }
    suite.took("test: crates", started);

    let started = Instant::now();
    suite.names.env(DEADLINE.0, DEADLINE.1);
    for binary in end_to_end.iter().filter(|it| it.target == GATED) {
        let mut outcome = suite.run(binary)?;
        outcome.failed = suite.once_more(binary, outcome.failed)?;
        suite.note(binary, outcome);
    }
    suite.took("test: it", started);

    let started = Instant::now();
    suite.doc_tests(workspace)?;
    suite.took("test: docs", started);
    Ok(suite.ended())
}

/// A target whose tests run one at a time, each alone in a process of its own.
#[derive(Debug)]
pub(crate) struct Trial {
    package: &'static str,
    target: &'static str,
    named: &'static str,
    environment: Vec<(&'static str, String)>,
    /// How much longer than another test each of them may take.
    more: Duration,
}

impl Trial {
    /// All tests of this target.
    pub(crate) fn of(package: &'static str, target: &'static str) -> Self {
        Self { package, target, named: "", environment: Vec::new(), more: Duration::ZERO }
    }

    /// Only the tests whose names hold this.
    pub(crate) fn named(self, named: &'static str) -> Self {
        Self { named, ..self }
    }

    /// With this in their environment.
    pub(crate) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.environment.push((name, value.into()));
        self
    }

    /// With so much more time for each test.
    pub(crate) fn longer(self, more: Duration) -> Self {
        Self { more, ..self }
    }
}

/// Runs the tests of a trial; the report has the time of each.
pub(crate) fn trial(workspace: &Workspace, consent: Consent, trial: &Trial) -> Result<Report> {
    let mut suite = Suite::compiled(workspace, consent)?;
    suite.names.envs(trial.environment.iter().map(|(name, value)| (name, value)));
    let target = format!("--test {}", trial.target);
    let is_it = |it: &&Binary| it.package == trial.package && it.target == target;
    for binary in suite.binaries.clone().iter().filter(is_it) {
        for test in binary.tests()?.iter().filter(|test| test.contains(trial.named)) {
            println!("\n     Running {test}");
            let started = Instant::now();
            let mut command = binary.command(&["--exact", test, "--nocapture"]);
            let command = suite.with_names(&mut command);
            let mut outcome = harness::run_longer(command, trial.more)?;
            // What it printed was not captured, so that the harness names no test and repeats nothing.
            let output = outcome.broken.take();
            outcome.failed.extend(output.map(|output| Failed { name: test.clone(), output }));
            suite.note(binary, outcome);
            suite.took(test, started);
        }
    }
    Ok(suite.ended())
}

/// Tests that run one binary after the other, and what came of them so far.
struct Suite {
    binaries: Vec<Binary>,
    /// Names to a test what it finds in the environment.
    names: Command,
    passed: usize,
    report: Report,
    /// What the tests run on; it is gone when this is.
    _cluster: Cluster,
}

impl Suite {
    /// Compiles every test and starts a cluster for them.
    fn compiled(workspace: &Workspace, consent: Consent) -> Result<Self> {
        let launcher = Launcher::find(consent)?;
        let started = Instant::now();
        let service = workspace.build_service(Build::WithTests)?;
        let binaries = binaries::compiled(workspace)?;
        let parts = vec![("test: compile".to_owned(), started.elapsed())];
        let cluster = launcher.throwaway(&of_tests(workspace), Checkpoints::Rare)?;
        let mut names = Command::new("cargo");
        names.env("CHANCERY_FAILPOINT_BIN", &service).env("CHANCERY_BIN", service);
        names.env("CHANCERY_TEST_POSTGRES", cluster.url());
        names.env("CHANCERY_PG_BIN", launcher.folder());
        tools::name(workspace, &mut names);
        name_test_data(workspace, &mut names);
        let report = Report { parts, ..Report::default() };
        Ok(Self { binaries, names, passed: 0, report, _cluster: cluster })
    }

    fn took(&mut self, part: &str, started: Instant) {
        self.report.parts.push((part.to_owned(), started.elapsed()));
    }

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
