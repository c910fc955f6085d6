//! The published schema of the document against the reader.

use serde_json::{Value, json};

use super::{BUDGETS, REFUNDS};
use crate::{
    Excluded, Policy, STARTER, Window,
    document::{Per, approval, budget, read, rules},
    parse,
};

fn schema() -> Value {
    serde_json::from_str(include_str!("../../../../docs/policy.schema.json")).unwrap()
}

#[test]
fn what_the_reader_takes_fits_the_published_schema() {
    let validator = jsonschema::validator_for(&schema()).unwrap();
    let page = include_str!("../../../../docs/policy-language.md");
    let documented = page.split("```yaml\n").skip(1).filter_map(|part| part.split("```").next());
    for text in documented.chain([STARTER, REFUNDS, BUDGETS]) {
        let json = parse(text).unwrap().json;
        let errors: Vec<String> =
            validator.iter_errors(&json).map(|error| error.to_string()).collect();
        assert_eq!(errors, Vec::<String>::new(), "{text}");
    }
}

#[test]
fn what_the_published_schema_refuses_the_reader_refuses_too() {
    let validator = jsonschema::validator_for(&schema()).unwrap();
    let rule = |extra: Value| {
        let mut rule = json!({ "id": "a", "match": "a.b", "outcome": "require_approval" });
        rule.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        json!({ "schema": 1, "default": { "outcome": "deny" }, "rules": [rule] })
    };
    let documents = [
        json!({ "schema": 1 }),
        json!({ "schema": 2, "default": { "outcome": "deny" } }),
        json!({ "schema": 1, "default": { "outcome": "maybe" } }),
        json!({ "schema": 1, "default": { "outcome": "deny" }, "rule": [] }),
        json!({ "schema": 1, "default": { "outcome": "deny" }, "constants": { "a": {} } }),
        rule(json!({ "id": "a b" })),
        rule(json!({ "match": [] })),
        rule(json!({ "match": "a?b" })),
        rule(json!({ "when": 1 })),
        rule(json!({ "reason": "" })),
        rule(json!({ "approval": { "count": 6 } })),
        rule(json!({ "approval": { "from": ["group:x"] } })),
        rule(json!({ "approval": { "show": ["amount"] } })),
        rule(json!({ "approval": { "assurance": "none" } })),
    ];
    for document in documents {
        assert!(!validator.is_valid(&document), "{document}");
        assert!(Policy::compile(&document.to_string()).is_err(), "{document}");
    }
}

#[test]
fn the_published_schema_has_the_words_of_the_reader() {
    let schema = schema();
    let words = |path: &str| -> Vec<String> {
        serde_json::from_value(schema.pointer(path).unwrap().clone()).unwrap()
    };
    let budget = "/properties/budgets/items/properties";
    assert_eq!(words(&format!("{budget}/window/enum")), Window::ALL.map(Window::as_str));
    assert_eq!(words(&format!("{budget}/per/items/enum")), Per::ALL.map(Per::as_str));
    let exclude = "/$defs/approval/properties/exclude/items/enum";
    assert_eq!(words(exclude), Excluded::ALL.map(Excluded::as_str));
    assert_eq!(words("/$defs/outcome/enum"), model::DecisionOutcome::WORDS);
}

#[test]
fn every_key_that_the_reader_takes_is_in_the_published_schema_and_no_other() {
    let schema = schema();
    let table: [(&str, &[&str]); 7] = [
        ("", &read::KEYS),
        ("/properties/default", &rules::DEFAULT_KEYS),
        ("/properties/rules/items", &rules::KEYS),
        ("/properties/budgets/items", &budget::KEYS),
        ("/properties/budgets/items/properties/cost", &budget::COST_KEYS),
        ("/properties/approvals", &approval::POLICY_KEYS),
        ("/$defs/approval", &approval::KEYS),
    ];
    for (place, keys) in table {
        let part = schema.pointer(place).unwrap();
        assert_eq!(part["additionalProperties"], json!(false), "{place}");
        let mut known: Vec<&str> =
            part["properties"].as_object().unwrap().keys().map(String::as_str).collect();
        let mut keys = keys.to_vec();
        known.sort_unstable();
        keys.sort_unstable();
        assert_eq!(known, keys, "{place}");
    }
}
