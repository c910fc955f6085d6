//! Lists of actions, newest first: by the filter that is rarest, past the others.
//!
//! Every filter's values are found by an index in the order of the list, so a filter alone costs
//! what it shows. Of several, the rarest drives and the others are looked at row by row; which one
//! that is, is asked of the indexes and not of statistics. A filter by a part of a name is made a
//! filter by the names that the org has used.

mod driver;
mod names;
mod sql;

use std::time::Duration;

use gate::{ActionPlace, Filter, Page};
use ledger::StoreDown;
use model::{DecisionOutcome, Level, OrgId, State, Timestamp, Verdict};
use tokio_postgres::Row;
use uuid::Uuid;

use crate::{
    database::{Call, Database},
    fault::Fault,
    rows::Cells,
};
use driver::{Driver, Drivers};

const ATTEMPT: &str = "list actions";

/// A query of an org's actions.
struct ListQuery<'a> {
    org: OrgId,
    filter: &'a Filter,
    /// The range of ids: from this one, below that one.
    from: Uuid,
    below: Uuid,
    limit: usize,
    what: What,
}

/// What is asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum What {
    /// The actions.
    Records,
    /// How many there are, by parts of so many milliseconds.
    Counts(i64),
}

/// Returns up to `limit` actions behind this place, newest first.
pub(crate) async fn page(
    database: &Database,
    org: OrgId,
    filter: &Filter,
    after: Option<ActionPlace>,
    limit: usize,
) -> Result<Page, StoreDown> {
    let below = filter.to.map_or(Uuid::max(), first_id);
    let asked = ListQuery {
        org,
        filter,
        from: filter.from.map_or(Uuid::nil(), first_id),
        below: after.map_or(below, |place| below.min(*place.id.as_uuid())),
        limit,
        what: What::Records,
    };
    let rows = rows(database, &asked).await?;
    let shown = rows.iter().take(limit).map(|row| Cells::of("action", row).json("record"));
    let actions = shown.collect::<Result<_, _>>().map_err(|fault| fault.down(ATTEMPT))?;
    Ok(Page { actions, has_more: rows.len() > limit })
}

/// How many there are of each class in each part of this length, among the newest that are one more
/// than the limit.
pub(crate) async fn counts(
    database: &Database,
    org: OrgId,
    filter: &Filter,
    (step, limit): (Duration, usize),
) -> Result<Vec<Row>, StoreDown> {
    let asked = ListQuery {
        org,
        filter,
        from: filter.from.map_or(Uuid::nil(), first_id),
        below: filter.to.map_or(Uuid::max(), first_id),
        limit,
        what: What::Counts(i64::try_from(step.as_millis()).unwrap_or(i64::MAX)),
    };
    rows(database, &asked).await
}

async fn rows(database: &Database, asked: &ListQuery<'_>) -> Result<Vec<Row>, StoreDown> {
    let drivers = Drivers::of(asked.filter);
    if let Some(driver) = drivers.only() {
        return database.ask_one(ATTEMPT, asked.driven(driver)).await;
    }
    // Filters that let much through fill the page from the newest actions alone. What must be
    // known to drive the rest is asked in the same round trip.
    let quick = asked.quick();
    let is_quick = quick.is_some();
    let mut calls: Vec<_> = quick.into_iter().collect();
    calls.extend(drivers.plain.iter().map(|driver| asked.probe(driver)));
    if drivers.by_name {
        calls.extend([names::tools(asked), names::errors(asked)]);
    }
    let answers = database.ask(ATTEMPT, &calls).await?;
    let (newest, rest) = answers.split_at(usize::from(is_quick).min(answers.len()));
    if newest.iter().any(|newest| newest.len() > asked.limit) {
        return Ok(answers.into_iter().next().unwrap_or_default());
    }
    let (probes, used) = rest.split_at(drivers.plain.len().min(rest.len()));
    let fault = |fault: Fault| fault.down(ATTEMPT);
    let mut ranked = Vec::new();
    for (driver, rows) in drivers.plain.into_iter().zip(probes) {
        ranked.push((rank(rows).map_err(fault)?, driver));
    }
    if let Some(named) = names::named(asked.filter, used).map_err(fault)? {
        if named.finds_nothing() {
            return Ok(Vec::new());
        }
        let rows = match ranked.as_slice() {
            [] => Vec::new(),
            [..] => database.ask_one(ATTEMPT, asked.probe(&named)).await?,
        };
        ranked.push((rank(&rows).map_err(fault)?, named));
    }
    let rarest = ranked.into_iter().min_by_key(|(rank, _)| *rank).map(|(_, driver)| driver);
    database.ask_one(ATTEMPT, asked.driven(&rarest.unwrap_or(Driver::Newest))).await
}

/// How rare a driver's actions are, the rarest first: few of them, or many of which the newest
/// reach back to this id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Few(i64),
    Many(Uuid),
}

/// The rank that a probe found.
fn rank(rows: &[Row]) -> Result<Rank, Fault> {
    let Some(row) = rows.first() else { return Ok(Rank::Few(0)) };
    let cells = Cells::of("action", row);
    let (count, oldest) = (cells.get("count")?, cells.get("oldest")?);
    Ok(if count < sql::PROBED { Rank::Few(count) } else { Rank::Many(oldest) })
}

impl<'a> ListQuery<'a> {
    /// A statement of the list with the values that all of them take.
    fn call(&self, sql: &'static str) -> Call<'a> {
        let one_more = i64::try_from(self.limit).unwrap_or(i64::MAX).saturating_add(1);
        let filter = self.filter;
        Call::new(sql)
            .with(*self.org.as_uuid())
            .with(self.from)
            .with(self.below)
            .with(one_more)
            .with(filter.agent.map(|id| *id.as_uuid()))
            .with(filter.tool.as_ref().map(policy::Glob::to_like))
            .with(words(&filter.states, State::as_str))
            .with(words(&filter.decisions, DecisionOutcome::as_str))
            .with(words(&filter.verdicts, Verdict::as_str))
            .with(words(&filter.levels, Level::as_str))
            .with(filter.on_behalf_of.as_deref())
            .with(filter.text.as_deref())
            .with(filter.shadow_differs.is_some())
    }

    fn driven(&self, driver: &Driver) -> Call<'a> {
        let (values, others) = driver.values();
        match self.what {
            What::Records => self.call(&driver.sql().list).with(values).with(others),
            What::Counts(step) => {
                self.call(&driver.sql().count).with(values).with(others).with(step)
            }
        }
    }

    /// The newest few, which may fill a page.
    fn quick(&self) -> Option<Call<'a>> {
        (self.what == What::Records).then(|| self.call(sql::NEWEST))
    }

    fn probe(&self, driver: &Driver) -> Call<'a> {
        let (values, others) = driver.values();
        Call::new(&driver.sql().probe)
            .with(*self.org.as_uuid())
            .with(self.from)
            .with(self.below)
            .with(values)
            .with(others)
    }
}

/// The words of a filter; none when it lets everything through.
pub(crate) fn words<T: Copy>(
    wanted: &[T],
    word: fn(T) -> &'static str,
) -> Option<Vec<&'static str>> {
    (!wanted.is_empty()).then(|| wanted.iter().map(|value| word(*value)).collect())
}

/// The least id that a thing of this moment can have.
pub(crate) fn first_id(moment: Timestamp) -> Uuid {
    let millis = u128::try_from(moment.unix_millis()).unwrap_or_default();
    // Ids have 48 bits for the moment, enough for eight thousand years to come.
    Uuid::from_u128(millis.min((1 << 48) - 1) << 80)
}

/// Whether the id was made at this moment.
pub(crate) fn is_of(id: Uuid, moment: Timestamp) -> bool {
    id.as_u128() >> 80 == first_id(moment).as_u128() >> 80
}
