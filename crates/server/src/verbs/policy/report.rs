//! What a look at policies found, in the form that was asked for.

use std::fmt::Write;

use serde_json::Value;

use crate::{cli::Format, print};

/// A report in each of its forms.
pub(super) struct Report {
    /// The lines for people.
    pub(super) lines: Vec<String>,
    /// The whole, for programs.
    pub(super) json: Value,
    /// The name of the whole, for what shows test reports.
    pub(super) name: String,
    /// What was looked at, one by one.
    pub(super) cases: Vec<Case>,
}

/// One thing that was looked at.
pub(super) struct Case {
    pub(super) name: String,
    pub(super) outcome: Outcome,
}

/// What was found of it.
pub(super) enum Outcome {
    Fine,
    Failed(String),
    NotLookedAt(String),
}

impl Report {
    /// Prints the report.
    pub(super) fn print(&self, format: Format) {
        match format {
            Format::Text => self.lines.iter().for_each(print::line),
            Format::Json => print::line(format!("{:#}", self.json)),
            Format::Junit => print::line(self.junit()),
        }
    }

    /// The report as the XML of `JUnit`.
    fn junit(&self) -> String {
        let count = |wanted: fn(&Outcome) -> bool| {
            self.cases.iter().filter(|case| wanted(&case.outcome)).count()
        };
        let failures = count(|outcome| matches!(outcome, Outcome::Failed(_)));
        let skipped = count(|outcome| matches!(outcome, Outcome::NotLookedAt(_)));
        let (name, tests) = (escaped(&self.name), self.cases.len());
        let mut xml = format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite \
             name=\"{name}\" tests=\"{tests}\" failures=\"{failures}\" skipped=\"{skipped}\">\n"
        );
        for Case { name: case, outcome } in &self.cases {
            let case = escaped(case);
            let inner = match outcome {
                Outcome::Fine => String::new(),
                Outcome::Failed(why) => format!("<failure message=\"{}\"/>", escaped(why)),
                Outcome::NotLookedAt(why) => format!("<skipped message=\"{}\"/>", escaped(why)),
            };
            // Writing to a string cannot fail.
            let _ = writeln!(
                xml,
                "    <testcase classname=\"{name}\" name=\"{case}\">{inner}</testcase>"
            );
        }
        xml.push_str("  </testsuite>\n</testsuites>");
        xml
    }
}

/// The text as an attribute's value; what XML cannot hold becomes `?`.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\n' => safe.push_str("&#10;"),
            '\t' => safe.push_str("&#9;"),
            control if control.is_control() => safe.push('?'),
            other => safe.push(other),
        }
    }
    safe
}

#[cfg(test)]
mod tests;
