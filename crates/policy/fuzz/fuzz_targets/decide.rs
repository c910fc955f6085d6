//! Any condition over any arguments gives a decision, and a failure exactly where it says so.
#![no_main]

use std::collections::BTreeMap;

use libfuzzer_sys::fuzz_target;
use model::{DecisionCode, Mode, Timestamp};
use policy::{Agent, Call, CallFacts, Policy, decide};

fuzz_target!(|input: (&str, &str)| {
    let (when, args) = input;
    let Ok(args) = serde_json::from_str(args) else { return };
    let rule = serde_json::json!({ "id": "a", "match": "*", "when": when, "outcome": "deny" });
    let document = serde_json::json!({
        "schema": 1, "default": { "outcome": "allow" }, "rules": [rule] });
    let Ok(policy) = Policy::compile(&document.to_string()) else { return };
    let Ok(id) = "agt_00000000000000000000000001".parse() else { return };
    let agent = Agent { id, name: String::new(), labels: BTreeMap::new() };
    let facts = CallFacts::new("a.b", Mode::Gateway);
    let call =
        Call { args: &args, agent: &agent, call: facts, now: Timestamp::EPOCH, zone: Call::UTC };
    let decision = decide(&policy, &call);
    let is_unavailable = decision.code == Some(DecisionCode::PolicyUnavailable);
    assert_eq!(is_unavailable, decision.failure.is_some());
});
