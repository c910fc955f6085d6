//! What the rules alone say of one call, asked of the evaluator itself: which rule ends the walk, or
//! what one condition comes to. Budgets are not asked.

use super::goal::Want;
use crate::{
    call::Call,
    document::Rule,
    expr::{Machine, Scope},
    policy::Policy,
};

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

/// Walks over the rules as a decision does, and says what ends the walk.
pub(crate) fn first<'p>(policy: &'p Policy, call: &Call) -> First<'p> {
    let document = &policy.document;
    let scope = Scope::new(call);
    let mut machine = Machine::new(&scope);
    let candidates = policy.tools.candidates(document, &call.tool);
    let ended = policy.tools.walk(document, (&candidates, &scope), |place, rule| {
        match rule.under(&mut machine) {
            Want::True => Some(First::Rule(place, rule)),
            Want::Fails => Some(First::Failed(place, rule)),
            Want::False => None,
        }
    });
    ended.unwrap_or(First::Default)
}

impl Rule {
    /// What the rule's condition comes to for the call, covered or not.
    pub(crate) fn comes_to(&self, call: &Call) -> Want {
        self.under(&mut Machine::new(&Scope::new(call)))
    }

    fn under<'p>(&'p self, machine: &mut Machine<'p>) -> Want {
        match self.when.as_ref().map(|when| machine.holds(when.expr())) {
            None | Some(Ok(true)) => Want::True,
            Some(Ok(false)) => Want::False,
            Some(Err(_)) => Want::Fails,
        }
    }
}
