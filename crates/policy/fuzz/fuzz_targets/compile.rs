//! Any condition is refused, or makes a policy whose lint ends and whose own comparison with itself
//! shows nothing.
#![no_main]

use libfuzzer_sys::fuzz_target;
use policy::{Policy, Unknown, diff, lint, parse};

fuzz_target!(|when: &str| {
    let rule = serde_json::json!({ "id": "a", "match": "*", "when": when, "outcome": "deny" });
    let document = serde_json::json!({
        "schema": 1, "default": { "outcome": "allow" }, "rules": [rule] });
    let Ok(document) = parse(&document.to_string()) else { return };
    let _ = lint(&document, &Unknown, &Unknown);
    let policy = Policy::from(document);
    assert!(diff(&policy, &policy, &Unknown).changes.is_empty());
});
