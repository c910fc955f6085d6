//! One test binary: run to its end, and what it printed read for what passed and what failed.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use crate::failure::Result;
use crate::process::{self, Watched};

/// The longest that one binary may take; what still runs then is named.
const LIMIT: Duration = Duration::from_mins(20);

/// How many of the last lines are kept.
const LAST: usize = 40;

/// A compiled test binary.
#[derive(Debug, Clone)]
pub(super) struct Binary {
    /// The package it belongs to.
    pub(super) package: String,
    /// How `cargo test` is told of it, as `--lib` or `--test it`.
    pub(super) target: String,
    /// Where it is.
    pub(super) file: PathBuf,
    /// The folder it runs in.
    pub(super) folder: PathBuf,
}

/// What came of a run.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Outcome {
    /// How many tests passed.
    pub(super) passed: usize,
    /// The tests that failed.
    pub(super) failed: Vec<Failed>,
    /// Why the run as a whole is no good, where no single test says so.
    pub(super) broken: Option<String>,
}

/// A test that failed, and what it printed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Failed {
    pub(super) name: String,
    pub(super) output: String,
}

impl Binary {
    /// The names of its tests.
    pub(super) fn tests(&self) -> Result<Vec<String>> {
        let output = process::capture(&mut self.command(&["--list"]))?;
        let listed = String::from_utf8_lossy(&output.stdout).into_owned();
        Ok(listed
            .lines()
            .filter_map(|line| line.strip_suffix(": test"))
            .map(str::to_owned)
            .collect())
    }

    /// The command that runs it with these words, without what the tests find in the environment.
    pub(super) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.file);
        command.args(words).current_dir(&self.folder).env("CARGO_MANIFEST_DIR", &self.folder);
        command
    }

    /// What a person types to run one of its tests alone.
    pub(super) fn alone(&self, test: &str) -> String {
        format!("cargo xtask test -p {} {} -- --exact {test}", self.package, self.target)
    }
}

/// Runs the command, which prints what the test harness prints, shows that, and reads it.
pub(super) fn run(command: &mut Command) -> Result<Outcome> {
    run_longer(command, Duration::ZERO)
}

/// The same for a run that may take so much longer than others.
pub(super) fn run_longer(command: &mut Command, more: Duration) -> Result<Outcome> {
    shown(command, LIMIT.saturating_add(more), io::stdout())
}

fn shown(
    command: &mut Command,
    limit: Duration,
    place: impl Write + Send + 'static,
) -> Result<Outcome> {
    let Watched { status, said } = process::watched(command, limit, place)?;
    let mut outcome = read(&said);
    let is_told = status.success() || !outcome.failed.is_empty();
    if !is_told || ends(&said) == 0 {
        outcome.broken = Some(broken(&said, &format!("it ended with {status}")));
    }
    Ok(outcome)
}

/// Reads what the harness printed; a run of doc tests prints one part for each crate.
pub(super) fn read(said: &str) -> Outcome {
    let failed = said
        .lines()
        .filter_map(failed_name)
        .map(|name| Failed { name: name.to_owned(), output: output_of(said, name) });
    let passed = said.lines().filter_map(|line| line.strip_prefix("test result: "));
    let passed =
        passed.filter_map(|rest| rest.split("; ").next()?.split(' ').nth(1)?.parse::<usize>().ok());
    Outcome { passed: passed.sum(), failed: failed.collect(), broken: None }
}

/// The test that this line tells to have failed.
fn failed_name(line: &str) -> Option<&str> {
    let name = line.strip_prefix("test ")?.strip_suffix(" ... FAILED")?;
    Some(name.strip_suffix(" - should panic").unwrap_or(name))
}

/// What the test printed, which the harness repeats under its name.
fn output_of(said: &str, name: &str) -> String {
    let lines = said.lines().skip_while(|line| !is_heading_of(line, name)).skip(1);
    let own = lines.take_while(|line| !is_heading(line) && *line != "failures:");
    own.collect::<Vec<_>>().join("\n").trim().to_owned()
}

fn is_heading(line: &str) -> bool {
    line.starts_with("---- ") && line.ends_with(" stdout ----")
}

fn is_heading_of(line: &str, name: &str) -> bool {
    line.strip_prefix("---- ").and_then(|rest| rest.strip_suffix(" stdout ----")) == Some(name)
}

fn ends(said: &str) -> usize {
    said.lines().filter(|line| line.starts_with("test result: ")).count()
}

/// How a run ended of which no test says that it failed: the tests that had not ended, and the last lines.
fn broken(said: &str, ended: &str) -> String {
    let begun = said.lines().filter_map(|line| {
        line.strip_prefix("test ")?.strip_suffix(" has been running for over 60 seconds")
    });
    let over = |name: &&str| said.contains(&format!("test {name} ... "));
    let open: Vec<_> = begun.filter(|name| !over(name)).collect();
    let lines: Vec<_> = said.lines().collect();
    let last = lines.get(lines.len().saturating_sub(LAST)..).unwrap_or_default().join("\n");
    format!("{ended}; still running: [{}]\n{last}", open.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAID: &str = "\
running 3 tests
test a::b ... ok
test a::c ... FAILED
test slow has been running for over 60 seconds
test slow ... FAILED

failures:

---- a::c stdout ----
thread 'a::c' panicked at x.rs:1:1:
no
---- slow stdout ----
late

failures:
    a::c
    slow

test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.00s
";

    #[test]
    fn what_failed_is_read_with_its_own_output() {
        let outcome = read(SAID);
        let told: Vec<_> = outcome.failed.iter().map(|it| (&*it.name, &*it.output)).collect();
        assert_eq!(told, [("a::c", "thread 'a::c' panicked at x.rs:1:1:\nno"), ("slow", "late")]);
        assert_eq!(outcome.passed, 1);
    }

    #[test]
    fn counts_of_several_parts_add_up() {
        let part = "test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n";
        assert_eq!(read(&part.repeat(3)).passed, 6);
    }

    #[test]
    fn a_run_without_a_result_names_what_had_not_ended() {
        let said = "test a ... ok\ntest b has been running for over 60 seconds\n";
        let mut command = Command::new("/bin/sh");
        command.args(["-c", &format!("printf '{said}'; kill -9 $$")]);
        let outcome = shown(&mut command, LIMIT, io::sink()).unwrap();
        let broken = outcome.broken.unwrap();
        assert!(broken.contains("still running: [b]"), "{broken}");
    }

    #[test]
    fn a_run_that_fails_without_naming_a_test_is_broken() {
        let ok = "test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out";
        let mut command = Command::new("/bin/sh");
        command.args(["-c", &format!("echo '{ok}'; exit 7")]);
        assert!(shown(&mut command, LIMIT, io::sink()).unwrap().broken.is_some());
    }
}
