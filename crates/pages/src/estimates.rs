//! What a call would change, as its tool says beforehand: sentences, a table of changes, and all else
//! that the estimate says.
//!
//! What is drawn is taken out of the rows of the estimate, and what is left of them is shown as it is. So
//! nothing of an estimate is lost, whatever its author wrote.

use std::collections::BTreeSet;

use minijinja::{Environment, Error, Value, context};
use model::RowOp;
use serde_json::{Map, Value as Json};

use crate::{
    rows::{Lines, Row, Whose, cell, cut, named, number_of, object, operation, pair},
    values::json,
};

/// So many columns say at most which row an estimate is about.
const TELLING: usize = 3;

pub(crate) fn add_to(templates: &mut Environment<'_>) {
    templates.add_filter("foreseen", foreseen);
}

fn foreseen(estimate: &Value) -> Result<Value, Error> {
    let estimate = json(estimate)?;
    let list =
        |name: &str| estimate.get(name).and_then(Json::as_array).cloned().unwrap_or_default();
    let tables = list("tables");
    let mut rows: Vec<Row> = list("sample").into_iter().map(row).collect();
    let changes = changes(&tables, &mut rows);
    let total = estimate.get("rows").and_then(Json::as_u64);
    let sentences = sentences(&tables, total, &mut rows);
    Ok(context! { sentences, changes => changes.shown(), others => others(&rows) })
}

/// A row of the sample; the interface shows objects alone.
fn row(value: Json) -> Row {
    match value {
        Json::Object(row) => row,
        other => Map::from_iter([("value".to_owned(), other)]),
    }
}

/// Takes `before` and `after` out of the rows that have them as rows.
fn changes(tables: &[Json], rows: &mut [Row]) -> Lines {
    let mut lines = Lines::default();
    for (at, row) in rows.iter_mut().enumerate() {
        let is_row = |name: &str| row.get(name).is_none_or(|it| it.is_object() || it.is_null());
        if !is_row("before") || !is_row("after") {
            continue;
        }
        let (before, after) = (row.remove("before"), row.remove("after"));
        let (before, after) = (object(before.as_ref()), object(after.as_ref()));
        let of = |name: &str| row.get(name).or_else(|| tables.get(at)?.get(name));
        let table = row.get("table").or_else(|| tables.get(at)?.get("name"));
        let whose = Whose { table, op: operation(of("op")), row: unchanged(before, after) };
        lines.add(&whose, before, after);
    }
    lines
}

/// Which row it is: the first columns that stay as they are.
fn unchanged(before: Option<&Row>, after: Option<&Row>) -> String {
    let (Some(before), Some(after)) = (before, after) else { return String::new() };
    let stays = before.iter().filter(|(name, value)| after.get(*name) == Some(value));
    stays.take(TELLING).map(|(name, value)| pair(name, value)).collect::<Vec<_>>().join(", ")
}

/// A sentence for each table, and one for all where no table has a number of its own.
fn sentences(tables: &[Json], total: Option<u64>, rows: &mut [Row]) -> Vec<String> {
    let is_alone = tables.len() <= 1 && rows.len() == 1;
    let mut told = Vec::new();
    for (at, table) in tables.iter().enumerate() {
        let count = table.get("rows").and_then(number);
        let row = rows.get_mut(at).filter(|row| is_alone || is_of(row, table));
        let note = row.and_then(|row| {
            if is_of(row, table) {
                row.retain(|name, _| !["table", "op", "rows"].contains(&name.as_str()));
            }
            note(row, count)
        });
        let op = operation(table.get("op"));
        let name = table.get("name").and_then(Json::as_str).unwrap_or_default();
        told.push(ended(&of_table(count, name, op), note));
    }
    let has_numbers = tables.iter().any(|table| table.get("rows").is_some_and(Json::is_u64));
    if let Some(total) = total.filter(|_| !has_numbers) {
        let row = rows.first_mut().filter(|_| is_alone);
        let note = row.and_then(|row| note(row, Some(total)));
        told.insert(0, ended(&format!("{} would be changed in all", number_of(total)), note));
    }
    told
}

/// Whether a row is what the numbers of the table were read from.
fn is_of(row: &Row, table: &Json) -> bool {
    let is_same = |name: &str, of: &str| row.get(name).is_some_and(|it| Some(it) == table.get(of));
    let count = table.get("rows").and_then(number);
    is_same("table", "name")
        && is_same("op", "op")
        && count.is_some()
        && row.get("rows").and_then(number) == count
}

/// Takes the note out of a row, and the number that stands before it.
fn note(row: &mut Row, count: Option<u64>) -> Option<String> {
    if count.is_some() && row.get("rows").and_then(number) == count {
        row.remove("rows");
    }
    let note = row.get("note").and_then(Json::as_str).filter(|note| !note.is_empty())?.to_owned();
    row.remove("note");
    Some(note)
}

/// Large numbers cross as texts of their digits.
fn number(value: &Json) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}

fn of_table(count: Option<u64>, table: &str, op: Option<RowOp>) -> String {
    let done = match op {
        Some(RowOp::Insert) => "added",
        Some(RowOp::Update) | None => "changed",
        Some(RowOp::Delete) => "deleted",
    };
    let table = named(table);
    match count {
        Some(count) => format!("{} of {table} would be {done}", number_of(count)),
        None => format!("Rows of {table} may be {done}; the tool does not say how many"),
    }
}

/// `1 row of refunds would be added: 20.00 of 22.52`
fn ended(sentence: &str, note: Option<String>) -> String {
    note.map_or_else(|| format!("{sentence}."), |note| format!("{sentence}: {}", cut(&note)))
}

/// What is left of the rows: one column for each name.
fn others(rows: &[Row]) -> Value {
    let columns: BTreeSet<&String> = rows.iter().flat_map(Map::keys).collect();
    let cells = |row: &Row| -> Vec<Option<Value>> {
        columns.iter().map(|name| row.get(*name).map(cell)).collect()
    };
    let rows: Vec<_> = rows.iter().filter(|row| !row.is_empty()).map(cells).collect();
    let columns: Vec<String> = columns.iter().map(|name| named(name)).collect();
    context! { columns, rows }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn told(rows: Option<u64>, tables: Json, sample: Json) -> Json {
        let estimate =
            json!({ "rows": rows, "tables": tables, "sample": sample, "complete": true });
        let told = foreseen(&Value::from(minijinja::value::Serde(&estimate))).unwrap();
        serde_json::to_value(told).unwrap()
    }

    fn table(name: &str, op: &str, rows: Option<u64>) -> Json {
        json!({ "name": name, "op": op, "rows": rows })
    }

    #[test]
    fn an_estimate_is_told_in_sentences() {
        let sentences = |rows, tables, sample| told(rows, tables, sample)["sentences"].take();
        let row = |table: &str, op: &str, rows: Json, note: &str| json!({ "table": table, "op": op, "rows": rows, "note": note });
        let refund = row("refunds", "insert", json!(1), "20.00 of 22.52");
        assert_eq!(
            sentences(Some(1), json!([table("refunds", "insert", Some(1))]), json!([refund])),
            json!(["1 row of refunds would be added: 20.00 of 22.52"])
        );
        let two =
            json!([table("refunds", "insert", Some(0)), table("lines", "delete", Some(1_200))]);
        let sample = json!([
            row("refunds", "insert", json!(0), ""),
            row("lines", "delete", json!("1200"), "pay\u{202e}lla"),
        ]);
        assert_eq!(
            sentences(Some(1_200), two, sample),
            json!([
                "No row of refunds would be added.",
                "1,200 rows of lines would be deleted: pay⟦U+202E⟧lla",
            ])
        );
        let open = json!([table("a", "update", None), table("b", "insert", None)]);
        assert_eq!(
            sentences(Some(3), open, json!([{ "rows": 3 }])),
            json!([
                "3 rows would be changed in all.",
                "Rows of a may be changed; the tool does not say how many.",
                "Rows of b may be added; the tool does not say how many.",
            ])
        );
        let alone = json!([{ "rows": 2, "note": "of 9" }]);
        assert_eq!(
            sentences(Some(2), json!([]), alone),
            json!(["2 rows would be changed in all: of 9"])
        );
        let long = json!([{ "rows": 2, "note": "x".repeat(9_000) }]);
        let one = sentences(Some(2), json!([]), long)[0].as_str().unwrap().chars().count();
        assert!(one < 600, "{one}");
    }

    #[test]
    fn nothing_that_an_estimate_says_is_lost() {
        let declared = json!([table("public.refunds", "insert", None)]);
        for (rows, tables, sample) in [
            (Some(1), json!([]), json!([{ "rows": 1, "before": "mark", "after": 3 }])),
            (None, json!([]), json!([{ "note": ["mark"], "op": "mark" }, { "note": "mark" }])),
            (None, declared.clone(), json!([{ "table": "refunds", "rows": 2, "mark": null }])),
            (None, declared.clone(), json!([{ "table": "mark", "op": "insert", "note": "mark" }])),
            (None, json!([]), json!([{ "rows": -1 }, { "rows": "mark" }])),
            (None, declared, json!([{ "id": "mark" }, { "note": "mark", "table": "mark" }])),
            (None, json!([]), json!(["mark", 7])),
        ] {
            let shown = told(rows, tables, sample.clone()).to_string();
            let marks = |text: &str| text.matches("mark").count();
            assert_eq!(marks(&shown), marks(&sample.to_string()), "{sample}: {shown}");
            for number in ["-1", "2", "3", "7"] {
                let is_said = sample.to_string().contains(number);
                assert!(!is_said || shown.contains(number), "{number} of {sample}: {shown}");
            }
        }
    }

    #[test]
    fn what_is_left_has_columns_and_no_indexes() {
        let sample = json!([
            { "rows": 1, "total": "22.52", "parts": [1, { "a": null }] },
            { "rows": 1, "refunded": null },
        ]);
        let others = told(None, json!([]), sample)["others"].take();
        assert_eq!(others["columns"], json!(["parts", "refunded", "rows", "total"]));
        let texts = |at: usize| {
            let cells = others["rows"][at].as_array().unwrap().iter();
            cells.map(|cell| cell["text"].clone()).collect::<Vec<_>>()
        };
        assert_eq!(texts(0), [json!(r#"[1,{"a":null}]"#), json!(null), json!("1"), json!("22.52")]);
        assert_eq!(texts(1), [json!(null), json!("null"), json!("1"), json!(null)]);
    }

    #[test]
    fn what_would_change_is_told_column_by_column() {
        let (old, new) =
            (json!({ "id": 2, "status": "paid" }), json!({ "id": 2, "status": "back" }));
        let sample = json!([
            { "table": "orders", "op": "update", "rows": 1, "before": old, "after": new },
            { "table": "refunds", "op": "insert", "rows": 1, "before": null, "after": { "amount": "20.00" } },
            { "table": "refunds", "op": "insert", "rows": 0, "before": null, "after": null },
        ]);
        let tables = json!([
            table("orders", "update", Some(1)),
            table("refunds", "insert", Some(1)),
            table("refunds", "insert", Some(0)),
        ]);
        let shown = told(Some(2), tables, sample);
        let lines = shown["changes"]["rows"].as_array().unwrap();
        assert_eq!(lines.len(), 2, "what stays is not shown: {lines:?}");
        let words =
            |at: usize| ["table", "what", "row", "column"].map(|name| lines[at][name].clone());
        assert_eq!(words(0), ["orders", "changed row", "id 2", "status"].map(|it| json!(it)));
        assert_eq!(words(1), ["refunds", "new row", "", "amount"].map(|it| json!(it)));
        assert_eq!(lines[0]["before"]["text"], "paid");
        assert_eq!((&lines[1]["before"], &lines[1]["had_before"]), (&Json::Null, &json!(false)));
        assert_eq!(shown["others"], json!({ "columns": [], "rows": [] }), "all of it is drawn");
    }
}
