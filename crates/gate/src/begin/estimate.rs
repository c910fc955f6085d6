//! What an estimate is to whoever must decide: how many rows a call would change and in which
//! tables, as far as the tool says so, with its rows as a sample. What it does not say stays open;
//! a number that is guessed would be read as one that was counted.

use model::{Footprint, RowOp};
use serde_json::{Map, Value, json};
use tool::{Estimate, Estimated};

/// From so many rows on a person is warned of how much it is.
const MANY_ROWS: u64 = 100;

/// What a person is shown of an estimate.
pub(super) struct Foreseen {
    /// Its part of the snapshot.
    pub(super) shown: Value,
    /// Whether it was asked for and is not there.
    pub(super) is_absent: bool,
    /// Whether it tells of many rows, or of more than the tool declares.
    pub(super) is_large: bool,
}

/// One operation on one table.
struct Change {
    table: String,
    op: RowOp,
    rows: Option<u64>,
}

impl Foreseen {
    /// At most `limit` bytes of what the connector said, or why it says nothing.
    pub(super) fn of(
        estimate: Option<&Estimate>,
        footprint: Option<&Footprint>,
        limit: usize,
    ) -> Self {
        match estimate {
            None => Self { is_absent: false, ..Self::absent("not_asked") },
            Some(Estimate::NotOffered) => Self::absent("not_offered"),
            Some(Estimate::Late) => Self::absent("late"),
            Some(Estimate::Failed) => Self::absent("failed"),
            Some(Estimate::Given(given)) => Self::given(given, footprint, limit),
        }
    }

    fn absent(why: &str) -> Self {
        let shown = json!({ "status": "absent", "why": why });
        Self { shown, is_absent: true, is_large: false }
    }

    fn given(given: &Estimated, footprint: Option<&Footprint>, limit: usize) -> Self {
        let (rows, tables) = match by_table(given) {
            Some(tables) => (total(&tables), tables),
            None => declared(counted(given), footprint),
        };
        let is_large = !given.is_whole
            || rows.is_some_and(|rows| {
                rows >= MANY_ROWS || footprint.is_some_and(|declared| rows > declared.max_rows)
            });
        let mut shown = Map::new();
        let tables: Vec<_> = tables.iter().map(Change::shown).collect();
        for (name, value) in [
            ("status", json!("given")),
            ("changes", json!(rows)),
            ("tables", json!(tables)),
            ("complete", json!(false)),
            ("rows", json!([])),
        ] {
            shown.insert(name.to_owned(), value);
        }
        let taken = size(&Value::Object(shown.clone()));
        let Some(room) = limit.checked_sub(taken) else { return Self::absent("too_large") };
        let sample = fitting(&given.rows, room);
        let is_whole = given.is_whole && sample.len() == given.rows.len();
        shown.insert("complete".to_owned(), json!(is_whole));
        shown.insert("rows".to_owned(), json!(sample));
        Self { shown: Value::Object(shown), is_absent: false, is_large }
    }
}

impl Change {
    fn shown(&self) -> Value {
        json!({ "name": self.table, "op": self.op, "rows": self.rows })
    }
}

/// The bytes of the value in its canonical form.
pub(super) fn size(value: &Value) -> usize {
    crypto::json::canonical(value).len()
}

/// The first of the rows that fit into so many bytes.
fn fitting(rows: &[Value], room: usize) -> &[Value] {
    let mut room = room;
    let mut fits = |row: &Value| {
        // Each has a comma behind it.
        let left = room.checked_sub(size(row) + 1);
        left.inspect(|left| room = *left).is_some()
    };
    let count = rows.iter().take_while(|row| fits(row)).count();
    rows.get(..count).unwrap_or_default()
}

/// The tables that the rows name, where each of them names one, what is done there, and to how many
/// rows.
fn by_table(given: &Estimated) -> Option<Vec<Change>> {
    let change = |row: &Value| {
        let op = serde_json::from_value(row.get("op")?.clone()).ok()?;
        let table = row.get("table")?.as_str()?.to_owned();
        Some(Change { table, op, rows: Some(number(row.get("rows")?)?) })
    };
    let all: Option<Vec<_>> = given.rows.iter().map(change).collect();
    all.filter(|all| given.is_whole && !all.is_empty())
}

fn total(changes: &[Change]) -> Option<u64> {
    changes.iter().try_fold(0_u64, |sum, change| sum.checked_add(change.rows?))
}

/// The number of rows, where the estimate is one row that says it.
fn counted(given: &Estimated) -> Option<u64> {
    match given.rows.as_slice() {
        [row] if given.is_whole => number(row.get("rows")?),
        _ => None,
    }
}

/// Large numbers cross as texts of their digits.
fn number(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}

/// The tables of the declaration. A number is that of a table only where there is no other.
fn declared(rows: Option<u64>, footprint: Option<&Footprint>) -> (Option<u64>, Vec<Change>) {
    let tables = footprint.into_iter().flat_map(|it| &it.tables);
    let mut changes: Vec<_> = tables
        .flat_map(|(table, ops)| {
            ops.iter().map(|op| Change { table: table.clone(), op: *op, rows: None })
        })
        .collect();
    if let [only] = changes.as_mut_slice() {
        only.rows = rows;
    }
    (rows, changes)
}

#[cfg(test)]
mod tests;
