//! A change log by itself: read and parsed as the service does it, beside PostgreSQL's own reader and beside a
//! bare scan of the same bytes.

use std::{
    path::{Path, PathBuf},
    pin::pin,
    process::Stdio,
    time::{Duration, Instant},
};

use decoder::{Assembler, Frame, Message};
use futures_util::TryStreamExt;
use tokio::process::Command;
use tokio_postgres::{
    Client, Config, NoTls,
    types::{ToSql, Type},
};

use crate::{
    Failure,
    options::{Scale, Size},
    stops::percentile,
};

const DATABASE: &str = "bench_log";
/// The slots that are read, each to its end: by us, by PostgreSQL's own reader, and for the bytes alone.
const OURS: &str = "bench_ours";
const THEIRS: &str = "bench_theirs";
const BYTES: &str = "bench_bytes";
/// How far the log is behind, in transactions of so many changes.
const TRANSACTIONS: Size<usize> = Size { full: 2_000, smoke: 20 };
const CHANGES: usize = 100;
/// Changes of one transaction that is too long for memory.
const LONG: Size<u64> = Size { full: 100_000, smoke: 2_000 };
/// Rows that are kept of one transaction, as `decoder.max_images_per_tx` has it.
const IMAGES: usize = 1_000;
/// Changes that are asked for in one read, as a follower that is behind does it.
const BATCH: i32 = 100_000;
/// How often the log is read while somebody waits, as `decoder.poll_active` has it, and how often that is
/// tried.
const POLL: Duration = Duration::from_millis(10);
const COMMITS: Size<usize> = Size { full: 500, smoke: 5 };
/// How often the same bytes are gone through.
const ROUNDS: Size<usize> = Size { full: 20, smoke: 1 };
/// The least that is read in a second.
const LEAST_RATE: f64 = 38_000.0;
/// From commit to transaction, at the half and at the 99th of a hundred.
const LATEST: [Duration; 2] = [Duration::from_millis(10), Duration::from_millis(30)];

const TABLES: &str = "
    create table item (id int primary key, name text not null, price numeric not null, note text);
    alter table item replica identity full;
    create publication bench_log for table item";
const PEEK: &str = "
    select data from pg_logical_slot_peek_binary_changes($1::name, null, $2,
        'proto_version', '1', 'publication_names', 'bench_log', 'messages', 'true')";
const ADVANCE: &str = "select pg_replication_slot_advance($1::name, $2::text::pg_lsn)";

/// Measures all of it and prints it.
pub(crate) async fn run(url: &str, programs: &Path, scale: Scale) -> Result<(), Failure> {
    let log = Log::new(url, programs.join("pg_recvlogical"), scale).await?;
    log.written().await?;
    println!("| a log that is {} changes behind | changes per second | |", log.behind());
    println!("|---|---|---|");
    let (theirs, ours) = (log.read_by_them().await?, log.read_by_us().await?);
    println!("| `pg_recvlogical`, to `/dev/null` | {theirs:.0} | |");
    println!(
        "| read, parsed, put together and digested | {ours:.0} (aim {LEAST_RATE:.0}) | {:.2} of that |",
        ours / theirs
    );
    parsed(&log.bytes().await?, ROUNDS.at(scale))?;
    log.memory().await?;
    log.forgotten().await?;
    log.latency().await
}

/// A database with a table that is published, and slots.
struct Log {
    client: Client,
    url: String,
    recvlogical: PathBuf,
    scale: Scale,
}

/// What of a read is looked at.
struct Peeked {
    frames: Vec<Frame>,
    changes: u64,
}

impl Log {
    async fn new(url: &str, recvlogical: PathBuf, scale: Scale) -> Result<Self, Failure> {
        let mut config: Config = url.parse()?;
        let (client, connection) = config.connect(NoTls).await?;
        let driven = tokio::spawn(connection);
        client.batch_execute(&format!("create database {DATABASE}")).await?;
        drop(client);
        driven.await??;
        let (client, connection) = config.dbname(DATABASE).connect(NoTls).await?;
        tokio::spawn(connection);
        client.batch_execute(TABLES).await?;
        for slot in [OURS, THEIRS, BYTES] {
            let made = "select pg_create_logical_replication_slot($1::name, 'pgoutput')";
            client.query_typed(made, &[(&slot, Type::TEXT)]).await?;
        }
        let url = url.rsplit_once('/').ok_or("the address names no database")?.0;
        Ok(Self { client, url: format!("{url}/{DATABASE}"), recvlogical, scale })
    }

    /// How many changes are read.
    fn behind(&self) -> usize {
        TRANSACTIONS.at(self.scale) * CHANGES
    }

    async fn written(&self) -> Result<(), Failure> {
        for transaction in 0..TRANSACTIONS.at(self.scale) {
            let first = transaction * CHANGES;
            let sql = format!(
                "insert into item select n, 'item ' || n, n / 100.0, repeat('x', 60)
                 from generate_series({first}, {}) n",
                first + CHANGES - 1
            );
            self.client.batch_execute(&sql).await?;
        }
        Ok(())
    }

    /// How many changes PostgreSQL's own reader takes in a second.
    async fn read_by_them(&self) -> Result<f64, Failure> {
        let end = self.client.query_typed("select pg_current_wal_flush_lsn()::text", &[]).await?;
        let end: String = end.first().ok_or("the log has no end")?.get(0);
        let began = Instant::now();
        let status = Command::new(&self.recvlogical)
            .args(["--dbname", &self.url, "--slot", THEIRS, "--start", "--no-loop"])
            .args(["--endpos", &end, "--file", "/dev/null"])
            .args(["--option=proto_version=1", "--option=publication_names=bench_log"])
            .args(["--option=messages=true", "--fsync-interval=0"])
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .await?;
        if !status.success() {
            return Err(format!("pg_recvlogical ended with {status}").into());
        }
        Ok(rate(self.behind(), began.elapsed()))
    }

    /// How many changes we read in a second, with what tells the database that they are read.
    async fn read_by_us(&self) -> Result<f64, Failure> {
        let (began, mut changes) = (Instant::now(), 0);
        loop {
            let peeked = self.peek(OURS, BATCH).await?;
            let Some(last) = peeked.frames.last() else { break };
            self.advance(OURS, last).await?;
            changes += peeked.changes;
        }
        let expected = self.behind();
        if changes != u64::try_from(expected)? {
            return Err(format!("{changes} changes were read, and not {expected}").into());
        }
        Ok(rate(expected, began.elapsed()))
    }

    async fn peek(&self, slot: &str, most: i32) -> Result<Peeked, Failure> {
        let values: [(&(dyn ToSql + Sync), Type); 2] = [(&slot, Type::TEXT), (&most, Type::INT4)];
        let mut rows = pin!(self.client.query_typed_raw(PEEK, values).await?);
        let mut assembler = Assembler::new(IMAGES);
        let mut peeked = Peeked { frames: Vec::new(), changes: 0 };
        while let Some(row) = rows.try_next().await? {
            if let Some(frame) = assembler.take(row.try_get(0)?)? {
                peeked.changes += frame.change_count;
                peeked.frames.push(frame);
            }
        }
        assembler.finish()?;
        Ok(peeked)
    }

    async fn advance(&self, slot: &str, to: &Frame) -> Result<(), Failure> {
        let end = to.end_lsn.to_string();
        self.client.query_typed(ADVANCE, &[(&slot, Type::TEXT), (&end, Type::TEXT)]).await?;
        Ok(())
    }

    /// The messages of the whole log.
    async fn bytes(&self) -> Result<Vec<Vec<u8>>, Failure> {
        let most = i32::MAX;
        let values: [(&(dyn ToSql + Sync), Type); 2] = [(&BYTES, Type::TEXT), (&most, Type::INT4)];
        let rows = self.client.query_typed_raw(PEEK, values).await?;
        let messages = rows.map_ok(|row| row.get::<_, Vec<u8>>(0)).try_collect().await?;
        let drop = "select pg_drop_replication_slot($1::name)";
        self.client.query_typed(drop, &[(&BYTES, Type::TEXT)]).await?;
        Ok(messages)
    }

    /// What a transaction takes that changes very many rows.
    async fn memory(&self) -> Result<(), Failure> {
        let long = LONG.at(self.scale);
        let sql = format!("update item set price = price + 1 where id < {long}");
        self.client.batch_execute(&sql).await?;
        // The most that was held so far counts from here on.
        std::fs::write("/proc/self/clear_refs", "5")?;
        let before = most_held()?;
        let peeked = self.peek(OURS, i32::MAX).await?;
        let more = most_held()?.saturating_sub(before);
        if peeked.changes < long {
            return Err(format!("{} changes were read, and not {long}", peeked.changes).into());
        }
        let kept: usize = peeked.frames.iter().map(|frame| frame.changes.len()).sum();
        println!(
            "\nA transaction of {long} changes is read in {more} KiB above the {before} KiB before; \
             {kept} of its rows are kept."
        );
        let last = peeked.frames.last().ok_or("nothing was read")?;
        self.advance(OURS, last).await
    }

    /// Waits until the database decodes none of this any more: it does so from where it last noted which
    /// transactions were under way, as it does with a checkpoint.
    async fn forgotten(&self) -> Result<(), Failure> {
        let written = self.client.query_typed("select pg_current_wal_lsn()::text", &[]).await?;
        let written: String = written.first().ok_or("the log has no end")?.get(0);
        self.client.batch_execute("checkpoint").await?;
        let is_past = "
            select restart_lsn >= $2::text::pg_lsn from pg_replication_slots where slot_name = $1";
        let values: [(&(dyn ToSql + Sync), Type); 2] =
            [(&OURS, Type::TEXT), (&written, Type::TEXT)];
        loop {
            self.client.batch_execute("update item set note = 'later' where id = 0").await?;
            let peeked = self.peek(OURS, BATCH).await?;
            self.advance(OURS, peeked.frames.last().ok_or("nothing was read")?).await?;
            let rows = self.client.query_typed(is_past, &values).await?;
            if rows.first().is_some_and(|row| row.get(0)) {
                return Ok(());
            }
        }
    }

    /// How long after its commit a transaction is there, where the log is read as often as while
    /// somebody waits.
    async fn latency(&self) -> Result<(), Failure> {
        let (mut spans, commits) = (Vec::new(), COMMITS.at(self.scale));
        for commit in 0..commits {
            // Commits come at every moment between two reads.
            let phase = POLL * u32::try_from(commit * 7 % 10)? / 10;
            let next = tokio::time::Instant::now() + POLL;
            tokio::time::sleep(phase).await;
            let sql = format!("update item set price = price + 1 where id = {commit}");
            self.client.batch_execute(&sql).await?;
            let committed = Instant::now();
            let mut ticks = tokio::time::interval_at(next, POLL);
            let frame = loop {
                ticks.tick().await;
                let mut peeked = self.peek(OURS, 1_000).await?;
                if let Some(frame) = peeked.frames.pop() {
                    break frame;
                }
            };
            spans.push(committed.elapsed());
            self.advance(OURS, &frame).await?;
        }
        let [half, last] = [50, 99].map(|part| percentile(&mut spans, part));
        println!(
            "\nFrom the answer of a commit to its transaction, read every {POLL:?}: p50 {half:.1?} (aim \
             {:?}), p99 {last:.1?} (aim {:?}), of {commits} commits.",
            LATEST[0], LATEST[1]
        );
        Ok(())
    }
}

/// Goes through the messages in three ways, each a little beside the others, and prints how fast.
fn parsed(messages: &[Vec<u8>], rounds: usize) -> Result<(), Failure> {
    let bytes = messages.iter().map(Vec::len).sum::<usize>();
    let (mut scanned, mut parsed, mut whole) = Default::default();
    let mut zeros = 0;
    for _ in 0..rounds {
        scanned += timed(|| {
            zeros += messages.iter().map(|it| memchr::memchr_iter(0, it).count()).sum::<usize>();
            Ok(())
        })?;
        parsed += timed(|| {
            for message in messages {
                std::hint::black_box(Message::parse(message)?);
            }
            Ok(())
        })?;
        whole += timed(|| {
            let mut assembler = Assembler::new(IMAGES);
            for message in messages {
                std::hint::black_box(assembler.take(message)?);
            }
            Ok(assembler.finish()?)
        })?;
    }
    std::hint::black_box(zeros);
    #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^52")]
    let speed = |span: Duration| (bytes * rounds) as f64 / 1e6 / span.as_secs_f64();
    let bare = speed(scanned);
    println!("\n| {} messages, {bytes} bytes | MB/s | ratio to the scan |", messages.len());
    println!("|---|---|---|");
    println!("| scanned for a byte by `memchr` | {bare:.0} | |");
    for (what, span) in [("parsed", parsed), ("parsed, put together and digested", whole)] {
        println!("| {what} | {:.0} | {:.3} |", speed(span), speed(span) / bare);
    }
    Ok(())
}

fn timed(work: impl FnOnce() -> Result<(), Failure>) -> Result<Duration, Failure> {
    let began = Instant::now();
    work()?;
    Ok(began.elapsed())
}

#[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^52")]
fn rate(count: usize, span: Duration) -> f64 {
    count as f64 / span.as_secs_f64()
}

/// The most memory that this process ever held, in KiB.
pub(crate) fn most_held() -> Result<u64, Failure> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|rest| rest.split_whitespace().next()?.parse().ok());
    kib.ok_or_else(|| "the kernel told no VmHWM".into())
}
