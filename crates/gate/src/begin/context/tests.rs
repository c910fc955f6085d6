//! Which arguments a snapshot shows, and what it says of the rest.

use serde_json::json;
use tool::Estimate;

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

#[test]
fn what_a_rule_does_not_pick_is_named() {
    let value = json!({ "amount": 5, "customer": { "id": 7, "mail": "x" }, "note": "y" });
    let args = picked(&value, &["args.customer.id", "args.amount", "args.gone"], 1_000);
    assert_eq!(json!(args.shown), json!({ "args.amount": 5, "args.customer.id": 7 }));
    let note = json!([{ "path": "args.note", "why": "not_picked" }]);
    assert_eq!(json!(args.left_out), note);
    assert!(!args.is_whole());
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

#[test]
fn an_estimate_that_is_not_there_says_why() {
    let why = |given: Option<&Estimate>| estimate(given, 100)["why"].clone();
    assert_eq!(why(None), "not_asked");
    assert_eq!(why(Some(&Estimate::NotOffered)), "not_offered");
    assert_eq!(why(Some(&Estimate::Late)), "late");
    assert_eq!(why(Some(&Estimate::Failed)), "failed");
    assert_eq!(why(Some(&Estimate::Given(json!("x".repeat(100))))), "too_large");
    let given = estimate(Some(&Estimate::Given(json!([{ "rows": 3 }]))), 100);
    assert_eq!(given, json!({ "status": "given", "rows": [{ "rows": 3 }] }));
}
