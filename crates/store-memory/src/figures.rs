//! Numbers, counted from the rows whenever somebody asks.

use std::collections::BTreeMap;

use async_trait::async_trait;
use gate::{
    AgentFigures, Class, Counted, CountedUp, CounterState, Counters, FigureStore, Filter, Span,
    Tally, Waiting,
};
use ledger::{
    StoreDown,
    record::{Action, ApiKey, Holder},
};
use model::{ActionId, AgentId, OrgId, State, Timestamp};
use policy::Decimal;

use crate::{MemoryStore, actions::passes, rows::Rows};

#[async_trait]
impl FigureStore for MemoryStore {
    async fn counted(&self, org: OrgId, filter: &Filter, span: Span) -> Result<Counted, StoreDown> {
        let kept = self.reach("count actions")?;
        let filter = Filter { from: Some(span.from), to: Some(span.to), ..filter.clone() };
        let mut counts: BTreeMap<_, (u64, Decimal)> = BTreeMap::new();
        for action in actions(kept.orgs.get(&org)).filter(|action| passes(&filter, action)) {
            // Where rows are looked at one by one, nobody adds up what they cost.
            let cost = action.cost.as_ref().filter(|_| gate::is_kept(&filter));
            let unit = cost.map(|cost| cost.currency.clone());
            let amount = cost.and_then(|cost| cost.amount.parse::<Decimal>().ok());
            let at = span.part_of(action.created_at);
            let (count, sum) = counts.entry((at, Class::of(action), unit)).or_default();
            *count += 1;
            *sum = sum.checked_add(amount.unwrap_or_default()).unwrap_or(*sum);
        }
        let tally = |((at, class, unit), (count, sum)): ((_, _, Option<String>), _)| Tally {
            at,
            class,
            count,
            cost: unit.map(|unit| (unit, sum)),
        };
        let tallies = counts.into_iter().map(tally).collect();
        Ok(Counted { tallies, from: span.from, is_current: true })
    }

    async fn count_up(&self, _: Option<OrgId>, _: usize, _: usize) -> Result<CountedUp, StoreDown> {
        self.reach("count what was sealed").map(|_| CountedUp::default())
    }

    async fn last_to_act(
        &self,
        org: OrgId,
        limit: usize,
    ) -> Result<Vec<(AgentId, ActionId)>, StoreDown> {
        let kept = self.reach("look for the agents that acted last")?;
        let mut last: BTreeMap<AgentId, ActionId> = BTreeMap::new();
        for action in actions(kept.orgs.get(&org)) {
            let newest = last.entry(action.agent.id).or_insert(action.id);
            *newest = action.id.max(*newest);
        }
        let mut last: Vec<_> = last.into_iter().collect();
        last.sort_by_key(|(_, action)| std::cmp::Reverse(*action));
        last.truncate(limit);
        Ok(last)
    }

    async fn of_agents(
        &self,
        org: OrgId,
        agents: &[AgentId],
        now: Timestamp,
    ) -> Result<BTreeMap<AgentId, AgentFigures>, StoreDown> {
        let kept = self.reach("read what agents did last")?;
        let rows = kept.orgs.get(&org);
        let figures = |agent: &AgentId| {
            let own = |key: &&ApiKey| {
                matches!(key.holder, Holder::Agent(holder) if holder == *agent) && key.is_valid(now)
            };
            let keys = rows.map_or(0, |rows| rows.keys.values().filter(own).count() as u64);
            let acted = actions(rows).filter(|action| action.agent.id == *agent);
            (*agent, AgentFigures { keys, last: acted.map(|action| action.id).max() })
        };
        Ok(agents.iter().map(figures).collect())
    }

    async fn counters(
        &self,
        org: OrgId,
        asked: &[Counters],
        limit: usize,
    ) -> Result<Vec<CounterState>, StoreDown> {
        let kept = self.reach("read counters of budgets")?;
        let Some(rows) = kept.orgs.get(&org) else { return Ok(Vec::new()) };
        let mut found = Vec::new();
        for (place, one) in asked.iter().enumerate() {
            let counters = rows.budgets.values().filter(|counter| {
                counter.window_start == one.window_start
                    && counter.key.starts_with(&one.prefix)
                    && one.after.as_ref().is_none_or(|after| *after < counter.key)
                    && one.near.is_none_or(|limit| is_near(counter.used, limit))
            });
            found.extend(counters.map(|counter| CounterState {
                asked: place,
                key: counter.key.clone(),
                taken: counter.used,
                reserved: reserved(rows, &counter.key, counter.window_start).min(counter.used),
            }));
        }
        found.truncate(limit);
        Ok(found)
    }

    async fn waiting(&self, org: OrgId, limit: usize) -> Result<Waiting, StoreDown> {
        let kept = self.reach("look for what waits for people")?;
        let waits =
            actions(kept.orgs.get(&org)).filter(|action| action.state == State::PendingApproval);
        let mut first: Vec<Action> = waits.cloned().collect();
        let count = first.len() as u64;
        let ends = |action: &Action| action.approval.as_ref().map(|approval| approval.expires_at);
        first.sort_by_key(|action| (ends(action), action.id));
        first.truncate(limit);
        Ok(Waiting { count, first })
    }
}

fn actions(rows: Option<&Rows>) -> impl Iterator<Item = &Action> {
    rows.into_iter().flat_map(|rows| rows.actions.values()).map(|kept| &*kept.action)
}

/// Whether so much is four fifths of a limit, or more.
fn is_near(used: Decimal, limit: Decimal) -> bool {
    used > Decimal::ZERO && used.checked_mul(5) >= limit.checked_mul(4)
}

/// What calls that have not ended hold of a counter.
fn reserved(rows: &Rows, key: &str, window_start: Timestamp) -> Decimal {
    let open = actions(Some(rows)).filter(|action| {
        matches!(action.state, State::Executing | State::PendingApproval | State::Witnessing)
    });
    let parts = open.flat_map(|action| &action.charged);
    let own = parts.filter(|part| part.is_of(key, window_start));
    own.fold(Decimal::ZERO, |sum, part| sum.checked_add(part.used).unwrap_or(sum))
}
