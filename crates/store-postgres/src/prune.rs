//! What has been kept long enough: found in the log, and swept out of the tables that need it no
//! more.

use admin::{Logged, RetentionStore};
use async_trait::async_trait;
use ledger::{Place, StoreDown};
use model::{ActionId, DeedId, OrgId};
use tokio_postgres::Row;

use crate::{
    PostgresStore,
    database::Call,
    fault::Fault,
    rows::{Cells, bigint},
};

const LOGGED: &str = "
    select seq, id, action_id, issued_at from only deed
    where org_id = $1 and seq >= $2
    order by seq limit $3";

// A turn's moment may lie a little behind the database's, so a key that is free again is kept for
// some more time. Rows that a turn holds are left for the next sweep.
const IDEMPOTENCY: &str = "
    with old as (
        select agent_id, key from idempotency
        where org_id = $1 and expires_at < now() - interval '1 hour'
        limit $2 for update skip locked
    ), swept as (
        delete from idempotency using old
        where idempotency.org_id = $1 and idempotency.agent_id = old.agent_id
            and idempotency.key = old.key
        returning 1
    )
    select count(*) as swept from swept";
const BUDGETS: &str = "
    with old as (
        select key, window_start from budget_window
        where org_id = $1 and window_end < now() - interval '1 hour'
        limit $2 for update skip locked
    ), swept as (
        delete from budget_window using old
        where budget_window.org_id = $1 and budget_window.key = old.key
            and budget_window.window_start = old.window_start
        returning 1
    )
    select count(*) as swept from swept";
// The row of the last turn says what the head rests on and stays. The others go from the oldest
// on, and a commit that was given up a week ago is on its way no more.
const TURNS: &str = "
    with old as (
        select id from turn
        where org_id = $1 and at < now() - interval '7 days'
            and coalesce(version, 0) < (select version from org_head where org_id = $1)
        order by at limit $2
    ), swept as (
        delete from turn using old
        where turn.org_id = $1 and turn.id = old.id
        returning 1
    )
    select count(*) as swept from swept";

#[async_trait]
impl RetentionStore for PostgresStore {
    async fn logged(
        &self,
        org: OrgId,
        from: Place,
        limit: usize,
    ) -> Result<Vec<Logged>, StoreDown> {
        let attempt = "read a part of a log";
        let call = Call::new(LOGGED)
            .with(*org.as_uuid())
            .with(bigint(from.as_u64()))
            .with(i64::try_from(limit).unwrap_or(i64::MAX));
        let rows = self.database.ask_one(attempt, call).await?;
        rows.iter().map(logged).collect::<Result<_, _>>().map_err(|fault| fault.down(attempt))
    }

    async fn sweep_out(&self, org: OrgId, limit: usize) -> Result<usize, StoreDown> {
        let attempt = "remove rows that are no longer needed";
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let calls = [IDEMPOTENCY, BUDGETS, TURNS]
            .map(|sql| Call::new(sql).with(*org.as_uuid()).with(limit));
        let answers = self.database.ask(attempt, &calls).await?;
        let counts = answers.iter().flatten().map(|row| Cells::of("count", row).count("swept"));
        let counts = counts.collect::<Result<Vec<_>, _>>().map_err(|fault| fault.down(attempt))?;
        Ok(usize::try_from(counts.into_iter().max().unwrap_or_default()).unwrap_or(usize::MAX))
    }
}

fn logged(row: &Row) -> Result<Logged, Fault> {
    let cells = Cells::of("deed", row);
    Ok(Logged {
        place: Place::from_u64(cells.count("seq")?),
        deed: cells.id("id", DeedId::from_uuid)?,
        action: cells.id_if_any("action_id", ActionId::from_uuid)?,
        issued_at: cells.moment("issued_at")?,
    })
}
