//! Labels that a condition reads and that some of the org's agents do not have: their calls are refused
//! where the condition gets to the label, and pass where it does not.

use std::collections::BTreeMap;

use super::{Report, reach};
use crate::{
    call::{Agent, Call},
    document::place::within,
    error::{Code, Severity},
    expr::{Access, Expr, Fact, Kind},
    prove::{Answer, First, Judgement, Prover, Want, first},
};

/// The most agents that a sentence names.
const MOST_NAMED: usize = 3;

/// Tells each label once, with the call of an agent that lacks it and that is refused for that.
pub(super) fn check<'k>(report: &mut Report<'_, 'k>, prover: &mut Prover<'k>) {
    let (Some(when), Some(own)) = (&report.rule.when, &report.own.when) else { return };
    let mut read = BTreeMap::new();
    collect(own.expr(), &mut read);
    for (label, start) in read {
        let agents = report.facts.agents.iter();
        let lacking: Vec<&Agent> =
            agents.filter(|agent| !agent.labels.contains_key(label)).collect();
        let Some(agent) = lacking.first() else { continue };
        let Some(example) = refused(report, prover, agent) else { continue };
        let at = within(&report.facts.document.text, when.at, &when.text, start);
        let message = format!(
            "{} no label `{label}`, and calls for which it is read are refused: write \
             `has(agent.labels.{label}) && …` before it, or set the label",
            named(&lacking)
        );
        report.push_at(Code::MissingLabel, Severity::Warning, (at, ".when"), message);
        report.show(Some(example));
    }
}

/// A call that the rule would decide were it of another agent, and for which its condition has no
/// value with this one.
fn refused<'k>(
    report: &Report<'_, 'k>,
    prover: &mut Prover<'k>,
    agent: &Agent,
) -> Option<Box<Call>> {
    let (own, policy) = (report.place, report.facts.policy);
    let of_agent = |sample: &Call| Call { agent: agent.clone(), ..sample.clone() };
    let answer = prover.ask(reach::goals(report.own, Want::True), |sample| {
        match first(policy, &of_agent(sample)) {
            First::Failed(place, _) if place == own => Judgement::Yes,
            First::Rule(..) | First::Failed(..) | First::Default => Judgement::No,
        }
    });
    match answer {
        Answer::Example(sample) => Some(Box::new(of_agent(&sample))),
        Answer::Never(_) | Answer::NotProven => None,
    }
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

fn named(agents: &[&Agent]) -> String {
    let names = agents.iter().take(MOST_NAMED).map(|agent| format!("`{}`", agent.name));
    let names: Vec<String> = names.collect();
    let rest = agents.len().saturating_sub(names.len());
    let more = if rest == 0 { String::new() } else { format!(" and {rest} more") };
    let verb = if agents.len() == 1 { "has" } else { "have" };
    format!("{}{more} {verb}", names.join(", "))
}
