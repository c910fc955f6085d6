//! Whether a rule or a budget can ever have an effect.

use model::DecisionOutcome;

use super::{Report, about};
use crate::{
    document::{Document, Rule},
    error::{Code, Finding, Severity},
    glob::Glob,
};

/// Returns whether calls can get to the rule; tells it when rules above take them all.
pub(super) fn is_reachable(report: &mut Report<'_>, document: &Document) -> bool {
    let above = document.rules.get(..report.place).unwrap_or_default();
    let taken: Option<Vec<&Rule>> = report
        .rule
        .globs
        .iter()
        .map(|glob| above.iter().find(|rule| rule.when.is_none() && takes_all(rule, glob)))
        .collect();
    if let Some(taken) = taken {
        let mut ids: Vec<String> = taken.iter().map(|rule| format!("`{}`", rule.id)).collect();
        ids.dedup();
        let message = format!("can never decide: {} above left it no call", ids.join(" and "));
        report.push(Code::Unreachable, Severity::Error, message);
        return false;
    }
    let rule = report.rule;
    let same = above.iter().find(|other| {
        let same_condition = match (&other.when, &rule.when) {
            (Some(other), Some(when)) => other.text == when.text,
            (None, _) | (_, None) => false,
        };
        same_condition && rule.globs.iter().all(|glob| takes_all(other, glob))
    });
    if let Some(other) = same {
        let message = format!("can never decide: `{}` above has the same condition", other.id);
        report.push(Code::Shadowed, Severity::Warning, message);
    }
    true
}

fn takes_all(rule: &Rule, glob: &Glob) -> bool {
    rule.globs.iter().any(|outer| outer.covers(glob))
}

/// Tells the budgets that no call can be charged to.
pub(super) fn budgets(document: &Document, findings: &mut Vec<Finding>) {
    if document.default.outcome != DecisionOutcome::Deny {
        return;
    }
    for (place, budget) in document.budgets.iter().enumerate() {
        let is_charged = document.rules.iter().any(|rule| {
            let passes = rule.outcome != DecisionOutcome::Deny;
            passes
                && budget
                    .globs
                    .iter()
                    .any(|glob| rule.globs.iter().any(|other| glob.overlaps(other)))
        });
        if !is_charged {
            let message = "no rule lets a call through that this budget covers";
            let path = format!("budgets[{place}]");
            let finding = about(Code::BudgetNeverReached, Severity::Warning, &path, message);
            let (line, column) = (budget.at.line, budget.at.column);
            findings.push(Finding { rule: Some(budget.id.clone()), line, column, ..finding });
        }
    }
}
