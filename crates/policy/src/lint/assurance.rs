//! Rules about destructive tools that a yes by a mail's link decides.

use model::{DecisionOutcome, SideEffect};

use super::{Report, conditions::MOST_TOOLS, reach};
use crate::{
    error::{Code, Severity},
    expr::{Expr, Fact, Kind},
    prove::{Answer, First, Goal, Judgement, Prover, Want, first},
};

/// Tells the first destructive tool that the rule is about.
pub(super) fn check<'k>(report: &mut Report<'_, 'k>, prover: &mut Prover<'k>) {
    let rule = report.rule;
    let by_link = rule.asks.as_ref().is_some_and(|asks| asks.assurance.is_none());
    if rule.outcome != DecisionOutcome::RequireApproval || !by_link {
        return;
    }
    let reads_effect = rule.when.as_ref().is_some_and(|when| reads_side_effect(when.expr()));
    // A rule over every tool is about destructive ones where it says so.
    let is_about = |tool: &str| {
        let named = rule.globs.iter().filter(|glob| !glob.as_str().starts_with('*'));
        reads_effect || named.clone().any(|glob| glob.is_match(tool))
    };
    let (tools, own, policy) = (report.facts.tools, report.place, report.facts.policy);
    let destructive = tools.iter().zip(report.facts.names).filter(|(tool, _)| {
        tool.side_effect == Some(SideEffect::Destructive)
            && rule.covers(&tool.name)
            && is_about(&tool.name)
    });
    for (tool, name) in destructive.take(MOST_TOOLS) {
        let Some(name) = name else { continue };
        let mut goals = reach::goals(report.own, Want::True);
        goals.push(Goal::Covered(std::slice::from_ref(name)));
        let answer = prover.ask(goals, |sample| match first(policy, sample) {
            // The cube may have asked for another effect than the tool's own.
            First::Rule(place, _)
                if place == own && sample.facts.side_effect == tool.side_effect =>
            {
                Judgement::Yes
            }
            First::Rule(..) | First::Failed(..) | First::Default => Judgement::No,
        });
        if let Answer::Example(sample) = answer {
            let message = format!(
                "`{}` is destructive, and an approval by the link of a mail lets it run: write \
                 `approval: {{ assurance: session }}`",
                tool.name
            );
            report.push(Code::WeakAssurance, Severity::Warning, message);
            report.show(Some(sample));
            return;
        }
    }
}

fn reads_side_effect(expr: &Expr) -> bool {
    matches!(expr.kind, Kind::Fact(Fact::CallSideEffect))
        || expr.parts().into_iter().any(reads_side_effect)
}
