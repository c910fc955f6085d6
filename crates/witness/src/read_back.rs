//! L1: what a separate reader finds of the reported rows after the commit.
//!
//! Every version of a row names the transaction that made it. A row that was made by the run's own
//! transaction and holds what was reported is proof that this was committed; a row of any other
//! transaction, or none at all, proves nothing of the run, since others write too. Rows that were
//! not reported cannot be seen: the server's own counters have to show that there are none.

use std::collections::{BTreeMap, BTreeSet};

use model::{
    Measured, Outcome, ReadBack, ReadBackGap, ReadRow, ReportedRows, RowCounts, RowOp, Teller,
    Told, WitnessReason as Reason,
};
use serde_json::json;

use crate::{
    Evidence, Found, Source,
    finding::Problems,
    report::report,
    resource,
    rows::{RowFinding, Tables, against},
};

/// Holds what was read back against the report.
pub(crate) fn check(evidence: &Evidence<'_>, read: &ReadBack, found: &mut Found) {
    match read {
        ReadBack::Unread(gap) => found.problems.check("read_back").add(of_gap(*gap)),
        ReadBack::Resource(resource) => resource::check(evidence, resource, found),
        ReadBack::Rows(rows) => {
            found.problems.check("rows_read");
            let evidence_of = json!({ "rows": rows });
            found.sources.push(Source::ReadBack { evidence: evidence_of });
            read_rows(evidence, rows, found);
        }
    }
}

fn of_gap(gap: ReadBackGap) -> Reason {
    match gap {
        ReadBackGap::Timeout => Reason::ReadbackTimeout,
        ReadBackGap::Denied => Reason::ReadbackDenied,
        ReadBackGap::NoKey => Reason::NoKey,
        ReadBackGap::NotOffered => Reason::ReadbackNotOffered,
        ReadBackGap::Unreadable => Reason::ReadbackUnreadable,
        ReadBackGap::GaveUp => Reason::WitnessGaveUp,
    }
}

fn read_rows(evidence: &Evidence<'_>, read: &[Option<ReadRow>], found: &mut Found) {
    let report = report(evidence.outcome);
    let measured = report.and_then(|report| report.measured.as_deref());
    let (Some(report), Some(measured)) = (report, measured) else {
        // What certainly failed left no rows of its own to read.
        let failed = matches!(evidence.outcome, Outcome::Failed(_));
        found.problems.add(if failed {
            Reason::ReadbackNotOffered
        } else {
            Reason::NothingReported
        });
        return;
    };
    let Some(rows) = &measured.rows else {
        found.problems.add(Reason::NothingReported);
        return;
    };
    // No row that was read shows that the run was committed.
    found.problems.add_if(rows.rows.is_empty(), Reason::NothingReported);
    let counted = counted(measured, rows);
    number_of_rows(report.rows_changed, (rows, counted), &mut found.problems);
    nothing_else(evidence, (measured, rows), &mut found.problems);
    found.problems.check("rows_stand_there");
    if read.len() != rows.rows.len() {
        found.problems.add(Reason::NoKey);
        return;
    }
    let ours = measured.trace.short_xid();
    within_arguments((measured, rows), (read, ours), &mut found.problems);
    let namesakes = namesakes(rows);
    for (row, read) in rows.rows.iter().zip(read) {
        let mut finding = one(rows, (row, read.as_ref()), (ours, counted));
        // A row that went and one that came with its key are told as two; one of them stands there.
        if matches!(finding.reason, None | Some(Reason::ValueDiffers))
            && namesakes.contains(&key_of(rows, row))
        {
            finding.reason = Some(Reason::ChangedSince);
        }
        if let Some(reason) = finding.reason {
            found.problems.add(reason);
        }
        found.rows.push(finding);
    }
}

type Key<'a> = Vec<Option<&'a str>>;

fn key_of<'a>(rows: &ReportedRows, row: &'a BTreeMap<String, Told>) -> Key<'a> {
    rows.key.iter().map(|part| row.get(part).and_then(|told| told.text.as_deref())).collect()
}

/// The keys that several reported rows have.
fn namesakes(rows: &ReportedRows) -> BTreeSet<Key<'_>> {
    let mut seen = BTreeSet::new();
    rows.rows.iter().map(|row| key_of(rows, row)).filter(|key| !seen.insert(key.clone())).collect()
}

/// Every row that the run changed holds what the arguments name.
fn within_arguments(
    (measured, rows): (&Measured, &ReportedRows),
    (read, ours): (&[Option<ReadRow>], Option<u32>),
    problems: &mut Problems,
) {
    let of_table = measured.scope.iter().filter(|rule| rule.table == rows.table);
    for rule in of_table {
        for row in read.iter().flatten().filter(|row| Some(row.xmin) == ours) {
            let held = row.image.get(&rule.column).and_then(|seen| rule.told.is(seen));
            problems.add_if(held == Some(false), Reason::ScopeExceeded);
        }
    }
}

/// At most so many rows of the reported table were changed.
fn counted(measured: &Measured, rows: &ReportedRows) -> RowCounts {
    let tables = Tables { measured: Some(measured) };
    measured
        .touched
        .iter()
        .filter(|(name, _)| *tables.whole(name) == rows.table)
        .fold(RowCounts::default(), |sum, (_, touched)| sum.plus(&touched.counts))
}

fn number_of_rows(
    changed: Option<u64>,
    (rows, counted): (&ReportedRows, RowCounts),
    problems: &mut Problems,
) {
    problems.check("reported_rows");
    let told = rows.rows.len() as u64;
    problems.add_if(changed.is_some_and(|changed| changed != told), Reason::RowCount);
    // The counters are an upper bound: fewer is proof, more is doubt.
    let most = rows.op.map_or(counted.rows(), |op| counted.of(op));
    problems.add_if(most < told, Reason::RowCount);
    problems.add_if(counted.rows() > told, Reason::CountDivergence);
}

/// Other tables than the reported one are beyond a read-back: they may be touched only as declared,
/// and what was done there stays unseen.
fn nothing_else(
    evidence: &Evidence<'_>,
    (measured, rows): (&Measured, &ReportedRows),
    problems: &mut Problems,
) {
    problems.check("declared_tables");
    let tables = Tables { measured: Some(measured) };
    let is_touched = |counts: &RowCounts| counts.rows() > 0 || counts.truncates > 0;
    for (name, touched) in measured.touched.iter().filter(|(_, it)| is_touched(&it.counts)) {
        let whole = tables.whole(name);
        let declared = evidence.footprint.and_then(|footprint| {
            tables.declared(footprint, whole).and_then(|name| footprint.tables.get(name))
        });
        let within = declared.is_some_and(|ops| {
            OPS.iter().all(|op| touched.counts.of(*op) == 0 || ops.contains(op))
        });
        // Counted rows may have been taken back, so that this is no proof of a lie. What was emptied or
        // altered is never all reported.
        let emptied = touched.counts.truncates > 0;
        problems.add_if(!within || *whole != rows.table || emptied, Reason::CountDivergence);
    }
}

/// One reported row and what stands there.
fn one(
    rows: &ReportedRows,
    (row, read): (&BTreeMap<String, Told>, Option<&ReadRow>),
    (ours, counted): (Option<u32>, RowCounts),
) -> RowFinding {
    let nothing_done = rows.op.map_or(counted.rows(), |op| counted.of(op)) == 0;
    let is_ours = read.is_some_and(|read| Some(read.xmin) == ours);
    let (reason, columns) = match (rows.op, read) {
        // Nobody counted a change, so the row cannot have been changed.
        (_, _) if nothing_done => (Some(Reason::MissingRows), Vec::new()),
        // That a row is not there is proof of its end only on the database's own word.
        (Some(RowOp::Delete), None) if rows.teller == Teller::Database => (None, Vec::new()),
        (Some(RowOp::Delete), Some(_)) if is_ours => (Some(Reason::MissingRows), Vec::new()),
        (Some(RowOp::Insert | RowOp::Update) | None, Some(read)) if is_ours => {
            against(rows.teller, row, &read.image)
        }
        (_, None | Some(_)) => (Some(Reason::ChangedSince), Vec::new()),
    };
    RowFinding {
        table: rows.table.clone(),
        op: rows.op,
        expected: Some(row.clone()),
        observed: read.map(|read| read.image.clone()),
        before: None,
        key: rows.key.clone(),
        reason,
        columns,
    }
}

const OPS: [RowOp; 3] = [RowOp::Insert, RowOp::Update, RowOp::Delete];
