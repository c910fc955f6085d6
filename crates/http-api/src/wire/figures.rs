//! Numbers of actions and of budgets, as they are asked for and shown.

use std::{collections::BTreeMap, fmt, str::FromStr, time::Duration};

use gate::{Class, Counted, CounterPlace, Filter, SLOT, Span, Tally, Use};
use model::{PolicyVersionId, Status, Timestamp, Verdict};
use policy::ChargeKind;
use serde::{Serialize, Serializer};
use web::{ApiError, Param, Position, Query, excerpt};

use super::filter::action_filter;

/// The parameters of the counts: the filters of the list, and how time is cut.
pub(crate) const COUNTS: &[Param] = &[
    Param::One("agent"),
    Param::One("tool"),
    Param::One("state"),
    Param::One("decision"),
    Param::One("verdict"),
    Param::One("level"),
    Param::One("on_behalf_of"),
    Param::One("created_at[gte]"),
    Param::One("created_at[lt]"),
    Param::One("q"),
    Param::One("shadow_differs"),
    Param::One("bucket"),
];

/// The parameters of the list of budgets.
pub(crate) const BUDGETS: &[Param] = &[Param::One("limit"), Param::One("cursor")];

const HOUR: Duration = Duration::from_hours(1);
/// What is counted where nobody says.
const DAY: Duration = Duration::from_hours(24);
/// The most buckets that are chosen where nobody says how long one is.
const FEW: u32 = 48;
/// The most buckets of an answer.
const MOST: u32 = 400;

/// How long a bucket is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bucket {
    Quarter,
    Hour,
    SixHours,
    Day,
}

impl Bucket {
    const ALL: [Self; 4] = [Self::Quarter, Self::Hour, Self::SixHours, Self::Day];

    const fn as_str(self) -> &'static str {
        match self {
            Self::Quarter => "15m",
            Self::Hour => "1h",
            Self::SixHours => "6h",
            Self::Day => "1d",
        }
    }

    pub(crate) fn length(self) -> Duration {
        match self {
            Self::Quarter => SLOT,
            Self::Hour => HOUR,
            Self::SixHours => HOUR * 6,
            Self::Day => DAY,
        }
    }

    /// The shortest that cuts this time into few; a day where none does.
    fn fitting(time: Duration) -> Self {
        let fits = |bucket: &Self| bucket.length() * FEW >= time;
        Self::ALL.into_iter().find(fits).unwrap_or(Self::Day)
    }
}

impl FromStr for Bucket {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let all = Self::ALL.into_iter();
        all.clone().find(|bucket| bucket.as_str() == text).ok_or_else(|| {
            let words: Vec<_> = all.map(|bucket| format!("`{}`", bucket.as_str())).collect();
            format!("expected one of {}, got `{}`", words.join(", "), excerpt(text))
        })
    }
}

impl fmt::Display for Bucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Bucket {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.as_str())
    }
}

/// What `GET /v1/actions/counts` is asked for.
pub(crate) struct CountsRequest {
    pub(crate) filter: Filter,
    pub(crate) bucket: Bucket,
    pub(crate) span: Span,
}

impl CountsRequest {
    pub(crate) fn read(query: &Query, now: Timestamp) -> Result<Self, ApiError> {
        let filter = action_filter(query)?;
        let (bucket, span) = cut((filter.from, filter.to), query, now)?;
        Ok(Self { filter, bucket, span })
    }
}

/// Cuts the time between two moments, or the day before the second, into the buckets that a query
/// asks for.
pub(super) fn cut(
    (asked_from, asked_to): (Option<Timestamp>, Option<Timestamp>),
    query: &Query,
    now: Timestamp,
) -> Result<(Bucket, Span), ApiError> {
    let to = asked_to.unwrap_or(now);
    let from = asked_from.unwrap_or_else(|| to.before(DAY));
    if from >= to {
        return Err(match asked_from {
            Some(_) => {
                let message = "expected a time before `created_at[lt]`";
                ApiError::invalid("created_at[gte]", message)
            }
            None => ApiError::invalid("created_at[lt]", "expected a time in a later year"),
        });
    }
    let time = to.since(from);
    let bucket = query.parse::<Bucket>("bucket")?.unwrap_or_else(|| Bucket::fitting(time));
    if bucket.length() * MOST < time {
        let message = format!("expected at most {MOST} buckets of `{bucket}` in this time");
        return Err(ApiError::invalid("bucket", message));
    }
    Ok((bucket, Span::around(from, to, bucket.length())))
}

/// Actions in parts of time.
#[derive(Debug, Serialize)]
pub(crate) struct CountsView {
    object: &'static str,
    bucket: Bucket,
    from: Timestamp,
    to: Timestamp,
    complete: bool,
    data: Vec<BucketView>,
}

impl CountsView {
    pub(crate) fn new(request: &CountsRequest, counted: &Counted) -> Self {
        let CountsRequest { filter: _, bucket, span } = *request;
        Self {
            object: "action_counts",
            bucket,
            from: span.from,
            to: span.to,
            complete: counted.is_current && counted.from <= span.from,
            data: buckets(&counted.tallies, Span { from: counted.from.max(span.from), ..span }),
        }
    }

    /// Nothing at all was counted.
    pub(crate) fn empty(request: &CountsRequest) -> Self {
        let counted = Counted { tallies: Vec::new(), from: request.span.from, is_current: true };
        Self::new(request, &counted)
    }
}

/// The actions that were recorded in one part of time, by what became of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct BucketView {
    at: Timestamp,
    executed: u64,
    failed: u64,
    denied: u64,
    cancelled: u64,
    waiting: u64,
    mismatch: u64,
}

impl BucketView {
    fn empty(at: Timestamp) -> Self {
        Self { at, executed: 0, failed: 0, denied: 0, cancelled: 0, waiting: 0, mismatch: 0 }
    }

    fn add(&mut self, class: Class, count: u64) {
        let of_status = match class.status {
            Status::Executed => &mut self.executed,
            Status::Failed => &mut self.failed,
            Status::Denied => &mut self.denied,
            Status::Cancelled => &mut self.cancelled,
            Status::PendingApproval | Status::Processing | Status::Authorized => &mut self.waiting,
        };
        *of_status += count;
        if class.verdict == Some(Verdict::Mismatch) {
            self.mismatch += count;
        }
    }
}

/// Every part of the span, those without an action included.
pub(crate) fn buckets(tallies: &[Tally], span: Span) -> Vec<BucketView> {
    let mut parts: BTreeMap<Timestamp, BucketView> =
        span.parts().map(|at| (at, BucketView::empty(at))).collect();
    for tally in tallies {
        if let Some(part) = parts.get_mut(&span.part_of(tally.at)) {
            part.add(tally.class, tally.count);
        }
    }
    parts.into_values().collect()
}

/// How a budget stands, or one of the counters that it has apart.
#[derive(Debug, Serialize)]
pub(crate) struct BudgetUseView<'a> {
    object: &'static str,
    budget: &'a str,
    policy_version: PolicyVersionId,
    livemode: bool,
    scope: Option<BTreeMap<&'a str, &'a str>>,
    unit: Option<&'a str>,
    limit: String,
    used: String,
    reserved: String,
    window: WindowView,
}

#[derive(Debug, Serialize)]
struct WindowView {
    length: &'static str,
    start: Timestamp,
    resets_at: Timestamp,
}

impl<'a> From<&'a Use> for BudgetUseView<'a> {
    fn from(one: &'a Use) -> Self {
        let budget = &one.budget;
        Self {
            object: "budget_use",
            budget: &budget.id,
            policy_version: one.version,
            livemode: one.place.livemode,
            scope: one.scope.as_ref().map(|scope| {
                let parts = scope.iter().map(|(name, value)| (name.as_str(), value.as_str()));
                // Everything is counted in the org.
                parts.filter(|(name, _)| *name != "org").collect()
            }),
            unit: match &budget.kind {
                ChargeKind::Count => None,
                ChargeKind::Cost { unit } => Some(unit),
            },
            limit: budget.limit.to_string(),
            used: one.used.to_string(),
            reserved: one.reserved.to_string(),
            window: WindowView {
                length: budget.window.as_str(),
                start: budget.window_start,
                resets_at: budget.window_end,
            },
        }
    }
}

/// The position in the list of budgets.
pub(crate) struct BudgetPosition(pub(crate) CounterPlace);

impl Position for BudgetPosition {
    fn to_text(&self) -> String {
        let CounterPlace { budget, livemode, key } = &self.0;
        serde_json::json!([budget, livemode, key]).to_string()
    }

    fn from_text(text: &str) -> Option<Self> {
        let (budget, livemode, key) = serde_json::from_str(text).ok()?;
        Some(Self(CounterPlace { budget, livemode, key }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shortest_bucket_is_chosen_that_leaves_few() {
        let hours = [(12, "15m"), (13, "1h"), (24, "1h"), (48, "1h"), (49, "6h"), (24 * 7, "6h")];
        for (hours, word) in hours {
            assert_eq!(Bucket::fitting(HOUR * hours).as_str(), word, "{hours}");
        }
        assert_eq!(Bucket::fitting(DAY * 365), Bucket::Day);
    }
}
