//! Runs a file of tests over a policy, with counters of its own for budgets.

use std::{collections::BTreeSet, sync::Arc};

use model::{DecisionCode, Timestamp};

use super::{Case, CaseResult, Expected, Report, Sample, Suite};
use crate::{
    call::{Agent, Call, CallFacts},
    counters::Counters,
    decide::{Decision, decide},
    policy::Policy,
};

impl Suite {
    /// Returns what comes of the tests under this policy.
    pub fn run(&self, policy: &Policy) -> Report {
        let mut decided = BTreeSet::new();
        let mut results = Vec::new();
        for case in &self.cases {
            for agent in &case.agents {
                for call in &case.calls {
                    let (Some(who), Some(what)) = (self.agents.get(agent), self.calls.get(call))
                    else {
                        continue;
                    };
                    let differences = self.run_case(policy, case, (who, what), &mut decided);
                    let name = format!("{}: {agent} {call}", case.name);
                    results.push(CaseResult { name, differences });
                }
            }
        }
        let ids = policy.document.rules.iter().map(|rule| &rule.id);
        Report {
            results,
            untested: ids.filter(|id| !decided.contains(*id)).map(ToString::to_string).collect(),
        }
    }

    fn run_case(
        &self,
        policy: &Policy,
        case: &Case,
        (agent, sample): (&Agent, &Sample),
        decided: &mut BTreeSet<Arc<str>>,
    ) -> Vec<String> {
        let mut counters = Counters::default();
        let mut now = self.now;
        let mut differences = Vec::new();
        for (place, step) in case.steps.iter().enumerate() {
            now = now + step.after;
            for time in 1..=step.repeat {
                let call = sample.call(agent, now, &self.zone);
                let decision = counters.admit(decide(policy, &call));
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
    fn call<'a>(&'a self, agent: &'a Agent, now: Timestamp, zone: &'a str) -> Call<'a> {
        let facts = CallFacts {
            connector: self.tool.split_once('.').map(|(connector, _)| connector),
            transport: self.transport.as_deref(),
            session: self.session.as_deref(),
            on_behalf_of: self.on_behalf_of.as_deref(),
            livemode: self.livemode,
            side_effect: self.side_effect,
            intent: self.intent.as_deref(),
            tool_changed: self.tool_changed,
            ..CallFacts::new(&self.tool, self.mode)
        };
        Call { args: &self.args, agent, call: facts, now, zone }
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
