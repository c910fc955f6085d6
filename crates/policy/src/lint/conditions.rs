//! Whether a condition can fail for calls that a tool's schema allows.

use std::collections::BTreeSet;

use super::{KnownTool, Report};
use crate::{
    document::{Document, within},
    error::{Code, Severity},
    expr,
};

/// A rule over more tools is judged by the first so many; the others will mostly be alike.
const MOST_TOOLS: usize = 50;

/// Tells what may fail, once for each place in the condition.
pub(super) fn check(report: &mut Report<'_>, document: &Document, tools: &[KnownTool]) {
    let Some(when) = &report.rule.when else { return };
    let rule = report.rule;
    let covered = tools.iter().filter(|tool| rule.covers(&tool.name));
    let reached = covered.filter(|tool| {
        let above = document.rules.get(..report.place).unwrap_or_default();
        !above.iter().any(|rule| rule.when.is_none() && rule.covers(&tool.name))
    });
    let mut told = BTreeSet::new();
    let reached: Vec<&KnownTool> = reached.take(MOST_TOOLS).collect();
    for tool in reached {
        let (code_and_spans, name) = (expr::doubts(when.expr(), &tool.input_schema), &tool.name);
        let found = match code_and_spans {
            Ok(doubts) => doubts
                .into_iter()
                .map(|doubt| (doubt.span, doubt.code, doubt.message))
                .collect::<Vec<_>>(),
            Err(problem) => vec![(problem.span, Code::CanError, problem.message)],
        };
        for (span, code, message) in found {
            if told.insert((span.start, code)) {
                let severity =
                    if code == Code::CanError { Severity::Error } else { Severity::Warning };
                let at = within(&document.text, when.at, &when.text, span.start);
                report.push_at(code, severity, (at, ".when"), format!("for `{name}`: {message}"));
            }
        }
    }
}
