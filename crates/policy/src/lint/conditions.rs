//! Whether a condition can fail for calls that a tool's schema allows, and whether it is ever false.

use std::collections::BTreeSet;

use super::{Report, fields::Lacking, reach, schema};
use crate::{
    call::Call,
    catalog::KnownTool,
    document::place::within,
    error::{Code, Severity},
    expr::{self, Doubt},
    glob::Glob,
    prove::{Answer, Goal, Judgement, Prover, Want},
};

/// A rule over more tools is judged by the first so many; the others will mostly be alike.
pub(super) const MOST_TOOLS: usize = 50;

/// Tells what may fail, once for each place in the condition.
pub(super) fn can_fail<'k>(report: &mut Report<'_, 'k>, prover: &mut Prover<'k>) {
    let Some(when) = &report.rule.when else { return };
    let (rule, above) = (report.rule, report.above());
    let tools = report.facts.tools.iter().zip(report.facts.names);
    let reached = tools.filter(|(tool, _)| {
        rule.covers(&tool.name)
            && !above.iter().any(|rule| rule.when.is_none() && rule.covers(&tool.name))
    });
    let mut told = BTreeSet::new();
    // With one more than is looked at, what holds of all of them is not proved.
    let reached: Vec<(&KnownTool, &Option<Glob>)> = reached.take(MOST_TOOLS + 1).collect();
    let mut lacking = Lacking::default();
    for (tool, name) in reached.iter().copied().take(MOST_TOOLS) {
        let found = expr::doubts(when.expr(), &tool.input_schema).unwrap_or_else(|problem| {
            vec![Doubt::new(problem.span, Code::CanError, problem.message)]
        });
        for Doubt { span, code, message, is_certain } in found {
            if code == Code::UnknownField {
                lacking.add(span.start, tool, message, is_certain);
                continue;
            }
            if !told.insert((span.start, code)) {
                continue;
            }
            let at = within(&report.facts.document.text, when.at, &when.text, span.start);
            let message = format!("for `{}`: {message}", tool.name);
            if code == Code::CanError {
                report.push_at(code, Severity::Error, (at, ".when"), message);
                let example = name.as_ref().and_then(|name| fails(report, prover, (tool, name)));
                report.show(example);
            } else {
                report.push_at(code, Severity::Warning, (at, ".when"), message);
            }
        }
    }
    lacking.tell(report, when, reached.len());
}

/// A call of the tool that fits its schema and for which the condition has no value.
fn fails<'k>(
    report: &Report<'_, 'k>,
    prover: &mut Prover<'k>,
    (tool, name): (&KnownTool, &'k Glob),
) -> Option<Box<Call>> {
    let mut goals = reach::goals(report.own, Want::Fails);
    goals.push(Goal::Covered(std::slice::from_ref(name)));
    let answer = prover.ask(goals, |sample| {
        let fits = schema::fits(&tool.input_schema, &sample.args);
        if fits && report.comes_to(sample, Want::Fails) { Judgement::Yes } else { Judgement::No }
    });
    match answer {
        Answer::Example(sample) => Some(sample),
        Answer::Never(_) | Answer::NotProven => None,
    }
}

/// Tells a condition that is false for no call.
pub(super) fn always_true<'k>(report: &mut Report<'_, 'k>, prover: &mut Prover<'k>) {
    let Some(when) = &report.rule.when else { return };
    let answer = prover.ask(reach::goals(report.own, Want::False), |sample| {
        if report.comes_to(sample, Want::False) { Judgement::Yes } else { Judgement::No }
    });
    if let Answer::Never(_) = answer {
        let message =
            "the condition is never false; remove it, or write the condition that you mean";
        report.push_at(Code::AlwaysTrue, Severity::Warning, (when.at, ".when"), message);
        let example = reach::any_call(report, prover, Want::True);
        report.show(example);
    }
}
