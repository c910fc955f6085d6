//! L2: the transaction that the change log tells, against the report and the declaration.
//!
//! The log is complete in what it tells of a committed transaction and tells nothing of other tables
//! than the published ones. So the connector's own count of its transaction stands beside it: what
//! was counted and is not in the log keeps a verdict from being `VERIFIED`.

use std::collections::BTreeMap;

use model::{
    LogAnswer, LogBlind, LogFrame, LogGap, Measured, OldRows, Outcome, RowCounts, RowOp, TableName,
    WitnessReason as Reason,
};
use serde_json::json;

use crate::{
    Evidence, Found, Source,
    finding::Problems,
    net::{self, NetChange},
    report::{report, rows_changed},
    rows::{RowFinding, Tables, changed_columns, compare},
};

/// Holds what the log tells against the report.
pub(crate) fn check(evidence: &Evidence<'_>, answer: &LogAnswer, found: &mut Found) {
    found.problems.check("log_read");
    match answer {
        LogAnswer::NotYet { .. } => found.problems.add(Reason::FrameTimeout),
        LogAnswer::Untold(gap) => found.problems.add(of_gap(*gap)),
        LogAnswer::NeverCommitted { read_to } => {
            let evidence_of = json!({ "committed": false, "read_to": read_to });
            found.sources.push(Source::ChangeLog {
                evidence: evidence_of,
                from: None,
                to: *read_to,
            });
            found.problems.check("committed");
            let claimed = matches!(evidence.outcome, Outcome::Succeeded { .. } | Outcome::Applied);
            found.problems.add_if(claimed, Reason::NotCommitted);
        }
        LogAnswer::Committed(frame) => {
            found.sources.push(source(frame));
            committed(evidence, frame, found);
        }
    }
}

fn source(frame: &LogFrame) -> Source {
    let tables: BTreeMap<String, &RowCounts> =
        frame.tables.iter().map(|(name, table)| (name.to_string(), &table.counts)).collect();
    let told = &frame.source;
    Source::ChangeLog {
        evidence: json!({
            "committed": true,
            "digest": told.digest,
            "epoch": told.epoch,
            "system": told.system,
            "changes": frame.change_count,
            "tables": tables,
        }),
        from: Some(told.commit_lsn),
        to: told.end_lsn,
    }
}

fn of_gap(gap: LogGap) -> Reason {
    match gap {
        LogGap::DecoderOff => Reason::DecoderOff,
        LogGap::DecoderStalled => Reason::DecoderStalled,
        LogGap::SlotInvalidated => Reason::SlotInvalidated,
        LogGap::SlotMoved => Reason::SlotMoved,
        LogGap::EvidenceGap => Reason::EvidenceGap,
        LogGap::PublicationFiltered => Reason::PublicationFiltered,
        LogGap::MarkerMissing => Reason::MarkerMissing,
        LogGap::MarkerAmbiguous => Reason::MarkerAmbiguous,
        LogGap::LedgerWithoutFrame => Reason::LedgerWithoutFrame,
    }
}

fn committed(evidence: &Evidence<'_>, frame: &LogFrame, found: &mut Found) {
    let measured = report(evidence.outcome).and_then(|report| report.measured.as_deref());
    let tables = Tables { measured };
    let net = net::of(frame, tables);
    let problems = &mut found.problems;
    problems.check("committed");
    let failed = matches!(evidence.outcome, Outcome::Failed(_));
    problems.add_if(failed, Reason::ReportedFailedButCommitted);
    problems.check("committed_once").add_if(frame.repeats > 0, Reason::CommittedTwice);
    problems.check("rows_told");
    problems.add_if(!frame.keeps_all(), Reason::ImagesTruncated);
    let partly = |table: &model::TableInLog| table.identity == OldRows::Partly;
    problems.add_if(frame.tables.values().any(partly), Reason::NoFullIdentity);
    nothing_emptied(frame, problems);
    declared(evidence, frame, (tables, &net), problems);
    coverage(measured, frame, problems);
    scope(measured, frame, tables, problems);
    let rows = reported(evidence, frame, (tables, &net), problems);
    found.rows = rows;
}

fn nothing_emptied(frame: &LogFrame, problems: &mut Problems) {
    let emptied = frame.tables.values().any(|table| table.counts.truncates > 0);
    problems.check("nothing_emptied").add_if(emptied, Reason::TruncateSeen);
}

/// Tables, operations, columns and the number of rows that the tool declares.
fn declared(
    evidence: &Evidence<'_>,
    frame: &LogFrame,
    (tables, net): (Tables<'_>, &[NetChange]),
    problems: &mut Problems,
) {
    // A partition is known as one by what was measured; without that its name says nothing.
    let (Some(footprint), Some(_)) = (evidence.footprint, tables.measured) else { return };
    problems.check("declared_tables");
    let named = |table: &TableName| tables.declared(footprint, tables.whole(table));
    problems
        .add_if(frame.tables.keys().any(|table| named(table).is_none()), Reason::UnexpectedTable);
    problems.check("declared_operations");
    let allows = |table: &TableName, op: RowOp| {
        let name = tables.declared(footprint, table);
        // An undeclared table is told by its own reason.
        name.and_then(|name| footprint.tables.get(name)).is_none_or(|ops| ops.contains(&op))
    };
    for (table, told) in &frame.tables {
        let whole = tables.whole(table);
        let does = |op: &RowOp| {
            // A row that moves between partitions is a removed and a new one to the log.
            if whole == table || !frame.keeps_all() {
                told.counts.of(*op) > 0
            } else {
                net.iter().any(|change| change.table == *whole && change.op == *op)
            }
        };
        let undeclared = OPS.iter().filter(|op| does(op)).any(|op| !allows(whole, *op));
        let may_be_a_move = whole != table && !frame.keeps_all() && allows(whole, RowOp::Update);
        problems.add_if(
            undeclared,
            if may_be_a_move { Reason::CountDivergence } else { Reason::UnexpectedOp },
        );
    }
    problems.check("declared_columns");
    for change in frame.changes.iter().filter(|change| change.op == RowOp::Update) {
        let name = named(&change.table);
        let columns = footprint.columns.as_ref().zip(name).and_then(|(all, name)| all.get(name));
        let Some(columns) = columns else { continue };
        let (Some(before), Some(after)) = (&change.before, &change.after) else {
            problems.add(Reason::NoFullIdentity);
            continue;
        };
        let (changed, untold) = changed_columns(before, after);
        let touched = tables.measured.and_then(|measured| measured.touched.get(&change.table));
        let is_generated =
            |column: &String| touched.is_some_and(|table| table.generated.contains(column));
        let is_free = |column: &String| !columns.contains(column) && !is_generated(column);
        problems.add_if(changed.iter().any(is_free), Reason::UnexpectedColumn);
        problems.add_if(untold.iter().any(is_free), Reason::ToastUnresolved);
    }
    problems.check("declared_rows");
    let all: u64 =
        frame.tables.values().fold(0, |sum, table| sum.saturating_add(table.counts.rows()));
    let rows = if frame.keeps_all() { net.len() as u64 } else { all };
    problems.add_if(rows > footprint.max_rows, Reason::RowCountOverLimit);
}

/// What the connector counted in its own transaction and the log does not tell.
fn coverage(measured: Option<&Measured>, frame: &LogFrame, problems: &mut Problems) {
    problems.check("nothing_beside_the_log");
    let Some(measured) = measured else {
        problems.add(Reason::UnpublishedWrites);
        return;
    };
    for (name, touched) in &measured.touched {
        for blind in &touched.blind {
            problems.add(match blind {
                LogBlind::NotPublished => Reason::TableNotPublished,
                LogBlind::Filtered => Reason::PublicationFiltered,
                LogBlind::NoFullIdentity => Reason::NoFullIdentity,
                LogBlind::Unlogged => Reason::UnloggedTable,
            });
        }
        let told = frame.tables.get(name).map(|table| table.counts).unwrap_or_default();
        let counted = touched.counts;
        let hidden = touched.blind.iter().any(|blind| match blind {
            LogBlind::NotPublished | LogBlind::Filtered | LogBlind::Unlogged => true,
            LogBlind::NoFullIdentity => false,
        });
        let more = OPS.iter().any(|op| counted.of(*op) > told.of(*op));
        // It was emptied, dropped or altered, and the log has no word of its rows.
        let emptied = counted.truncates > told.truncates;
        problems.add_if(emptied || more && hidden, Reason::UnpublishedWrites);
        problems.add_if(more && !hidden, Reason::CountDivergence);
    }
    // The counters are read last, so what the log tells beyond them was done by the commit itself.
    let later = frame.tables.iter().any(|(name, table)| {
        let counted = measured.touched.get(name).map(|touched| touched.counts).unwrap_or_default();
        OPS.iter().any(|op| table.counts.of(*op) > counted.of(*op))
    });
    problems.add_if(later, Reason::TriggerEffects);
}

/// Every changed row holds what the arguments name.
fn scope(
    measured: Option<&Measured>,
    frame: &LogFrame,
    tables: Tables<'_>,
    problems: &mut Problems,
) {
    let Some(measured) = measured.filter(|measured| !measured.scope.is_empty()) else { return };
    problems.check("within_arguments");
    for rule in &measured.scope {
        let of_table = |table: &TableName| *tables.whole(table) == rule.table;
        for change in frame.changes.iter().filter(|change| of_table(&change.table)) {
            for image in [&change.before, &change.after].into_iter().flatten() {
                match image.get(&rule.column).and_then(|seen| rule.told.is(seen)) {
                    Some(true) => {}
                    Some(false) => problems.add(Reason::ScopeExceeded),
                    None => problems.add(Reason::ToastUnresolved),
                }
            }
        }
    }
}

/// The rows that the report tells of, one by one or by their number.
fn reported(
    evidence: &Evidence<'_>,
    frame: &LogFrame,
    (tables, net): (Tables<'_>, &[NetChange]),
    problems: &mut Problems,
) -> Vec<RowFinding> {
    let Some(report) = report(evidence.outcome) else { return Vec::new() };
    let rows = report.measured.as_deref().and_then(|measured| measured.rows.as_ref());
    problems.check("reported_rows");
    let told = rows.map(|rows| rows.rows.len() as u64).filter(|told| *told > 0);
    let count = rows_changed(evidence.outcome);
    problems.add_if(told.zip(count).is_some_and(|(told, count)| told != count), Reason::RowCount);
    let Some(count) = count.or(told) else {
        problems.add(Reason::NothingReported);
        return Vec::new();
    };
    let Some(target) = target(evidence, frame, tables) else {
        // Several tables were changed, and nobody says of which one the number is.
        problems.add(Reason::CountDivergence);
        return Vec::new();
    };
    number_of_rows(count, (&target, rows.and_then(|rows| rows.op)), (frame, tables, net), problems);
    match rows.filter(|rows| !rows.rows.is_empty() || count == 0) {
        Some(rows) if frame.keeps_all() => compare(rows, net, problems),
        _ => Vec::new(),
    }
}

/// The table that the number of rows is of.
fn target(evidence: &Evidence<'_>, frame: &LogFrame, tables: Tables<'_>) -> Option<TableName> {
    let measured = tables.measured?;
    if let Some(rows) = &measured.rows {
        return Some(rows.table.clone());
    }
    let declared = evidence.footprint.map(|footprint| &footprint.tables);
    if let Some(name) = declared.filter(|all| all.len() == 1).and_then(|all| all.keys().next()) {
        return measured.names.get(name).cloned();
    }
    let mut touched = frame.tables.keys().map(|table| tables.whole(table));
    let first = touched.next();
    match first {
        // Nothing was changed, so every table was changed as little.
        None => declared
            .and_then(|all| all.keys().next())
            .and_then(|name| measured.names.get(name))
            .cloned(),
        Some(first) if touched.all(|other| other == first) => Some(first.clone()),
        Some(_) => None,
    }
}

fn number_of_rows(
    count: u64,
    (target, op): (&TableName, Option<RowOp>),
    (frame, tables, net): (&LogFrame, Tables<'_>, &[NetChange]),
    problems: &mut Problems,
) {
    if frame.keeps_all() {
        let rows = net.iter().filter(|change| change.table == *target).count() as u64;
        problems.add_if(rows != count, Reason::RowCount);
        return;
    }
    let of_target = |(table, _): &(&TableName, &model::TableInLog)| *tables.whole(table) == *target;
    let counts = frame
        .tables
        .iter()
        .filter(of_target)
        .fold(RowCounts::default(), |sum, (_, table)| sum.plus(&table.counts));
    // A row may be changed twice, which cannot be told without its images. New rows cannot be made
    // twice where none went, and none can go twice where none came.
    let exact = match op {
        Some(RowOp::Insert) => counts.deletes == 0,
        Some(RowOp::Delete) => counts.inserts == 0,
        Some(RowOp::Update) | None => false,
    };
    let rows = op.filter(|_| exact).map_or(counts.rows(), |op| counts.of(op));
    if rows < count || exact && rows != count {
        problems.add(Reason::RowCount);
    } else if rows > count {
        problems.add(Reason::CountDivergence);
    }
}

const OPS: [RowOp; 3] = [RowOp::Insert, RowOp::Update, RowOp::Delete];
