//! Labels that a condition reads and that some of the org's agents do not have: their calls are refused
//! where the condition gets to the label, and pass where it does not.

use std::collections::BTreeMap;

use super::{Report, reach, strictness};
use crate::{
    call::{Agent, Call},
    document::place::within,
    error::{Code, Severity},
    expr::{Access, Expr, Fact, Kind},
    prove::{Answer, First, Judgement, Prover, Want, first},
};

/// The most agents that a sentence names.
const MOST_NAMED: usize = 3;
/// The most agents that a call is looked for.
const MOST_TRIED: usize = 20;

/// Tells each label once, with the call of an agent that lacks it and that is refused for that.
pub(super) fn check<'k>(report: &mut Report<'_, 'k>, prover: &mut Prover<'k>) {
    let (Some(when), Some(own)) = (&report.rule.when, &report.own.when) else { return };
    let mut read = BTreeMap::new();
    collect(own.expr(), &mut read);
    for (label, start) in read {
        let agents = report.facts.agents.iter();
        let lacking: Vec<&Agent> =
            agents.filter(|agent| !agent.labels.contains_key(label)).collect();
        let Some(sample) = refused(report, prover, &lacking) else { continue };
        let of_agents = lacking.iter().map(|agent| of_agent(&sample, agent));
        let refused: Vec<Call> = of_agents.filter(|call| fails(report, call)).collect();
        let Some(example) = refused.first().cloned() else { continue };
        let at = within(&report.facts.document.text, when.at, &when.text, start);
        let place = written(label);
        let instead = if strictness(report.below(&example)) < strictness(report.own.outcome) {
            // Were the condition false for them, they would be held up less than others.
            format!("`(!has({place}) || …)` around the expression that reads it")
        } else {
            format!("`has({place}) && …` before the expression that reads it")
        };
        let message = format!(
            "{} no label `{label}`, and calls for which the condition reads it are refused: set the label, or write \
             {instead}",
            named(&refused)
        );
        report.push_at(Code::MissingLabel, Severity::Warning, (at, ".when"), message);
        report.show(Some(Box::new(example)));
    }
}

/// A call that the rule would decide were it of another agent, and for which its condition has no
/// value with one of these.
fn refused<'k>(
    report: &Report<'_, 'k>,
    prover: &mut Prover<'k>,
    lacking: &[&Agent],
) -> Option<Box<Call>> {
    let tried = lacking.get(..MOST_TRIED).unwrap_or(lacking);
    if tried.is_empty() {
        return None;
    }
    let answer = prover.ask(reach::goals(report.own, Want::True), |sample| {
        let is_refused = tried.iter().any(|agent| fails(report, &of_agent(sample, agent)));
        if is_refused { Judgement::Yes } else { Judgement::No }
    });
    match answer {
        Answer::Example(sample) => Some(sample),
        Answer::Never(_) | Answer::NotProven => None,
    }
}

fn of_agent(sample: &Call, agent: &Agent) -> Call {
    Call { agent: agent.clone(), ..sample.clone() }
}

/// Whether the call gets to the rule, whose condition has no value for it.
fn fails(report: &Report<'_, '_>, call: &Call) -> bool {
    let ended = first(report.facts.policy, call);
    matches!(ended, First::Failed(place, _) if place == report.place)
}

/// The labels that must be there where they are read, with the first place of each.
fn collect<'p>(expr: &'p Expr, read: &mut BTreeMap<&'p str, usize>) {
    if let Kind::Field { of, name, access: Access::Must } = &expr.kind
        && matches!(of.kind, Kind::Fact(Fact::AgentLabels))
    {
        read.entry(name).or_insert(expr.span.start);
    }
    for part in expr.parts() {
        collect(part, read);
    }
}

/// The label as a condition reads it.
fn written(label: &str) -> String {
    let is_name = label.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if is_name { format!("agent.labels.{label}") } else { format!("agent.labels['{label}']") }
}

/// The agents of the calls, the first of them by name.
fn named(calls: &[Call]) -> String {
    let names = calls.iter().take(MOST_NAMED).map(|call| format!("`{}`", call.agent.name));
    let names: Vec<String> = names.collect();
    let rest = calls.len().saturating_sub(names.len());
    let more = if rest == 0 { String::new() } else { format!(" and {rest} more") };
    let verb = if calls.len() == 1 { "has" } else { "have" };
    format!("{}{more} {verb}", names.join(", "))
}
