//! Counters of budgets in memory: for tests of a policy, for replays, and for programs that decide
//! in one process. What the service's calls take is counted by its ledger.

use std::collections::HashMap;

use model::{DecisionCode, DecisionSource, Timestamp};

use crate::{
    budget::{Charge, ChargeKind},
    decide::Decision,
    document::Window,
    expr::Decimal,
};

/// A budget, what it counts apart, and the start of its window.
type Key = (String, Vec<(String, String)>, Timestamp);

/// What calls have taken from budgets, in memory.
///
/// A decision carries what it takes as [`Charge`]s; [`Counters::admit`] takes them all or refuses
/// the call. Counters that live elsewhere do the same with [`Decision::admitted`] and
/// [`Decision::over_budget`], in one transaction for each call.
///
/// ```
/// use policy::{Agent, Call, Counters, DecisionCode, Policy, Timestamp, decide};
///
/// let policy = Policy::compile(
///     "{ schema: 1, default: { outcome: allow },
///        budgets: [{ id: refunds, match: pay.refund, per: [agent], window: day, count: 100 }] }",
/// )?;
/// let agent = Agent::new("agt_00000000000000000000000001".parse()?);
/// let mut counters = Counters::default();
/// let mut refund = |now| {
///     let call = Call::new("pay.refund", agent.clone(), now);
///     counters.admit(decide(&policy, &call)).code
/// };
///
/// let morning = Timestamp::parse_rfc3339("2026-10-01T09:00:00Z")?;
/// assert!((1..=100).all(|_| refund(morning).is_none()));
/// // The 101st refund of the day is refused, the first one of the next day is not.
/// assert_eq!(refund(morning), Some(DecisionCode::BudgetExceeded));
/// assert_eq!(refund(Timestamp::parse_rfc3339("2026-10-02T09:00:00Z")?), None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Counters(HashMap<Key, Counter>);

/// One counter in one window.
#[derive(Debug, Clone)]
struct Counter {
    used: Decimal,
    ends: Timestamp,
}

impl Counters {
    /// Takes the decision's charges, all or none, and gives it back; or the refusal of a spent
    /// budget. A denial takes nothing.
    #[must_use = "the call may have been refused"]
    pub fn admit(&mut self, decision: Decision) -> Decision {
        let Ok(totals) = decision.admitted(|charge| self.used(charge)) else {
            return decision.over_budget();
        };
        for (charge, used) in decision.charges.iter().zip(totals) {
            self.0.insert(key(charge), Counter { used, ends: charge.window_end });
        }
        decision
    }

    /// Gives back what the charges took, for a call that did not run after all.
    pub fn release(&mut self, charges: &[Charge]) {
        for charge in charges {
            if let Some(counter) = self.0.get_mut(&key(charge)) {
                counter.used = counter.used.checked_sub(charge.amount).unwrap_or_default();
            }
        }
    }

    /// What calls have taken from the charge's budget in its window.
    pub fn used(&self, charge: &Charge) -> Decimal {
        self.0.get(&key(charge)).map_or(Decimal::ZERO, |counter| counter.used)
    }

    /// Forgets the windows that ended by then, which no later call is charged to.
    pub fn forget(&mut self, now: Timestamp) {
        self.0.retain(|_, counter| now < counter.ends);
    }
}

impl Charge {
    /// What a counter that stands at `used` stands at with the call in it; nothing where the
    /// budget does not admit the call.
    pub fn admitted(&self, used: Decimal) -> Option<Decimal> {
        used.checked_add(self.amount).filter(|total| *total <= self.limit)
    }

    /// The sentence of a refusal by this budget: its name, its limit and when it resets.
    ///
    /// ```
    /// use policy::{Agent, Call, Policy, Timestamp, decide, json};
    ///
    /// let policy = Policy::compile(
    ///     "{ schema: 1, default: { outcome: allow },
    ///        budgets: [{ id: sum, match: '*', window: day,
    ///                    cost: { amount: args.eur, limit: '99.5', unit: EUR } }] }",
    /// )?;
    /// let agent = Agent::new("agt_00000000000000000000000001".parse()?);
    /// let morning = Timestamp::parse_rfc3339("2026-10-01T09:00:00Z")?;
    /// let call = Call::new("pay.refund", agent, morning).with_args(json!({ "eur": 100 }));
    /// let decision = decide(&policy, &call);
    /// assert_eq!(
    ///     decision.admitted(|_| 0.into()).unwrap_err().refusal(),
    ///     "The budget `sum` admits at most 99.5 EUR a day; it resets at 2026-10-02T00:00:00.000Z.",
    /// );
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn refusal(&self) -> String {
        let Self { budget, limit, window_end, .. } = self;
        let unit = match &self.kind {
            ChargeKind::Count if *limit == Decimal::from(1) => "call",
            ChargeKind::Count => "calls",
            ChargeKind::Cost { unit } => unit,
        };
        let article = if self.window == Window::Hour { "an" } else { "a" };
        let window = self.window.as_str();
        format!(
            "The budget `{budget}` admits at most {limit} {unit} {article} {window}; it resets at {window_end}."
        )
    }
}

impl Decision {
    /// What counters that stand at `used` stand at with the call in them, in the order of the
    /// charges; or, where budgets do not admit the call, the charge of the one whose window ends last.
    ///
    /// ```
    /// use policy::{Agent, Call, Charge, Decimal, Decision, Policy, Timestamp, decide};
    /// use std::collections::HashMap;
    ///
    /// /// Stands for the table of somebody's database; the statements of one call are one transaction.
    /// fn admit(table: &mut HashMap<String, Decimal>, decision: Decision) -> Decision {
    ///     let key = |charge: &Charge| {
    ///         format!("{} {:?} {}", charge.budget, charge.per, charge.window_start)
    ///     };
    ///     match decision.admitted(|charge| table.get(&key(charge)).copied().unwrap_or_default()) {
    ///         Ok(totals) => table.extend(decision.charges.iter().map(key).zip(totals)),
    ///         Err(_) => return decision.over_budget(),
    ///     }
    ///     decision
    /// }
    ///
    /// let policy = Policy::compile(
    ///     "{ schema: 1, default: { outcome: allow },
    ///        budgets: [{ id: once, match: '*', window: hour, count: 1 }] }",
    /// )?;
    /// let agent = Agent::new("agt_00000000000000000000000001".parse()?);
    /// let call = Call::new("pay.refund", agent, Timestamp::EPOCH);
    /// let mut table = HashMap::new();
    /// assert_eq!(admit(&mut table, decide(&policy, &call)).code, None);
    /// assert!(admit(&mut table, decide(&policy, &call)).code.is_some());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn admitted(
        &self,
        mut used: impl FnMut(&Charge) -> Decimal,
    ) -> Result<Vec<Decimal>, &Charge> {
        let mut totals = Vec::with_capacity(self.charges.len());
        let mut last: Option<&Charge> = None;
        for charge in &self.charges {
            match charge.admitted(used(charge)) {
                Some(total) => totals.push(total),
                None if last.is_some_and(|last| charge.window_end <= last.window_end) => {}
                None => last = Some(charge),
            }
        }
        last.map_or(Ok(totals), Err)
    }

    /// The refusal that the decision becomes where a budget does not admit the call.
    #[must_use]
    pub fn over_budget(self) -> Self {
        Self {
            rule_id: self.rule_id,
            reason: self.reason,
            ..Self::refused(DecisionCode::BudgetExceeded, DecisionSource::Budget)
        }
    }
}

fn key(charge: &Charge) -> Key {
    (charge.budget.clone(), charge.per.clone(), charge.window_start)
}
