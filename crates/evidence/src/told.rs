//! What was read, as an answer about one run.

use std::collections::BTreeMap;

use decoder::{
    Before, Change, Edit, Frame, Identity, Row, SERVICE_SCHEMA, Value,
    attribution::{Attribution, Forgery, MarkerKind},
};
use model::{
    Datum, Image, LogAnswer, LogFrame, LogGap, LogSource, LogTrace, OldRows, RowChange, RowCounts,
    RowOp, TableInLog, TableName, Timestamp,
};

use crate::{Began, Following, Gap, Images, Of, StoredFrame};

/// What is kept that a run can be told by.
#[derive(Debug, Clone, Copy)]
pub struct Evidence<'a> {
    /// How far the log was read; nothing where it never was.
    pub following: Option<&'a Following>,
    /// The transactions that belong to the run's action or pass for it.
    pub frames: &'a [StoredFrame],
    /// Where the log was not read, the latest first: two of them, since one may have ended this epoch.
    pub gaps: &'a [Gap],
    /// Whose log it is.
    pub of: Of,
    /// What opens the rows.
    pub images: &'a Images,
}

/// By so many milliseconds the clock that a run's begin is told by may differ from the one that a gap's
/// time is.
const SKEW_MS: i64 = 2_000;

/// What the log tells of a run, which saw this of itself and began then.
///
/// Its transaction is the one that was taken for it, whatever broke off since. That it was never
/// committed is said only where the log was read without a break from before the run began until after
/// its end was seen.
pub fn told(
    evidence: Evidence<'_>,
    (trace, begun_at): (Option<&LogTrace>, Option<Timestamp>),
) -> LogAnswer {
    if let Some(answer) = taken(evidence) {
        return answer;
    }
    let Some(following) = evidence.following else {
        return LogAnswer::Untold(LogGap::DecoderOff);
    };
    let Some(LogTrace { system, xid, until }) = trace else {
        return match following.broken {
            Some(cause) => LogAnswer::Untold(cause),
            None => LogAnswer::NotYet { read_to: Some(following.read_to) },
        };
    };
    let since = evidence.gaps.first().map_or(LogGap::EvidenceGap, |gap| gap.cause);
    if *system != following.began.system {
        return LogAnswer::Untold(LogGap::EvidenceGap);
    }
    // A number that cannot be read is of no run that began within the epoch.
    let is_numbered = xid.parse().is_ok_and(|xid: u64| xid >= following.began.from_xid);
    let begun = began(begun_at, evidence.gaps.iter().find(|it| it.ended < following.began.epoch));
    let within = is_numbered && begun != Begun::Before;
    match (within, until) {
        (false, _) => LogAnswer::Untold(since),
        (true, Some(until)) if following.read_to >= *until => match (begun, following.broken) {
            // Another server may have taken over, which gives the log's places once more behind those
            // that it never got: how far the log was read says nothing of a run on it.
            (_, Some(cause @ LogGap::EvidenceGap)) => LogAnswer::Untold(cause),
            (Begun::Within, _) => LogAnswer::NeverCommitted { read_to: following.read_to },
            (Begun::Before | Begun::About, _) => LogAnswer::Untold(since),
        },
        (true, Some(_) | None) => match following.broken {
            Some(cause) => LogAnswer::Untold(cause),
            None => LogAnswer::NotYet { read_to: Some(following.read_to) },
        },
    }
}

/// When a run began, beside the gap that its epoch lies behind.
///
/// Its number alone does not say: another server, or a backup, gives the numbers once more that were given
/// in what it lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Begun {
    /// Before the gap was seen.
    Before,
    /// So close to that that the clocks do not say.
    About,
    /// Within the epoch.
    Within,
}

fn began(begun_at: Option<Timestamp>, gap: Option<&Gap>) -> Begun {
    let Some(gap) = gap else { return Begun::Within };
    let Some(begun) = begun_at else { return Begun::About };
    let behind = begun.unix_millis().saturating_sub(gap.at.unix_millis());
    if behind > SKEW_MS {
        Begun::Within
    } else if behind < -SKEW_MS {
        Begun::Before
    } else {
        Begun::About
    }
}

/// The answer that the transactions themselves give.
fn taken(evidence: Evidence<'_>) -> Option<LogAnswer> {
    let of_kind = |frame: &&StoredFrame, void: bool| match &frame.attribution {
        Attribution::Action { kind, .. } => (*kind == MarkerKind::Void) == void,
        Attribution::Service { .. }
        | Attribution::Unattributed
        | Attribution::Forged(_)
        | Attribution::LedgerTampered(_) => false,
    };
    let own: Vec<_> = evidence.frames.iter().filter(|frame| of_kind(frame, false)).collect();
    let void = evidence.frames.iter().find(|frame| of_kind(frame, true));
    match (own.as_slice(), void) {
        ([], None) => None,
        // The row stands where the run's would have to.
        ([], Some(void)) => Some(LogAnswer::NeverCommitted { read_to: void.frame.source.end_lsn }),
        ([frame], None) => {
            let passes = |frame: &&StoredFrame| {
                matches!(frame.attribution, Attribution::Forged(Forgery::Replayed))
            };
            let repeats = evidence.frames.iter().filter(passes).count();
            let repeats = u64::try_from(repeats).unwrap_or(u64::MAX);
            let frame = LogFrame { repeats, ..evidence.images.open(evidence.of, frame) };
            Some(LogAnswer::Committed(Box::new(frame)))
        }
        (_, _) => Some(LogAnswer::Untold(LogGap::MarkerAmbiguous)),
    }
}

/// The transaction without what it did in the service's own schema.
pub fn frame_of(frame: &Frame, began: &Began, foreign_markers: u64) -> LogFrame {
    let mut tables: BTreeMap<TableName, TableInLog> = BTreeMap::new();
    for (table, counts) in frame.counts.iter().filter(|(table, _)| !is_own(&table.schema)) {
        let counts = RowCounts {
            inserts: counts.inserts,
            updates: counts.updates,
            deletes: counts.deletes,
            truncates: counts.truncates,
        };
        let known = tables.entry(TableName::new(&*table.schema, &*table.name));
        let known = known.or_insert_with(|| TableInLog {
            counts: RowCounts::default(),
            signatures: std::collections::BTreeSet::new(),
            identity: OldRows::Whole,
        });
        known.counts = known.counts.plus(&counts);
    }
    for (signature, relation) in &frame.relations {
        let name = TableName::new(&*relation.table.schema, &*relation.table.name);
        let Some(table) = tables.get_mut(&name) else { continue };
        table.signatures.insert(*signature);
        if relation.identity != Identity::Full {
            table.identity = OldRows::Partly;
        }
    }
    let own = frame.counts.iter().filter(|(table, _)| is_own(&table.schema));
    let own: u64 = own.map(|(_, counts)| counts.inserts + counts.updates + counts.deletes).sum();
    LogFrame {
        source: LogSource {
            epoch: began.epoch,
            system: began.system.clone(),
            commit_lsn: frame.commit_lsn,
            end_lsn: frame.end_lsn,
            digest: frame.digest,
        },
        tables,
        changes: frame.changes.iter().map(change_of).collect(),
        change_count: frame.change_count.saturating_sub(own),
        repeats: 0,
        foreign_markers,
    }
}

fn is_own(schema: &str) -> bool {
    schema == SERVICE_SCHEMA
}

fn change_of(change: &Change) -> RowChange {
    let row = |row: &Row| image(change, row);
    let told = |before: &Before| match before {
        Before::NotTold => None,
        Before::Key(old) | Before::Full(old) => Some(row(old)),
    };
    let (op, before, after) = match &change.edit {
        Edit::Insert { after } => (RowOp::Insert, None, Some(row(after))),
        Edit::Update { before, after } => (RowOp::Update, told(before), Some(row(after))),
        Edit::Delete { before } => (RowOp::Delete, told(before), None),
    };
    let table = &change.relation.table;
    RowChange { table: TableName::new(&*table.schema, &*table.name), op, before, after }
}

fn image(change: &Change, row: &Row) -> Image {
    let datum = |value: &Value| match value {
        Value::Null => Some(Datum::Null),
        // What is no text in UTF-8 is no value that anything could be compared with.
        Value::Text(bytes) => Some(match std::str::from_utf8(bytes) {
            Ok(text) => Datum::Text(text.to_owned()),
            Err(_) => Datum::Unresolved,
        }),
        Value::Binary(_) | Value::Unresolved => Some(Datum::Unresolved),
        Value::NotTold => None,
    };
    let columns = change.relation.columns.iter().zip(row);
    columns.filter_map(|(column, value)| Some((column.name.clone(), datum(value)?))).collect()
}
