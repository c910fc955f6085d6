//! Decides one call: the first rule that covers the tool and whose condition holds, else the
//! default. Reads nothing, stores nothing.

use std::sync::Arc;

use model::{DecisionCode, DecisionOutcome, DecisionSource};

use crate::{
    budget::{self, Charge},
    call::Call,
    document::{ApprovalClause, Fallback, Rule, Source},
    expr::{FUEL, Failure, Machine, Scope},
    policy::Policy,
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

/// Decides the call by the first rule that covers the tool and whose condition holds, else by the
/// default.
///
/// An error in the condition of a reached rule ends the decision as a denial: stepping over the
/// rule could step over a denial.
///
/// ```
/// use policy::{Agent, Call, DecisionCode, Policy, Timestamp, decide, json};
///
/// let policy = Policy::compile(
///     "{ schema: 1, default: { outcome: allow },
///        rules: [{ id: large, match: pay.refund, when: args.amount > 500, outcome: deny }] }",
/// )?;
/// let agent = Agent::new("agt_00000000000000000000000001".parse()?);
/// let call = Call::new("pay.refund", agent, Timestamp::EPOCH);
/// // Without an amount nobody can tell whether the refund is large.
/// let decision = decide(&policy, &call);
/// assert_eq!(decision.code, Some(DecisionCode::PolicyUnavailable));
/// assert_eq!(decision.failure.as_deref(), Some("`args.amount`: no such field `amount`"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn decide(policy: &Policy, call: &Call) -> Decision {
    let scope = Scope::new(call);
    decide_by(policy, call, &mut Machine::new(&scope))
}

/// The decision, and the steps that it took, of which there is always one.
pub(crate) fn decide_counted(policy: &Policy, call: &Call) -> (Decision, usize) {
    let scope = Scope::new(call);
    let mut machine = Machine::new(&scope);
    let decision = decide_by(policy, call, &mut machine);
    (decision, FUEL - machine.fuel_left() + 1)
}

fn decide_by<'v>(policy: &'v Policy, call: &Call, machine: &mut Machine<'v>) -> Decision {
    let document = &policy.document;
    let candidates = policy.tools.candidates(document, &call.tool);
    let matched = policy
        .tools
        .walk(document, (&candidates, machine.scope()), |_, rule| rule.verdict(machine))
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
    match budget::charges(budgets, call, machine) {
        Ok(charges) => Decision { charges, ..decision },
        Err(failure) => unavailable(decision.rule_id.as_ref(), failure),
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
        self.when.in_words(&self.failure)
    }
}

impl Rule {
    /// The rule when its condition holds, what broke when that has no value.
    fn verdict<'p>(&'p self, machine: &mut Machine<'p>) -> Option<Result<&'p Self, Broken<'p>>> {
        let Some(when) = &self.when else { return Some(Ok(self)) };
        match machine.holds(when.expr()) {
            Ok(holds) => holds.then_some(Ok(self)),
            Err(failure) => Some(Err(Broken { rule: self, when, failure })),
        }
    }

    /// Whether one of the rule's patterns covers the tool.
    pub(crate) fn covers(&self, tool: &str) -> bool {
        self.globs.iter().any(|glob| glob.is_match(tool))
    }
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
        rule_id: rule_id.map(Arc::clone),
        failure: Some(failure),
        ..Decision::refused(DecisionCode::PolicyUnavailable, DecisionSource::Builtin)
    }
}

impl Decision {
    /// A denial that neither a rule nor the default made.
    pub fn refused(code: DecisionCode, source: DecisionSource) -> Self {
        Self {
            outcome: DecisionOutcome::Deny,
            code: Some(code),
            source,
            rule_id: None,
            reason: None,
            approval: None,
            charges: Vec::new(),
            failure: None,
        }
    }
}
