//! Samples sent to a database by `psql`, each in a transaction that is rolled back, and what came of
//! each: how it ended, and where Citus sends it.

use std::fs;
use std::path::Path;

use super::log::shortened;
use super::psql::Psql;
use super::record::Sample;
use crate::failure::{Failure, Result};

/// What every session of the service is set to, as `crates/store-postgres/src/connect.rs` has it.
pub(super) const SESSION: &str = "-c statement_timeout=5000 -c lock_timeout=2000 \
     -c idle_in_transaction_session_timeout=3000 -c tcp_user_timeout=5000 \
     -c default_transaction_isolation=read\\ committed -c timezone=UTC \
     -c random_page_cost=1.1 -c enable_seqscan=off -c enable_hashjoin=off \
     -c enable_mergejoin=off -c jit=off";

/// What it is set to on Citus, and for the sake of the comparison on the plain server as well.
const PLANS: &str = "-c plan_cache_mode=auto";

/// The state of a statement that did what it was to do.
const DONE: &str = "00000";

/// How a line begins that tells how a step ended.
const MARK: &str = "@@";

/// How a step ended.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Outcome {
    /// The SQLSTATE.
    pub(super) state: String,
    /// What the database said, where it refused.
    pub(super) message: String,
}

/// What came of a sample.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Answer {
    /// How it ended: as its execution did, unless it could not be prepared.
    pub(super) outcome: Outcome,
    /// Its plan; none when the database shows none.
    pub(super) plan: Option<Plan>,
}

/// What a plan says of the nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Plan {
    /// How many tasks it has for them, those of its parts together.
    pub(super) tasks: u32,
    /// Whether the coordinator has the rows and sends each to its shard, which no task tells of.
    pub(super) is_pulled: bool,
}

impl Plan {
    /// Takes a line of the plan as `explain` prints it.
    fn take(&mut self, line: &str) {
        let tasks = line.trim_start().strip_prefix("Task Count: ");
        self.tasks += tasks.and_then(|count| count.trim_end().parse().ok()).unwrap_or(0);
        self.is_pulled |= line.trim_end().ends_with(" method: pull to coordinator");
    }
}

/// Sends the samples to the database of this URL. The script and what it prints stay beside this path.
pub(super) fn on(
    (psql, url): (&Psql, &str),
    samples: &[Sample],
    path: &Path,
) -> Result<Vec<Answer>> {
    let (file, printed) = (path.with_extension("sql"), path.with_extension("txt"));
    fs::write(&file, script(samples, &printed)).map_err(Failure::on("write", &file))?;
    // What an earlier run printed answers nothing when this one does not even begin.
    fs::write(&printed, "").map_err(Failure::on("write", &printed))?;
    let watched = psql.play(url, &format!("{SESSION} {PLANS}"), &file)?;
    let text = fs::read_to_string(&printed).map_err(Failure::on("read", &printed))?;
    let answers = answers(&text);
    match samples.get(answers.len()) {
        None => Ok(answers),
        Some(sample) => Err(Failure::because(format!(
            "the session ended at sample {} of `{}`, `{}`: {}",
            answers.len(),
            file.display(),
            shortened(&sample.sql),
            watched.said.lines().next_back().unwrap_or_default()
        ))),
    }
}

/// The script of all samples, which prints into this file. Preparing belongs to no transaction, and each
/// step has one of its own, so that what one refuses says nothing of the next.
pub(super) fn script(samples: &[Sample], printed: &Path) -> String {
    let printed = printed.to_string_lossy().replace('\'', "''");
    let head = format!("\\o '{printed}'\n");
    let steps = samples.iter().enumerate().map(|(number, sample)| steps(number, sample));
    [head].into_iter().chain(steps).collect()
}

fn steps(number: usize, Sample { sql, values }: &Sample) -> String {
    let call = match values.as_slice() {
        [] => "execute p".to_owned(),
        values => format!("execute p({})", values.join(", ")),
    };
    let told = |step| format!("\\qecho {MARK} {number} {step} :SQLSTATE :LAST_ERROR_MESSAGE");
    let (prepared, explained, executed) = (told("prepared"), told("explained"), told("executed"));
    // A statement may end in a comment, which ends with its line.
    format!(
        "\nprepare p as\n{sql}\n;\n{prepared}\n\
         begin;\nexplain (costs off) {call};\n{explained}\nrollback;\n\
         begin;\n{call}\n\\g /dev/null\n{executed}\nrollback;\n\
         deallocate all;\n"
    )
}

/// What came of each sample, in their order, up to where the text ends.
pub(super) fn answers(printed: &str) -> Vec<Answer> {
    let mut answers = Vec::new();
    let (mut prepared, mut plan, mut shown) = (Outcome::default(), Plan::default(), None);
    for line in printed.lines() {
        let Some((step, outcome)) = told(line, answers.len()) else {
            plan.take(line);
            continue;
        };
        match step {
            "prepared" => (prepared, plan) = (outcome, Plan::default()),
            "explained" => shown = outcome.is_done().then_some(plan),
            "executed" => {
                let outcome = if prepared.is_done() { outcome } else { prepared.clone() };
                answers.push(Answer { outcome, plan: shown });
            }
            _ => {}
        }
    }
    answers
}

impl Outcome {
    /// The outcome that a line tells. Where nothing was refused, `psql` repeats an older message.
    fn of(told: &str) -> Self {
        let (state, message) = told.split_once(' ').unwrap_or((told, ""));
        let message = if state == DONE { "" } else { message };
        Self { state: state.to_owned(), message: message.to_owned() }
    }

    /// Whether nothing was refused.
    pub(super) fn is_done(&self) -> bool {
        self.state == DONE
    }
}

/// The step of this sample that a line tells of, and how it ended.
fn told(line: &str, number: usize) -> Option<(&str, Outcome)> {
    let told = line.strip_prefix(&format!("{MARK} {number} "))?;
    let (step, outcome) = told.split_once(' ')?;
    Some((step, Outcome::of(outcome)))
}
