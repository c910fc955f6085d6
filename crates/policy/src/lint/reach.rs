//! Whether a rule can ever decide.

use super::Report;
use crate::{
    document::Rule,
    error::{Code, Severity},
    glob::Glob,
    prove::{Answer, First, Goal, Judgement, Prover, Want, first},
};

/// The most rules that a sentence names.
const MOST_NAMED: usize = 4;

/// Whether calls may get to the rule; tells it when it is proved that none can.
pub(super) fn is_reachable<'k>(report: &mut Report<'_, 'k>, prover: &mut Prover<'k>) -> bool {
    if let Some(taken) = taken(report) {
        let message = format!(
            "can never decide: every call that it covers is already decided by {} above",
            named(&taken)
        );
        report.push(Code::Unreachable, Severity::Error, message);
        let example = any_call(report, prover, Want::True);
        report.show(example);
        return false;
    }
    match decides(report, prover) {
        Answer::Example(_) | Answer::NotProven => {
            lost_over_known_tools(report);
            true
        }
        Answer::Never(takers) if takers.is_empty() => {
            let at = report.rule.when.as_ref().map_or(report.rule.at, |when| when.at);
            let message = "the condition is true for no call, so the rule can never decide";
            report.push_at(Code::AlwaysFalse, Severity::Warning, (at, ".when"), message);
            let example = any_call(report, prover, Want::False);
            report.show(example);
            false
        }
        Answer::Never(takers) => {
            let ids = named(&takers);
            if takers.iter().all(|rule| rule.when.is_none()) {
                let message = format!(
                    "can never decide: every call that it covers is already decided by {ids} above"
                );
                report.push(Code::Unreachable, Severity::Error, message);
            } else {
                let message = format!(
                    "can never decide: every call for which it holds is already decided by {ids} \
                     above"
                );
                report.push(Code::Shadowed, Severity::Warning, message);
            }
            let example = any_call(report, prover, Want::True);
            report.show(example);
            false
        }
    }
}

/// The rules without conditions that cover everything the rule covers, when they do.
fn taken<'k>(report: &Report<'_, 'k>) -> Option<Vec<&'k Rule>> {
    let above = report.above();
    let takes = |glob: &Glob| {
        above
            .iter()
            .find(|rule| rule.when.is_none() && rule.globs.iter().any(|outer| outer.covers(glob)))
    };
    report.rule.globs.iter().map(takes).collect()
}

fn named(rules: &[&Rule]) -> String {
    let mut ids: Vec<String> = rules.iter().map(|rule| format!("`{}`", rule.id)).collect();
    ids.dedup();
    let rest = ids.len().saturating_sub(MOST_NAMED);
    ids.truncate(MOST_NAMED);
    let more = if rest == 0 { String::new() } else { format!(" and {rest} more") };
    ids.join(" and ") + &more
}

/// Asks for a call that the rule decides.
fn decides<'k>(report: &Report<'_, 'k>, prover: &mut Prover<'k>) -> Answer<'k> {
    let (own, policy) = (report.place, report.facts.policy);
    prover.ask(goals(report.own, Want::True), |sample| match first(policy, sample) {
        First::Rule(place, _) if place == own => Judgement::Yes,
        First::Rule(place, rule) | First::Failed(place, rule) if place < own => {
            Judgement::TakenBy(rule)
        }
        First::Rule(..) | First::Failed(..) | First::Default => Judgement::No,
    })
}

/// A call that the rule covers and for which its condition comes to this.
pub(super) fn any_call<'k>(
    report: &Report<'_, 'k>,
    prover: &mut Prover<'k>,
    want: Want,
) -> Option<Box<crate::Call>> {
    let answer = prover.ask(goals(report.own, want), |sample| {
        if report.comes_to(sample, want) { Judgement::Yes } else { Judgement::No }
    });
    match answer {
        Answer::Example(sample) => Some(sample),
        Answer::Never(_) | Answer::NotProven => None,
    }
}

/// What a call must do for the rule to come to this.
pub(super) fn goals(rule: &Rule, want: Want) -> Vec<Goal<'_>> {
    let condition = rule.when.as_ref().map(|when| Goal::Comes(when.expr(), want));
    condition.into_iter().chain([Goal::Covered(&rule.globs)]).collect()
}

/// Tells a rule whose tools are all taken by rules without conditions, as far as tools are known.
fn lost_over_known_tools(report: &mut Report<'_, '_>) {
    let above = report.above();
    let mut covered =
        report.facts.tools.iter().filter(|tool| report.rule.covers(&tool.name)).peekable();
    if covered.peek().is_none() {
        return;
    }
    let takers: Option<Vec<&Rule>> = covered
        .map(|tool| above.iter().find(|rule| rule.when.is_none() && rule.covers(&tool.name)))
        .collect();
    if let Some(mut takers) = takers {
        takers.dedup_by(|one, other| std::ptr::eq(*one, *other));
        let ids = named(&takers);
        let message = format!(
            "decides no call of the existing tools: all are already decided by {ids} above"
        );
        report.push(Code::Unreachable, Severity::Warning, message);
    }
}
