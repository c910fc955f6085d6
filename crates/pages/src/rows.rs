//! Rows of databases as a table of changes: each column that differs, before and after.

use std::collections::BTreeSet;

use minijinja::{Environment, Error, Value, context};
use model::RowOp;
use serde_json::{Map, Value as Json};

use crate::{
    moments::thousands,
    values::{json, member, seen},
};

/// A row: its columns with their values.
pub(crate) type Row = Map<String, Json>;

/// The most lines of one table.
const LINES: usize = 200;
/// The most letters of one value.
const LETTERS: usize = 480;

pub(crate) fn add_to(templates: &mut Environment<'_>) {
    templates.add_filter("row_changes", row_changes);
}

/// The rows that the change log tells of, from the detail of a finding.
fn row_changes(rows: &Value) -> Result<Value, Error> {
    let rows = json(rows)?;
    let mut lines = Lines::default();
    // A read-back happens after the change and cannot see the old row.
    let logged = rows.as_array().into_iter().flatten().filter(|row| row.get("before").is_some());
    for row in logged {
        let (op, observed) = (operation(row.get("op")), object(row.get("observed")));
        let whose = Whose { table: row.get("table"), op, row: key_of(row) };
        match (op, object(row.get("before"))) {
            (Some(RowOp::Insert), _) => lines.add(&whose, None, observed),
            (Some(RowOp::Delete), _) => lines.add(&whose, observed, None),
            (Some(RowOp::Update) | None, None) => lines.untold += 1,
            // Only the columns that differ are kept of the old row.
            (Some(RowOp::Update) | None, Some(before)) => {
                let changed = observed.into_iter().flatten();
                let changed = changed.filter(|(name, _)| before.contains_key(*name));
                let after = changed.map(|(name, value)| (name.clone(), value.clone())).collect();
                lines.add(&whose, Some(before), Some(&after));
            }
        }
    }
    Ok(lines.shown())
}

/// Which row of which table a change is of.
pub(crate) struct Whose<'a> {
    pub(crate) table: Option<&'a Json>,
    pub(crate) op: Option<RowOp>,
    /// What tells the row from others, such as `id 6`; empty where nothing does.
    pub(crate) row: String,
}

/// The lines of a table of changes, one a column.
#[derive(Default)]
pub(crate) struct Lines {
    drawn: Vec<Value>,
    more: usize,
    /// How many changed rows there are whose old row is not told.
    untold: usize,
}

impl Lines {
    /// Adds the columns in which both rows differ.
    pub(crate) fn add(&mut self, whose: &Whose<'_>, before: Option<&Row>, after: Option<&Row>) {
        let names: BTreeSet<&String> =
            before.into_iter().chain(after).flat_map(Map::keys).collect();
        let value =
            |row: Option<&'_ Row>, name: &String| row.and_then(|row| row.get(name).cloned());
        let differs = |name: &&String| value(before, name) != value(after, name);
        for (at, name) in names.into_iter().filter(differs).enumerate() {
            if self.drawn.len() == LINES {
                self.more += 1;
                continue;
            }
            let cell = |row: Option<&Row>| row?.get(name).map(cell);
            self.drawn.push(context! {
                begins => at == 0,
                table => named(whose.table.and_then(Json::as_str).unwrap_or_default()),
                what => what(whose.op),
                row => &*whose.row,
                column => named(name),
                before => cell(before),
                after => cell(after),
                had_before => whose.op != Some(RowOp::Insert),
                has_after => whose.op != Some(RowOp::Delete),
            });
        }
    }

    pub(crate) fn shown(self) -> Value {
        context! { rows => self.drawn, more => self.more, untold => self.untold }
    }
}

pub(crate) fn operation(op: Option<&Json>) -> Option<RowOp> {
    serde_json::from_value(op?.clone()).ok()
}

pub(crate) fn object(value: Option<&Json>) -> Option<&Row> {
    value.and_then(Json::as_object)
}

/// A column with its value, as words: `id 6`.
pub(crate) fn pair(name: &str, value: &Json) -> String {
    format!("{} {}", named(name), text(value).1)
}

/// A name of a table or a column, shown so that it misleads nobody.
pub(crate) fn named(name: &str) -> String {
    seen(&member(name))
}

/// A value of a row as one text, cut where it is long, and of which kind it is.
pub(crate) fn cell(value: &Json) -> Value {
    let (kind, text) = text(value);
    context! { kind, text }
}

/// A text for people, cut where it is long.
pub(crate) fn cut(whole: &str) -> String {
    let mut shown: String = whole.chars().take(LETTERS).collect();
    if shown.len() < whole.len() {
        shown.push('…');
    }
    seen(&shown)
}

pub(crate) fn number_of(rows: u64) -> String {
    match rows {
        0 => "No row".to_owned(),
        1 => "1 row".to_owned(),
        many => format!("{} rows", thousands(i64::try_from(many).unwrap_or(i64::MAX))),
    }
}

fn text(value: &Json) -> (&'static str, String) {
    match value {
        Json::String(text) if text.is_empty() => ("nothing", "empty text".to_owned()),
        Json::String(text) => ("text", cut(text)),
        Json::Null => ("nothing", "null".to_owned()),
        untold if is_untold(untold) => ("nothing", "not reported".to_owned()),
        other => ("text", cut(&other.to_string())),
    }
}

/// Which row it is, by its primary key.
fn key_of(row: &Json) -> String {
    let columns = row.get("key").and_then(Json::as_array).into_iter().flatten();
    let observed = row.get("observed");
    let part = |column: &Json| {
        let column = column.as_str()?;
        Some(pair(column, observed?.get(column)?))
    };
    columns.filter_map(part).collect::<Vec<_>>().join(", ")
}

fn what(op: Option<RowOp>) -> &'static str {
    match op {
        Some(RowOp::Insert) => "new row",
        Some(RowOp::Update) => "changed row",
        Some(RowOp::Delete) => "deleted row",
        None => "",
    }
}

/// Whether the evidence has no value there.
fn is_untold(value: &Json) -> bool {
    value.get("not_told").is_some_and(|told| *told == Json::Bool(true))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn changes(rows: &Json) -> Json {
        let told = row_changes(&Value::from(minijinja::value::Serde(rows))).unwrap();
        serde_json::to_value(told).unwrap()
    }

    #[test]
    fn the_rows_of_the_log_are_told_before_and_after_and_those_of_a_read_back_are_not() {
        let row = |op: &str, before: Json, observed: Json| {
            json!({ "table": "public.refunds", "op": op, "expected": null, "observed": observed,
                "before": before, "key": ["id"], "result": "pass", "columns": [] })
        };
        let (old, new) = (json!({ "id": "7", "note": null }), json!({ "id": "7", "note": "" }));
        let big = json!({ "id": "8", "big": { "not_told": true }, "same": "same" });
        let rows = json!([
            row("insert", Json::Null, new.clone()),
            row("update", json!({ "note": null }), new.clone()),
            row("update", json!({ "big": "x" }), big),
            row("delete", Json::Null, old),
            row("update", Json::Null, new.clone()),
            { "table": "public.refunds", "op": "insert", "observed": new, "result": "pass" },
        ]);
        let told = changes(&rows);
        let line = |line: &Json| {
            let text = |name: &str| line[name]["text"].as_str().unwrap_or("-").to_owned();
            let [what, row, column] =
                ["what", "row", "column"].map(|name| line[name].as_str().unwrap());
            format!("{what}, {row}: {column} {} > {}", text("before"), text("after"))
        };
        let lines: Vec<String> = told["rows"].as_array().unwrap().iter().map(line).collect();
        assert_eq!(
            lines,
            [
                "new row, id 7: id - > 7",
                "new row, id 7: note - > empty text",
                "changed row, id 7: note null > empty text",
                "changed row, id 8: big x > not reported",
                "deleted row, id 7: id 7 > -",
                "deleted row, id 7: note null > -",
            ]
        );
        assert_eq!(told["untold"], 1, "an old row that is not told is no row of nulls");
        assert_eq!(told["rows"][2]["before"]["kind"], "nothing", "null is no text");
    }

    #[test]
    fn a_table_of_changes_ends_and_says_how_much_is_left_out() {
        let column = |at: usize| (format!("column_{at}"), json!("x".repeat(LETTERS + 9)));
        let image: Row = (0..LINES + 3).map(column).collect();
        let row = json!([{ "table": "t", "op": "insert", "before": null, "observed": image }]);
        let shown = changes(&row);
        assert_eq!((shown["rows"].as_array().unwrap().len(), &shown["more"]), (LINES, &json!(3)));
        let value = shown["rows"][0]["after"]["text"].as_str().unwrap();
        assert_eq!(value.chars().count(), LETTERS + 1);
    }
}
