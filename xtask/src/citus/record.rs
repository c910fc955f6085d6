//! What the service's role sent to a server, read from the server's log: each text with a few choices
//! of values that differ in what is null and what is empty.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::ROLE;
use super::log::{executed, is_planned, shortened, values};
use crate::failure::{Failure, Result};

/// What has a server log each statement with all its values, in one file below its data.
pub(super) const SETTINGS: &str = "\
logging_collector = on
log_destination = 'jsonlog'
log_directory = 'log'
log_filename = 'statements'
log_rotation_age = 0
log_rotation_size = 0
log_statement = 'all'
log_parameter_max_length = -1
log_min_error_statement = 'panic'
";

/// The file, from the folder of the data.
pub(super) const FILE: &str = "log/statements.json";

/// What is sent behind everything else. The log is written by a process of its own, which may be behind.
pub(super) const END: &str = "select 'nothing more is recorded'";

/// How long the log may stand still before its end.
const STILL: Duration = Duration::from_secs(30);

/// How many choices of values are kept of a text.
const CHOICES: usize = 3;

/// A statement with one choice of values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sample {
    /// Its text, with `$1` and so on.
    pub(super) sql: String,
    /// The values, as literals of SQL.
    pub(super) values: Vec<String>,
}

/// Everything that was sent.
#[derive(Debug, Default)]
pub(super) struct Recording {
    planned: BTreeMap<String, BTreeMap<Shape, Vec<String>>>,
    others: BTreeSet<String>,
}

/// What tells two choices of values apart.
type Shape = Vec<Kind>;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Full,
    Empty,
    Null,
}

impl Recording {
    /// Keeps the statement of a line of the log, if it has one of the service's role.
    pub(super) fn take(&mut self, line: &str) -> Result<()> {
        let (role, _) = ROLE;
        // Most lines are of others, and reading one takes its time.
        if !line.contains(role) {
            return Ok(());
        }
        let unreadable =
            || Failure::because(format!("the server's log has a strange line: {line}"));
        let entry: Value = serde_json::from_str(line).map_err(|_| unreadable())?;
        let text = |name: &str| entry.get(name).and_then(Value::as_str);
        let sent = text("message").filter(|_| text("user") == Some(role)).and_then(executed);
        let Some(sql) = sent else { return Ok(()) };
        if !is_planned(sql) {
            self.others.insert(shortened(sql));
            return Ok(());
        }
        let values = match text("detail") {
            None => Vec::new(),
            Some(detail) => values(detail).ok_or_else(unreadable)?,
        };
        let choices = self.planned.entry(sql.to_owned()).or_default();
        let shape: Shape = values.iter().map(|value| Kind::of(value)).collect();
        if choices.len() < CHOICES {
            choices.entry(shape).or_insert(values);
        }
        Ok(())
    }

    /// Every statement with each choice of its values that was kept, those of one text together.
    pub(super) fn samples(&self) -> Vec<Sample> {
        let all = self.planned.iter().flat_map(|(sql, choices)| {
            choices.values().map(|values| Sample { sql: sql.clone(), values: values.clone() })
        });
        all.collect()
    }

    /// A line about what is not replayed.
    pub(super) fn left_out(&self) -> String {
        let others: Vec<_> = self.others.iter().map(String::as_str).collect();
        format!("left out, since no plan is made of it: {}", others.join("; "))
    }
}

impl Kind {
    fn of(literal: &str) -> Self {
        match literal {
            "NULL" => Self::Null,
            "''" | "'{}'" => Self::Empty,
            _ => Self::Full,
        }
    }
}

/// Reads the log up to its end, for which it waits.
pub(super) fn read(file: &Path) -> Result<Recording> {
    let mut log = BufReader::new(File::open(file).map_err(Failure::on("read", file))?);
    let mut recording = Recording::default();
    let (mut line, mut moved) = (String::new(), Instant::now());
    loop {
        log.read_line(&mut line).map_err(Failure::on("read", file))?;
        if line.ends_with('\n') {
            if line.contains(END) {
                return Ok(recording);
            }
            recording.take(&line)?;
            line.clear();
            moved = Instant::now();
        } else if moved.elapsed() > STILL {
            let sentence = format!("`{}` stands still before its end", file.display());
            return Err(Failure::because(sentence));
        } else {
            thread::sleep(Duration::from_millis(50));
        }
    }
}
