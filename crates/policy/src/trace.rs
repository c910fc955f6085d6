//! How a decision came about, for people: every rule that was asked, and why it did not decide.
//!
//! A second way through the same evaluator; deciding itself carries none of this.

use std::sync::Arc;

use model::DecisionOutcome;

use crate::{
    call::Call,
    decide::{Decision, decide},
    document::{Rule, Source},
    expr::{Expr, Junction, Machine, Scope, Value},
    policy::Policy,
};

/// Whether an explanation shows the values that conditions compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Show {
    /// Only what kind of value each was, for readers who may not see the arguments.
    Kinds,
    /// The values too.
    Values,
}

/// A decision and how it came about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explanation {
    /// The decision, the same that [`decide`] gives.
    pub decision: Decision,
    /// How many rules stand before the decision whose patterns do not cover the tool.
    pub not_covering: usize,
    /// The rules that cover the tool, in order, up to the one that decided.
    pub steps: Vec<Step>,
}

/// One rule that was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The rule's id.
    pub rule_id: Arc<str>,
    /// What came of it.
    pub answer: Answer,
}

/// What came of asking a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Its condition does not hold.
    False {
        /// The first part of the condition that is false.
        part: String,
        /// What the part compared, left and right.
        compared: Vec<String>,
    },
    /// Its condition has no value; the call is denied.
    Failed {
        /// The part that has no value, and why.
        failure: String,
    },
    /// It decided.
    Decided {
        /// The rule's outcome.
        outcome: DecisionOutcome,
    },
}

/// Decides the call and says how that came about.
///
/// ```
/// use policy::{Agent, Answer, Call, Policy, Show, Timestamp, explain, json};
///
/// let policy = Policy::compile(
///     "{ schema: 1, default: { outcome: deny },
///        rules: [{ id: small, match: pay.refund, outcome: allow,
///                  when: args.currency == 'EUR' && args.amount <= 50 }] }",
/// )?;
/// let agent = Agent::new("agt_00000000000000000000000001".parse()?);
/// let call = Call::new("pay.refund", agent, Timestamp::EPOCH)
///     .with_args(json!({ "currency": "EUR", "amount": 70 }));
/// let explanation = explain(&policy, &call, Show::Values);
/// let Answer::False { part, compared } = &explanation.steps[0].answer else { panic!() };
/// assert_eq!((part.as_str(), compared[0].as_str()), ("args.amount <= 50", "args.amount: 70"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn explain(policy: &Policy, call: &Call, show: Show) -> Explanation {
    let scope = Scope::new(call);
    let mut machine = Machine::new(&scope);
    let (mut steps, mut not_covering) = (Vec::new(), 0);
    for rule in &policy.document.rules {
        if !rule.covers(&call.tool) {
            not_covering += 1;
            continue;
        }
        let answer = ask(rule, &mut machine, show);
        let goes_on = matches!(answer, Answer::False { .. });
        steps.push(Step { rule_id: rule.id.clone(), answer });
        if !goes_on {
            break;
        }
    }
    Explanation { decision: decide(policy, call), not_covering, steps }
}

fn ask<'p>(rule: &'p Rule, machine: &mut Machine<'p>, show: Show) -> Answer {
    let decided = Answer::Decided { outcome: rule.outcome };
    let Some(when) = &rule.when else { return decided };
    match machine.holds(when.expr()) {
        Ok(true) => decided,
        Ok(false) => falsehood(when, machine, show),
        Err(failure) => Answer::Failed { failure: when.in_words(&failure) },
    }
}

fn falsehood<'p>(when: &'p Source, machine: &mut Machine<'p>, show: Show) -> Answer {
    let part = first_false(when.expr(), machine);
    let compared = part.compared().into_iter().filter_map(|side| {
        let value = machine.value(side).ok()?;
        Some(match show {
            Show::Kinds => format!("{}: {}", text(when, side), value.sort().name()),
            Show::Values => format!("{}: {}", text(when, side), shown(&value)),
        })
    });
    let compared = compared.collect();
    Answer::False { part: text(when, part).to_owned(), compared }
}

/// Goes into `&&` to the first side that is false.
fn first_false<'p>(expr: &'p Expr, machine: &mut Machine<'p>) -> &'p Expr {
    match expr.junction() {
        Some((Junction::All, parts)) => {
            let part = parts.iter().find(|part| machine.holds(part) == Ok(false));
            part.map_or(expr, |part| first_false(part, machine))
        }
        Some((Junction::Any, _)) | None => expr,
    }
}

fn text<'s>(source: &'s Source, part: &Expr) -> &'s str {
    source.text.get(part.span.start..part.span.end).unwrap_or(&source.text)
}

fn shown(value: &Value<'_>) -> String {
    match value {
        Value::Text(text) => format!("{text:?}"),
        Value::Null => "null".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Int(value) => value.to_string(),
        Value::Double(value) => value.to_string(),
        Value::Decimal(value) => value.to_string(),
        Value::Time(at) => at.to_string(),
        Value::Ip(address) => address.to_string(),
        Value::Cidr(cidr) => cidr.to_string(),
        Value::Span(_) | Value::List(_) | Value::Map(_) => value.sort().name().to_owned(),
    }
}
