//! What one decision may cost is bounded before it runs, or by its fuel; nothing here is timed.

use serde_json::{Value, json};

use super::{call, decide_args};
use crate::{
    Policy, document,
    expr::{FUEL, Machine, Scope},
};

fn compile(when: &str) -> Result<Policy, crate::DocumentError> {
    let when = serde_json::to_string(when).unwrap();
    let rule = format!("{{id: a, match: '*', when: {when}, outcome: deny}}");
    Policy::compile(&format!("{{schema: 1, default: {{outcome: allow}}, rules: [{rule}]}}"))
}

/// How much of the fuel the condition spends, and whether it is out of it.
fn spent(when: &str, args: &Value) -> (usize, bool) {
    let policy = compile(when).unwrap_or_else(|invalid| panic!("{invalid}"));
    let call = call("pay.refund").with_args(args.clone());
    let scope = Scope::new(&call);
    let mut machine = Machine::new(&scope);
    let condition = policy.document.rules[0].when.as_ref().unwrap();
    let found = machine.holds(condition.expr());
    let is_out = found.is_err_and(|failure| failure.cause.to_string().contains("too much work"));
    (FUEL - machine.fuel_left(), is_out)
}

#[test]
fn what_is_too_large_or_too_deep_is_refused_before_it_runs() {
    let sum = vec!["1"; 20_000].join(" + ");
    let parentheses = format!("{}true{}", "(".repeat(200), ")".repeat(200));
    let nots = format!("{}true", "!".repeat(200));
    let loops = "args.l.exists(a, args.l.exists(b, args.l.exists(c, a == b && b == c)))";
    let wide = vec!["args.a == 1"; 400].join("||");
    for when in [&format!("{sum} > 0"), &parentheses, &nots, loops, &wide] {
        let invalid = compile(when).unwrap_err();
        assert_eq!(invalid.findings.len(), 1, "{invalid}");
        assert_eq!(invalid.findings[0].code, crate::Code::BadExpression);
    }
}

#[test]
fn loops_over_long_lists_run_out_of_fuel_and_stop_there() {
    let list: Vec<i64> = (0..200).collect();
    let args = json!({ "l": list });
    let (work, is_out) = spent("args.l.exists(a, args.l.exists(b, a + b > 1000))", &args);
    assert!(is_out && work == FUEL, "{work}");
    // What is left after that is not used by anything else.
    let (work, is_out) =
        spent("args.l.exists(a, args.l.exists(b, a + b > 1000)) || args.l.all(a, a >= 0)", &args);
    assert!(is_out && work == FUEL, "{work}");
    let long: Vec<i64> = (0..20_000).collect();
    let (work, is_out) = spent("args.l.all(a, a >= 0)", &json!({ "l": long }));
    assert!(!is_out && work < 10, "a longer list than a loop may have is refused at once: {work}");
}

#[test]
fn every_step_is_paid_for_by_its_size() {
    let text = "x".repeat(640_000);
    let args = json!({ "s": text });
    let (work, _) = spent("args.s.contains('y')", &args);
    assert!(work >= 10_000, "{work}");
    let (work, is_out) = spent(
        "args.l.exists(a, args.s.contains('y'))",
        &json!({
        "s": "x".repeat(640_000), "l": (0..100).collect::<Vec<i64>>() }),
    );
    assert!(is_out && work == FUEL, "{work}");
    let nested = (0..100).fold(json!(1), |inner, _| json!([inner]));
    let (work, _) = spent("args.a == args.b", &json!({ "a": nested, "b": nested }));
    assert!(work >= 200, "{work}");
}

#[test]
fn what_a_loop_copies_is_paid_for_by_its_size() {
    let list: Vec<i64> = (0..1_000).collect();
    // Every use of the variable copies the list that it stands for.
    let built = "[args.l + args.l].exists(v, [v, v, v, v, v, v, v, v].exists(w, false))";
    let (work, _) = spent(built, &json!({ "l": list }));
    assert!(work >= 2_000 + 8 * 2_000, "{work}");
    let nested = "[args.l + [1]].exists(v, args.l.exists(x, [v, v][0][0] < 0))";
    let (work, is_out) = spent(nested, &json!({ "l": list }));
    assert!(is_out && work == FUEL, "{work}");
    let text = "[args.s + 'x'].exists(v, [v, v, v, v].exists(w, false))";
    let (work, _) = spent(text, &json!({ "s": "x".repeat(64_000) }));
    assert!(work >= 5 * 1_000, "{work}");
    // What lies in the arguments is not copied.
    let (work, _) = spent("[args.l].exists(v, [v, v].exists(w, false))", &json!({ "l": list }));
    assert!(work < 20, "{work}");
    // The names of a map are collected whenever a loop goes over it.
    let map: serde_json::Map<_, _> =
        (0..1_000).map(|number| (format!("k{number}"), Value::Null)).collect();
    let names = "args.l.exists(x, args.m.exists(name, true) && x < 0)";
    let (work, is_out) = spent(names, &json!({ "l": list, "m": map }));
    assert!(is_out && work == FUEL, "{work}");
}

#[test]
fn a_decision_out_of_fuel_is_refused_and_says_so() {
    let list: Vec<i64> = (0..300).collect();
    let text = "{schema: 1, default: {outcome: allow}, rules: [
        {id: a, match: '*', when: 'args.l.exists(a, args.l.exists(b, a + b > 1000))', outcome: deny}]}";
    let decision = decide_args(text, json!({ "l": list }));
    assert_eq!(decision.code, Some(model::DecisionCode::PolicyUnavailable));
    assert!(decision.failure.unwrap().contains("takes too much work"));
}

#[test]
fn the_document_itself_is_bounded() {
    let head = "schema: 1\ndefault: { outcome: deny }\n";
    let long = format!("{head}#{}", "x".repeat(document::MAX_BYTES));
    assert!(Policy::compile(&long).is_err());
    let deep = format!("{head}constants: {{ a: {}1{} }}", "[".repeat(500), "]".repeat(500));
    assert!(Policy::compile(&deep).is_err());
}
