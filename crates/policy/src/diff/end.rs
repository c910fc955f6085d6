//! Where a walk over the rules of one version ends.

use model::DecisionOutcome;

use crate::{
    document::{Document, Rule},
    prove::{First, Goal, Want},
};

/// Where a walk over the rules can end.
#[derive(Debug, Clone, Copy)]
pub(super) enum End<'p> {
    /// The rule at this place decides.
    Decides(usize, &'p Rule),
    /// The condition of the rule at this place has no value.
    Fails(usize, &'p Rule),
    /// The default decides.
    Default,
}

impl<'p> From<First<'p>> for End<'p> {
    fn from(first: First<'p>) -> Self {
        match first {
            First::Rule(place, rule) => Self::Decides(place, rule),
            First::Failed(place, rule) => Self::Fails(place, rule),
            First::Default => Self::Default,
        }
    }
}

impl<'p> End<'p> {
    /// What comes of a call that ends here.
    pub(super) fn outcome(&self, document: &Document) -> DecisionOutcome {
        match self {
            Self::Decides(_, rule) => rule.outcome,
            Self::Fails(..) => DecisionOutcome::Deny,
            Self::Default => document.default.outcome,
        }
    }

    pub(super) fn rule_id(&self) -> Option<&'p str> {
        match self {
            Self::Decides(_, rule) | Self::Fails(_, rule) => Some(&rule.id),
            Self::Default => None,
        }
    }

    pub(super) fn goals(self) -> Vec<Goal<'p>> {
        let (rule, want) = match self {
            Self::Decides(_, rule) => (rule, Want::True),
            Self::Fails(_, rule) => (rule, Want::Fails),
            Self::Default => return Vec::new(),
        };
        let condition = rule.when.as_ref().map(|when| Goal::Comes(when.expr(), want));
        condition.into_iter().chain([Goal::Covered(&rule.globs)]).collect()
    }

    /// The rule above this end that took a call.
    pub(super) fn taken_by(self, found: First<'p>) -> Option<&'p Rule> {
        let own = match self {
            Self::Decides(place, _) | Self::Fails(place, _) => place,
            Self::Default => usize::MAX,
        };
        match found {
            First::Rule(place, rule) | First::Failed(place, rule) => (place < own).then_some(rule),
            First::Default => None,
        }
    }
}
