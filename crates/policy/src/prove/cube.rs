//! One way that the goals can be met: limits on terms that all hold together.

use std::{collections::BTreeMap, rc::Rc};

use model::{Mode, SideEffect};

use super::{
    domain::{Domain, Limit, Scalar},
    term::{At, Elements, Term},
};
use crate::expr::{Fact, Sort, Sorts, Value, sorts};

/// Limits on terms.
#[derive(Debug, Clone, Default)]
pub(super) struct Cube<'p> {
    pub(super) terms: BTreeMap<Rc<str>, (Term<'p>, Domain)>,
    /// The list that each numbered element lies in.
    pub(super) lists: Vec<Term<'p>>,
    /// Texts that stand in conditions which are not understood; worth trying.
    pub(super) hints: Vec<String>,
}

impl<'p> Cube<'p> {
    /// Adds a limit; returns whether anything may be left.
    pub(super) fn add(&mut self, term: &Term<'p>, limit: Limit) -> bool {
        if !matches!(limit, Limit::Absent)
            && let Some(parent) = term.parent()
            && !self.add(&parent, Limit::Sorts(Sorts::only(Sort::Map)))
        {
            return false;
        }
        let entry = self.terms.entry(Rc::clone(&term.key));
        let (_, domain) = entry.or_insert_with(|| (term.clone(), whole(term)));
        domain.limit(limit);
        !domain.is_empty()
    }

    /// Whether a call that lies in the cube may still not meet the goals.
    pub(super) fn is_vague(&self) -> bool {
        self.terms.values().any(|(term, _)| match term.at {
            At::Worked(_) | At::Opaque => true,
            At::Fact(_) | At::Args | At::Element | At::Field(..) => false,
        })
    }
}

/// Everything that the term can be.
fn whole(term: &Term<'_>) -> Domain {
    match term.at {
        At::Fact(fact) => of_fact(fact),
        At::Args => Domain::of(Sorts::only(Sort::Map)).always(),
        At::Element => Domain::of(Sorts::JSON).always(),
        At::Field(..) => {
            let is_label = term
                .parent()
                .is_some_and(|parent| matches!(parent.at, At::Fact(Fact::AgentLabels)));
            Domain::of(if is_label { Sorts::only(Sort::Text) } else { Sorts::JSON })
        }
        At::Worked(expr) => Domain::of(sorts(expr)),
        At::Opaque => Domain::of(Sorts::only(Sort::Bool)),
    }
}

fn of_fact(fact: Fact) -> Domain {
    let text = Sorts::only(Sort::Text);
    let words =
        |words: Vec<&'static str>| -> Vec<Scalar> { words.into_iter().map(Value::text).collect() };
    let mut domain = match fact {
        Fact::AgentId | Fact::AgentName | Fact::CallTool | Fact::CallMode => Domain::of(text),
        Fact::CallConnector
        | Fact::CallTransport
        | Fact::CallSession
        | Fact::CallOnBehalfOf
        | Fact::CallSideEffect
        | Fact::CallIntent => Domain::of(text.or(Sorts::only(Sort::Null))),
        Fact::AgentLabels => Domain::of(Sorts::only(Sort::Map)),
        Fact::CallLivemode | Fact::CallToolChanged => Domain::of(Sorts::only(Sort::Bool)),
        Fact::Now => Domain::of(Sorts::only(Sort::Time)),
    };
    match fact {
        Fact::CallMode => {
            let modes = Mode::ALL.iter().map(|mode| mode.as_str()).collect();
            domain.limit(Limit::OneOf(words(modes)));
        }
        Fact::CallSideEffect => {
            let effects = SideEffect::ALL.iter().map(|effect| effect.as_str()).collect();
            let mut known = words(effects);
            known.push(Value::Null);
            domain.limit(Limit::OneOf(known));
        }
        Fact::AgentId
        | Fact::AgentName
        | Fact::AgentLabels
        | Fact::CallTool
        | Fact::CallConnector
        | Fact::CallTransport
        | Fact::CallSession
        | Fact::CallOnBehalfOf
        | Fact::CallLivemode
        | Fact::CallIntent
        | Fact::CallToolChanged
        | Fact::Now => {}
    }
    domain.always()
}

/// Outside of every loop.
pub(super) const NO_ELEMENTS: Elements = [None; 2];
