//! The whole finding as it is kept: what was expected, what was observed, each check and each row.

use model::{
    Datum, Image, Level, LogAnswer, LogFrame, Outcome, ReadBack, Resource, RowOp, Verdict,
};
use serde_json::{Map, Value, json};

use crate::{
    Evidence, Found, Seen,
    finding::Check,
    report::{report, rows_changed},
    resource::shown,
    rows::RowFinding,
    sentence::{sentence, verdict},
};

/// The detail; rows and fields are left out, those that agree first, until it is no larger than it may
/// be.
pub(crate) fn of(
    evidence: &Evidence<'_>,
    (level, overall): (Level, Verdict),
    found: &Found,
) -> Value {
    let mut detail = json!({
        "level": level,
        "required_level": evidence.required_level,
        "verdict": overall,
        "declared": declared(evidence),
        "reported": reported(evidence),
        "observed": observed(evidence.seen),
        "passes": found.problems.checks().iter().map(pass).collect::<Vec<_>>(),
    });
    let Value::Object(members) = &mut detail else { return detail };
    let rows = found.rows.iter().map(|row| (row.reason.is_none(), row_of(row, level))).collect();
    list(members, ("rows", rows), evidence.max_detail_bytes);
    let fields = found.fields.iter().map(|field| (field.reason.is_none(), shown(field)));
    list(members, ("fields", fields.collect()), evidence.max_detail_bytes);
    detail
}

/// Adds what was compared one by one, each with whether it agrees, as far as there is room.
fn list(
    members: &mut Map<String, Value>,
    (name, mut all): (&str, Vec<(bool, Value)>),
    max_bytes: usize,
) {
    if all.is_empty() {
        return;
    }
    let count = all.len();
    all.sort_by_key(|(agrees, _)| *agrees);
    // The two members that hold them, and a number of those that are left out.
    let mut room = max_bytes.saturating_sub(length(&Value::Object(members.clone())) + 64);
    let mut kept = Vec::new();
    for (_, mut one) in all {
        let mut left = room.checked_sub(length(&one) + 1);
        // How a row was is the first to go: without it, it still says what differs.
        if left.is_none() && one.as_object_mut().and_then(|row| row.remove("before")).is_some() {
            left = room.checked_sub(length(&one) + 1);
        }
        let Some(left) = left else { break };
        room = left;
        kept.push(one);
    }
    members.insert(format!("{name}_left_out"), json!(count - kept.len()));
    members.insert(name.to_owned(), Value::Array(kept));
}

fn length(value: &Value) -> usize {
    crypto::json::canonical(value).len()
}

fn row_of(row: &RowFinding, level: Level) -> Value {
    let expected = row.expected.as_ref().map(|told| {
        let members = told.iter().map(|(column, told)| (column.clone(), json!(told.text)));
        Value::Object(members.collect())
    });
    let image = |image: &Image| {
        let text = |datum: &Datum| match datum {
            Datum::Null => Value::Null,
            Datum::Text(text) => json!(text),
            Datum::Unresolved => json!({ "not_told": true }),
        };
        Value::Object(image.iter().map(|(column, datum)| (column.clone(), text(datum))).collect())
    };
    let mut shown = json!({
        "table": row.table,
        "op": row.op,
        "expected": expected,
        "observed": row.observed.as_ref().map(image),
        "result": row.reason.map_or("pass", model::WitnessReason::as_str),
        "columns": row.columns,
    });
    // A read-back happens after the change and cannot see the old row.
    if let (Level::L2, Some(members)) = (level, shown.as_object_mut()) {
        members.insert("before".to_owned(), json!(before(row).as_ref().map(image)));
        members.insert("key".to_owned(), json!(row.key));
    }
    shown
}

/// Of an updated row, the columns that differ, as they were; a new and a deleted row are observed whole.
fn before(row: &RowFinding) -> Option<Image> {
    let (before, observed) = row.before.as_ref().zip(row.observed.as_ref())?;
    let differs = |(column, was): &(&String, &Datum)| observed.get(*column) != Some(*was);
    let differing =
        before.iter().filter(differs).map(|(column, was)| (column.clone(), was.clone()));
    (row.op != Some(RowOp::Delete)).then(|| differing.collect())
}

fn declared(evidence: &Evidence<'_>) -> Value {
    let footprint = evidence.footprint;
    json!({
        "side_effect": evidence.side_effect,
        "max_rows": footprint.map(|footprint| footprint.max_rows),
        "tables": footprint.map(|footprint| &footprint.tables),
        "columns": footprint.and_then(|footprint| footprint.columns.as_ref()),
    })
}

fn reported(evidence: &Evidence<'_>) -> Value {
    let outcome = match evidence.outcome {
        Outcome::Succeeded { .. } => "succeeded",
        Outcome::Applied => "applied",
        Outcome::Failed(_) => "failed",
        Outcome::Unknown(_) => "unknown",
    };
    let rows = report(evidence.outcome)
        .and_then(|report| report.measured.as_ref())
        .and_then(|measured| measured.rows.as_ref());
    json!({
        "outcome": outcome,
        "rows_changed": rows_changed(evidence.outcome),
        "table": rows.map(|rows| &rows.table),
        "rows": rows.map(|rows| rows.rows.len()),
    })
}

fn observed(seen: Seen<'_>) -> Value {
    match seen {
        Seen::Nothing => Value::Null,
        Seen::GaveUp => json!({ "gave_up": true }),
        Seen::ReadBack(ReadBack::Unread(gap)) => json!({ "by": "read_back", "unread": gap }),
        Seen::ReadBack(ReadBack::Rows(rows)) => {
            let there = rows.iter().flatten().count();
            json!({ "by": "read_back", "rows": there, "absent": rows.len() - there })
        }
        Seen::ReadBack(ReadBack::Resource(resource)) => {
            let is_there = matches!(resource, Resource::There(_));
            json!({ "by": "read_back", "there": is_there })
        }
        Seen::ChangeLog(LogAnswer::NotYet { read_to }) => {
            json!({ "by": "change_log", "read_to": read_to })
        }
        Seen::ChangeLog(LogAnswer::Untold(gap)) => json!({ "by": "change_log", "untold": gap }),
        Seen::ChangeLog(LogAnswer::NeverCommitted { read_to }) => {
            json!({ "by": "change_log", "committed": false, "read_to": read_to })
        }
        Seen::ChangeLog(LogAnswer::Committed(frame)) => of_frame(frame),
    }
}

/// The tables of a frame, at most so many of them by name: a transaction may touch thousands.
fn of_frame(frame: &LogFrame) -> Value {
    let tables: Map<String, Value> = frame
        .tables
        .iter()
        .take(MAX_TABLES)
        .map(|(name, table)| (name.to_string(), json!(table.counts)))
        .collect();
    json!({
        "by": "change_log",
        "committed": true,
        "commit_lsn": frame.source.commit_lsn,
        "changes": frame.change_count,
        "kept": frame.changes.len(),
        "tables_left_out": frame.tables.len() - tables.len(),
        "tables": tables,
        "foreign_markers": frame.foreign_markers,
        "digest": frame.source.digest,
    })
}

fn pass(check: &Check) -> Value {
    let worst = check
        .reasons
        .iter()
        .map(|reason| verdict(*reason))
        .max_by_key(|verdict| *verdict == Verdict::Mismatch);
    json!({
        "check": check.name,
        "result": worst.map_or("pass", Verdict::as_str),
        "reasons": check.reasons,
        "notes": check.reasons.iter().map(|reason| sentence(*reason)).collect::<Vec<_>>(),
    })
}

/// The most tables that are named.
const MAX_TABLES: usize = 16;
