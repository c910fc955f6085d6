//! Any condition over any arguments gives a decision, and a failure exactly where it says so.
#![no_main]

use libfuzzer_sys::fuzz_target;
use model::{DecisionCode, Timestamp};
use policy::{Agent, Call, Policy, decide};

fuzz_target!(|input: (&str, &str)| {
    let (when, args) = input;
    let Ok(args) = serde_json::from_str::<serde_json::Value>(args) else { return };
    let rule = serde_json::json!({ "id": "a", "match": "*", "when": when, "outcome": "deny" });
    let document = serde_json::json!({
        "schema": 1, "default": { "outcome": "allow" }, "rules": [rule] });
    let Ok(policy) = Policy::compile(&document.to_string()) else { return };
    let Ok(id) = "agt_00000000000000000000000001".parse() else { return };
    let call = Call::new("a.b", Agent::new(id), Timestamp::EPOCH).with_args(args);
    let decision = decide(&policy, &call);
    let is_unavailable = decision.code == Some(DecisionCode::PolicyUnavailable);
    assert_eq!(is_unavailable, decision.failure.is_some());
});
