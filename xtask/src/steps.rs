//! The steps of a verb, one after the other: each is timed, none hides the next, and what failed is
//! repeated at the end with its own output. What a step does is its own matter.

use std::time::{Duration, Instant};

use crate::failure::{Failure, Result};
use crate::pg::Consent;
use crate::workspace::Workspace;

/// One step: its name, and how it is done.
pub(crate) struct Step {
    pub(crate) name: &'static str,
    pub(crate) run: fn(&Workspace, Consent) -> Result<Report>,
}

/// What came of a step.
#[derive(Debug, Default)]
pub(crate) struct Report {
    /// How long its parts took; empty when it has none.
    pub(crate) parts: Vec<(String, Duration)>,
    /// What failed, each with its output and the command that runs it alone.
    pub(crate) failures: Vec<String>,
    /// What a person should know although nothing failed.
    pub(crate) notes: Vec<String>,
}

impl Report {
    /// Takes over what another report holds.
    pub(crate) fn add(&mut self, other: Self) {
        self.parts.extend(other.parts);
        self.failures.extend(other.failures);
        self.notes.extend(other.notes);
    }
}

/// Runs every step, also behind one that failed, and prints what came of them. Ends early only when a
/// person asks for it.
pub(crate) fn run(
    verb: &'static str,
    workspace: &Workspace,
    consent: Consent,
    steps: &[Step],
) -> Result<()> {
    let began = Instant::now();
    let mut total = Report::default();
    for step in steps {
        println!("\n== {}", step.name);
        let started = Instant::now();
        let mut report = match (step.run)(workspace, consent) {
            Ok(report) => report,
            Err(Failure::Interrupted) => return Err(Failure::Interrupted),
            Err(failure) => {
                println!("{}: {failure}", step.name);
                let failures = vec![format!("{}: {failure}", step.name)];
                Report { failures, ..Report::default() }
            }
        };
        if report.parts.is_empty() {
            report.parts.push((step.name.to_owned(), started.elapsed()));
        }
        total.add(report);
    }
    ended(verb, &total, began.elapsed())
}

/// Prints how long everything took, what a person should know, and what failed last of all.
pub(crate) fn ended(verb: &'static str, total: &Report, took: Duration) -> Result<()> {
    println!("\n{}", table(&total.parts, took));
    for note in &total.notes {
        println!("{note}");
    }
    for failure in &total.failures {
        println!("\n{failure}");
    }
    if total.failures.is_empty() {
        return Ok(());
    }
    Err(Failure::Findings { check: verb, count: total.failures.len() })
}

/// The time of each part, and of all.
fn table(parts: &[(String, Duration)], all: Duration) -> String {
    let width = parts.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0).max(4);
    let row = |name: &str, took: Duration| {
        format!("| {name:width$} | {:3}:{:02} |", took.as_secs() / 60, took.as_secs() % 60)
    };
    let head = [format!("| {:width$} |   time |", "step"), format!("|-{:-<width$}-|-------:|", "")];
    let rows = parts.iter().map(|(name, took)| row(name, *took));
    let lines = head.into_iter().chain(rows).chain([row("all", all)]);
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_a_row_for_each_part_and_one_for_all() {
        let parts = [("fmt".to_owned(), Duration::from_secs(2))];
        let table = table(&parts, Duration::from_secs(754));
        let expected = "\
| step |   time |
|------|-------:|
| fmt  |   0:02 |
| all  |  12:34 |";
        assert_eq!(table, expected);
    }
}
