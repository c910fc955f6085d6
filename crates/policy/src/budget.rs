//! What a call takes from budgets, as data. Keeps no counter and admits nothing: the ledger does.

use jiff::{ToSpan, civil::Date, tz::TimeZone};
use model::Timestamp;

use crate::{
    call::Call,
    document::{Budget, Measure, Per, Source, Window},
    expr::{Decimal, Machine, Value, instant},
    policy::Policy,
};

/// What one call takes from one budget.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Charge {
    /// The budget's id.
    pub budget: String,
    /// What the budget counts apart, by name and value; a value that the call lacks is empty.
    pub per: Vec<(String, String)>,
    /// How long the budget adds up.
    pub window: Window,
    /// When the present window began.
    pub window_start: Timestamp,
    /// When the next one begins.
    pub window_end: Timestamp,
    /// What this call takes: one for a count, the cost otherwise.
    pub amount: Decimal,
    /// What all calls of the window together may take.
    pub limit: Decimal,
    /// What the budget adds up.
    pub kind: ChargeKind,
}

/// What a budget adds up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChargeKind {
    /// Calls.
    Count,
    /// Money or the like, in this unit.
    Cost {
        /// The unit, such as `EUR`.
        unit: String,
    },
}

/// A budget and its window that runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunningBudget {
    /// The budget's id.
    pub id: String,
    /// The names of what it counts apart.
    pub per: Vec<&'static str>,
    /// How long it adds up.
    pub window: Window,
    /// When the present window began.
    pub window_start: Timestamp,
    /// When the next one begins.
    pub window_end: Timestamp,
    /// What all calls of the window together may take.
    pub limit: Decimal,
    /// What it adds up.
    pub kind: ChargeKind,
}

impl Policy {
    /// The budgets in the order of their ids, with the windows that run at this moment in this time
    /// zone; none where there is no such zone.
    ///
    /// ```
    /// use policy::{Policy, Timestamp};
    ///
    /// let policy = Policy::compile(
    ///     "{ schema: 1, default: { outcome: allow },
    ///        budgets: [{ id: refunds, match: pay.refund, per: [agent], window: day, count: 100 }] }",
    /// )?;
    /// let noon = Timestamp::parse_rfc3339("2026-10-01T12:00:00Z")?;
    /// let [refunds] = &policy.budgets(noon, "Europe/Berlin")[..] else { unreachable!() };
    /// assert_eq!(refunds.per, ["agent"]);
    /// assert_eq!(refunds.window_end, Timestamp::parse_rfc3339("2026-10-01T22:00:00Z")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn budgets(&self, now: Timestamp, zone: &str) -> Vec<RunningBudget> {
        let Ok(zone) = time_zone(zone) else { return Vec::new() };
        let running = |budget: &Budget| {
            let (window_start, window_end) = bounds(budget.window, now, &zone)?;
            let (limit, kind) = measured(budget);
            Some(RunningBudget {
                id: budget.id.clone(),
                per: budget.per.iter().map(|per| per.as_str()).collect(),
                window: budget.window,
                window_start,
                window_end,
                limit,
                kind,
            })
        };
        let mut found: Vec<_> = self.document.budgets.iter().filter_map(running).collect();
        found.sort_by(|one, other| one.id.cmp(&other.id));
        found
    }
}

impl Window {
    /// When the window that holds this moment began and when the next one begins, by the clock and
    /// the calendar of this time zone; nothing where there is no such zone.
    pub fn around(self, moment: Timestamp, zone: &str) -> Option<(Timestamp, Timestamp)> {
        bounds(self, moment, &time_zone(zone).ok()?)
    }
}

/// What a budget adds up, and how far.
fn measured(budget: &Budget) -> (Decimal, ChargeKind) {
    match &budget.measure {
        Measure::Count(limit) => {
            (Decimal::from(i64::try_from(*limit).unwrap_or(i64::MAX)), ChargeKind::Count)
        }
        Measure::Cost(cost) => (cost.limit, ChargeKind::Cost { unit: cost.unit.clone() }),
    }
}

/// What the call takes from each of the budgets, which cover it, or why that cannot be told.
pub(crate) fn charges<'p>(
    covering: impl Iterator<Item = &'p Budget>,
    call: &Call,
    machine: &mut Machine<'p>,
) -> Result<Vec<Charge>, String> {
    let mut zone = None;
    let mut charges = Vec::new();
    for budget in covering {
        let zone = match &zone {
            Some(zone) => zone,
            None => zone.insert(time_zone(&call.zone)?),
        };
        let charge = charge(budget, call, zone, machine);
        charges.push(charge.map_err(|why| format!("budget `{}`: {why}", budget.id))?);
    }
    Ok(charges)
}

fn charge<'p>(
    budget: &'p Budget,
    call: &Call,
    zone: &TimeZone,
    machine: &mut Machine<'p>,
) -> Result<Charge, String> {
    let (limit, kind) = measured(budget);
    let amount = match &budget.measure {
        Measure::Count(_) => Decimal::from(1),
        Measure::Cost(cost) => {
            if let Some(currency) = &cost.currency {
                same_unit(currency, &cost.unit, machine)?;
            }
            amount(&cost.amount, machine)?
        }
    };
    let (window_start, window_end) = bounds(budget.window, call.now, zone)
        .ok_or_else(|| "the window is outside the calendar".to_owned())?;
    Ok(Charge {
        budget: budget.id.clone(),
        per: budget.per.iter().map(|per| (per.as_str().to_owned(), per.value(call))).collect(),
        window: budget.window,
        window_start,
        window_end,
        amount,
        limit,
        kind,
    })
}

impl Per {
    fn value(self, call: &Call) -> String {
        let facts = &call.facts;
        let text = |fact: &Option<String>| fact.clone().unwrap_or_default();
        match self {
            // The counters are the org's own already.
            Self::Org => String::new(),
            Self::Agent => call.agent.id.to_string(),
            Self::OnBehalfOf => text(&facts.on_behalf_of),
            Self::Session => text(&facts.session),
            Self::Connector => text(&facts.connector),
            Self::Tool => call.tool.clone(),
        }
    }
}

fn amount<'p>(amount: &'p Source, machine: &mut Machine<'p>) -> Result<Decimal, String> {
    let value = machine.value(amount.expr()).map_err(|failure| amount.in_words(&failure))?;
    let cost = match value {
        Value::Decimal(cost) => cost,
        Value::Int(cost) => Decimal::from(cost),
        other => {
            let found = other.sort().name();
            return Err(format!("`{}`: expected a decimal or an int, found {found}", amount.text));
        }
    };
    // A negative cost would fill the budget up again.
    if cost.is_negative() {
        return Err(format!("`{}`: the cost is negative", amount.text));
    }
    Ok(cost)
}

fn same_unit<'p>(
    currency: &'p Source,
    unit: &str,
    machine: &mut Machine<'p>,
) -> Result<(), String> {
    let value = machine.value(currency.expr()).map_err(|failure| currency.in_words(&failure))?;
    match value {
        Value::Text(found) if found == unit => Ok(()),
        _ => Err(format!("`{}`: the cost is not in `{unit}`", currency.text)),
    }
}

fn time_zone(name: &str) -> Result<TimeZone, String> {
    TimeZone::get(name).map_err(|_| format!("there is no time zone `{name}`"))
}

/// When the window that holds `now` began and when the next one begins.
fn bounds(window: Window, now: Timestamp, zone: &TimeZone) -> Option<(Timestamp, Timestamp)> {
    let local = instant(now).to_zoned(zone.clone());
    let today = local.date();
    match window {
        Window::Minute => Some(slice(now, 60_000, local.offset().seconds())),
        Window::Hour => Some(slice(now, 3_600_000, local.offset().seconds())),
        Window::Day => between(today, today.tomorrow().ok()?, zone),
        Window::Week => {
            let since_monday = today.weekday().to_monday_zero_offset();
            let monday = today.checked_sub(i64::from(since_monday).days()).ok()?;
            between(monday, monday.checked_add(1.week()).ok()?, zone)
        }
        Window::Month => {
            let first = today.first_of_month();
            between(first, first.checked_add(1.month()).ok()?, zone)
        }
    }
}

/// Minutes and hours are cut on the zone's clock, since not every offset is a whole hour.
fn slice(now: Timestamp, millis: i64, offset_seconds: i32) -> (Timestamp, Timestamp) {
    let offset = i64::from(offset_seconds) * 1000;
    let local = now.unix_millis() + offset;
    let start = local - local.rem_euclid(millis) - offset;
    (Timestamp::from_unix_millis(start), Timestamp::from_unix_millis(start + millis))
}

/// Days of 23 and 25 hours come out right, because both ends are looked up in the zone.
fn between(start: Date, end: Date, zone: &TimeZone) -> Option<(Timestamp, Timestamp)> {
    let moment = |date: Date| {
        let zoned = date.to_zoned(zone.clone()).ok()?;
        Some(Timestamp::from_unix_millis(zoned.timestamp().as_millisecond()))
    };
    Some((moment(start)?, moment(end)?))
}
