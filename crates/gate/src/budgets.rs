//! How the budgets of the policy in force stand.

use ledger::{CounterScope, StoreDown, record::PolicyMode};
use model::{OrgId, PolicyVersionId};
use policy::{Decimal, RunningBudget};

use crate::{
    gate::Gate,
    store::{CounterState, Counters},
};

/// The place of a counter among those of an org: its budget's id, whether it counts calls that are
/// no tests, and its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CounterPlace {
    /// The budget's id.
    pub budget: String,
    /// Whether it counts calls that are no tests; those come first.
    pub livemode: bool,
    /// The counter's name; empty for a budget that nobody took from.
    pub key: String,
}

/// What was taken from a budget in its window that runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Use {
    /// The budget.
    pub budget: RunningBudget,
    /// The version that has it.
    pub version: PolicyVersionId,
    /// Where this stands among all of the org.
    pub place: CounterPlace,
    /// What is counted apart here, by name and value; nothing where the budget counts apart and
    /// nobody took from it.
    pub scope: Option<Vec<(String, String)>>,
    /// What calls took that have ended.
    pub used: Decimal,
    /// What calls took that have not; they may give it back.
    pub reserved: Decimal,
}

/// Which budgets are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    /// All of them, those that nobody took from included.
    All,
    /// Those that reached four fifths of their limit, of calls that are no tests.
    Near,
}

/// A budget with the scope of one counter.
struct CountedBudget {
    budget: RunningBudget,
    scope: CounterScope,
}

impl Gate {
    /// Up to `limit` uses of budgets behind this place, by the budget's id. Each budget of the
    /// policy in force is there for calls that are no tests; one for tests is where it was used.
    pub async fn budgets(
        &self,
        org: OrgId,
        (shown, after): (Shown, Option<&CounterPlace>),
        limit: usize,
    ) -> Result<Vec<Use>, StoreDown> {
        let snapshot = self.ledger().look(org).await?;
        let (Some(active), Some(zone)) =
            (snapshot.policy(PolicyMode::Enforce), snapshot.org().map(|org| &*org.time_zone))
        else {
            return Ok(Vec::new());
        };
        let Some(policy) = &active.policy else { return Ok(Vec::new()) };
        let (version, policy_id) = (active.active.version, active.active.policy);
        let modes: &[bool] = match shown {
            Shown::All => &[true, false],
            Shown::Near => &[true],
        };
        let asked = policy.budgets(snapshot.now(), zone).into_iter().flat_map(|budget| {
            modes.iter().map(move |livemode| CountedBudget {
                budget: budget.clone(),
                scope: CounterScope {
                    mode: PolicyMode::Enforce,
                    policy: policy_id,
                    livemode: *livemode,
                },
            })
        });
        let asked: Vec<_> = asked.filter(|asked| asked.is_from(after)).collect();
        let counters: Vec<_> = asked.iter().map(|asked| asked.counters(shown, after)).collect();
        let found = self.parts.store.counters(org, &counters, limit).await?;
        let has_all = found.len() < limit;
        let last = found.last().map_or(0, |state| state.asked);
        let mut found = found.into_iter().peekable();
        let mut uses = Vec::new();
        for (place, (asked, counters)) in asked.iter().zip(&counters).enumerate() {
            if !has_all && place > last {
                break;
            }
            let before = uses.len();
            while let Some(state) = found.next_if(|state| state.asked == place) {
                uses.push(asked.used(version, state));
            }
            let is_idle = uses.len() == before && counters.after.is_none();
            if is_idle && shown == Shown::All && asked.scope.livemode {
                uses.push(asked.idle(version));
            }
        }
        uses.truncate(limit);
        Ok(uses)
    }
}

impl CountedBudget {
    /// Whether a counter of it may be behind this place.
    fn is_from(&self, after: Option<&CounterPlace>) -> bool {
        after.is_none_or(|after| {
            // Calls that are no tests come first.
            let of_tests = (self.budget.id.as_str(), !self.scope.livemode);
            (after.budget.as_str(), !after.livemode) <= of_tests
        })
    }

    fn counters(&self, shown: Shown, after: Option<&CounterPlace>) -> Counters {
        let is_same = |after: &&CounterPlace| {
            after.budget == self.budget.id && after.livemode == self.scope.livemode
        };
        Counters {
            prefix: self.scope.prefix(&self.budget.id),
            window_start: self.budget.window_start,
            after: after.filter(is_same).map(|after| after.key.clone()),
            near: (shown == Shown::Near).then_some(self.budget.limit),
        }
    }

    fn used(&self, version: PolicyVersionId, state: CounterState) -> Use {
        let CounterState { asked: _, key, taken, reserved } = state;
        Use {
            scope: CounterScope::per(&key),
            used: taken.checked_sub(reserved).unwrap_or_default(),
            reserved,
            ..self.at(version, key)
        }
    }

    /// The budget when nobody took from it in this window.
    fn idle(&self, version: PolicyVersionId) -> Use {
        self.at(version, String::new())
    }

    fn at(&self, version: PolicyVersionId, key: String) -> Use {
        let (budget, livemode) = (self.budget.id.clone(), self.scope.livemode);
        Use {
            budget: self.budget.clone(),
            version,
            place: CounterPlace { budget, livemode, key },
            scope: self.budget.per.iter().all(|per| *per == "org").then(Vec::new),
            used: Decimal::ZERO,
            reserved: Decimal::ZERO,
        }
    }
}
