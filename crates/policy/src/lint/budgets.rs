//! Whether a budget can ever have an effect, and whether it lets anything through.

use model::DecisionOutcome;

use super::about;
use crate::{
    document::{Budget, Document, Measure, Per, Rule, Window},
    error::{Code, Finding, Severity},
    expr::Decimal,
};

/// Tells budgets that no call reaches, and those that refuse every call or never before another.
pub(super) fn check(document: &Document, reached: &[&Rule], findings: &mut Vec<Finding>) {
    for (place, budget) in document.budgets.iter().enumerate() {
        let mut push = |code: Code, message: String| {
            let path = format!("budgets[{place}]");
            let finding = about(code, Severity::Warning, &path, message);
            let (line, column) = (budget.at.line, budget.at.column);
            findings.push(Finding { rule: Some(budget.id.clone()), line, column, ..finding });
        };
        if !is_charged(document, reached, budget) {
            let message = "no rule with the outcome `allow` or `require_approval` covers a call that this budget covers";
            push(Code::BudgetNeverReached, message.to_owned());
        } else if takes_nothing(budget) {
            let message = "refuses every call that it covers; use a rule that denies them instead";
            push(Code::BudgetAlwaysFirst, message.to_owned());
        } else if let Some(other) =
            document.budgets.iter().find(|other| is_always_before(other, budget))
        {
            let message =
                format!("never refuses a call, because `{}` always does so first", other.id);
            push(Code::BudgetAlwaysFirst, message);
        }
    }
}

fn is_charged(document: &Document, reached: &[&Rule], budget: &Budget) -> bool {
    if document.default.outcome != DecisionOutcome::Deny {
        return true;
    }
    let mut rules = reached.iter().filter(|rule| rule.outcome != DecisionOutcome::Deny);
    rules.any(|rule| {
        budget.globs.iter().any(|glob| rule.globs.iter().any(|other| glob.overlaps(other)))
    })
}

fn takes_nothing(budget: &Budget) -> bool {
    match &budget.measure {
        Measure::Count(limit) => *limit == 0,
        // Nothing that costs anything fits; what costs nothing is no reason for a budget.
        Measure::Cost(cost) => cost.limit == Decimal::ZERO,
    }
}

/// Whether `first` always counts at least as much as `second` and takes no more.
fn is_always_before(first: &Budget, second: &Budget) -> bool {
    let (Measure::Count(one), Measure::Count(other)) = (&first.measure, &second.measure) else {
        return false;
    };
    let covers =
        second.globs.iter().all(|inner| first.globs.iter().any(|outer| outer.covers(inner)));
    let counts_together = first.per.iter().all(|per| *per == Per::Org || second.per.contains(per));
    // Of two budgets that say the same only one is told, the one further down.
    let is_other = !std::ptr::eq(first, second);
    let is_stricter =
        one < other || first.window != second.window || first.at.start < second.at.start;
    is_other
        && covers
        && counts_together
        && one <= other
        && is_stricter
        && holds(first.window, second.window)
}

/// Whether every window of the second kind lies in one of the first.
const fn holds(outer: Window, inner: Window) -> bool {
    match (outer, inner) {
        (Window::Minute, Window::Minute)
        | (Window::Hour, Window::Hour)
        | (Window::Day, Window::Day)
        | (Window::Week, Window::Week | Window::Day)
        | (Window::Month, Window::Month | Window::Day) => true,
        // Minutes and hours are cut on the clock, which a zone may set back within a day.
        (
            Window::Minute | Window::Hour | Window::Day | Window::Week | Window::Month,
            Window::Minute | Window::Hour | Window::Day | Window::Week | Window::Month,
        ) => false,
    }
}
