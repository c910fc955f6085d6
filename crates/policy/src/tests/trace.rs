use serde_json::json;

use super::{REFUNDS, agent, at, policy};
use crate::{Answer, Call, Show, decide, explain};

fn steps(text: &str, args: &serde_json::Value, show: Show) -> Vec<String> {
    let policy = policy(text);
    let call = Call::new("pay.refund", agent(), at("2026-10-01T12:00:00Z")).with_args(args.clone());
    let explanation = explain(&policy, &call, show);
    assert_eq!(explanation.decision, decide(&policy, &call));
    let lines = explanation.steps.iter().map(|step| {
        let answer = match &step.answer {
            Answer::False { part, compared } => format!("false: {part} ({})", compared.join(", ")),
            Answer::Failed { failure } => format!("failed: {failure}"),
            Answer::Decided { outcome } => format!("decided: {outcome}"),
        };
        format!("{} {answer}", step.rule_id)
    });
    lines.collect()
}

#[test]
fn an_explanation_names_the_first_false_part_of_every_rule_asked() {
    let args = json!({ "amount": 20 });
    assert_eq!(
        steps(REFUNDS, &args, Show::Values),
        ["large false: args.amount > 500 (args.amount: 20)", "small decided: allow"]
    );
    assert_eq!(
        steps(REFUNDS, &args, Show::Kinds),
        ["large false: args.amount > 500 (args.amount: int)", "small decided: allow"]
    );
    assert_eq!(
        steps(REFUNDS, &json!({}), Show::Kinds),
        ["large failed: `args.amount`: no such field `amount`"]
    );
    let nested = "{schema: 1, default: {outcome: deny}, rules: [{id: a, match: '*', outcome: allow,
        when: args.a == 1 && (args.b == 'x' || args.c) && args.b < args.d}]}";
    let args = json!({ "a": 1, "b": "y", "c": false, "d": "z" });
    assert_eq!(steps(nested, &args, Show::Values), ["a false: args.b == 'x' || args.c ()"]);
    let args = json!({ "a": 1, "b": "y", "c": true, "d": "a" });
    assert_eq!(
        steps(nested, &args, Show::Values),
        ["a false: args.b < args.d (args.b: \"y\", args.d: \"a\")"]
    );
}
