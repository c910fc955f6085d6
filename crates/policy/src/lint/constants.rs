//! Whether what is written out in expressions can be read at all.

use super::about;
use crate::{
    document::{Document, Measure, Source, place::within},
    error::{Finding, Severity},
    expr, prove,
};

/// Tells texts and numbers that their function can never read, and sums that no value holds.
pub(super) fn check(document: &Document, findings: &mut Vec<Finding>) {
    let Some(any) = prove::any_call() else { return };
    for (source, path, owner) in sources(document) {
        for problem in expr::unreadable(source.expr(), &any) {
            let at = within(&document.text, source.at, &source.text, problem.span.start);
            let finding = about(problem.code, Severity::Error, &path, problem.message);
            let (rule, line, column) = (Some(owner.to_owned()), at.line, at.column);
            findings.push(Finding { rule, line, column, ..finding });
        }
    }
}

/// Every expression with its path and the id of the rule or budget that it is of.
fn sources(document: &Document) -> impl Iterator<Item = (&Source, String, &str)> {
    let conditions = document.rules.iter().enumerate().filter_map(|(place, rule)| {
        Some((rule.when.as_ref()?, format!("rules[{place}].when"), &*rule.id))
    });
    let costs = document.budgets.iter().enumerate().flat_map(|(place, budget)| {
        let cost = match &budget.measure {
            Measure::Count(_) => None,
            Measure::Cost(cost) => Some(cost),
        };
        let parts =
            cost.map(|cost| [("amount", Some(&cost.amount)), ("currency", cost.currency.as_ref())]);
        parts.into_iter().flatten().filter_map(move |(key, source)| {
            Some((source?, format!("budgets[{place}].cost.{key}"), budget.id.as_str()))
        })
    });
    conditions.chain(costs)
}
