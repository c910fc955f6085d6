//! Moves deeds that are old, with their actions and the events of their time, to partitions of the
//! past: tables of a month that inherit from `deed`, `action` and `event`.
//!
//! A tile of 256 deeds is one transaction. Its digests must give the node that the tree has, and stay
//! behind. Wherever a run ends, each row is in one place.

use std::{collections::BTreeSet, time::SystemTime};

use deed::tree::Tree;
use ledger::StoreDown;
use model::{Digest, OrgId, Timestamp};
use tokio_postgres::{Client, Error, Row};
use uuid::Uuid;

use super::{ArchiveError, Earnest, begin, refused};
use crate::{
    PostgresStore, Settings,
    database::Call,
    parts::ATTACHED,
    rows::{Cells, system_time},
};

const ATTEMPT: &str = "move deeds to the past";

/// What was moved of one org, or would be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moved {
    /// The org.
    pub org: OrgId,
    /// How many deeds.
    pub deeds: u64,
    /// Whether the deeds that follow are old enough, and stay until retention has removed their
    /// payloads.
    pub waits: bool,
}

/// A partition of the past.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// Its name: the tables are `deed_`, `event_` and `action_` with this behind it.
    pub name: String,
    /// How many deeds lie in it.
    pub deeds: u64,
    /// Whether it is away: its rows can neither be read nor looked at.
    pub is_away: bool,
}

/// Moves deeds that were sealed before this moment, with what belongs to them, the oldest first.
///
/// A tile moves once every deed of it is old enough and the payloads behind them are gone, for then
/// nothing changes its actions any more. The last tile of a log stays, and the first one of a log that
/// follows another: heads are held against these.
pub async fn move_to_the_past(
    settings: &Settings,
    (named, before): (Option<OrgId>, Timestamp),
    earnest: Earnest,
) -> Result<Vec<Moved>, ArchiveError> {
    let (client, orgs) = begin(settings, named).await?;
    let error = |error| refused(ATTEMPT, error);
    if client.query_opt(CITUS, &[]).await.map_err(error)?.is_some() {
        return Err(ArchiveError::Citus);
    }
    let before = system_time(before);
    let is_young = "select $1::timestamptz > now() - interval '32 days' as young";
    if client.query_one(is_young, &[&before]).await.map_err(error)?.get("young") {
        return Err(ArchiveError::TooYoung);
    }
    let mut mover = Mover { client, before, earnest, made: BTreeSet::new() };
    let mut all = Vec::with_capacity(orgs.len());
    for org in orgs {
        all.push(mover.org(org).await?);
    }
    Ok(all)
}

const CITUS: &str = "select from pg_extension where extname = 'citus'";
// The first tile behind this one that may ever move.
const NEXT: &str = "
    select min(greatest(first, $2::bigint + 1)) as index
    from (
        select (no << 32) + least(no, 1) as first, (no << 32) + (size - 1) / 256 as behind
        from (
            select no::bigint as no, size from closed_log where org_id = $1
            union all
            select (select count(*) from closed_log where org_id = $1), size
            from org_head where org_id = $1
        ) as log
    ) as log
    where greatest(first, $2::bigint + 1) < behind";
const LAST: &str = "select coalesce(max(index), -1) as index from past_tile where org_id = $1";
const TILE: &str = "
    select count(*) = 256 and bool_and(digest = sha256(convert_to(body, 'UTF8'))) as is_whole,
        string_agg(digest, ''::bytea order by seq) as digests,
        (select hash from log_node where org_id = $1 and level = 1 and index = $2::bigint) as node,
        max(issued_at) as issued_at,
        to_char(max(issued_at) at time zone 'UTC', 'YYYY_MM') as part,
        count(*) filter (where kind = 'action') as actions,
        max(issued_at) < $3 as is_old,
        max(seq) < (
            select coalesce((record::jsonb ->> 'pruned_to')::bigint, 0) from org where org_id = $1
        ) as is_pruned
    from only deed where org_id = $1 and seq >= $2::bigint << 8
        and seq < ($2::bigint + 1) << 8";
const KEEP: &str = "
    insert into past_tile (org_id, index, part, digests, issued_at, events, event_at)
    select $1::uuid, $2::bigint, $3::text, $4::bytea, $5::timestamptz, past.events,
        (select created_at from event where org_id = $1 and seq = past.events)
    from (
        select coalesce((
            select seq - 1 from only event
            where org_id = $1 and seq > moved.events and created_at >= $5
            order by seq limit 1
        ), moved.events) as events
        from (
            select coalesce(max(events), 0) as events from past_tile where org_id = $1
        ) as moved
    ) as past
    returning events";

/// Moves the tiles of one org after the other.
struct Mover {
    client: Client,
    before: SystemTime,
    earnest: Earnest,
    /// The partitions that are known to be attached.
    made: BTreeSet<String>,
}

/// A tile as it stands.
struct Tile {
    org: Uuid,
    index: i64,
    part: String,
    digests: Vec<u8>,
    issued_at: SystemTime,
    actions: u64,
}

impl Mover {
    async fn org(&mut self, org: Uuid) -> Result<Moved, ArchiveError> {
        let error = |error| refused(ATTEMPT, error);
        let mut moved = Moved { org: OrgId::from_uuid(org), deeds: 0, waits: false };
        let last = self.client.query_one(LAST, &[&org]).await.map_err(error)?;
        let mut last: i64 = last.get("index");
        loop {
            let next = self.client.query_one(NEXT, &[&org, &last]).await.map_err(error)?;
            let Some(index) = next.get::<_, Option<i64>>("index") else { return Ok(moved) };
            let row = self.client.query_one(TILE, &[&org, &index, &self.before]).await;
            let row = row.map_err(error)?;
            let says = |name: &str| row.get::<_, Option<bool>>(name).unwrap_or_default();
            if !(says("is_old") && says("is_pruned")) {
                moved.waits = says("is_old");
                return Ok(moved);
            }
            let tile = Tile::of((org, index), &row).ok_or(ArchiveError::Unsound {
                org: OrgId::from_uuid(org),
                place: index.unsigned_abs() << 8,
            })?;
            if self.earnest == Earnest::Do {
                self.make(&tile.part).await?;
                self.carry(&tile).await?;
            }
            moved.deeds += 256;
            last = index;
        }
    }

    /// Makes sure that the tables of a partition are there and attached.
    async fn make(&mut self, part: &str) -> Result<(), ArchiveError> {
        if self.made.contains(part) {
            return Ok(());
        }
        let error = |error| refused("make a partition of the past", error);
        let attached = self.client.query(ATTACHED, &[]).await.map_err(error)?;
        if !attached.iter().any(|row| row.get::<_, &str>("part") == part) {
            if self.client.query_one(DETACHED, &[&part]).await.map_err(error)?.get("is_away") {
                return Err(ArchiveError::Away { part: part.to_owned() });
            }
            self.client.batch_execute(&made(part)).await.map_err(error)?;
        }
        self.made.insert(part.to_owned());
        Ok(())
    }

    /// Moves a tile, whole or not at all. What is refused leaves the connection, and so ends the
    /// transaction.
    async fn carry(&self, tile: &Tile) -> Result<(), ArchiveError> {
        let Tile { org, index, part, digests, issued_at, actions } = tile;
        let moved = async {
            self.client.batch_execute("begin").await?;
            let events =
                "select coalesce(max(events), 0) as events from past_tile where org_id = $1";
            let from: i64 = self.client.query_one(events, &[org]).await?.get("events");
            let kept: [&(dyn tokio_postgres::types::ToSql + Sync); 5] =
                [org, index, part, digests, issued_at];
            let to: i64 = self.client.query_one(KEEP, &kept).await?.get("events");
            let (first, behind) = (index << 8, (index + 1) << 8);
            let deeds = self.rows(("deed", part), OF_DEEDS, &[org, &first, &behind]).await?;
            let of_deeds = format!(
                "org_id = $1 and state = 'sealed' and id = any(array(select action_id from deed_{part}
                    where org_id = $1 and kind = 'action' and seq >= $2 and seq < $3))"
            );
            let acted = self.rows(("action", part), &of_deeds, &[org, &first, &behind]).await?;
            self.rows(("event", part), OF_EVENTS, &[org, &from, &to]).await?;
            let is_whole = (deeds, acted) == (256, *actions);
            self.client.batch_execute(if is_whole { "commit" } else { "rollback" }).await?;
            Ok::<_, Error>(is_whole)
        };
        match moved.await {
            Ok(true) => Ok(()),
            Ok(false) => Err(tile.unsound()),
            Err(error) => Err(refused(ATTEMPT, error)),
        }
    }

    /// Moves the rows of a table that meet a condition, and returns how many there were.
    async fn rows(
        &self,
        (table, part): (&str, &str),
        meet: &str,
        values: &[&(dyn tokio_postgres::types::ToSql + Sync)],
    ) -> Result<u64, Error> {
        let row = self.client.query_one(COLUMNS, &[&table]).await?;
        let columns: String = row.get("columns");
        let sql = format!(
            "with moved as (delete from only {table} where {meet} returning {columns})
            insert into {table}_{part} ({columns}) select {columns} from moved"
        );
        self.client.execute(&sql, values).await
    }
}

impl Tile {
    /// The tile, if its deeds give the node that the tree has.
    fn of((org, index): (Uuid, i64), row: &Row) -> Option<Self> {
        let node: Option<&[u8]> = row.get("node");
        let digests: Vec<u8> = row.get::<_, Option<_>>("digests")?;
        let (chunks, rest) = digests.as_chunks::<32>();
        let root = Tree::of(chunks.iter().copied().map(Digest::from_bytes)).root_at(256)?;
        let is_whole = row.get::<_, Option<bool>>("is_whole")? && rest.is_empty();
        let is_sound = is_whole && node == Some(&root.as_bytes()[..]);
        let actions: i64 = row.get("actions");
        is_sound.then(|| Self {
            org,
            index,
            part: row.get("part"),
            issued_at: row.get("issued_at"),
            actions: actions.unsigned_abs(),
            digests,
        })
    }

    fn unsound(&self) -> ArchiveError {
        let org = OrgId::from_uuid(self.org);
        ArchiveError::Unsound { org, place: self.index.unsigned_abs() << 8 }
    }
}

const OF_DEEDS: &str = "org_id = $1 and seq >= $2 and seq < $3";
const OF_EVENTS: &str = "org_id = $1 and seq > $2 and seq <= $3";
const COLUMNS: &str = "
    select string_agg(quote_ident(attname), ', ' order by attnum) as columns from pg_attribute
    where attrelid = $1::text::regclass and attnum > 0 and not attisdropped";
/// Whether a partition that is not attached was there before.
const DETACHED: &str = "
    select to_regclass('deed_' || $1::text) is not null
        or exists (select from past_tile as tile where tile.part = $1) as is_away";

/// The statements that make a partition. Actions of the past are sealed, which keeps them out of the
/// plans of what is due.
fn made(part: &str) -> String {
    format!(
        "begin;
        create table deed_{part} (like deed including all) with (toast_tuple_target = 8160);
        create table event_{part} (like event including all);
        create table action_{part} (like action including all) with (toast_tuple_target = 8160);
        alter table action_{part} add constraint action_is_past
            check (state = 'sealed' and lease_until is null);
        alter table deed_{part} inherit deed;
        alter table event_{part} inherit event;
        alter table action_{part} inherit action;
        commit"
    )
}

impl PostgresStore {
    /// Every partition of the past that has deeds, the oldest first.
    pub async fn parts(&self) -> Result<Vec<Part>, StoreDown> {
        let attempt = "list the partitions of the past";
        let question = |orgs| Call::new(PARTS).with(orgs);
        let parts = self.all_orgs(attempt, question, |row| {
            let cells = Cells::of("past_tile", row);
            Ok((cells.get("part")?, cells.count("deeds")?))
        });
        let parts: Vec<(String, u64)> = parts.await?;
        // Asked afterwards: a partition that was made meanwhile is not taken as away.
        let attached = self.attached(attempt).await?;
        let part = |(name, deeds)| Part { is_away: !attached.contains(&name), name, deeds };
        Ok(parts.into_iter().map(part).collect())
    }
}

const PARTS: &str = "
    select part, 256 * count(*) as deeds from past_tile
    where ($1::uuid[] is null or org_id = any($1))
    group by part order by part";
