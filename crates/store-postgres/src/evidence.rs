//! What change logs say. Leases are told by the database's time, and a step is written only with the
//! token of the last holder: what was read and how far, in one transaction.

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use decoder::attribution::{Attribution, Known};
use evidence::{
    EvidenceStore, Following, FrameRecord, Gap, Held, KeptFor, Lease, Of, Step, StoredFrame,
    Written,
};
use ledger::{StoreDown, record::Action};
use model::{ActionId, ConnectorId, Lsn, OrgId, Timestamp};
use tokio_postgres::Row;
use uuid::Uuid;

use crate::{
    PostgresStore,
    database::Call,
    fault::Fault,
    pipeline::Answers,
    rows::{Cells, bigint, to_json},
};

// Of every org; what is given up on purpose is told by the word of its gap. One that was held and never
// read may have a slot all the same, and so may one for which a slot is being made anew.
const LOGS: &str = "
    select org_id, id as connector_id from connector
    where ($1::uuid[] is null or org_id = any($1))
        and record::json ->> 'witness' is not null and record::json ->> 'archived_at' is null
    union
    select org_id, connector_id from log_reader
    where ($1::uuid[] is null or org_id = any($1))
        and (following::json ->> 'broken' is distinct from 'decoder_off'
            or following::json ->> 'makes_slot' = 'true')";
const WANTED: &str = "
    select 1 from connector
    where org_id = $1 and id = $2
        and record::json ->> 'witness' is not null and record::json ->> 'archived_at' is null";
// Whatever is kept of a log was kept by who held it.
const KEPT_LOGS: &str = "
    select kept.org_id, kept.connector_id from log_reader as kept
    where ($1::uuid[] is null or kept.org_id = any($1))";

// The first takes or renews it, the second tells whose it is by then. The end of the new lease is
// `now()` and its span, so that the one before has ended if it lies at least that span earlier.
const HOLD: &str = "
    insert into log_reader (org_id, connector_id, holder, token, lease_until)
    values ($1, $2, $3, 1, now() + make_interval(secs => $4))
    on conflict (org_id, connector_id) do update
    set holder = excluded.holder, lease_until = excluded.lease_until,
        token = log_reader.token
            + case when log_reader.holder = excluded.holder then 0 else 1 end
    where log_reader.holder = excluded.holder
        or excluded.lease_until - log_reader.lease_until >= make_interval(secs => $4)";
const HOLDER: &str = "
    select holder, token, following,
        greatest(0, extract(epoch from lease_until - now()) * 1000)::bigint as left_ms
    from log_reader where org_id = $1 and connector_id = $2";

// Fails where the lease was lost, and takes the log's row until the end.
const FOLLOWED: &str = "
    with held as (
        update log_reader set following = $4
        where org_id = $1 and connector_id = $2 and token = $3
        returning 1)
    select 1 / count(*) from held";
const KEEP: &str = "
    insert into log_frame
        (org_id, connector_id, epoch, commit_lsn, action_id, is_own, kept_at, record, images)
    select $1::uuid, $2::uuid, r.epoch, r.commit_lsn, r.action_id, r.is_own, now(), r.record, r.images
    from unnest($3::bigint[], $4::bigint[], $5::uuid[], $6::boolean[], $7::text[], $8::bytea[])
        as r (epoch, commit_lsn, action_id, is_own, record, images)";
const BREAK: &str =
    "insert into log_gap (org_id, connector_id, ended, record) values ($1, $2, $3, $4)";

const ACTIONS: &str = "select record from action where org_id = $1 and id = any($2)";
const FRAMED: &str = "
    select action_id from log_frame where org_id = $1 and action_id = any($2) and is_own";
const FOLLOWING: &str = "select following from log_reader where org_id = $1 and connector_id = $2";
const FRAMES_OF: &str = "
    select record, images from log_frame
    where org_id = $1 and connector_id = $2 and action_id = $3
    order by epoch, commit_lsn";
const OWN: &str = "
    select commit_lsn, action_id from log_frame
    where org_id = $1 and connector_id = $2 and epoch = $3 and commit_lsn > $4 and is_own
    order by commit_lsn limit $5";
const GAPS: &str = "
    select record from log_gap where org_id = $1 and connector_id = $2
    order by ended desc limit $3";
const FORGET: &str = "
    with old as (
        select epoch, commit_lsn from log_frame
        where org_id = $1 and connector_id = $2
            and ((is_own and kept_at <= now() - make_interval(secs => $3))
                or (not is_own and kept_at <= now() - make_interval(secs => $4)))
        limit $5
    ), forgotten as (
        delete from log_frame using old
        where log_frame.org_id = $1 and log_frame.connector_id = $2
            and log_frame.epoch = old.epoch and log_frame.commit_lsn = old.commit_lsn
        returning 1
    )
    select count(*) as forgotten from forgotten";

#[async_trait]
impl EvidenceStore for PostgresStore {
    async fn followed_logs(&self) -> Result<Vec<Of>, StoreDown> {
        let question = |orgs| Call::new(LOGS).with(orgs);
        self.all_orgs("look which change logs are read", question, whose).await
    }

    async fn is_wanted(&self, of: Of) -> Result<bool, StoreDown> {
        let attempt = "look whether a change log is read";
        let found = self.found(attempt, of_log(WANTED, of), |_| Ok(())).await?;
        Ok(found.is_some())
    }

    async fn kept_logs(&self) -> Result<Vec<Of>, StoreDown> {
        let question = |orgs| Call::new(KEPT_LOGS).with(orgs);
        self.all_orgs("look which change logs are kept", question, whose).await
    }

    async fn hold_log(
        &self,
        of: Of,
        holder: &str,
        (now, until): (Timestamp, Timestamp),
    ) -> Result<Held, StoreDown> {
        let attempt = "hold a change log";
        let span = until.since(now).as_secs_f64();
        let calls = [of_log(HOLD, of).with(holder).with(span), of_log(HOLDER, of)];
        let answers = self.database.ask(attempt, &calls).await?;
        let row = answers.get(1).and_then(|rows| rows.first());
        let row = row.ok_or_else(|| Fault::Broken("no row".to_owned()).down(attempt))?;
        held(row, holder, (now, until)).map_err(|fault| fault.down(attempt))
    }

    async fn write(&self, of: Of, token: u64, step: &Step) -> Result<Written, StoreDown> {
        let attempt = "keep what a change log says";
        let calls = written(of, token, step).map_err(|fault| fault.down(attempt))?;
        Ok(match self.guarded(attempt, &calls).await? {
            Some(_) => Written::Yes,
            None => Written::Fenced,
        })
    }

    async fn known(
        &self,
        of: Of,
        actions: &BTreeSet<ActionId>,
    ) -> Result<BTreeMap<ActionId, Known>, StoreDown> {
        let attempt = "read the actions of transactions";
        let ids: Vec<Uuid> = actions.iter().map(|action| *action.as_uuid()).collect();
        let of_actions = |sql| Call::new(sql).with(*of.org.as_uuid()).with(ids.clone());
        let answers = self.database.ask(attempt, &[ACTIONS, FRAMED].map(of_actions)).await?;
        known(&answers).map_err(|fault| fault.down(attempt))
    }

    async fn following(&self, of: Of) -> Result<Option<Following>, StoreDown> {
        Ok(self.held_log(of).await?.flatten())
    }

    async fn frames_of(&self, of: Of, action: ActionId) -> Result<Vec<StoredFrame>, StoreDown> {
        let call = of_log(FRAMES_OF, of).with(*action.as_uuid());
        self.all("read an action's transactions", call, |row| {
            let cells = Cells::of("log_frame", row);
            Ok(cells.json::<FrameRecord>("record")?.with(cells.get("images")?))
        })
        .await
    }

    async fn own_frames(
        &self,
        of: Of,
        epoch: u64,
        behind: Lsn,
        limit: usize,
    ) -> Result<Vec<(Lsn, ActionId)>, StoreDown> {
        let call = of_log(OWN, of).with(bigint(epoch)).with(bigint(behind.0));
        let call = call.with(i64::try_from(limit).unwrap_or(i64::MAX));
        self.all("read the transactions of actions", call, |row| {
            let cells = Cells::of("log_frame", row);
            Ok((Lsn(cells.count("commit_lsn")?), cells.id("action_id", ActionId::from_uuid)?))
        })
        .await
    }

    async fn gaps(&self, of: Of, limit: usize) -> Result<Vec<Gap>, StoreDown> {
        let call = of_log(GAPS, of).with(i64::try_from(limit).unwrap_or(i64::MAX));
        self.all("read where a change log broke off", call, |row| {
            Cells::of("log_gap", row).json("record")
        })
        .await
    }

    async fn forget(&self, of: Of, kept_for: KeptFor, limit: usize) -> Result<usize, StoreDown> {
        let call = of_log(FORGET, of)
            .with(kept_for.own.as_secs_f64())
            .with(kept_for.others.as_secs_f64())
            .with(i64::try_from(limit).unwrap_or(i64::MAX));
        let forgotten = self.found("forget old transactions", call, |row| {
            Cells::of("log_frame", row).count("forgotten")
        });
        let forgotten = forgotten.await?.unwrap_or_default();
        Ok(usize::try_from(forgotten).unwrap_or(usize::MAX))
    }
}

impl PostgresStore {
    /// How far a log was read that somebody held, if it was read at all; nothing where nobody ever did.
    pub(crate) async fn held_log(&self, of: Of) -> Result<Option<Option<Following>>, StoreDown> {
        let read = |row: &Row| following(&Cells::of("log_reader", row));
        self.found("read how far a change log is", of_log(FOLLOWING, of), read).await
    }
}

/// Whose log the row is of.
fn whose(row: &Row) -> Result<Of, Fault> {
    let cells = Cells::of("log_reader", row);
    Ok(Of {
        org: cells.id("org_id", OrgId::from_uuid)?,
        connector: cells.id("connector_id", ConnectorId::from_uuid)?,
    })
}

/// The actions that were found, and those of them that have a transaction.
fn known(answers: &Answers) -> Result<BTreeMap<ActionId, Known>, Fault> {
    let rows = |at: usize| answers.get(at).into_iter().flatten();
    let framed =
        rows(1).map(|row| Cells::of("log_frame", row).id("action_id", ActionId::from_uuid));
    let framed = framed.collect::<Result<BTreeSet<_>, _>>()?;
    let mut found = BTreeMap::new();
    for row in rows(0) {
        let action: Action = Cells::of("action", row).json("record")?;
        if let Some(known) = evidence::known(&action, framed.contains(&action.id)) {
            found.insert(action.id, known);
        }
    }
    Ok(found)
}

fn of_log(sql: &'static str, Of { org, connector }: Of) -> Call<'static> {
    Call::new(sql).with(*org.as_uuid()).with(*connector.as_uuid())
}

/// Whose it is, in the asker's time.
fn held(row: &Row, holder: &str, (now, until): (Timestamp, Timestamp)) -> Result<Held, Fault> {
    let cells = Cells::of("log_reader", row);
    if cells.get::<&str>("holder")? == holder {
        let lease = Lease { token: cells.count("token")?, until };
        return Ok(Held::Yes(lease, following(&cells)?));
    }
    let left: i64 = cells.get("left_ms")?;
    let until = Timestamp::from_unix_millis(now.unix_millis().saturating_add(left));
    Ok(Held::No { until })
}

fn following(cells: &Cells<'_>) -> Result<Option<Following>, Fault> {
    let text: Option<&str> = cells.get("following")?;
    let read = text.map(serde_json::from_str).transpose();
    read.map_err(|error| cells.fault("following", error))
}

/// The statements that keep a step, or none of it.
fn written(of: Of, token: u64, step: &Step) -> Result<Vec<Call<'_>>, Fault> {
    let Step { following, frames, gap } = step;
    let followed = of_log(FOLLOWED, of).with(bigint(token)).with(to_json(
        "following",
        "log_reader",
        following,
    )?);
    let mut calls = vec![Call::new("begin"), followed];
    if !frames.is_empty() {
        calls.push(kept(of, frames)?);
    }
    if let Some(gap) = gap {
        let record = to_json("record", "log_gap", gap)?;
        calls.push(of_log(BREAK, of).with(bigint(gap.ended)).with(record));
    }
    calls.push(Call::new("commit"));
    Ok(calls)
}

fn kept(of: Of, frames: &[StoredFrame]) -> Result<Call<'_>, Fault> {
    let records =
        frames.iter().map(|frame| to_json("record", "log_frame", &FrameRecord::of(frame)));
    let is_own = |frame: &StoredFrame| matches!(frame.attribution, Attribution::Action { .. });
    Ok(of_log(KEEP, of)
        .with(column(frames, |frame| bigint(frame.frame.source.epoch)))
        .with(column(frames, |frame| bigint(frame.frame.source.commit_lsn.0)))
        .with(column(frames, |frame| frame.claimed.map(|action| *action.as_uuid())))
        .with(column(frames, is_own))
        .with(records.collect::<Result<Vec<_>, _>>()?)
        .with(column(frames, |frame| frame.images.clone())))
}

fn column<'a, T>(frames: &'a [StoredFrame], value: impl Fn(&'a StoredFrame) -> T) -> Vec<T> {
    frames.iter().map(value).collect()
}
