//! Reading a governed database's change log over plain SQL, and beating through it.
//!
//! Every read makes the server decode anew from where its oldest writing transaction began; who calls
//! decides how often that may be. Rows are taken one by one, so that a transaction of any length costs
//! no more memory than what is kept of it.

use std::{collections::BTreeSet, fmt, pin::pin, sync::Arc, time::Duration};

use async_trait::async_trait;
use decoder::{Assembler, Frame, attribution::MarkerKey as ReadKey};
use evidence::{ChangeSource, LedgerEnd, LedgerRow, Read, Sight, Slot, SourceError};
use futures_util::TryStreamExt;
use model::{ActionId, ConnectorId, Lsn};
use tokio::{
    sync::{Mutex, MutexGuard},
    time::{Instant, error::Elapsed, timeout},
};
use tokio_postgres::{
    Row,
    error::SqlState,
    types::{ToSql, Type},
};

use super::{
    DECODER_PASSWORD,
    config::{self, Config},
    coverage::publication,
    fault::{ConnectError, SessionError, of_statement},
    governed::{Governed, SMALL_ANSWER, target},
    ledger::beat,
    marker,
    session::{Access, Login, Pace, Session, Target},
};
use crate::{Blueprint, BuildError, Deps};

/// How long one statement may take at first and at most.
const READ_LIMIT: Duration = Duration::from_secs(10);
const LONGEST_READ: Duration = Duration::from_mins(5);
/// The most bytes of rows that one read brings; it ends with the transaction that brings it above.
const MAX_READ_BYTES: usize = 64 * 1024 * 1024;
/// How much longer than the server's own limit its answer is waited for.
const GRACE: Duration = Duration::from_secs(5);
/// The most pages of the ledger that are looked at, and room for what is read of them.
const LEDGER_PAGES: u64 = 512;
const LEDGER_BYTES: usize = 16 * 1024 * 1024;
/// Nothing of a read is kept but what the assembler keeps.
const UNBOUNDED: usize = usize::MAX;

/// Reads one governed database's change log.
pub struct ChangeReader {
    target: Arc<Target>,
    login: Login,
    governed: Arc<Governed>,
    named: String,
    max_images: usize,
    open: Mutex<Open>,
}

/// The connection, and how long what is asked on it may take by now.
struct Open {
    session: Option<Session>,
    limits: Limits,
}

/// What the database is asked: what one takes says nothing of the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ask {
    Read,
    Confirm,
    Else,
}

/// How long each may take by now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Limits {
    read: Duration,
    confirm: Duration,
    other: Duration,
}

impl Limits {
    fn new() -> Self {
        Self { read: READ_LIMIT, confirm: READ_LIMIT, other: READ_LIMIT }
    }

    fn of(&mut self, ask: Ask) -> &mut Duration {
        match ask {
            Ask::Read => &mut self.read,
            Ask::Confirm => &mut self.confirm,
            Ask::Else => &mut self.other,
        }
    }

    /// Notes what came of asking for so long: what came too late is given twice the time next time, and
    /// what came twice what it took.
    fn note<T>(&mut self, ask: Ask, (done, took): (&Result<T, SourceError>, Duration)) {
        let limit = self.of(ask);
        let next = match done {
            Ok(_) => took,
            Err(SourceError::Late) => *limit,
            Err(_) => return,
        };
        *limit = next.saturating_mul(2).clamp(READ_LIMIT, LONGEST_READ);
    }
}

impl fmt::Debug for ChangeReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChangeReader").field("named", &self.named).finish_non_exhaustive()
    }
}

impl ChangeReader {
    /// A reader that keeps the rows of at most so many changes of each transaction. Nobody is asked
    /// anything yet.
    pub fn new(blueprint: &Blueprint, deps: &Deps, max_images: usize) -> Result<Self, BuildError> {
        let (config, _): (Config, _) = config::read(&blueprint.name, &blueprint.config)
            .map_err(|findings| BuildError::Config { findings })?;
        let password = blueprint.credential.field(DECODER_PASSWORD).cloned();
        if password.is_none() {
            return Err(BuildError::Credential { field: DECODER_PASSWORD });
        }
        Ok(Self {
            target: Arc::new(target(&config, deps)?),
            login: Login { user: config.decoder_user.clone(), password },
            governed: Arc::new(Governed::new(&config, blueprint, deps)?),
            named: publication(blueprint),
            max_images,
            open: Mutex::new(Open { session: None, limits: Limits::new() }),
        })
    }

    /// The connection in a fresh transaction, for as long as it is needed; nobody else has it meanwhile.
    async fn begun(&self, ask: Ask, bytes: usize) -> Result<Begun<'_>, SourceError> {
        let mut open = self.open.lock().await;
        let limit = *open.limits.of(ask);
        let mut session = match open.session.take().filter(|session| !session.is_closed()) {
            Some(session) => session,
            None => self.target.open_any(&self.login).await.map_err(unreached)?,
        };
        let pace =
            Pace { statement: limit, lock: limit, idle: limit * 2, search_path: "pg_catalog" };
        let begun = timeout(GRACE, session.begin(Access::ReadOnly, &pace, bytes)).await;
        begun.map_err(|_| SourceError::Late)?.map_err(|cause| match cause {
            SessionError::Connect(error) => unreached(error),
            SessionError::Database(error) => refused(&error),
        })?;
        Ok(Begun { open, session, ask, limit, since: Instant::now() })
    }

    /// Runs one statement that tells nothing.
    async fn tell(
        &self,
        (ask, sql): (Ask, &str),
        values: &[(&(dyn ToSql + Sync), Type)],
    ) -> Result<(), SourceError> {
        let begun = self.begun(ask, SMALL_ANSWER).await?;
        let asked = begun.session.client.query_typed(sql, values);
        let told = timeout(begun.limit + GRACE, asked).await;
        let told = told.map(|told| told.map(drop).map_err(|error| refused(&error)));
        begun.end(told).await
    }
}

/// The connection in a transaction. Dropped, it closes, and what it was doing is cancelled.
struct Begun<'a> {
    open: MutexGuard<'a, Open>,
    session: Session,
    ask: Ask,
    limit: Duration,
    since: Instant,
}

impl Begun<'_> {
    /// Ends the transaction and keeps the connection, where the server still answers.
    async fn end<T>(
        mut self,
        done: Result<Result<T, SourceError>, Elapsed>,
    ) -> Result<T, SourceError> {
        let done = done.unwrap_or(Err(SourceError::Late));
        self.open.limits.note(self.ask, (&done, self.since.elapsed()));
        if let Ok(Ok(())) = timeout(GRACE, self.session.rollback()).await {
            self.open.session = Some(self.session);
        }
        done
    }

    async fn peek(
        &self,
        (named, most): (&str, i32),
        max_images: usize,
    ) -> Result<Peeked, SourceError> {
        let client = &self.session.client;
        // What was flushed before the read began is certainly in it, if it fits.
        let flushed = client.query_typed(FLUSHED, &[]).await.map_err(|error| refused(&error))?;
        let reached = lsn(first(&flushed)?, 0).map_err(|error| refused(&error))?;
        let values: [(&(dyn ToSql + Sync), Type); 2] = [(&named, Type::TEXT), (&most, Type::INT4)];
        let read = client.query_typed_raw(PEEK, values).await.map_err(|error| refused(&error))?;
        let mut read = pin!(read);
        let mut assembler = Assembler::new(max_images);
        let mut peeked = Peeked::nothing(reached);
        while let Some(row) = read.try_next().await.map_err(|error| refused(&error))? {
            peeked.rows += 1;
            peeked.last = lsn(&row, 0).map_err(|error| refused(&error))?;
            let message: &[u8] = row.try_get(1).map_err(|error| refused(&error))?;
            let Some(frame) = assembler.take(message)? else { continue };
            peeked.bytes = peeked.bytes.saturating_add(frame.weight());
            peeked.frames.push(frame);
            if peeked.is_heavy() {
                // What is left comes with the next read.
                return Ok(peeked);
            }
        }
        assembler.finish()?;
        Ok(peeked)
    }

    async fn drop_slot(&self, named: &str, seen: Option<&str>) -> Result<(), SourceError> {
        let client = &self.session.client;
        let values: [(&(dyn ToSql + Sync), Type); 2] = [(&named, Type::TEXT), (&seen, Type::TEXT)];
        client.query_typed(DROP_SLOT, &values).await.map_err(|error| refused(&error))?;
        let left = client.query_typed(SLOT_STANDS, &[(&named, Type::TEXT)]).await;
        let left = left.map_err(|error| refused(&error))?;
        if left.is_empty() { Ok(()) } else { Err(SourceError::Busy) }
    }

    async fn ledger_from(&self, page: Option<u64>, last: u64) -> Result<LedgerEnd, SourceError> {
        let client = &self.session.client;
        let sized = client.query_typed(LEDGER_SIZE, &[]).await.map_err(|error| refused(&error))?;
        let pages: i64 = first(&sized)?.try_get(0).map_err(|error| refused(&error))?;
        let pages = u64::try_from(pages).unwrap_or(0);
        let from = page.filter(|page| *page <= pages).unwrap_or(pages.saturating_sub(last));
        let place = format!("({},0)", from.max(pages.saturating_sub(LEDGER_PAGES)));
        let rows = client.query_typed(LEDGER_END, &[(&place, Type::TEXT)]).await;
        let rows = rows.map_err(|error| refused(&error))?;
        // Behind the rows: whatever is seen was committed by then.
        let reached = client.query_typed(WRITTEN, &[]).await.map_err(|error| refused(&error))?;
        let reached = lsn(first(&reached)?, 0).map_err(|error| refused(&error))?;
        Ok(LedgerEnd { rows: rows.iter().filter_map(ledger_row).collect(), pages, reached })
    }
}

/// What a read brought.
struct Peeked {
    frames: Vec<Frame>,
    /// What was flushed before it began.
    reached: Lsn,
    /// Where its last row stands: the end of a commit record, or a message outside any transaction.
    last: Lsn,
    rows: u64,
    /// What the rows that are kept weigh.
    bytes: usize,
}

impl Peeked {
    fn nothing(reached: Lsn) -> Self {
        Self { frames: Vec::new(), reached, last: Lsn(0), rows: 0, bytes: 0 }
    }

    fn is_heavy(&self) -> bool {
        self.bytes > MAX_READ_BYTES
    }

    /// Every commit before the last row was read. What the log has behind that was read as well only
    /// where the read came to its end by itself.
    fn read(self, changes: u32, took_ms: u64) -> Read {
        let heavy = self.is_heavy();
        let full = heavy || self.rows >= u64::from(changes);
        let last = self.frames.last().map_or(self.last, |frame| frame.end_lsn.max(self.last));
        let until = if full { last } else { last.max(self.reached) };
        Read { frames: self.frames, until, full, heavy, took_ms }
    }
}

#[async_trait]
impl ChangeSource for ChangeReader {
    async fn look(&self) -> Result<Sight, SourceError> {
        let named = self.named.as_str();
        let begun = self.begun(Ask::Else, SMALL_ANSWER).await?;
        let values: [(&(dyn ToSql + Sync), Type); 1] = [(&named, Type::TEXT)];
        let looked = timeout(begun.limit, begun.session.client.query_typed(LOOK, &values)).await;
        let looked = looked.map(|looked| {
            let rows = looked.map_err(|error| refused(&error))?;
            sight(first(&rows)?).map_err(|error| refused(&error))
        });
        begun.end(looked).await
    }

    async fn mark(&self) -> Result<u64, SourceError> {
        let begun = self.begun(Ask::Else, SMALL_ANSWER).await?;
        let marked = timeout(begun.limit, begun.session.client.query_typed(MARK, &[])).await;
        let marked = marked.map(|marked| {
            let rows = marked.map_err(|error| refused(&error))?;
            let own: String = first(&rows)?.try_get(0).map_err(|error| refused(&error))?;
            // Where it cannot be read, no run is taken to have begun after it.
            Ok(own.parse::<u64>().map_or(u64::MAX, |own| own.saturating_add(1)))
        });
        begun.end(marked).await
    }

    async fn make_slot(&self) -> Result<(), SourceError> {
        self.tell((Ask::Else, MAKE_SLOT), &[(&self.named, Type::TEXT)]).await
    }

    async fn read(&self, changes: u32) -> Result<Read, SourceError> {
        let most = i32::try_from(changes).unwrap_or(i32::MAX);
        let started = Instant::now();
        let begun = self.begun(Ask::Read, UNBOUNDED).await?;
        let peeking = begun.peek((&self.named, most), self.max_images);
        let peeked = timeout(begun.limit + GRACE, peeking).await;
        let peeked = begun.end(peeked).await?;
        Ok(peeked.read(changes, millis_since(started)))
    }

    async fn confirm(&self, end: Lsn) -> Result<u64, SourceError> {
        let (end, began) = (end.to_string(), Instant::now());
        let values: [(&(dyn ToSql + Sync), Type); 2] =
            [(&self.named, Type::TEXT), (&end, Type::TEXT)];
        self.tell((Ask::Confirm, CONFIRM), &values).await?;
        Ok(millis_since(began))
    }

    async fn ledger_from(&self, page: Option<u64>, last: u64) -> Result<LedgerEnd, SourceError> {
        let begun = self.begun(Ask::Else, LEDGER_BYTES).await?;
        let looked = timeout(begun.limit + GRACE, begun.ledger_from(page, last)).await;
        begun.end(looked).await
    }

    async fn in_ledger(
        &self,
        actions: &BTreeSet<ActionId>,
    ) -> Result<BTreeSet<ActionId>, SourceError> {
        let names: Vec<String> = actions.iter().map(ToString::to_string).collect();
        let begun = self.begun(Ask::Else, LEDGER_BYTES).await?;
        let values: [(&(dyn ToSql + Sync), Type); 1] = [(&names, Type::TEXT_ARRAY)];
        let asked =
            timeout(begun.limit, begun.session.client.query_typed(IN_LEDGER, &values)).await;
        let found = asked.map(|asked| {
            let rows = asked.map_err(|error| refused(&error))?;
            Ok(rows.iter().filter_map(|row| row.try_get::<_, &str>(0).ok()?.parse().ok()).collect())
        });
        begun.end(found).await
    }

    async fn beat(&self) -> Result<(), SourceError> {
        timeout(READ_LIMIT + GRACE, beaten(&self.governed)).await.unwrap_or(Err(SourceError::Late))
    }

    async fn drop_slot(&self, seen: Option<Slot>) -> Result<(), SourceError> {
        let seen = seen.map(|slot| slot.confirmed.to_string());
        let begun = self.begun(Ask::Else, SMALL_ANSWER).await?;
        let dropping = begun.drop_slot(&self.named, seen.as_deref());
        let dropped = timeout(begun.limit + GRACE, dropping).await;
        begun.end(dropped).await
    }
}

async fn beaten(governed: &Governed) -> Result<(), SourceError> {
    let pace = governed.pace(READ_LIMIT);
    let begun = governed.begin(&governed.writes, Access::ReadWrite, (&pace, SMALL_ANSWER)).await;
    let (mut lease, xid) = begun.map_err(|cause| SourceError::Down(cause.fault()))?;
    let (system, xid) = (lease.session.system().to_owned(), xid.unwrap_or_default());
    let beaten = beat(&lease.session.client, (&xid, &system), governed.signer()).await;
    beaten.map_err(|error| refused(&error))?;
    lease.session.commit().await.map_err(|error| refused(&error))?;
    lease.give_back();
    Ok(())
}

fn first(rows: &[Row]) -> Result<&Row, SourceError> {
    rows.first().ok_or_else(|| unreached(ConnectError::Lost))
}

/// The keys that the markers of a connector may be signed with: those of every key of the vault, so that
/// a change of the vault's key makes nothing look forged.
pub fn marker_keys(deps: &Deps, connector: ConnectorId) -> Vec<ReadKey> {
    deps.vault.derive_each(&marker::purpose(connector)).into_iter().map(ReadKey::new).collect()
}

fn millis_since(began: Instant) -> u64 {
    u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX)
}

fn unreached(error: ConnectError) -> SourceError {
    SourceError::Down(error.fault())
}

fn refused(error: &tokio_postgres::Error) -> SourceError {
    let Some(said) = error.as_db_error() else { return SourceError::Down(of_statement(error)) };
    let gone = [SqlState::UNDEFINED_OBJECT, SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE];
    if *said.code() == SqlState::OBJECT_IN_USE {
        SourceError::Busy
    } else if *said.code() == SqlState::QUERY_CANCELED {
        SourceError::Late
    } else if gone.contains(said.code()) {
        SourceError::Gone
    } else {
        SourceError::Down(of_statement(error))
    }
}

fn lsn(row: &Row, column: usize) -> Result<Lsn, tokio_postgres::Error> {
    // The server prints places of the log in the form that is read here.
    Ok(row.try_get::<_, &str>(column)?.parse().unwrap_or(Lsn(0)))
}

/// The row, where it names an action.
fn ledger_row(row: &Row) -> Option<LedgerRow> {
    let text = |column: usize| row.try_get::<_, &str>(column).ok();
    let (action, org, xid) = (text(0)?.parse().ok()?, text(1)?.to_owned(), text(2)?.parse().ok()?);
    Some(LedgerRow { action, org, xid })
}

fn sight(row: &Row) -> Result<Sight, tokio_postgres::Error> {
    let timeline: String = row.try_get(1)?;
    let slot = match row.try_get::<_, Option<&str>>(3)? {
        None => None,
        Some(confirmed) => Some(Slot {
            confirmed: confirmed.parse().unwrap_or(Lsn(0)),
            lost: row.try_get::<_, Option<bool>>(4)?.unwrap_or(true),
            held_bytes: row.try_get::<_, Option<i64>>(5)?.unwrap_or(0).try_into().unwrap_or(0),
        }),
    };
    let published: Option<String> = row.try_get(6)?;
    let oldest: Option<i64> = row.try_get(7)?;
    Ok(Sight {
        system: row.try_get(0)?,
        timeline: u32::from_str_radix(&timeline, 16).unwrap_or(0),
        flushed: lsn(row, 2)?,
        slot,
        published: crypto::sha256(published.unwrap_or_default()),
        oldest_writer: oldest.and_then(|seconds| seconds.try_into().ok()),
    })
}

/// The rows of the catalog are told with the transaction that wrote them, so that what is taken out of a
/// publication and put back is seen. A timeline is the first part of the name of the log's file: the
/// control file learns of a new one only at its first checkpoint.
const LOOK: &str = "
    select
        (select system_identifier::text from pg_control_system()),
        substr(pg_walfile_name(pg_current_wal_flush_lsn()), 1, 8),
        pg_current_wal_flush_lsn()::text,
        s.confirmed_flush_lsn::text,
        s.wal_status = 'lost',
        pg_wal_lsn_diff(pg_current_wal_lsn(), s.restart_lsn)::int8,
        (select string_agg(concat_ws(' ', p.oid, p.xmin, p.puballtables), ',' order by p.oid)
            from pg_publication p where p.pubname = $1)
        || (select coalesce(string_agg(concat_ws(' ', r.oid, r.xmin, r.prrelid), ','
                order by r.oid), '')
            from pg_publication_rel r join pg_publication p on p.oid = r.prpubid
            where p.pubname = $1),
        (select extract(epoch from now() - min(a.xact_start))::int8
            from pg_stat_activity a where a.backend_xid is not null)
    from (select) one
    left join pg_replication_slots s
        on s.slot_name = $1 and s.database = current_database() and s.plugin = 'pgoutput'";

/// Takes a number of its own. What a snapshot tells is no more than the last number that ended, behind which
/// others may be under way.
const MARK: &str = "select pg_current_xact_id()::text";

const MAKE_SLOT: &str = "select pg_create_logical_replication_slot($1::name, 'pgoutput')";

const FLUSHED: &str = "select pg_current_wal_flush_lsn()::text";

const PEEK: &str = "
    select lsn::text, data
    from pg_logical_slot_peek_binary_changes($1::name, null, $2,
        'proto_version', '1', 'publication_names', $1, 'messages', 'true')";

const CONFIRM: &str = "select pg_replication_slot_advance($1::name, $2::pg_lsn)";

const LEDGER_SIZE: &str = "
    select pg_relation_size('service.ledger') / current_setting('block_size')::int8";

/// Rows are found by their places, so that no index is needed and no more than these pages are read.
const LEDGER_END: &str = "
    select l.action_id, l.org, l.xid::text
    from service.ledger l
    where l.ctid >= $1::tid";

const WRITTEN: &str = "select pg_current_wal_insert_lsn()::text";

const IN_LEDGER: &str = "select l.action_id from service.ledger l where l.action_id = any ($1)";

/// A slot is told by its place: one that was made later begins at a later one, and one that is still being made
/// has none.
const DROP_SLOT: &str = "
    select pg_drop_replication_slot(s.slot_name)
    from pg_replication_slots s
    where s.slot_name = $1 and s.database = current_database() and s.plugin = 'pgoutput'
        and s.confirmed_flush_lsn is not distinct from $2::pg_lsn";

const SLOT_STANDS: &str = "
    select s.slot_name::text from pg_replication_slots s
    where s.slot_name = $1 and s.database = current_database() and s.plugin = 'pgoutput'";

#[cfg(test)]
mod tests;
