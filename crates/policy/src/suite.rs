//! Tests of a policy that its author writes: calls and what must come of them. Reads one text and
//! runs it over one policy; finding files is the caller's work.

pub(crate) mod read;
mod run;
mod write;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use model::{DecisionCode, DecisionOutcome, Timestamp};
use serde_json::Value;

use crate::{
    call::{Agent, CallFacts},
    document::{Document, Rule},
    error::{Code, Finding, Severity},
};

#[cfg(test)]
mod tests;

/// A file of tests.
#[derive(Debug, Clone)]
pub struct Suite {
    /// The policy that the file names, as a path beside it.
    pub policy: Option<String>,
    now: Timestamp,
    zone: String,
    agents: BTreeMap<String, Agent>,
    calls: BTreeMap<String, Sample>,
    cases: Vec<Case>,
}

impl Suite {
    /// How many cases the file has.
    pub fn cases(&self) -> usize {
        self.cases.len()
    }

    /// How many calls a run of the file decides.
    pub fn calls(&self) -> u64 {
        let calls = self.cases.iter().map(|case| {
            let pairs = case.agents.len() * case.calls.len();
            let repeats: u64 = case.steps.iter().map(|step| u64::from(step.repeat)).sum();
            repeats.saturating_mul(u64::try_from(pairs).unwrap_or(u64::MAX))
        });
        calls.fold(0, u64::saturating_add)
    }
}

/// What came of a file of tests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// One result for each pair of an agent and a call of each case, in order.
    pub results: Vec<CaseResult>,
    /// The rules that decided no call of the file, in the policy's order.
    pub untested: Vec<String>,
}

/// What came of one case for one agent and one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaseResult {
    /// The case's name, and the agent and the call.
    pub name: String,
    /// What differs from what was expected; empty when the case passed.
    pub differences: Vec<String>,
}

impl Report {
    /// How many results differ from what was expected.
    pub fn failed(&self) -> usize {
        self.results.iter().filter(|result| !result.differences.is_empty()).count()
    }
}

impl Report {
    /// A finding for each rule of the document that decided no call of the file.
    pub fn findings(&self, document: &Document) -> Vec<Finding> {
        let rules = document.rules.iter().enumerate();
        let untested = rules.filter(|(_, rule)| self.untested.iter().any(|id| **id == *rule.id));
        let finding = |(place, rule): (usize, &Rule)| Finding {
            severity: Severity::Info,
            code: Code::UntestedRule,
            rule: Some(rule.id.to_string()),
            path: format!("rules[{place}]"),
            line: rule.at.line,
            column: rule.at.column,
            message: "decides no call of the tests".to_owned(),
            example: None,
        };
        untested.map(finding).collect()
    }
}

/// A call that cases name; whoever makes it and when, cases say.
#[derive(Clone)]
struct Sample {
    tool: String,
    args: Arc<Value>,
    facts: CallFacts,
}

impl std::fmt::Debug for Sample {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sample").field("tool", &self.tool).finish_non_exhaustive()
    }
}

/// One case: every agent makes every call.
#[derive(Debug, Clone)]
struct Case {
    name: String,
    agents: Vec<String>,
    calls: Vec<String>,
    steps: Vec<Step>,
}

/// The call made a number of times at one moment; budgets keep what earlier steps took.
#[derive(Debug, Clone)]
struct Step {
    /// How long after the step before.
    after: Duration,
    repeat: u32,
    expect: Expected,
}

/// What must come of a call; what is not said may be anything.
#[derive(Debug, Clone, Default)]
struct Expected {
    outcome: Option<DecisionOutcome>,
    rule: Option<String>,
    code: Option<DecisionCode>,
    approvals: Option<u8>,
}
