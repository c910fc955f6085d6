//! Runs a file of tests over a policy, with counters of its own for budgets.

use std::{collections::BTreeSet, sync::Arc};

use model::{DecisionCode, Timestamp};

use super::{Case, CaseResult, Expected, Report, Sample, Suite};
use crate::{
    call::{Agent, Call},
    counters::Counters,
    decide::{Decision, decide_counted},
    effort::{Effort, EffortError},
    policy::Policy,
};

impl Suite {
    /// What comes of the tests under this policy.
    pub fn run(&self, policy: &Policy) -> Report {
        self.report((policy, &Effort::unbounded()))
    }

    /// What comes of the tests under this policy, where that takes no more than this effort.
    pub fn run_within(&self, policy: &Policy, effort: &Effort) -> Result<Report, EffortError> {
        let report = self.report((policy, effort));
        effort.check().map(|()| report)
    }

    /// What came of the tests until the effort ended.
    fn report(&self, under: (&Policy, &Effort)) -> Report {
        let mut decided = BTreeSet::new();
        let mut results = Vec::new();
        for case in &self.cases {
            for agent in &case.agents {
                for call in &case.calls {
                    let (Some(who), Some(what)) = (self.agents.get(agent), self.calls.get(call))
                    else {
                        continue;
                    };
                    let differences = self.run_case(under, case, (who, what), &mut decided);
                    let name = format!("{}: {agent} {call}", case.name);
                    results.push(CaseResult { name, differences });
                }
            }
        }
        let ids = under.0.document.rules.iter().map(|rule| &rule.id);
        Report {
            results,
            untested: ids.filter(|id| !decided.contains(*id)).map(ToString::to_string).collect(),
        }
    }

    fn run_case(
        &self,
        (policy, effort): (&Policy, &Effort),
        case: &Case,
        (agent, sample): (&Agent, &Sample),
        decided: &mut BTreeSet<Arc<str>>,
    ) -> Vec<String> {
        let mut counters = Counters::default();
        let mut call = sample.call(agent, (self.now, &self.zone));
        let mut differences = Vec::new();
        for (place, step) in case.steps.iter().enumerate() {
            call.now = call.now + step.after;
            for time in 1..=step.repeat {
                if effort.check().is_err() {
                    return differences;
                }
                let (decision, steps) = decide_counted(policy, &call);
                effort.spend(steps);
                let decision = counters.admit(decision);
                decided.extend(decision.rule_id.clone());
                let found = step.expect.differences(&decision);
                if !found.is_empty() {
                    let place = place + 1;
                    differences.extend(found.into_iter().map(|found| {
                        if case.steps.len() == 1 && step.repeat == 1 {
                            return found;
                        }
                        format!("step {place}, call {time}: {found}")
                    }));
                    break;
                }
            }
        }
        differences
    }
}

impl Sample {
    fn call(&self, agent: &Agent, (now, zone): (Timestamp, &str)) -> Call {
        Call {
            tool: self.tool.clone(),
            args: Arc::clone(&self.args),
            agent: agent.clone(),
            facts: self.facts.clone(),
            now,
            zone: zone.to_owned(),
        }
    }
}

impl Expected {
    fn differences(&self, decision: &Decision) -> Vec<String> {
        let mut differences = Vec::new();
        let mut differ = |name: &str, expected: &str, found: &str| {
            if expected != found {
                differences.push(format!("{name}: expected `{expected}`, found `{found}`"));
            }
        };
        if let Some(outcome) = self.outcome {
            differ("outcome", outcome.as_str(), decision.outcome.as_str());
        }
        if let Some(rule) = &self.rule {
            differ("rule", rule, decision.rule_id.as_deref().unwrap_or("none"));
        }
        if let Some(code) = self.code {
            differ("code", code.as_str(), decision.code.map_or("none", DecisionCode::as_str));
        }
        if let Some(approvals) = self.approvals {
            let found = decision.approval.as_ref().map_or(0, |clause| clause.count);
            differ("approvals", &approvals.to_string(), &found.to_string());
        }
        differences.extend(
            decision
                .failure
                .iter()
                .filter(|_| self.code.is_none())
                .map(|failure| format!("the decision failed: {failure}")),
        );
        differences
    }
}
