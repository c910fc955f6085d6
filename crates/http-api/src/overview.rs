//! The first screen as numbers: what went on in a window and the one before it, who acted last, and
//! what needs attention. Only the numbers are cached, for ten seconds: whoever has just stopped,
//! started or decided something sees it.

mod attention;

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use act::{ActError, MayView};
use admin::ChangeError;
use gate::{Class, Filter, Span, Tally};
use ledger::StoreDown;
use model::{AgentId, AgentStatus, DecisionOutcome, Level, OrgId, Status, Timestamp, Verdict};
use policy::{Decimal, Window};
use serde::Serialize;

use crate::{
    access::Viewer,
    app::App,
    refusal::CallError,
    wire::figures::{Bucket, BucketView, buckets},
};

/// How long counted numbers are shown again.
const CACHED_FOR: Duration = Duration::from_secs(10);
/// How many entries are kept before those are forgotten that are too old.
const MANY: usize = 1_024;
/// The most agents that are shown.
const AGENTS: usize = 8;

/// How far back an overview looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Back {
    Day,
    Week,
}

impl Back {
    fn bucket(self) -> Bucket {
        match self {
            Self::Day => Bucket::Hour,
            Self::Week => Bucket::SixHours,
        }
    }

    fn length(self) -> Duration {
        match self {
            Self::Day => Duration::from_hours(24),
            Self::Week => Duration::from_hours(24 * 7),
        }
    }
}

/// Numbers and when they were counted; locked while they are counted anew, so that of many who ask at
/// once one asks the record.
type Entry = Arc<tokio::sync::Mutex<Option<(Duration, Arc<Figures>)>>>;

/// The numbers that were counted lately.
#[derive(Default)]
pub(crate) struct Overviews(Mutex<HashMap<(OrgId, Back), Entry>>);

impl Overviews {
    fn entry(&self, org: OrgId, back: Back, now: Duration) -> Entry {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= MANY {
            let is_young = |entry: &Entry| match entry.try_lock() {
                Ok(made) => made.as_ref().is_some_and(|(at, _)| now < *at + CACHED_FOR),
                // It is being made.
                Err(_) => true,
            };
            all.retain(|_, entry| is_young(entry));
        }
        Arc::clone(all.entry((org, back)).or_default())
    }
}

impl App {
    /// The overview of the caller's org.
    pub(crate) async fn overview(
        &self,
        caller: &Viewer,
        back: Back,
    ) -> Result<OverviewView, CallError> {
        let org = caller.org();
        let snapshot = self.gate.ledger().look(org).await?;
        let zone = snapshot.org().map_or("UTC", |org| &*org.time_zone);
        let figures = self.figures(org, back, zone).await?;
        let Figures { window, complete, totals, previous, series, agents } = (*figures).clone();
        let waiting = self.gate.waiting(org, attention::MOST).await?;
        Ok(OverviewView {
            object: "overview",
            window,
            complete,
            totals: TotalsView { totals, pending_approvals: waiting.count },
            previous,
            series,
            agents: self.agents(caller, agents).await?,
            attention: self.attention(caller, (&snapshot, &waiting), window.from).await?,
        })
    }

    /// The numbers of an org, counted now or lately.
    async fn figures(&self, org: OrgId, back: Back, zone: &str) -> Result<Arc<Figures>, StoreDown> {
        let now = self.clock.elapsed();
        let entry = self.overviews.entry(org, back, now);
        let mut made = entry.lock().await;
        if let Some((at, figures)) = &*made
            && now < *at + CACHED_FOR
        {
            return Ok(Arc::clone(figures));
        }
        let figures = Arc::new(self.count(org, back, zone).await?);
        *made = Some((now, Arc::clone(&figures)));
        Ok(figures)
    }

    async fn count(&self, org: OrgId, back: Back, zone: &str) -> Result<Figures, StoreDown> {
        let now = self.clock.now();
        let (bucket, length) = (back.bucket(), back.length());
        let step = bucket.length();
        // The bucket that is not over yet is the last one.
        let to = Span::around(now, now, step).to;
        let (from, before) = (to.before(length), to.before(length * 2));
        let both = Span { from: before, to, step };
        let counted = self.gate.counted(org, &Filter::default(), both).await?;
        let (now_tallies, before_tallies): (Vec<Tally>, Vec<Tally>) =
            counted.tallies.into_iter().partition(|tally| from <= tally.at);
        let mut agents = Vec::new();
        for (agent, last_action_at) in self.gate.last_to_act(org, AGENTS).await? {
            agents.push(Acted {
                agent,
                last_action_at,
                today: self.today(org, agent, zone).await?,
            });
        }
        Ok(Figures {
            window: WindowView { from, to, bucket },
            complete: counted.is_current,
            totals: Totals::of(&now_tallies),
            previous: Totals::of(&before_tallies),
            series: buckets(&now_tallies, Span { from, ..both }),
            agents,
        })
    }

    /// The agents that acted last, as they stand now.
    async fn agents(
        &self,
        caller: &Viewer,
        acted: Vec<Acted>,
    ) -> Result<Vec<AgentView>, CallError> {
        let now = self.clock.now();
        let mut shown = Vec::new();
        for Acted { agent: id, last_action_at, today } in acted {
            let agent = match self.admin.view(caller).agent(id).await {
                Ok(agent) => agent,
                Err(ChangeError::Act(ActError::NotFound(_))) => continue,
                Err(error) => return Err(error.into()),
            };
            shown.push(AgentView {
                id,
                name: agent.name.clone(),
                status: agent.status(now),
                last_action_at,
                today,
            });
        }
        Ok(shown)
    }

    /// What an agent of the org did since the day began there.
    pub(crate) async fn today_of(
        &self,
        org: OrgId,
        agent: AgentId,
    ) -> Result<TodayView, CallError> {
        let snapshot = self.gate.ledger().look(org).await?;
        let zone = snapshot.org().map_or("UTC", |org| &*org.time_zone);
        Ok(self.today(org, agent, zone).await?)
    }

    async fn today(&self, org: OrgId, agent: AgentId, zone: &str) -> Result<TodayView, StoreDown> {
        let now = self.clock.now();
        let start = Window::Day.around(now, zone).map_or(now, |(start, _)| start);
        let filter = Filter { agent: Some(agent), ..Filter::default() };
        let span = Span::around(start, now + gate::SLOT, gate::SLOT);
        let counted = self.gate.counted(org, &filter, span).await?;
        let Totals { actions, denied, cost, .. } = Totals::of(&counted.tallies);
        Ok(TodayView { actions, denied, cost })
    }
}

/// What is counted of an org, and cached.
#[derive(Debug, Clone)]
struct Figures {
    window: WindowView,
    complete: bool,
    totals: Totals,
    previous: Totals,
    series: Vec<BucketView>,
    agents: Vec<Acted>,
}

/// An agent that acted, and what it did today.
#[derive(Debug, Clone)]
struct Acted {
    agent: AgentId,
    last_action_at: Timestamp,
    today: TodayView,
}

/// The overview of an org.
#[derive(Debug, Serialize)]
pub(crate) struct OverviewView {
    object: &'static str,
    window: WindowView,
    complete: bool,
    totals: TotalsView,
    previous: Totals,
    series: Vec<BucketView>,
    agents: Vec<AgentView>,
    attention: Vec<attention::ItemView>,
}

#[derive(Debug, Clone, Copy, Serialize)]
struct WindowView {
    from: Timestamp,
    to: Timestamp,
    bucket: Bucket,
}

#[derive(Debug, Serialize)]
struct TotalsView {
    #[serde(flatten)]
    totals: Totals,
    pending_approvals: u64,
}

/// What the actions of a window come to.
#[derive(Debug, Clone, Default, Serialize)]
struct Totals {
    actions: u64,
    executed: u64,
    blocked: u64,
    verified: u64,
    mismatch: u64,
    unverifiable: u64,
    not_witnessed: u64,
    /// Those whose report was compared with evidence beside it, whatever came of that.
    checked: u64,
    /// Those that ran and that nothing but the tool's own report speaks for.
    reported: u64,
    cost: Vec<CostView>,
    /// Those that ended so, whoever said no; of an agent's day.
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
    fn of(tallies: &[Tally]) -> Self {
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
                // What did not run was not spent.
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

#[derive(Debug, Serialize)]
struct AgentView {
    id: AgentId,
    name: String,
    status: AgentStatus,
    last_action_at: Timestamp,
    today: TodayView,
}

/// What an agent did since the day began.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct TodayView {
    actions: u64,
    denied: u64,
    cost: Vec<CostView>,
}
