//! Admits a call's charges against the counters of a snapshot: all of them or none.

use ledger::{
    CounterScope, Snapshot,
    record::{ActivePolicy, BudgetUse, Cost},
};
use model::Timestamp;
use policy::{Call, Charge, ChargeKind, Decimal};

use crate::points::pass;

/// Charges that were admitted.
#[derive(Default)]
pub(super) struct Admitted {
    /// The counters with the call in them.
    pub(super) counters: Vec<BudgetUse>,
    /// The call's own part.
    pub(super) charged: Vec<BudgetUse>,
    /// The first cost that was charged.
    pub(super) cost: Option<Cost>,
}

/// Whose counters the call is counted in.
pub(super) fn scope(call: &Call, active: &ActivePolicy) -> CounterScope {
    CounterScope { mode: active.mode, policy: active.policy, livemode: call.facts.livemode }
}

/// The counters with all charges in them, or when the last of the exhausted windows ends.
pub(super) fn admit(
    charges: &[Charge],
    scope: CounterScope,
    snapshot: &Snapshot,
) -> Result<Admitted, Timestamp> {
    let mut admitted = Admitted::default();
    let mut exhausted: Option<Timestamp> = None;
    for charge in charges {
        let key = scope.key(charge);
        let Some(total) = charge.admitted(snapshot.used(&key, charge.window_start)) else {
            exhausted = exhausted.max(Some(charge.window_end));
            continue;
        };
        let counter = |used: Decimal| BudgetUse {
            key: key.clone(),
            window_start: charge.window_start,
            window_end: charge.window_end,
            used,
        };
        admitted.counters.push(counter(total));
        admitted.charged.push(counter(charge.amount));
        if let (None, ChargeKind::Cost { unit }) = (&admitted.cost, &charge.kind) {
            let (amount, currency) = (charge.amount.to_string(), unit.clone());
            admitted.cost = Some(Cost { amount, currency });
        }
    }
    if !admitted.charged.is_empty() {
        pass("gate.budget_charged");
    }
    exhausted.map_or(Ok(admitted), Err)
}

/// The counters with a call's part taken out again, for windows that still run.
pub(crate) fn release(charged: &[BudgetUse], snapshot: &Snapshot) -> Vec<BudgetUse> {
    if !charged.is_empty() {
        pass("gate.budget_released");
    }
    charged
        .iter()
        .filter(|part| snapshot.now() < part.window_end)
        .filter_map(|part| {
            let used = snapshot.used(&part.key, part.window_start).checked_sub(part.used)?;
            Some(BudgetUse { used, ..part.clone() })
        })
        .collect()
}
