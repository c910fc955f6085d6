//! Which arguments a snapshot shows, and what it says of the rest.

use serde_json::json;

use super::*;

fn picked(args: &Value, paths: &[&str], room: usize) -> Args {
    let paths: Vec<String> = paths.iter().map(|path| (*path).to_owned()).collect();
    Args::of(args, &paths, room)
}

#[test]
fn every_argument_is_shown_when_the_rule_picks_none() {
    let args = picked(&json!({ "a": 1, "b": { "c": [true, null] } }), &[], 1_000);
    assert_eq!(json!(args.shown), json!({ "args.a": 1, "args.b": { "c": [true, null] } }));
    assert!(args.is_whole());
}

fn not_picked(paths: &[&str]) -> Value {
    paths.iter().map(|path| json!({ "path": path, "why": "not_picked" })).collect()
}

#[test]
fn what_a_rule_does_not_pick_is_named() {
    let value = json!({ "amount": 5, "customer": { "id": 7, "mail": "x" }, "note": "y" });
    let args = picked(&value, &["args.customer.id", "args.amount", "args.gone"], 1_000);
    assert_eq!(json!(args.shown), json!({ "args.amount": 5, "args.customer.id": 7 }));
    assert_eq!(json!(args.left_out), not_picked(&["args.customer.mail", "args.note"]));
    assert!(!args.is_whole());
}

#[test]
fn what_stands_beside_a_picked_field_is_named_however_deep_it_lies() {
    let value = json!({ "to": { "bank": { "iban": "X", "name": "y" }, "via": { "a": 1 } } });
    let args = picked(&value, &["args.to.bank.name"], 1_000);
    assert_eq!(json!(args.shown), json!({ "args.to.bank.name": "y" }));
    assert_eq!(json!(args.left_out), not_picked(&["args.to.bank.iban", "args.to.via"]));
    let whole = picked(&value, &["args.to.bank.name", "args.to"], 1_000);
    assert!(whole.is_whole(), "the second field holds all of it");
    let only = picked(&json!({ "to": { "bank": 1 } }), &["args.to.bank"], 1_000);
    assert!(only.is_whole(), "nothing stands beside it");
}

#[test]
fn a_field_that_finds_nothing_covers_nothing() {
    for value in [json!({ "to": "evil" }), json!({ "to": {} }), json!({ "to": [{ "address": 1 }] })]
    {
        let args = picked(&value, &["args.to.address"], 1_000);
        assert_eq!(json!(args.shown), json!({}));
        assert_eq!(json!(args.left_out), not_picked(&["args.to"]), "{value}");
    }
}

#[test]
fn an_argument_whose_name_has_dots_does_not_pass_for_a_field() {
    let value = json!({ "customer": { "id": 7 }, "customer.id": "evil" });
    let args = picked(&value, &["args.customer.id"], 1_000);
    assert_eq!(json!(args.shown), json!({ "args.customer.id": 7 }));
    assert_eq!(json!(args.left_out), not_picked(&["args.customer.id"]));
}

#[test]
fn what_lies_beside_a_field_is_counted_where_its_names_do_not_fit() {
    let mut many: Map<String, Value> = (0..1_000).map(|n| (format!("n{n}"), json!(n))).collect();
    many.insert("id".to_owned(), json!(7));
    let args = picked(&json!({ "customer": many }), &["args.customer.id"], 2_000);
    assert_eq!(json!(args.shown), json!({ "args.customer.id": 7 }));
    assert_eq!(args.left_out.len() + args.not_named, 1_000);
    assert!(args.not_named > 900);
}

#[test]
fn what_does_not_fit_is_named_and_then_counted() {
    let value = json!({ "a": "x".repeat(900), "b": 1 });
    let args = picked(&value, &[], 400);
    assert_eq!(json!(args.shown), json!({ "args.b": 1 }));
    assert_eq!(json!(args.left_out), json!([{ "path": "args.a", "why": "too_large" }]));
    let many: Map<String, Value> = (0..1_000).map(|n| (format!("n{n}"), json!(n))).collect();
    let args = picked(&Value::Object(many), &[], 2_000);
    assert_eq!(args.shown.len() + args.left_out.len() + args.not_named, 1_000);
    assert!(args.not_named > 900);
    assert!(size(&json!(args.shown)) + size(&json!(args.left_out)) <= 2_000);
}
