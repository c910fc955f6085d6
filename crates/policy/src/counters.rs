//! Counters of budgets in memory, for tests of a policy and for replays. What a live call takes is
//! counted by the ledger.

use std::collections::BTreeMap;

use model::{DecisionCode, DecisionOutcome, DecisionSource, Timestamp};

use crate::{budget::Charge, decide::Decision, expr::Decimal};

/// A budget, what it counts apart, and the start of its window.
type Key = (String, Vec<(String, String)>, Timestamp);

/// What calls have taken from budgets.
#[derive(Debug, Default)]
pub(crate) struct Counters(BTreeMap<Key, Decimal>);

impl Counters {
    /// Takes the decision's charges, all or none, and returns it; or the refusal of a spent budget.
    pub(crate) fn admit(&mut self, decision: Decision) -> Decision {
        let fits = |charge: &Charge| self.with(charge).is_some_and(|sum| sum <= charge.limit);
        if !decision.charges.iter().all(fits) {
            return Decision {
                outcome: DecisionOutcome::Deny,
                code: Some(DecisionCode::BudgetExceeded),
                source: DecisionSource::Budget,
                approval: None,
                charges: Vec::new(),
                ..decision
            };
        }
        for charge in &decision.charges {
            if let Some(sum) = self.with(charge) {
                self.0.insert(key(charge), sum);
            }
        }
        decision
    }

    /// Gives back what the charges took.
    pub(crate) fn release(&mut self, charges: &[Charge]) {
        for charge in charges {
            let entry = self.0.entry(key(charge)).or_default();
            *entry = entry.checked_sub(charge.amount).unwrap_or_default();
        }
    }

    /// Returns what the counter would stand at with the charge.
    fn with(&self, charge: &Charge) -> Option<Decimal> {
        let used = self.0.get(&key(charge)).copied().unwrap_or_default();
        used.checked_add(charge.amount)
    }
}

fn key(charge: &Charge) -> Key {
    (charge.budget.clone(), charge.per.clone(), charge.window_start)
}
