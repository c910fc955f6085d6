//! Decides one call: the first rule that covers the tool and whose condition holds, else the
//! default. Reads nothing, stores nothing.

use std::{sync::Arc, time::Duration};

use model::{Assurance, DecisionCode, DecisionOutcome, DecisionSource};

use crate::{
    budget::{self, Charge},
    call::Call,
    document::{Clause, Excluded, Fallback, Rule, Source},
    expr::{Failure, Machine, Scope},
    policy::Policy,
    prove::Want,
};

/// What a policy says of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// Whether the call may run.
    pub outcome: DecisionOutcome,
    /// Why it is not a plain allow.
    pub code: Option<DecisionCode>,
    /// What decided.
    pub source: DecisionSource,
    /// The rule that decided, or whose condition could not be evaluated.
    pub rule_id: Option<Arc<str>>,
    /// The rule's or the default's own sentence.
    pub reason: Option<Arc<str>>,
    /// Who must say yes; there whenever the outcome is `require_approval`.
    pub approval: Option<Arc<ApprovalClause>>,
    /// What the call takes from budgets; all of them must admit it.
    pub charges: Vec<Charge>,
    /// The part of an expression that had no value, and why; there whenever the code is
    /// `policy_unavailable`. It names fields and kinds of values, never values.
    pub failure: Option<String>,
}

/// Who must say yes to a call, and what they are shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalClause {
    /// `role:…` and `member:…`; empty for everyone who may approve at all.
    pub from: Vec<String>,
    /// How many different people.
    pub count: u8,
    /// How long they have, when the rule or the policy says.
    pub expires_in: Option<Duration>,
    /// Who may not although `from` names them.
    pub exclude: Vec<Excluded>,
    /// The fields of the arguments that they are shown.
    pub show: Vec<String>,
    /// Whether the connector is asked what the call would do.
    pub estimate: bool,
    /// How they must show who they are.
    pub assurance: Option<Assurance>,
}

/// Returns what the policy says of the call.
///
/// An error in the condition of a reached rule ends the decision as a denial: stepping over the
/// rule could step over a denial.
pub fn decide(policy: &Policy, call: &Call) -> Decision {
    let document = &policy.document;
    let scope = Scope::new(call);
    let mut machine = Machine::new(&scope);
    let candidates = policy.tools.candidates(document, &call.tool);
    let matched = policy
        .tools
        .walk(document, (&candidates, &scope), |_, rule| rule.verdict(&mut machine))
        .transpose();
    let decision = match matched {
        Ok(Some(rule)) => by_rule(rule),
        Ok(None) => by_default(&document.default),
        Err(broken) => return unavailable(Some(&broken.rule.id), broken.explain()),
    };
    if decision.outcome == DecisionOutcome::Deny {
        return decision;
    }
    let budgets = candidates.budgets.iter().filter_map(|place| document.budgets.get(*place));
    match budget::charges(budgets, call, &mut machine) {
        Ok(charges) => Decision { charges, ..decision },
        Err(failure) => unavailable(decision.rule_id.as_ref(), failure),
    }
}

/// What ended the walk over the rules.
#[derive(Debug, Clone, Copy)]
pub(crate) enum First<'p> {
    /// The rule at this place decided.
    Rule(usize, &'p Rule),
    /// The condition of the rule at this place had no value.
    Failed(usize, &'p Rule),
    /// No rule covers the call and holds.
    Default,
}

/// Returns what ends the walk over the rules for the call; budgets are not asked.
pub(crate) fn first<'p>(policy: &'p Policy, call: &Call) -> First<'p> {
    let document = &policy.document;
    let scope = Scope::new(call);
    let mut machine = Machine::new(&scope);
    let candidates = policy.tools.candidates(document, &call.tool);
    let ended = policy.tools.walk(document, (&candidates, &scope), |place, rule| {
        rule.verdict(&mut machine).map(|verdict| (place, verdict.is_ok()))
    });
    let Some((place, is_ok)) = ended else { return First::Default };
    match document.rules.get(place) {
        Some(rule) if is_ok => First::Rule(place, rule),
        Some(rule) => First::Failed(place, rule),
        None => First::Default,
    }
}

/// A rule whose condition has no value for the call.
struct Broken<'p> {
    rule: &'p Rule,
    when: &'p Source,
    failure: Failure<'p>,
}

impl Broken<'_> {
    fn explain(&self) -> String {
        in_words(self.when, &self.failure)
    }
}

impl Rule {
    /// Returns the rule when its condition holds, what broke when that has no value.
    fn verdict<'p>(&'p self, machine: &mut Machine<'p>) -> Option<Result<&'p Self, Broken<'p>>> {
        let Some(when) = &self.when else { return Some(Ok(self)) };
        match machine.holds(when.expr()) {
            Ok(holds) => holds.then_some(Ok(self)),
            Err(failure) => Some(Err(Broken { rule: self, when, failure })),
        }
    }

    /// Returns what the rule's condition comes to for the call, covered or not.
    pub(crate) fn comes_to(&self, call: &Call) -> Want {
        let scope = Scope::new(call);
        let mut machine = Machine::new(&scope);
        match self.when.as_ref().map(|when| machine.holds(when.expr())) {
            None | Some(Ok(true)) => Want::True,
            Some(Ok(false)) => Want::False,
            Some(Err(_)) => Want::Fails,
        }
    }

    /// Returns whether one of the rule's patterns covers the tool.
    pub(crate) fn covers(&self, tool: &str) -> bool {
        self.globs.iter().any(|glob| glob.is_match(tool))
    }
}

/// Returns what failed in words: the part of the expression and the cause.
pub(crate) fn in_words(source: &Source, failure: &Failure<'_>) -> String {
    let part = source.text.get(failure.span.start..failure.span.end).unwrap_or(&source.text);
    format!("`{part}`: {}", failure.cause)
}

fn by_rule(rule: &Rule) -> Decision {
    let code = match rule.outcome {
        DecisionOutcome::Allow => None,
        DecisionOutcome::Deny => Some(DecisionCode::PolicyDenied),
        DecisionOutcome::RequireApproval => Some(DecisionCode::ApprovalRequired),
    };
    Decision {
        outcome: rule.outcome,
        code,
        source: DecisionSource::Rule,
        rule_id: Some(rule.id.clone()),
        reason: rule.reason.clone(),
        approval: rule.asks.clone(),
        charges: Vec::new(),
        failure: None,
    }
}

fn by_default(default: &Fallback) -> Decision {
    let code = match default.outcome {
        DecisionOutcome::Allow => None,
        DecisionOutcome::Deny => Some(DecisionCode::DefaultDenied),
        DecisionOutcome::RequireApproval => Some(DecisionCode::ApprovalRequired),
    };
    Decision {
        outcome: default.outcome,
        code,
        source: DecisionSource::Default,
        rule_id: None,
        reason: default.reason.clone(),
        approval: default.asks.clone(),
        charges: Vec::new(),
        failure: None,
    }
}

fn unavailable(rule_id: Option<&Arc<str>>, failure: String) -> Decision {
    Decision {
        outcome: DecisionOutcome::Deny,
        code: Some(DecisionCode::PolicyUnavailable),
        source: DecisionSource::Builtin,
        rule_id: rule_id.map(Arc::clone),
        reason: None,
        approval: None,
        charges: Vec::new(),
        failure: Some(failure),
    }
}

impl ApprovalClause {
    /// Returns what the policy asks of people, from what the rule says and what holds for all of
    /// the policy; nothing where the outcome asks nobody.
    pub(crate) fn of(
        outcome: DecisionOutcome,
        clause: Option<Clause>,
        expires_in: Option<Duration>,
    ) -> Option<Arc<Self>> {
        if outcome != DecisionOutcome::RequireApproval {
            return None;
        }
        let clause = clause.unwrap_or_default();
        Some(Arc::new(Self {
            from: clause.from,
            count: clause.count.unwrap_or(1),
            expires_in: clause.expires_in.or(expires_in),
            exclude: clause.exclude.unwrap_or_else(|| vec![Excluded::OnBehalfOf]),
            show: clause.show,
            estimate: clause.estimate,
            assurance: clause.assurance,
        }))
    }
}
