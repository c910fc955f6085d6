//! Whether the fields that a rule names are fields of its tools.
//!
//! Arguments are only as much known as the tools that the rule covers are: where an edge may run one
//! that nobody knows, or a schema takes more than it names, a field is at most doubted.

use std::collections::BTreeMap;

use super::{Report, conditions::MOST_TOOLS};
use crate::{
    catalog::KnownTool,
    document::{Source, place::within},
    error::{Code, Severity},
    expr,
    glob::Glob,
    tree::Mark,
};

/// The fields that schemas do not have, by their places in a condition.
#[derive(Default)]
pub(super) struct Lacking(BTreeMap<usize, Lack>);

/// Tools of which none has a field.
struct Lack {
    /// What is to be said of the first of them.
    tool: String,
    message: String,
    /// How many there are, and how many of them take no field but those that they name.
    tools: usize,
    certain: usize,
}

impl Lack {
    fn of(tool: &KnownTool, message: String) -> Self {
        Self { tool: tool.name.clone(), message, tools: 0, certain: 0 }
    }

    fn count(&mut self, is_certain: bool) {
        self.tools += 1;
        self.certain += usize::from(is_certain);
    }
}

impl Lacking {
    /// Adds a tool whose schema has no field of that name.
    pub(super) fn add(&mut self, start: usize, tool: &KnownTool, message: String, certain: bool) {
        self.0.entry(start).or_insert_with(|| Lack::of(tool, message)).count(certain);
    }

    /// Tells each field once.
    pub(super) fn tell(self, report: &mut Report<'_, '_>, when: &Source, tools: usize) {
        for (start, lack) in self.0 {
            let at = within(&report.facts.document.text, when.at, &when.text, start);
            tell(report, (at, ".when"), &lack, tools);
        }
    }
}

/// Tells the fields to show that none of the rule's tools has.
pub(super) fn shown(report: &mut Report<'_, '_>) {
    let (rule, all) = (report.rule, report.facts.tools);
    let Some(asks) = &rule.asks else { return };
    let covered: Vec<_> = all.iter().filter(|tool| rule.covers(&tool.name)).collect();
    for (place, (field, at)) in asks.show.iter().zip(&rule.show_at).enumerate() {
        let mut found: Option<Lack> = None;
        for tool in covered.iter().take(MOST_TOOLS) {
            let Some(unknown) = expr::unknown(&tool.input_schema, field) else { continue };
            let message = format!("the schema has no `{field}`{}", unknown.hint);
            found.get_or_insert_with(|| Lack::of(tool, message)).count(unknown.is_certain);
        }
        // A field that some of the tools have is shown for these.
        if let Some(lack) = found.filter(|lack| lack.tools == covered.len()) {
            tell(report, (*at, &format!(".approval.show[{place}]")), &lack, covered.len());
        }
    }
}

/// A field that no call can have is a mistake; one that some calls may have is worth a look.
fn tell(report: &mut Report<'_, '_>, at: (Mark, &str), lack: &Lack, tools: usize) {
    let (severity, of) = if lack.certain == tools && knows_all(report) {
        (Severity::Error, if tools == 1 { "" } else { " and every other tool of the rule" })
    } else {
        (Severity::Warning, "")
    };
    let message = format!("for `{}`{of}: {}", lack.tool, lack.message);
    report.push_at(Code::UnknownField, severity, at, message);
}

/// Whether the rule covers tools of such connectors alone whose tools are known.
fn knows_all(report: &Report<'_, '_>) -> bool {
    let connector = |tool: &'_ str| tool.split_once('.').map(|(connector, _)| connector.to_owned());
    let is_known = |glob: &Glob| {
        let own = connector(glob.as_str()).filter(|name| !name.contains('*'));
        own.is_some() && report.facts.tools.iter().any(|tool| connector(&tool.name) == own)
    };
    report.rule.globs.iter().all(is_known)
}
