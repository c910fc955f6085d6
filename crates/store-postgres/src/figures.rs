//! Numbers: actions by class and time, counters of budgets, and what waits.
//!
//! Sealed actions are counted along the log, up to a mark; a reader adds what is behind the mark and
//! what is not sealed yet, in one statement, so that all of it is of one moment.

mod sql;

use std::collections::BTreeMap;

use async_trait::async_trait;
use gate::{
    AgentFigures, Class, Counted, CountedUp, CounterState, Counters, FigureStore, Filter,
    LOOKED_AT, Span, Tally, Waiting, is_kept,
};
use ledger::StoreDown;
use model::{ActionId, AgentId, DecisionOutcome, Level, OrgId, State, Timestamp, Verdict};
use policy::Decimal;
use tokio_postgres::Row;
use uuid::Uuid;

use crate::{
    PostgresStore,
    database::Call,
    fault::Fault,
    list::{counts, first_id, words},
    rows::{Cells, bigint, system_time},
};

/// The most deeds behind the mark that a reader counts itself.
const BEHIND: i64 = 5_000;

#[async_trait]
impl FigureStore for PostgresStore {
    async fn counted(&self, org: OrgId, filter: &Filter, span: Span) -> Result<Counted, StoreDown> {
        let attempt = "count actions";
        let rows = if is_kept(filter) {
            self.reading.ask_one(attempt, kept(org, filter, span)).await?
        } else {
            let limit = LOOKED_AT;
            counts(&self.reading, org, &within(filter, span), (span.step, limit)).await?
        };
        let counted = if is_kept(filter) { by_marks(&rows, span) } else { by_rows(&rows, span) };
        counted.map_err(|fault| fault.down(attempt))
    }

    async fn count_up(
        &self,
        after: Option<OrgId>,
        orgs: usize,
        deeds: usize,
    ) -> Result<CountedUp, StoreDown> {
        let attempt = "count what was sealed";
        let after = after.map(|org| *org.as_uuid());
        let question =
            |of| Call::new(sql::UNCOUNTED).with(of).with(bigint(orgs as u64)).with(after);
        let reached = self.reading.ask_every_org(attempt, question).await?;
        let org = |row| Cells::of("org_head", row).id("org_id", OrgId::from_uuid);
        let found = reached.rows.iter().map(org).collect::<Result<Vec<_>, _>>();
        let mut found = found.map_err(|fault| fault.down(attempt))?;
        found.sort();
        found.truncate(orgs);
        let mut step = CountedUp::default();
        for org in &found {
            let org = *step.last.insert(*org);
            match self.count_of(attempt, org, bigint(deeds as u64)).await {
                Ok(has_more) => step.has_more |= has_more,
                Err(down) => step.failed = step.failed.or(Some(down)),
            }
        }
        if found.len() < orgs {
            step.last = None;
        }
        Ok(step)
    }

    async fn last_to_act(
        &self,
        org: OrgId,
        limit: usize,
    ) -> Result<Vec<(AgentId, ActionId)>, StoreDown> {
        let attempt = "look for the agents that acted last";
        let call = Call::new(sql::LAST).with(*org.as_uuid()).with(bigint(limit as u64));
        let rows = self.reading.ask_one(attempt, call).await?;
        let read = |row: &Row| {
            let cells = Cells::of("action", row);
            Ok((cells.id("agent_id", AgentId::from_uuid)?, cells.id("id", ActionId::from_uuid)?))
        };
        rows.iter().map(read).collect::<Result<_, Fault>>().map_err(|fault| fault.down(attempt))
    }

    async fn of_agents(
        &self,
        org: OrgId,
        agents: &[AgentId],
        now: Timestamp,
    ) -> Result<BTreeMap<AgentId, AgentFigures>, StoreDown> {
        let attempt = "read what agents did last";
        let agents: Vec<Uuid> = agents.iter().map(|agent| *agent.as_uuid()).collect();
        let call =
            Call::new(sql::OF_AGENTS).with(*org.as_uuid()).with(agents).with(system_time(now));
        let rows = self.reading.ask_one(attempt, call).await?;
        let read = |row: &Row| {
            let cells = Cells::of("agent", row);
            let last = cells.id_if_any("last", ActionId::from_uuid)?;
            let figures = AgentFigures { keys: cells.count("keys")?, last };
            Ok((cells.id("agent_id", AgentId::from_uuid)?, figures))
        };
        rows.iter().map(read).collect::<Result<_, Fault>>().map_err(|fault| fault.down(attempt))
    }

    async fn counters(
        &self,
        org: OrgId,
        asked: &[Counters],
        limit: usize,
    ) -> Result<Vec<CounterState>, StoreDown> {
        if asked.is_empty() {
            return Ok(Vec::new());
        }
        let attempt = "read counters of budgets";
        let prefixes: Vec<_> = asked.iter().map(|one| one.prefix.as_str()).collect();
        let starts: Vec<_> = asked.iter().map(|one| system_time(one.window_start)).collect();
        let after: Vec<_> = asked.iter().map(|one| one.after.as_deref()).collect();
        let near: Vec<_> = asked.iter().map(|one| one.near.map(|it| it.to_string())).collect();
        let call = Call::new(sql::COUNTERS)
            .with(*org.as_uuid())
            .with(prefixes)
            .with(starts)
            .with(after)
            .with(near)
            .with(bigint(limit as u64));
        let rows = self.reading.ask_one(attempt, call).await?;
        rows.iter().map(counter).collect::<Result<_, _>>().map_err(|fault| fault.down(attempt))
    }

    async fn waiting(&self, org: OrgId, limit: usize) -> Result<Waiting, StoreDown> {
        let attempt = "look for what waits for people";
        let calls = [
            Call::new(sql::WAITING).with(*org.as_uuid()),
            Call::new(sql::FIRST_TO_EXPIRE).with(*org.as_uuid()).with(bigint(limit as u64)),
        ];
        let answers = self.reading.ask(attempt, &calls).await?;
        let read = || {
            let [count, first] = answers.as_slice() else { return Ok(Waiting::default()) };
            let count = count.first().map_or(Ok(0), |row| Cells::of("action", row).count("count"));
            let first = first.iter().map(|row| Cells::of("action", row).json("record"));
            Ok::<_, Fault>(Waiting { count: count?, first: first.collect::<Result<_, _>>()? })
        };
        read().map_err(|fault| fault.down(attempt))
    }
}

impl PostgresStore {
    /// Counts up to `deeds` deeds of the org behind its mark; says whether there may be more.
    async fn count_of(
        &self,
        attempt: &'static str,
        org: OrgId,
        deeds: i64,
    ) -> Result<bool, StoreDown> {
        let org = *org.as_uuid();
        let calls = [
            Call::new("begin isolation level read committed"),
            Call::new(sql::MARKED).with(org),
            // The next statement sees what whoever held the mark before has counted.
            Call::new(sql::HELD).with(org),
            Call::new(sql::COUNTED_UP).with(org).with(deeds),
            Call::new("commit"),
        ];
        let answers = self.reading.ask(attempt, &calls).await?;
        let seen = answers.get(3).and_then(|rows| rows.first());
        let seen = seen.map_or(Ok(0), |row| Cells::of("tally_mark", row).get::<i64>("seen"));
        Ok(seen.map_err(|fault| fault.down(attempt))? >= deeds)
    }
}

/// The filter, over the time of the span.
fn within(filter: &Filter, span: Span) -> Filter {
    Filter { from: Some(span.from), to: Some(span.to), ..filter.clone() }
}

fn millis(span: Span) -> i64 {
    i64::try_from(span.step.as_millis()).unwrap_or(i64::MAX)
}

fn kept<'a>(org: OrgId, filter: &Filter, span: Span) -> Call<'a> {
    let agent = filter.agent.map(|id| *id.as_uuid());
    Call::new(sql::KEPT)
        .with(*org.as_uuid())
        .with(agent.unwrap_or(*org.as_uuid()))
        .with(system_time(span.from))
        .with(system_time(span.to))
        .with(millis(span))
        .with(agent)
        .with(words(&filter.states, State::as_str))
        .with(words(&filter.decisions, DecisionOutcome::as_str))
        .with(words(&filter.verdicts, Verdict::as_str))
        .with(words(&filter.levels, Level::as_str))
        .with(BEHIND)
        .with(first_id(span.from))
        .with(first_id(span.to))
}

/// What was counted with the help of what is kept.
fn by_marks(rows: &[Row], span: Span) -> Result<Counted, Fault> {
    let behind = rows.first().map_or(Ok(0), |row| Cells::of("deed", row).get::<i64>("behind"))?;
    let found = rows.iter().filter_map(|row| tally(row, span).transpose());
    let tallies = found.collect::<Result<_, _>>()?;
    Ok(Counted { tallies, from: span.from, is_current: behind < BEHIND })
}

/// What was counted row by row, from the newest on. The part in which the last row lies that was
/// looked at may have more.
fn by_rows(rows: &[Row], span: Span) -> Result<Counted, Fault> {
    let found = rows.iter().filter_map(|row| tally(row, span).transpose());
    let mut tallies: Vec<Tally> = found.collect::<Result<_, _>>()?;
    let looked_at: u64 = tallies.iter().map(|tally| tally.count).sum();
    let mut from = span.from;
    if looked_at > LOOKED_AT as u64 {
        let cut = tallies.iter().map(|tally| tally.at).min().unwrap_or(span.from);
        tallies.retain(|tally| tally.at > cut);
        from = cut + span.step;
    }
    Ok(Counted { tallies, from, is_current: true })
}

/// A row of counts; nothing for the one that stands for no action.
fn tally(row: &Row, span: Span) -> Result<Option<Tally>, Fault> {
    fn word<T: std::str::FromStr>(cells: &Cells<'_>, name: &'static str) -> Result<Option<T>, Fault>
    where
        T::Err: std::fmt::Display,
    {
        if cells.get::<&str>(name)?.is_empty() { Ok(None) } else { cells.word(name).map(Some) }
    }
    let cells = Cells::of("action_tally", row);
    let Some(part) = cells.get::<Option<i64>>("part")? else { return Ok(None) };
    let class = Class {
        status: cells.word("status")?,
        outcome: cells.word("outcome")?,
        verdict: word(&cells, "verdict")?,
        level: word(&cells, "level")?,
    };
    let unit: &str = cells.get("unit")?;
    let cost: Decimal = cells.word("cost")?;
    Ok(Some(Tally {
        at: Timestamp::from_unix_millis(part.saturating_mul(millis(span))),
        class,
        count: cells.count("count")?,
        cost: (!unit.is_empty()).then(|| (unit.to_owned(), cost)),
    }))
}

fn counter(row: &Row) -> Result<CounterState, Fault> {
    let cells = Cells::of("budget_window", row);
    let asked = cells.count("asked")?;
    Ok(CounterState {
        asked: usize::try_from(asked).unwrap_or(usize::MAX).saturating_sub(1),
        key: cells.get("key")?,
        taken: cells.word("taken")?,
        reserved: cells.word("reserved")?,
    })
}
