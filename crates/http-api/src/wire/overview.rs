//! The overview as it is asked for and shown.

use std::{collections::BTreeMap, time::Duration};

use gate::{Class, Tally};
use model::{AgentId, AgentStatus, DecisionOutcome, Level, Status, Timestamp, Verdict};
use policy::Decimal;
use serde::Serialize;
use serde_json::Value;

use super::figures::{Bucket, BucketView};

/// How far back an overview looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Back {
    Day,
    Week,
}

impl Back {
    pub(crate) fn bucket(self) -> Bucket {
        match self {
            Self::Day => Bucket::Hour,
            Self::Week => Bucket::SixHours,
        }
    }

    pub(crate) fn length(self) -> Duration {
        match self {
            Self::Day => Duration::from_hours(24),
            Self::Week => Duration::from_hours(24 * 7),
        }
    }
}

/// The overview of an org.
#[derive(Debug, Serialize)]
pub(crate) struct OverviewView {
    pub(crate) object: &'static str,
    pub(crate) window: WindowView,
    pub(crate) complete: bool,
    pub(crate) totals: TotalsView,
    pub(crate) previous: Totals,
    pub(crate) series: Vec<BucketView>,
    pub(crate) agents: Vec<AgentView>,
    pub(crate) attention: Vec<ItemView>,
}

/// The window that is counted, and the buckets that it is cut into.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct WindowView {
    pub(crate) from: Timestamp,
    pub(crate) to: Timestamp,
    pub(crate) bucket: Bucket,
}

/// The totals of the window, and the approvals that are pending now.
#[derive(Debug, Serialize)]
pub(crate) struct TotalsView {
    #[serde(flatten)]
    pub(crate) totals: Totals,
    pub(crate) pending_approvals: u64,
}

/// The totals of the actions of a window.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct Totals {
    actions: u64,
    executed: u64,
    blocked: u64,
    verified: u64,
    mismatch: u64,
    unverifiable: u64,
    not_witnessed: u64,
    /// Actions whose report was compared with evidence beside it, whatever came of that.
    checked: u64,
    /// Actions that ran, and for which the tool's own report is the only evidence.
    reported: u64,
    cost: Vec<CostView>,
    /// Actions that ended as denied, by a rule or a person; shown of an agent's day alone.
    #[serde(skip)]
    denied: u64,
}

/// A sum in one currency or unit; the nearest number, as an action's cost is shown.
#[derive(Debug, Clone, Serialize)]
struct CostView {
    amount: f64,
    currency: String,
}

impl Totals {
    pub(crate) fn of(tallies: &[Tally]) -> Self {
        let mut totals = Self::default();
        let mut costs: BTreeMap<&str, Decimal> = BTreeMap::new();
        for Tally { at: _, class, count, cost } in tallies {
            totals.actions += count;
            totals.denied += if class.status == Status::Denied { *count } else { 0 };
            totals.blocked += if class.outcome == DecisionOutcome::Deny { *count } else { 0 };
            let of_verdict = match class.verdict {
                Some(Verdict::Verified) => &mut totals.verified,
                Some(Verdict::Mismatch) => &mut totals.mismatch,
                Some(Verdict::Unverifiable) => &mut totals.unverifiable,
                None => &mut totals.not_witnessed,
            };
            *of_verdict += count;
            totals.checked += if class.level > Some(Level::L0) { *count } else { 0 };
            totals.reported += if is_reported(*class) { *count } else { 0 };
            if class.status == Status::Executed {
                totals.executed += count;
                // An action that did not run spent nothing.
                if let Some((unit, amount)) = cost {
                    let sum = costs.entry(unit).or_default();
                    *sum = sum.checked_add(*amount).unwrap_or(*sum);
                }
            }
        }
        let costs = costs.into_iter();
        totals.cost = costs
            .map(|(unit, sum)| CostView { amount: sum.to_f64(), currency: unit.to_owned() })
            .collect();
        totals
    }
}

fn is_reported(class: Class) -> bool {
    class.status == Status::Executed
        && (class.verdict, class.level) == (Some(Verdict::Verified), Some(Level::L0))
}

/// One of the agents that acted last.
#[derive(Debug, Serialize)]
pub(crate) struct AgentView {
    pub(crate) id: AgentId,
    pub(crate) name: String,
    pub(crate) status: AgentStatus,
    pub(crate) last_action_at: Timestamp,
    pub(crate) today: TodayView,
}

/// The actions of an agent since the day began.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct TodayView {
    actions: u64,
    denied: u64,
    cost: Vec<CostView>,
}

impl TodayView {
    pub(crate) fn of(tallies: &[Tally]) -> Self {
        let Totals { actions, denied, cost, .. } = Totals::of(tallies);
        Self { actions, denied, cost }
    }
}

/// The subjects of items, the most urgent first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ItemKind {
    ChainBroken,
    OrgStopped,
    ConnectorUnreachable,
    SlotInvalidated,
    SlotLagging,
    WebhookDisabled,
    WebhookSecretUnreadable,
    Mismatch,
    ApprovalExpiring,
    ActivationWaits,
    BudgetNear,
    WebhookFailing,
    ApprovalWaiting,
}

/// Something that needs attention.
#[derive(Debug, Serialize)]
pub(crate) struct ItemView {
    pub(crate) kind: ItemKind,
    pub(crate) data: Value,
}
