//! An org's log as it stands: its head, the stored hashes of its tree, its deeds' rows, and the
//! checkpoints that were signed.

use std::ops::Range;

use async_trait::async_trait;
use ledger::{LogNo, Place, StoreDown};
use model::{ActionId, AgentId, DeedId, Digest, OrgId, Timestamp};
use records::{
    Away, AwayTiles, DeedRow, LogHead, LogSize, LogStore, Logs, Misfit, OrgLog, SignedCheckpoint,
    Span, Standing, Stray,
};
use tokio_postgres::Row;

use crate::{
    PostgresStore,
    database::Call,
    fault::Fault,
    ledger_store::{chain_head, log_no},
    parts::ATTACHED,
    rows::{Cells, bigint, system_time},
};

#[async_trait]
impl LogStore for PostgresStore {
    async fn logs(&self) -> Result<Logs, StoreDown> {
        let attempt = "read how long the logs are";
        let question = |orgs| Call::new(LOGS).with(orgs);
        let reached = self.database.ask_every_org(attempt, question).await?;
        let sizes = reached.rows.iter().map(log_size).collect::<Result<Vec<_>, _>>();
        let mut sizes = sizes.map_err(|fault| fault.down(attempt))?;
        sizes.sort_by_key(|log| log.of);
        Ok(Logs { sizes, unreached: reached.unreached })
    }

    async fn head(&self, org: OrgId) -> Result<Option<LogHead>, StoreDown> {
        let attempt = "read the head of a log";
        let call = Call::new(HEAD).with(*org.as_uuid());
        let rows = self.database.ask_one(attempt, call).await?;
        rows.first().map(log_head).transpose().map_err(|fault| fault.down(attempt))
    }

    async fn closed(&self, org: OrgId) -> Result<Vec<LogHead>, StoreDown> {
        let attempt = "read the heads of closed logs";
        let call = Call::new(CLOSED).with(*org.as_uuid());
        let rows = self.reading.ask_one(attempt, call).await?;
        rows.iter().map(log_head).collect::<Result<_, _>>().map_err(|fault| fault.down(attempt))
    }

    async fn hashes(&self, log: OrgLog, spans: &[Span]) -> Result<Vec<Vec<Digest>>, StoreDown> {
        let attempt = "read the hashes of a log's tree";
        let calls = [of_level(DIGESTS, log, spans), of_level(NODES, log, spans)];
        let answers = self.reading.ask(attempt, &calls).await?;
        let mut found: Vec<_> = spans.iter().map(|_| Vec::new()).collect();
        for row in answers.iter().flatten() {
            add_hash(row, (log.no, spans), &mut found).map_err(|fault| fault.down(attempt))?;
        }
        Ok(found)
    }

    async fn unsealed(&self, org: OrgId) -> Result<(u64, Option<Timestamp>), StoreDown> {
        let attempt = "count what is not sealed";
        let sql = "
            select count(*) as open, min(created_at) as oldest from only action
            where org_id = $1 and state <> 'sealed'";
        let rows = self.reading.ask_one(attempt, Call::new(sql).with(*org.as_uuid())).await?;
        let Some(row) = rows.first() else { return Ok((0, None)) };
        let cells = Cells::of("action", row);
        let read = || Ok((cells.count("open")?, cells.moment_if_any("oldest")?));
        read().map_err(|fault: Fault| fault.down(attempt))
    }

    async fn rows(&self, log: OrgLog, from: u64, limit: usize) -> Result<Vec<DeedRow>, StoreDown> {
        let mut rows = self.deed_rows(log, from, limit).await?;
        if rows.iter().any(lacks_its_action) {
            // A partition that was attached since may have the actions by now.
            if !self.has_deeds_away(READ, log.org).await? {
                return self.deed_rows(log, from, limit).await;
            }
            // A deed about an action that is away can only be compared with its own row.
            for row in rows.iter_mut().filter(|row| lacks_its_action(row)) {
                row.acting = row.agent;
            }
        }
        Ok(rows)
    }

    async fn away(&self, log: OrgLog, tile: u64) -> Result<Option<Away>, StoreDown> {
        let attempt = "look for a tile that is away";
        let Some(index) = Place::node(log.no, 1, tile) else { return Ok(None) };
        let call = Call::new(TILE).with(*log.org.as_uuid()).with(bigint(index));
        self.if_away(attempt, call, |cells| {
            Ok(Away { last: cells.digest("last")?, issued_at: cells.moment("issued_at")? })
        })
        .await
    }

    async fn away_from(&self, log: OrgLog, tile: u64) -> Result<Option<AwayTiles>, StoreDown> {
        let attempt = "look for tiles that are away";
        let Some(index) = Place::node(log.no, 1, tile) else { return Ok(None) };
        let call = Call::new(TILES_FROM)
            .with(*log.org.as_uuid())
            .with(bigint(index))
            .with(bigint(Place::node(log.no.next(), 1, 0).unwrap_or(u64::MAX >> 1)));
        self.if_away(attempt, call, |cells| {
            let end = cells.count("end")?.saturating_sub(index - tile);
            Ok(AwayTiles { partition: cells.get("part")?, end })
        })
        .await
    }

    async fn put_checkpoint(
        &self,
        log: OrgLog,
        checkpoint: &SignedCheckpoint,
    ) -> Result<(), StoreDown> {
        let sql = "
            insert into checkpoint (org_id, size, root, note, signed_at)
            values ($1, $2, $3, $4, $5)
            on conflict (org_id, size) do nothing";
        let call = Call::new(sql)
            .with(*log.org.as_uuid())
            .with(place(log.no, checkpoint.size))
            .with(&checkpoint.root.as_bytes()[..])
            .with(checkpoint.note.as_str())
            .with(system_time(checkpoint.signed_at));
        self.database.ask_one("keep a checkpoint", call).await.map(|_| ())
    }

    async fn checkpoints(
        &self,
        log: OrgLog,
        sizes: Range<u64>,
    ) -> Result<Vec<SignedCheckpoint>, StoreDown> {
        let attempt = "read the checkpoints of a log";
        let sql = "
            select size, root, note, signed_at from checkpoint
            where org_id = $1 and size >= $2 and size < $3
            order by size";
        let call = Call::new(sql)
            .with(*log.org.as_uuid())
            .with(place(log.no, sizes.start))
            .with(place(log.no, sizes.end));
        let rows = self.reading.ask_one(attempt, call).await?;
        rows.iter().map(checkpoint).collect::<Result<_, _>>().map_err(|fault| fault.down(attempt))
    }

    async fn misfit(&self, log: OrgLog) -> Result<Option<Misfit>, StoreDown> {
        let attempt = "look for what does not fit a log";
        let call = Call::new(MISFIT)
            .with(*log.org.as_uuid())
            .with(i64::from(log.no.get()))
            .with(place(log.no, 0))
            .with(place(log.no.next(), 0));
        let rows = self.reading.ask_one(attempt, call).await?;
        rows.first().map(misfit).transpose().map_err(|fault| fault.down(attempt))
    }

    async fn last_checkpoint(&self, log: OrgLog) -> Result<Option<SignedCheckpoint>, StoreDown> {
        let attempt = "read the last checkpoint";
        let sql = "
            select size, root, note, signed_at from checkpoint
            where org_id = $1 and size >= $2 and size < $3
            order by size desc limit 1";
        let call = Call::new(sql)
            .with(*log.org.as_uuid())
            .with(place(log.no, 0))
            .with(place(log.no.next(), 0));
        let rows = self.database.ask_one(attempt, call).await?;
        rows.first().map(checkpoint).transpose().map_err(|fault| fault.down(attempt))
    }
}

impl PostgresStore {
    /// The rows of the deeds, each with the agent of its action where that is here.
    async fn deed_rows(
        &self,
        log: OrgLog,
        from: u64,
        limit: usize,
    ) -> Result<Vec<DeedRow>, StoreDown> {
        let call = Call::new(ROWS)
            .with(*log.org.as_uuid())
            .with(place(log.no, from))
            .with(place(log.no.next(), 0))
            .with(i64::try_from(limit).unwrap_or(i64::MAX));
        let rows = self.reading.ask_one(READ, call).await?;
        rows.iter().map(deed_row).collect::<Result<_, _>>().map_err(|fault| fault.down(READ))
    }

    /// What is read of the tile that is asked for, if its partition is away.
    async fn if_away<T>(
        &self,
        attempt: &'static str,
        tile: Call<'_>,
        read: impl Fn(&Cells<'_>) -> Result<T, Fault>,
    ) -> Result<Option<T>, StoreDown> {
        let answers = self.reading.ask(attempt, &[tile, Call::new(ATTACHED)]).await?;
        let found = || {
            let [tiles, attached] = answers.as_slice() else { return Ok(None) };
            let Some(tile) = tiles.first() else { return Ok(None) };
            let part = |row| Cells::of("past_tile", row).get::<String>("part");
            let attached = attached.iter().map(part).collect::<Result<Vec<_>, _>>()?;
            let is_here = attached.contains(&part(tile)?);
            if is_here { Ok(None) } else { read(&Cells::of("past_tile", tile)).map(Some) }
        };
        found().map_err(|fault: Fault| fault.down(attempt))
    }
}

const READ: &str = "read the deeds of a log";

/// Whether a deed tells of an action that was not found beside it.
fn lacks_its_action(row: &DeedRow) -> bool {
    row.action.is_some() && row.acting.is_none() && row.kind != "action"
}

const LOGS: &str = "
    select org_id, no::bigint as log_no, log, size, closed_at from closed_log
    where ($1::uuid[] is null or org_id = any($1))
    union all
    select head.org_id,
        (select count(*) from closed_log as closed
        where closed.org_id = head.org_id and ($1::uuid[] is null or closed.org_id = any($1))),
        head.log, head.size, null
    from org_head as head
    where ($1::uuid[] is null or head.org_id = any($1))";
const HEAD: &str = "
    select (select count(*) from closed_log where org_id = $1) as log_no,
        null::timestamptz as closed_at, log, size, last_digest, frontier, issued_at, event_seq,
        clock_timestamp() as clock
    from org_head where org_id = $1";
const CLOSED: &str = "
    select no::bigint as log_no, closed_at, log, size, last_digest, frontier, issued_at, event_seq,
        clock_timestamp() as clock
    from closed_log where org_id = $1
    order by no";

const TILE: &str = "
    select part, substr(digests, 8161, 32) as last, issued_at from past_tile
    where org_id = $1 and index = $2";

// The tiles of a partition follow each other: the next one of another partition ends them, or the last
// one of the log does.
const TILES_FROM: &str = "
    select tile.part, coalesce(
        (select min(next.index) from past_tile as next
        where next.org_id = $1 and next.index > $2 and next.index < $3 and next.part <> tile.part),
        (select max(last.index) + 1 from past_tile as last
        where last.org_id = $1 and last.index >= $2 and last.index < $3)
    ) as \"end\"
    from past_tile as tile
    where tile.org_id = $1 and tile.index = $2";

const ROWS: &str = "
    select deed.seq, deed.id, deed.kind, deed.agent_id, deed.action_id, deed.issued_at, deed.body,
        deed.digest, deed.signature, deed.key_id, acting.agent_id as acting_id
    from deed
    left join lateral (
        select agent_id from action where org_id = $1 and id = deed.action_id offset 0
    ) as acting on true
    where deed.org_id = $1 and deed.seq >= $2 and deed.seq < $3
    order by deed.seq limit $4";

// `offset 0` keeps each run a range of the primary key. Of deeds in the past the digests were kept,
// so that these do not ask whether their partition is here.
const DIGESTS: &str = "
    select run.place, leaf.index, leaf.hash
    from unnest($2::bigint[], $3::smallint[], $4::bigint[], $5::bigint[])
        as run (place, level, first, behind)
    cross join lateral (
        select seq as index, digest as hash from only deed
        where org_id = $1 and seq >= run.first and seq < run.behind
        offset 0
    ) as leaf
    where run.level = 0
    union all
    select run.place, leaf.index, leaf.hash
    from unnest($2::bigint[], $3::smallint[], $4::bigint[], $5::bigint[])
        as run (place, level, first, behind)
    cross join lateral (
        select (tile.index << 8) + leaf.no as index,
            substr(tile.digests, leaf.no * 32 + 1, 32) as hash
        from past_tile as tile cross join generate_series(0, 255) as leaf (no)
        where tile.org_id = $1 and tile.index >= run.first >> 8
            and tile.index <= (run.behind - 1) >> 8
            and (tile.index << 8) + leaf.no >= run.first
            and (tile.index << 8) + leaf.no < run.behind
        offset 0
    ) as leaf
    where run.level = 0
    order by 1, 2";
const NODES: &str = "
    select run.place, node.index, node.hash
    from unnest($2::bigint[], $3::smallint[], $4::bigint[], $5::bigint[])
        as run (place, level, first, behind)
    cross join lateral (
        select index, hash from log_node
        where org_id = $1 and level = run.level and index >= run.first and index < run.behind
        offset 0
    ) as node
    where run.level > 0
    order by run.place, node.index";

// One statement sees one moment. A node of level n stands for 256^n deeds, and no log has nodes
// above level 5. What stands behind every log stands behind the open one.
const MISFIT: &str = "
    with head as (
        select size, frontier, 9223372036854775807 as behind from org_head
        where org_id = $1 and $2::bigint = (select count(*) from closed_log where org_id = $1)
        union all
        select size, frontier, $4::bigint from closed_log where org_id = $1 and no = $2::bigint
    )
    select stray.what, stray.place, greatest(head.size - 1, 0) as last,
        clock_timestamp() as clock
    from org left join head on true cross join lateral (
        select 'head' as what, 0::bigint as place
        where head.size is null
        union all
        select 'frontier' as what, head.size as place
        where octet_length(head.frontier) <> 32 * bit_count(head.size::bit(64))
        union all
        (select 'deed', deed.seq - $3::bigint from deed
        where deed.org_id = $1 and deed.seq >= $3 + head.size and deed.seq < head.behind
        order by deed.seq limit 1)
        union all
        (select 'node', node.index - ($3 >> (8 * tile.height))
        from generate_series(1, 5) as tile (height)
        join log_node as node on node.org_id = $1 and node.level = tile.height
            and node.index >= ($3 + head.size) >> (8 * tile.height)
            and node.index < head.behind >> (8 * tile.height) limit 1)
        union all
        (select 'node', node.index from log_node as node
        where node.org_id = $1 and node.level > 5 limit 1)
        union all
        (select 'checkpoint', kept.size - $3 from checkpoint as kept
        where kept.org_id = $1 and kept.size > $3 + head.size and kept.size < head.behind
        order by kept.size limit 1)
    ) as stray
    where org.org_id = $1
    limit 1";

fn of_level(sql: &'static str, log: OrgLog, spans: &[Span]) -> Call<'static> {
    let places: Vec<i64> = (0..).take(spans.len()).collect();
    // No log reaches a level that its nodes have no numbers for.
    let at = |level, index| Place::node(log.no, level, index).map_or(0, bigint);
    let firsts = spans.iter().map(|span| at(span.level, span.start));
    let behind = spans.iter().map(|span| at(span.level, span.start + span.count));
    Call::new(sql)
        .with(*log.org.as_uuid())
        .with(places)
        .with(spans.iter().map(|span| i16::from(span.level)).collect::<Vec<_>>())
        .with(firsts.collect::<Vec<_>>())
        .with(behind.collect::<Vec<_>>())
}

/// Adds a hash to its run, unless one before it is missing.
fn add_hash(
    row: &Row,
    (log, spans): (LogNo, &[Span]),
    found: &mut [Vec<Digest>],
) -> Result<(), Fault> {
    let cells = Cells::of("log_node", row);
    let place = usize::try_from(cells.count("place")?).unwrap_or(usize::MAX);
    let (Some(span), Some(run)) = (spans.get(place), found.get_mut(place)) else {
        return Err(Fault::Broken("a hash belongs to no run".to_owned()));
    };
    let due = Place::node(log, span.level, span.start + run.len() as u64);
    if Some(cells.count("index")?) == due {
        run.push(cells.digest("hash")?);
    }
    Ok(())
}

fn log_size(row: &Row) -> Result<LogSize, Fault> {
    let cells = Cells::of("org_head", row);
    let org = cells.id("org_id", OrgId::from_uuid)?;
    Ok(LogSize {
        of: OrgLog { org, no: log_no(&cells, "log_no")? },
        log: cells.word("log")?,
        size: cells.count("size")?,
        standing: standing(&cells)?,
    })
}

fn log_head(row: &Row) -> Result<LogHead, Fault> {
    let cells = Cells::of("org_head", row);
    Ok(LogHead {
        no: log_no(&cells, "log_no")?,
        standing: standing(&cells)?,
        chain: chain_head(&cells)?,
        event_seq: cells.count("event_seq")?,
        now: cells.moment("clock")?,
    })
}

fn standing(cells: &Cells<'_>) -> Result<Standing, Fault> {
    let closed = cells.moment_if_any("closed_at")?;
    Ok(closed.map_or(Standing::Open, |at| Standing::Closed { at }))
}

/// The number that stands in a row for this place of a log.
fn place(log: LogNo, seq: u64) -> i64 {
    bigint(Place::of(log, seq).as_u64())
}

fn misfit(row: &Row) -> Result<Misfit, Fault> {
    let cells = Cells::of("org_head", row);
    let what = match cells.get("what")? {
        "head" => Stray::Head,
        "frontier" => Stray::Frontier,
        "deed" => Stray::Deed,
        "node" => Stray::Node,
        "checkpoint" => Stray::Checkpoint,
        other => return Err(cells.fault("what", format!("`{other}` is nothing of a log"))),
    };
    Ok(Misfit {
        what,
        place: cells.count("place")?,
        last: cells.count("last")?,
        at: cells.moment("clock")?,
    })
}

fn checkpoint(row: &Row) -> Result<SignedCheckpoint, Fault> {
    let cells = Cells::of("checkpoint", row);
    Ok(SignedCheckpoint {
        size: Place::from_u64(cells.count("size")?).seq(),
        root: cells.digest("root")?,
        note: cells.get("note")?,
        signed_at: cells.moment("signed_at")?,
    })
}

/// A deed's row as it stands.
pub(crate) fn deed_row(row: &Row) -> Result<DeedRow, Fault> {
    let cells = Cells::of("deed", row);
    let place = Place::from_u64(cells.count("seq")?);
    Ok(DeedRow {
        log_no: place.log(),
        seq: place.seq(),
        id: cells.id("id", DeedId::from_uuid)?,
        kind: cells.get("kind")?,
        agent: cells.id_if_any("agent_id", AgentId::from_uuid)?,
        action: cells.id_if_any("action_id", ActionId::from_uuid)?,
        acting: cells.id_if_any("acting_id", AgentId::from_uuid)?,
        issued_at: cells.moment("issued_at")?,
        body: cells.get("body")?,
        digest: cells.digest("digest")?,
        signature: cells.bytes("signature")?,
        key_id: cells.get("key_id")?,
    })
}
