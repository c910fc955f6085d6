//! How rows that a tool tells become what a person is shown.

use std::collections::BTreeMap;

use super::*;

fn footprint(tables: &[(&str, &[RowOp])], max_rows: u64) -> Footprint {
    let tables = tables.iter().map(|(name, ops)| ((*name).to_owned(), ops.to_vec()));
    Footprint { tables: tables.collect::<BTreeMap<_, _>>(), max_rows, columns: None, scope: None }
}

fn given(rows: &Value, is_whole: bool) -> Estimate {
    Estimate::Given(Estimated { rows: rows.as_array().unwrap().clone(), is_whole })
}

fn foreseen(rows: &Value, declared: &Footprint) -> Foreseen {
    Foreseen::of(Some(&given(rows, true)), Some(declared), 1_000)
}

#[test]
fn what_is_not_there_says_why() {
    let why = |given: Option<&Estimate>| {
        let foreseen = Foreseen::of(given, None, 100);
        (foreseen.shown["why"].as_str().unwrap().to_owned(), foreseen.is_absent)
    };
    let huge = footprint(&[("x".repeat(100).as_str(), &[RowOp::Update])], 1);
    assert_eq!(why(None), ("not_asked".to_owned(), false));
    assert_eq!(why(Some(&Estimate::NotOffered)), ("not_offered".to_owned(), true));
    assert_eq!(why(Some(&Estimate::Late)), ("late".to_owned(), true));
    assert_eq!(why(Some(&Estimate::Failed)), ("failed".to_owned(), true));
    let huge = Foreseen::of(Some(&given(&json!([]), true)), Some(&huge), 100);
    assert_eq!((&huge.shown["why"], huge.is_absent), (&json!("too_large"), true));
}

#[test]
fn one_row_that_says_how_many_is_the_number_of_rows() {
    let one = footprint(&[("orders", &[RowOp::Update])], 5);
    let told = foreseen(&json!([{ "rows": 3, "total": "9.00" }]), &one);
    assert_eq!(
        told.shown,
        json!({
            "status": "given", "changes": 3, "complete": true,
            "tables": [{ "name": "orders", "op": "update", "rows": 3 }],
            "rows": [{ "rows": 3, "total": "9.00" }],
        })
    );
    assert!(!told.is_large && !told.is_absent);
    let two = footprint(&[("orders", &[RowOp::Update]), ("refunds", &[RowOp::Insert])], 5);
    let told = foreseen(&json!([{ "rows": "3" }]), &two);
    assert_eq!(told.shown["changes"], 3);
    let tables = told.shown["tables"].as_array().unwrap();
    assert!(tables.iter().all(|table| table["rows"].is_null()), "nobody said whose the three are");
}

#[test]
fn rows_that_name_tables_are_their_numbers() {
    let declared = footprint(&[("orders", &[RowOp::Update])], 5);
    let rows = json!([
        { "table": "orders", "op": "update", "rows": 2 },
        { "table": "refunds", "op": "insert", "rows": 1 },
    ]);
    let told = foreseen(&rows, &declared);
    assert_eq!(told.shown["changes"], 3);
    assert_eq!(
        told.shown["tables"],
        json!([
            { "name": "orders", "op": "update", "rows": 2 },
            { "name": "refunds", "op": "insert", "rows": 1 },
        ])
    );
}

#[test]
fn rows_that_count_nothing_are_a_sample_and_no_number() {
    let declared = footprint(&[("orders", &[RowOp::Update])], 5);
    for rows in [json!([{ "id": 1 }, { "id": 2 }]), json!([{ "rows": -1 }]), json!([])] {
        let told = foreseen(&rows, &declared);
        assert_eq!((&told.shown["changes"], &told.shown["rows"]), (&Value::Null, &rows));
        assert_eq!(told.shown["complete"], true);
        assert!(!told.is_large);
    }
}

#[test]
fn many_rows_and_more_than_are_declared_are_large() {
    let wide = footprint(&[("orders", &[RowOp::Delete])], 1_000);
    let is_large =
        |rows: u64, declared: &Footprint| foreseen(&json!([{ "rows": rows }]), declared).is_large;
    assert!(!is_large(99, &wide));
    assert!(is_large(100, &wide));
    assert!(is_large(6, &footprint(&[("orders", &[RowOp::Delete])], 5)));
    let cut = Foreseen::of(Some(&given(&json!([{ "id": 1 }]), false)), Some(&wide), 1_000);
    assert!(cut.is_large);
    assert_eq!(cut.shown["complete"], false);
}

#[test]
fn a_sample_is_cut_to_its_room_and_says_so() {
    let rows = json!([{ "id": 1 }, { "note": "x".repeat(400) }, { "id": 3 }]);
    let told = Foreseen::of(Some(&given(&rows, true)), None, 200);
    assert_eq!(told.shown["rows"], json!([{ "id": 1 }]));
    assert_eq!(told.shown["complete"], false);
    assert!(size(&told.shown) <= 200);
}
