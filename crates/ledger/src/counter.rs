//! The names of budget counters. It counts nothing; turns do.

use model::PolicyId;
use policy::Charge;
use serde_json::{Value, json};

use crate::record::PolicyMode;

/// Whose charges are counted together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CounterScope {
    /// Whether the policy decides or is asked beside the one that does; what it would have let
    /// through counts apart.
    pub mode: PolicyMode,
    /// The policy that has the budgets. A new version of it counts on.
    pub policy: PolicyId,
    /// Whether the calls are no tests; those count apart.
    pub livemode: bool,
}

impl CounterScope {
    /// The name of the counter that a charge goes to.
    pub fn key(self, charge: &Charge) -> String {
        let Self { mode, policy, livemode } = self;
        let per: Vec<_> = charge.per.iter().map(|(name, value)| json!([name, value])).collect();
        match mode {
            PolicyMode::Enforce => json!([policy, livemode, charge.budget, per]).to_string(),
            PolicyMode::Shadow => {
                json!(["shadow", policy, livemode, charge.budget, per]).to_string()
            }
        }
    }

    /// What the names of all counters of a budget begin with, and those of no other.
    pub fn prefix(self, budget: &str) -> String {
        let Self { mode, policy, livemode } = self;
        let mut all = match mode {
            PolicyMode::Enforce => json!([policy, livemode, budget]).to_string(),
            PolicyMode::Shadow => json!(["shadow", policy, livemode, budget]).to_string(),
        };
        // What is counted apart stands behind it.
        all.pop();
        all.push(',');
        all
    }

    /// What a counter of this name counts apart, by name and value; nothing where it is no
    /// counter's.
    pub fn per(key: &str) -> Option<Vec<(String, String)>> {
        let mut parts: Vec<Value> = serde_json::from_str(key).ok()?;
        serde_json::from_value(parts.pop()?).ok()
    }
}

#[cfg(test)]
mod tests {
    use policy::{ChargeKind, Decimal, Window};

    use super::*;

    fn charge(budget: &str, per: &[(&str, &str)]) -> Charge {
        let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        Charge {
            budget: budget.to_owned(),
            per: per.iter().map(own).collect(),
            window: Window::Day,
            window_start: model::Timestamp::EPOCH,
            window_end: model::Timestamp::EPOCH,
            amount: Decimal::from(1),
            limit: Decimal::from(1),
            kind: ChargeKind::Count,
        }
    }

    #[test]
    fn a_budget_s_counters_are_found_by_their_prefix_and_say_what_they_count_apart() {
        let policy = PolicyId::from_uuid(model::Uuid::from_u128(7));
        let per = [("agent", "agt_1"), ("on_behalf_of", "it's \"one\", \\ [two]")];
        for mode in [PolicyMode::Enforce, PolicyMode::Shadow] {
            for livemode in [true, false] {
                let scope = CounterScope { mode, policy, livemode };
                for per in [&per[..], &[]] {
                    let key = scope.key(&charge("refunds", per));
                    assert!(key.starts_with(&scope.prefix("refunds")), "{key}");
                    assert_eq!(CounterScope::per(&key), Some(charge("", per).per));
                }
                let other = scope.key(&charge("refunds-day", &per));
                assert!(!other.starts_with(&scope.prefix("refunds")), "{other}");
            }
        }
        assert_eq!(CounterScope::per("no counter"), None);
    }
}
