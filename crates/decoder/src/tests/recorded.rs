//! What each recorded case comes to.

use std::fmt::Write;

use expect_test::{Expect, expect};

use crate::{Before, Change, Edit, Frame, Lsn, Row, Value};

use super::{STREAMS, frames, messages};

fn check(name: &str, expected: Expect) {
    let mut text = String::new();
    for frame in frames(name, 1000) {
        show(&mut text, &frame);
    }
    expected.assert_eq(&text);
}

/// A frame without what differs from one recording to the next.
fn show(text: &mut String, frame: &Frame) {
    writeln!(text, "transaction, {} changes", frame.change_count).unwrap();
    let mut lines: Vec<(u64, String)> = frame
        .changes
        .iter()
        .chain(&frame.own_changes)
        .map(|change| (change.place, shown(change)))
        .collect();
    for truncation in &frame.truncations {
        let tables: Vec<_> =
            truncation.relations.iter().map(|relation| relation.table.to_string()).collect();
        let (cascade, restart) = (truncation.cascade, truncation.restart_identity);
        let tables = tables.join(", ");
        lines.push((truncation.place, format!("T {tables} cascade={cascade} restart={restart}")));
    }
    lines.sort();
    for (_, line) in lines {
        writeln!(text, "  {line}").unwrap();
    }
    for message in &frame.messages {
        let content = message.content.as_ref().map(|bytes| bytes.escape_ascii().to_string());
        writeln!(text, "  M {content:?}").unwrap();
    }
}

fn shown(change: &Change) -> String {
    let relation = &change.relation;
    let row = |row: &Row| {
        let columns = relation.columns.iter().map(|column| &column.name);
        let pairs = columns.zip(row).map(|(name, value)| format!("{name}={}", of(value)));
        pairs.collect::<Vec<_>>().join(" ")
    };
    let before = |before: &Before| match before {
        Before::NotTold => "-".to_owned(),
        Before::Key(key) => format!("key({})", row(key)),
        Before::Full(whole) => format!("({})", row(whole)),
    };
    let (table, identity) = (&relation.table, relation.identity.as_str());
    match &change.edit {
        Edit::Insert { after } => format!("I {table} [{identity}] ({})", row(after)),
        Edit::Update { before: old, after } => {
            format!("U {table} [{identity}] {} -> ({})", before(old), row(after))
        }
        Edit::Delete { before: old } => format!("D {table} [{identity}] {}", before(old)),
    }
}

fn of(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Text(bytes) if bytes.len() > 60 => format!("{} bytes", bytes.len()),
        Value::Text(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Value::Binary(bytes) => format!("{bytes:?}"),
        Value::Unresolved => "?".to_owned(),
        Value::NotTold => "_".to_owned(),
    }
}

#[test]
fn rows_are_told_before_and_after() {
    check(
        "rows",
        expect![[r"
        transaction, 5 changes
          I public.items [full] (id=1 label=one price=1.50)
          I public.items [full] (id=2 label=null price=null)
          U public.items [full] (id=1 label=one price=1.50) -> (id=1 label=uno price=null)
          U public.items [full] (id=2 label=null price=null) -> (id=3 label=null price=null)
          D public.items [full] (id=1 label=uno price=null)
        transaction, 1 changes
          D public.items [full] (id=3 label=null price=null)
    "]],
    );
}

#[test]
fn a_key_is_told_only_where_it_changes() {
    check(
        "identity_default",
        expect![[r"
        transaction, 3 changes
          U public.items [default] - -> (label=uno id=1)
          U public.items [default] key(label=_ id=2) -> (label=two id=9)
          D public.items [default] key(label=_ id=1)
    "]],
    );
}

#[test]
fn the_columns_of_an_index_identify() {
    check(
        "identity_index",
        expect![[r"
        transaction, 3 changes
          U public.items [index] - -> (id=7 code=a label=one)
          U public.items [index] key(id=_ code=b label=_) -> (id=2 code=c label=two)
          D public.items [index] key(id=_ code=a label=_)
    "]],
    );
}

#[test]
fn a_table_without_identity_only_grows() {
    check(
        "identity_nothing",
        expect![[r"
        transaction, 1 changes
          I public.notes [default] (label=one)
        transaction, 1 changes
          I public.notes [default] (label=refused)
    "]],
    );
}

#[test]
fn a_large_value_left_alone_is_taken_from_the_old_row() {
    check(
        "toast_full",
        expect![[r"
        transaction, 1 changes
          U public.pages [full] (id=1 label=one body=3000 bytes) -> (id=1 label=uno body=3000 bytes)
        transaction, 1 changes
          U public.pages [full] (id=1 label=uno body=3000 bytes) -> (id=1 label=uno body=short)
    "]],
    );
}

#[test]
fn a_large_value_that_is_not_told_is_no_value() {
    check(
        "toast_default",
        expect![[r"
        transaction, 1 changes
          U public.pages [default] - -> (id=1 label=uno body=?)
        transaction, 1 changes
          U public.pages [default] key(id=1 label=_ body=_) -> (id=2 label=uno body=?)
    "]],
    );
}

#[test]
fn generated_columns_are_absent() {
    check(
        "generated",
        expect![[r"
        transaction, 1 changes
          I public.totals [full] (id=1 net=10 note=ten)
        transaction, 1 changes
          U public.totals [full] (id=1 net=10 note=ten) -> (id=1 net=11 note=ten)
    "]],
    );
}

#[test]
fn stored_generated_columns_are_told_where_the_publication_has_them_and_virtual_ones_never() {
    check(
        "generated_18",
        expect![[r"
        transaction, 1 changes
          I public.totals [full] (id=1 net=10 gross=20)
        transaction, 1 changes
          U public.totals [full] (id=1 net=10 gross=20) -> (id=1 net=11 gross=22)
        transaction, 1 changes
          I public.sums [default] (id=1 net=10 note=ten)
        transaction, 1 changes
          U public.sums [default] - -> (id=1 net=11 note=ten)
        transaction, 1 changes
          U public.sums [default] key(id=1 net=_ note=_) -> (id=2 net=11 note=ten)
        transaction, 1 changes
          D public.sums [default] key(id=2 net=_ note=_)
        transaction, 1 changes
          I public.totals [full] (id=2 net=20)
    "]],
    );
}

#[test]
fn partitions_are_told_by_leaf() {
    check(
        "partitions",
        expect![[r"
        transaction, 3 changes
          I public.sales_north [full] (id=1 region=north)
          D public.sales_north [full] (id=1 region=north)
          I public.sales_south [full] (id=1 region=south)
    "]],
    );
}

#[test]
fn triggers_write_like_anybody() {
    check(
        "triggers",
        expect![[r"
        transaction, 2 changes
          I public.items [full] (id=1 label=one)
          I public.audit [full] (id=1 what=one)
    "]],
    );
}

#[test]
fn foreign_keys_change_rows_after_what_they_follow_from() {
    check(
        "cascades",
        expect![[r"
        transaction, 4 changes
          D public.orders [full] (id=1)
          D public.lines [full] (id=10 of=1)
          D public.lines [full] (id=11 of=1)
          U public.notes [full] (id=20 of=1) -> (id=20 of=null)
    "]],
    );
}

#[test]
fn truncation_tells_no_rows() {
    check(
        "truncate",
        expect![[r"
        transaction, 0 changes
          T public.orders, public.lines cascade=true restart=true
        transaction, 2 changes
          I public.notes [default] (id=1)
          T public.notes cascade=false restart=false
          I public.notes [default] (id=2)
    "]],
    );
}

#[test]
fn what_the_stream_does_not_tell() {
    assert!(messages("invisible").is_empty());
}

#[test]
fn a_table_may_change_its_shape_within_a_transaction() {
    check(
        "ddl",
        expect![[r"
        transaction, 5 changes
          I public.items [full] (id=1 label=one)
          I public.items [full] (id=2 label=two price=2)
          U public.items [full] (id=2 price=2) -> (id=2 price=3)
          I public.copies [default] (id=1 price=5)
          I public.copies [default] (id=2 price=3)
        transaction, 1 changes
          U public.items [default] - -> (id=2 price=4)
    "]],
    );
    let frames = frames("ddl", 1000);
    let items = frames[0].relations.values().filter(|known| known.table.name == "items").count();
    assert_eq!(items, 3, "before the column, with it, and without the other");
}

#[test]
fn what_was_rolled_back_is_absent() {
    check(
        "savepoint",
        expect![[r"
        transaction, 2 changes
          I public.items [default] (id=1)
          I public.items [default] (id=3)
    "]],
    );
}

#[test]
fn messages_count_only_with_their_transaction() {
    check(
        "messages",
        expect![[r#"
        transaction, 0 changes
          M Some("alone")
        transaction, 0 changes
          M None
          M Some("\\x00\\xff")
    "#]],
    );
}

#[test]
fn values_of_many_types() {
    check(
        "types",
        expect![[r#"
        transaction, 1 changes
          I public.many [full] (id=1 yes=t code=ab   kind=x tags={a,"b c",NULL} doc={"b": [1, null]} raw=\x00ff at=2026-01-02 01:04:05.678901+00 day=2026-02-28 span=1 mon 2 days 03:04:05 share=0.30000000000000004 whole=9007199254740993 feeling=sad price=3.50 place=(1,2) reach=[1,5) token=0190d2a6-7b1e-7c3a-8f00-0123456789ab bits=101)
    "#]],
    );
    let frames = frames("types", 1000);
    let relation = frames[0].relations.values().next().unwrap();
    // A domain keeps its own number and is named by what it is made of.
    let named: Vec<String> = relation
        .columns
        .iter()
        .filter_map(|column| {
            let (schema, name) = column.type_name.as_ref()?;
            Some(format!("{} {schema}.{name}", column.name))
        })
        .collect();
    assert_eq!(named, ["feeling public.mood", "price pg_catalog.numeric", "place public.spot"]);
}

#[test]
fn names_are_as_they_are() {
    check(
        "names",
        expect![[r#"
        transaction, 1 changes
          I Größe "x".das Ding [default] (ключ=1)
        transaction, 1 changes
          I public.empty [default] ()
    "#]],
    );
}

#[test]
fn an_origin_is_told() {
    let frames = frames("origin", 1000);
    let origin = frames[0].origin.as_ref().unwrap();
    assert_eq!((origin.name.as_str(), origin.commit_lsn), ("elsewhere", Lsn(0x16_B374_D848)));
    assert_eq!(frames[0].committed_at.to_string(), "2026-01-01T00:00:00.000Z");
}

#[test]
fn every_digest_is_that_of_what_is_kept() {
    for (name, _) in STREAMS {
        for frame in frames(name, 1000) {
            if frame.keeps_all() {
                assert_eq!(frame.digest_of_kept(), Some(frame.digest), "{name}");
            }
        }
    }
}
