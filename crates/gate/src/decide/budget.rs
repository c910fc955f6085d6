//! Admits a call's charges against the counters of a snapshot: all of them or none.

use ledger::{
    CounterScope, Snapshot,
    record::{ActivePolicy, BudgetUse, Cost, SpentBudget},
};
use policy::{Call, Charge, ChargeKind, Decimal, Decision};

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
    /// Whether a counter is at four fifths of its limit with the call in it.
    pub(super) is_near: bool,
}

/// Whose counters the call is counted in.
pub(super) fn scope(call: &Call, active: &ActivePolicy) -> CounterScope {
    CounterScope { mode: active.mode, policy: active.policy, livemode: call.facts.livemode }
}

/// The counters with all charges in them, or the charge that is refused for longest. What the call
/// holds already is not counted twice.
pub(super) fn admit<'d>(
    decision: &'d Decision,
    scope: CounterScope,
    (snapshot, held): (&Snapshot, &[BudgetUse]),
) -> Result<Admitted, &'d Charge> {
    let mut keys = Vec::with_capacity(decision.charges.len());
    let totals = decision.admitted(|charge| {
        let key = scope.key(charge);
        let used = snapshot.used(&key, charge.window_start);
        let own = held.iter().find(|part| part.is_of(&key, charge.window_start));
        keys.push(key);
        own.map_or(used, |own| used.checked_sub(own.used).unwrap_or_default())
    })?;
    let mut admitted = Admitted::default();
    for ((charge, key), total) in decision.charges.iter().zip(keys).zip(totals) {
        let (window_start, window_end) = (charge.window_start, charge.window_end);
        admitted.is_near |= is_near(total, charge.limit);
        let part = BudgetUse { key, window_start, window_end, used: charge.amount };
        admitted.counters.push(BudgetUse { used: total, ..part.clone() });
        admitted.charged.push(part);
        if let (None, ChargeKind::Cost { unit }) = (&admitted.cost, &charge.kind) {
            let (amount, currency) = (charge.amount.to_string(), unit.clone());
            admitted.cost = Some(Cost { amount, currency });
        }
    }
    if !admitted.charged.is_empty() {
        pass("gate.budget_charged");
    }
    Ok(admitted)
}

/// A product that is too large to be told counts as near.
fn is_near(used: Decimal, limit: Decimal) -> bool {
    match (used.checked_mul(5), limit.checked_mul(4)) {
        (Some(used), Some(limit)) => used >= limit,
        _ => true,
    }
}

/// The budget of a charge that is refused, as the decision names it.
pub(super) fn spent(charge: &Charge) -> SpentBudget {
    let unit = match &charge.kind {
        ChargeKind::Count => None,
        ChargeKind::Cost { unit } => Some(unit.clone()),
    };
    SpentBudget {
        id: charge.budget.clone(),
        limit: charge.limit.to_string(),
        unit,
        window: charge.window.as_str().to_owned(),
        resets_at: charge.window_end,
    }
}

/// What a call held and takes no more, once it takes these charges instead: its counters without it.
pub(crate) fn swapped(
    held: &[BudgetUse],
    charged: &[BudgetUse],
    snapshot: &Snapshot,
) -> Vec<BudgetUse> {
    let kept = |part: &BudgetUse| charged.iter().any(|now| now.is_of(&part.key, part.window_start));
    let dropped: Vec<_> = held.iter().filter(|part| !kept(part)).cloned().collect();
    release(&dropped, snapshot)
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
