//! The checks of logs that somebody asked for.

use async_trait::async_trait;
use ledger::StoreDown;
use model::{CheckId, OrgId, Timestamp};
use records::{ChainCheck, CheckRequest, CheckStatus, CheckStore};
use tokio_postgres::Row;
use uuid::Uuid;

use crate::{
    PostgresStore,
    database::Call,
    fault::Fault,
    rows::{Cells, system_time, to_json},
};

#[async_trait]
impl CheckStore for PostgresStore {
    async fn ask_check(&self, check: &ChainCheck) -> Result<CheckRequest, StoreDown> {
        let attempt = "ask for a check of a log";
        let sql = "
            insert into chain_check (org_id, id, created_at, status, touched_at, record)
            values ($1, $2, $3, $4, now(), $5)
            on conflict (org_id) where status in ('queued', 'running') do nothing
            returning id";
        let call = written(sql, check).map_err(|fault| fault.down(attempt))?;
        let rows = self.database.ask_one(attempt, call).await?;
        Ok(if rows.is_empty() { CheckRequest::Busy } else { CheckRequest::Queued })
    }

    async fn put_check(&self, check: &ChainCheck) -> Result<(), StoreDown> {
        let attempt = "store the status of a check of a log";
        let sql = "
            update chain_check set status = $4, touched_at = now(), record = $5
            where org_id = $1 and id = $2 and created_at = $3";
        let call = written(sql, check).map_err(|fault| fault.down(attempt))?;
        self.database.ask_one(attempt, call).await.map(|_| ())
    }

    async fn take_check(&self) -> Result<Option<ChainCheck>, StoreDown> {
        let attempt = "look for a check to be done";
        let question = |orgs| Call::new(WAITING).with(orgs);
        for (org, id) in self.all_orgs(attempt, question, key).await? {
            let call = Call::new(TAKE).with(org).with(id);
            let taken = self.database.ask_one(attempt, call).await?;
            let check = taken.first().map(read).transpose();
            if let Some(check) = check.map_err(|fault| fault.down(attempt))? {
                return Ok(Some(ChainCheck { status: CheckStatus::Running, ..check }));
            }
        }
        Ok(None)
    }

    async fn chain_check(&self, org: OrgId, id: CheckId) -> Result<Option<ChainCheck>, StoreDown> {
        let attempt = "read a check of a log";
        let sql = "select record from chain_check where org_id = $1 and id = $2";
        let call = Call::new(sql).with(*org.as_uuid()).with(*id.as_uuid());
        let rows = self.database.ask_one(attempt, call).await?;
        rows.first().map(read).transpose().map_err(|fault| fault.down(attempt))
    }

    async fn chain_checks(
        &self,
        org: OrgId,
        after: Option<(Timestamp, CheckId)>,
        limit: usize,
    ) -> Result<Vec<ChainCheck>, StoreDown> {
        let attempt = "list the checks of a log";
        let sql = "
            select record from chain_check
            where org_id = $1 and ($2::timestamptz is null or (created_at, id) < ($2, $3::uuid))
            order by created_at desc, id desc limit $4";
        let call = Call::new(sql)
            .with(*org.as_uuid())
            .with(after.map(|(at, _)| system_time(at)))
            .with(after.map(|(_, id)| *id.as_uuid()))
            .with(i64::try_from(limit).unwrap_or(i64::MAX));
        let rows = self.database.ask_one(attempt, call).await?;
        rows.iter().map(read).collect::<Result<_, _>>().map_err(|fault| fault.down(attempt))
    }
}

// Whoever works on a check touches it with every tile; one that was left alone for a minute is
// taken over. Of several that take the same one the first changes it, and it waits no more for the
// others, who try the next.
const WAITING: &str = "
    select org_id, id from chain_check
    where ($1::uuid[] is null or org_id = any($1))
        and (status = 'queued'
            or status = 'running' and touched_at < now() - interval '1 minute')
    order by touched_at limit 8";
const TAKE: &str = "
    update chain_check set status = 'running', touched_at = now()
    where org_id = $1 and id = $2 and (status = 'queued'
        or status = 'running' and touched_at < now() - interval '1 minute')
    returning record";

fn key(row: &Row) -> Result<(Uuid, Uuid), Fault> {
    let cells = Cells::of("chain_check", row);
    Ok((cells.get("org_id")?, cells.get("id")?))
}

fn written<'a>(sql: &'static str, check: &ChainCheck) -> Result<Call<'a>, Fault> {
    Ok(Call::new(sql)
        .with(*check.org.as_uuid())
        .with(*check.id.as_uuid())
        .with(system_time(check.created_at))
        .with(check.status.as_str())
        .with(to_json("record", "chain_check", check)?))
}

fn read(row: &Row) -> Result<ChainCheck, Fault> {
    Cells::of("chain_check", row).json("record")
}
