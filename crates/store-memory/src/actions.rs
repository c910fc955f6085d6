//! The Gate's store: actions are read, listed, found due, and their leases renewed.

use std::collections::BTreeMap;

use async_trait::async_trait;
use gate::{
    ActionDetail, ActionPlace, ActionStore, Due, DueFor, DuePlace, Filter, HeldLease, IntentFilter,
    Miscount, Page, Renewal, Sweep, UnderWay, Voiding,
};
use ledger::{
    StoreDown,
    record::{Action, BudgetUse, IdempotencyKey, KeptReport, UsedIntent},
};
use model::{ActionId, AgentId, OrgId, State};
use policy::Decimal;

use crate::{
    MemoryStore,
    rows::{KeptAction, Rows},
};

/// How many events an action's detail shows.
const DETAIL_EVENTS: usize = 200;

#[async_trait]
impl ActionStore for MemoryStore {
    async fn action(&self, org: OrgId, id: ActionId) -> Result<Option<Action>, StoreDown> {
        let kept = self.reach("read an action")?;
        let found = kept.orgs.get(&org).and_then(|rows| rows.actions.get(&id));
        Ok(found.map(|kept| Action::clone(&kept.action)))
    }

    async fn detail(&self, org: OrgId, id: ActionId) -> Result<Option<ActionDetail>, StoreDown> {
        let kept = self.reach("read an action's detail")?;
        Ok(kept.orgs.get(&org).and_then(|rows| detail(rows, id)))
    }

    async fn list(
        &self,
        org: OrgId,
        filter: &Filter,
        after: Option<ActionPlace>,
        limit: usize,
    ) -> Result<Page, StoreDown> {
        let kept = self.reach("list actions")?;
        let Some(rows) = kept.orgs.get(&org) else {
            return Ok(Page { actions: Vec::new(), has_more: false });
        };
        let shown = |action: &&Action| {
            after.is_none_or(|after| place(action) < after) && passes(filter, action)
        };
        let all = rows.actions.values().map(|kept| &*kept.action);
        let mut actions: Vec<_> = all.filter(shown).collect();
        actions.sort_by_key(|action| std::cmp::Reverse(place(action)));
        let has_more = actions.len() > limit;
        Ok(Page { actions: actions.into_iter().take(limit).cloned().collect(), has_more })
    }

    async fn idempotency_key(
        &self,
        org: OrgId,
        agent: AgentId,
        key: &str,
    ) -> Result<Option<IdempotencyKey>, StoreDown> {
        let kept = self.reach("read an idempotency key")?;
        let rows = kept.orgs.get(&org);
        let named = rows.and_then(|rows| rows.idempotency_keys.get(&(agent, key.to_owned())));
        Ok(named.filter(|row| self.clock.now() < row.expires_at).cloned())
    }

    async fn used_intents(
        &self,
        org: OrgId,
        filter: &IntentFilter,
        after: Option<ActionId>,
        limit: usize,
    ) -> Result<Vec<UsedIntent>, StoreDown> {
        let kept = self.reach("list used intents")?;
        let rows = kept.orgs.get(&org);
        // By the ids of actions, which are in the order of their moments.
        let newest = rows.into_iter().flat_map(|rows| rows.used_intents.values().rev());
        let passes = |used: &&UsedIntent| {
            after.is_none_or(|after| used.action < after)
                && filter.agent.is_none_or(|agent| used.agent == agent)
                && filter.from.is_none_or(|from| from <= used.used_at)
                && filter.to.is_none_or(|to| used.used_at < to)
        };
        Ok(newest.filter(passes).take(limit).cloned().collect())
    }

    async fn due(
        &self,
        sweep: Sweep,
        after: Option<DuePlace>,
        limit: usize,
    ) -> Result<Vec<Due>, StoreDown> {
        let kept = self.reach("look for what is due")?;
        let now = self.clock.now();
        let mut due: Vec<_> = kept
            .orgs
            .iter()
            .flat_map(|(org, rows)| {
                let moving = rows.actions.values().filter_map(|kept| due_of(*org, kept));
                moving.chain(awaited(*org, rows))
            })
            .filter(|due| sweep_of(&due.what) == sweep && due.since <= now)
            .filter(|due| after.is_none_or(|after| after < due.place()))
            .collect();
        due.sort_by_key(Due::place);
        due.truncate(limit);
        Ok(due)
    }

    async fn report(&self, org: OrgId, action: ActionId) -> Result<Option<KeptReport>, StoreDown> {
        let kept = self.reach("read a report")?;
        let rows = kept.orgs.get(&org);
        Ok(rows.and_then(|rows| rows.reports.get(&action)).map(|(report, _)| report.clone()))
    }

    async fn drift(&self, org: OrgId) -> Result<Vec<Miscount>, StoreDown> {
        let kept = self.reach("compare budget counters with charges")?;
        let now = self.clock.now();
        let Some(rows) = kept.orgs.get(&org) else { return Ok(Vec::new()) };
        let runs = |counter: &&BudgetUse| now < counter.window_end;
        let place = |counter: &BudgetUse| (counter.key.clone(), counter.window_start);
        let nothing = |counter: &BudgetUse| BudgetUse { used: Decimal::ZERO, ..counter.clone() };
        let counters = rows.budgets.values().filter(runs);
        let mut sums: BTreeMap<_, _> = counters.map(|row| (place(row), nothing(row))).collect();
        if sums.is_empty() {
            return Ok(Vec::new());
        }
        let actions = rows.actions.values().map(|kept| &kept.action);
        for part in actions.flat_map(|action| action.taken()).filter(runs) {
            let sum = sums.entry(place(part)).or_insert_with(|| nothing(part));
            sum.used = sum.used.checked_add(part.used).unwrap_or(sum.used);
        }
        let compared = sums.into_values().map(|sum| {
            let counter = rows.budgets.get(&place(&sum)).cloned();
            Miscount { counter: counter.unwrap_or_else(|| nothing(&sum)), charged: sum.used }
        });
        Ok(compared.filter(|it| it.counter.used != it.charged).collect())
    }

    async fn voiding(&self, limit: usize) -> Result<Vec<Voiding>, StoreDown> {
        let kept = self.reach("look for approvals that are void")?;
        let notes = kept.orgs.iter().flat_map(|(org, rows)| {
            let of_org = rows.org.iter().map(|org| (None, org.voids));
            let of_agents = rows.agents.values().map(|agent| (Some(agent.id), agent.voids));
            let note =
                |(agent, until): (_, Option<_>)| Some(Voiding { org: *org, agent, until: until? });
            of_org.chain(of_agents).filter_map(note)
        });
        Ok(notes.take(limit).collect())
    }

    async fn void(
        &self,
        voiding: &Voiding,
        after: Option<ActionId>,
        limit: usize,
    ) -> Result<Vec<ActionId>, StoreDown> {
        let kept = self.reach("look for what waits for an approval that is void")?;
        let waits = |action: &Action| {
            action.state == State::PendingApproval
                && action.created_at <= voiding.until
                && after.is_none_or(|after| after < action.id)
        };
        let found = of_agent(kept.orgs.get(&voiding.org), voiding.agent, waits);
        Ok(found.into_iter().take(limit).collect())
    }

    async fn under_way(
        &self,
        org: OrgId,
        agent: Option<AgentId>,
        limit: usize,
    ) -> Result<UnderWay, StoreDown> {
        let kept = self.reach("look for what is under way")?;
        let runs = |action: &Action| is_open(action.state);
        let mut actions = of_agent(kept.orgs.get(&org), agent, runs);
        let count = actions.len();
        actions.truncate(limit);
        Ok(UnderWay { actions, count })
    }

    async fn hand_back(&self, held: &[HeldLease]) -> Result<(), StoreDown> {
        let mut kept = self.reach("hand leases back")?;
        let now = self.clock.now();
        for lease in held {
            let rows = kept.orgs.get_mut(&lease.org);
            let row = rows.and_then(|rows| rows.actions.get_mut(&lease.action));
            if let Some(row) = row.filter(|row| row.action.lease.as_ref() == Some(&lease.lease)) {
                row.lease_until = row.lease_until.map(|until| until.min(now));
            }
        }
        Ok(())
    }

    async fn renew(&self, held: &[HeldLease]) -> Result<Renewal, StoreDown> {
        let mut kept = self.reach("renew leases")?;
        let now = self.clock.now();
        let mut renewal = Renewal::default();
        for lease in held {
            let rows = kept.orgs.get_mut(&lease.org);
            let Some(row) = rows.and_then(|rows| rows.actions.get_mut(&lease.action)) else {
                continue;
            };
            let lasts = row.lease_until.is_some_and(|until| now < until);
            if lasts && row.action.lease.as_ref() == Some(&lease.lease) {
                row.lease_until = Some(now + self.lease);
                renewal.renewed.push(lease.clone());
            } else if is_open(row.action.state) && row.action.lease.is_some() {
                renewal.lost.push(lease.clone());
            }
        }
        Ok(renewal)
    }
}

/// Whether a run is under way, or what it did is being witnessed.
fn is_open(state: State) -> bool {
    matches!(state, State::Executing | State::Witnessing)
}

/// The actions of an org, or of one agent of it, that are asked for, in order.
fn of_agent(
    rows: Option<&Rows>,
    agent: Option<AgentId>,
    is_meant: impl Fn(&Action) -> bool,
) -> Vec<ActionId> {
    let all = rows.into_iter().flat_map(|rows| rows.actions.values()).map(|kept| &kept.action);
    let own = all.filter(|action| agent.is_none_or(|agent| action.agent.id == agent));
    own.filter(|action| is_meant(action)).map(|action| action.id).collect()
}

fn detail(rows: &Rows, id: ActionId) -> Option<ActionDetail> {
    let kept = rows.actions.get(&id)?;
    let about = rows.events.iter().filter(|event| event.action == Some(id));
    let deeds = || rows.deeds.iter().filter(|deed| deed.action == Some(id));
    let later = deeds().filter_map(|deed| rows.opens.get(&deed.id)).flatten();
    Some(ActionDetail {
        action: Action::clone(&kept.action),
        disclosures: kept.disclosures.iter().chain(later).cloned().collect(),
        events: about.take(DETAIL_EVENTS).cloned().collect(),
        deeds: deeds().cloned().collect(),
    })
}

/// What an action waits for, and the moment from which it is due.
fn due_of(org: OrgId, kept: &KeptAction) -> Option<Due> {
    let action = &kept.action;
    let (what, since) = match (action.state, &action.approval, &action.lease) {
        (State::PendingApproval, Some(approval), _) => {
            (DueFor::ApprovalExpiry, approval.expires_at)
        }
        (State::Executing | State::Witnessing, _, Some(lease)) => {
            let connector = action.tool.split('.').next().unwrap_or_default().to_owned();
            (DueFor::Takeover { from: lease.clone(), connector }, kept.lease_until?)
        }
        (State::Executing, _, None) => (DueFor::EdgeDeadline, action.deadline?),
        (State::PendingApproval, None, _)
        | (State::Witnessing, _, None)
        | (State::Cancelled | State::Sealed, _, _) => return None,
    };
    Some(Due { since, org, action: action.id, what })
}

/// The sealed actions of the org whose evidence may still come.
fn awaited(org: OrgId, rows: &Rows) -> impl Iterator<Item = Due> {
    rows.reports.iter().filter_map(move |(action, (_, awaited))| {
        let (connector, since) = (*awaited)?;
        Some(Due { since, org, action: *action, what: DueFor::Evidence { connector } })
    })
}

const fn sweep_of(what: &DueFor) -> Sweep {
    match what {
        DueFor::EdgeDeadline => Sweep::Reports,
        DueFor::ApprovalExpiry => Sweep::Approvals,
        DueFor::Takeover { .. } => Sweep::Takeovers,
        DueFor::Evidence { .. } => Sweep::Evidence,
    }
}

fn place(action: &Action) -> ActionPlace {
    ActionPlace { created_at: action.created_at, id: action.id }
}

/// Whether every filter lets the action through.
pub(crate) fn passes(filter: &Filter, action: &Action) -> bool {
    let witness = action.witness.as_ref();
    let differs = action
        .decision
        .shadow
        .as_ref()
        .is_some_and(|shadow| shadow.outcome != action.decision.outcome);
    filter.agent.is_none_or(|agent| action.agent.id == agent)
        && filter.tool.as_ref().is_none_or(|glob| glob.is_match(&action.tool))
        && any(&filter.states, Some(&action.state))
        && any(&filter.decisions, Some(&action.decision.outcome))
        && any(&filter.verdicts, witness.map(|witness| &witness.verdict))
        && any(&filter.levels, witness.map(|witness| &witness.level))
        && filter
            .on_behalf_of
            .as_ref()
            .is_none_or(|wanted| action.on_behalf_of.as_ref() == Some(wanted))
        && filter.from.is_none_or(|from| from <= action.created_at)
        && filter.to.is_none_or(|to| action.created_at < to)
        && filter.text.as_ref().is_none_or(|text| mentions(action, text))
        && filter.shadow_differs.is_none_or(|_| differs)
}

/// Whether the value is one of these; none at all lets everything through.
fn any<T: PartialEq>(wanted: &[T], value: Option<&T>) -> bool {
    wanted.is_empty() || value.is_some_and(|value| wanted.contains(value))
}

fn mentions(action: &Action, text: &str) -> bool {
    let code = action.execution.as_ref().and_then(|execution| execution.error_code.as_ref());
    action.tool.contains(text) || code.is_some_and(|code| code.as_str().contains(text))
}
