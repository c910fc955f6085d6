//! The table, the catalogue and the description agree, each with the others.

use std::collections::BTreeSet;

use serde_json::Value;
use web::{BodyRule, catalogue::Code};

use crate::{
    description::Validator,
    routes::{LATER, routes_markdown, table},
};

/// Operations whose body or query names what may not be there.
const NAMES_OBJECTS: [&str; 4] = ["sendAction", "dryRunPolicy", "testPolicy", "getProof"];

fn names(list: Option<&Value>) -> BTreeSet<String> {
    let items = list.and_then(Value::as_array).into_iter().flatten();
    items.filter_map(|item| item.as_str().map(str::to_owned)).collect()
}

#[test]
fn every_served_route_is_described_and_every_described_one_served() {
    let description = Validator::new().unwrap();
    let described: BTreeSet<_> = description
        .operations()
        .map(|(path, method, operation)| {
            let id = operation["operationId"].as_str().unwrap();
            (method.to_uppercase(), path.to_owned(), id.to_owned())
        })
        .collect();
    let served: BTreeSet<_> = table()
        .iter()
        .map(|it| (it.method.to_owned(), it.path.to_owned(), it.operation.to_owned()))
        .collect();
    assert_eq!(described, served);
}

#[test]
fn bodies_queries_and_access_are_described_as_the_table_has_them() {
    let description = Validator::new().unwrap();
    let table = table();
    for (path, _, operation) in description.operations() {
        let id = operation["operationId"].as_str().unwrap();
        let route = table.iter().find(|route| route.operation == id).unwrap();
        let parameters = operation["parameters"].as_array().into_iter().flatten();
        let queried: BTreeSet<&str> = parameters
            .map(|parameter| description.follow(parameter))
            .filter(|parameter| parameter["in"] == "query")
            .map(|parameter| parameter["name"].as_str().unwrap())
            .collect();
        let taken: BTreeSet<&str> = route.input.query.iter().map(|param| param.name()).collect();
        assert_eq!(queried, taken, "{id}");
        let takes_body = route.input.body != BodyRule::None;
        assert_eq!(operation.get("requestBody").is_some(), takes_body, "{id}");
        let public = operation.get("security").is_some_and(|it| it == &Value::Array(Vec::new()));
        assert_eq!(public, route.access == "PUBLIC", "{id}");
        let responses = operation["responses"].as_object().unwrap();
        for status in ["401", "403"] {
            assert_eq!(responses.contains_key(status), !public, "{id} {status}");
        }
        for status in ["413", "415"] {
            assert_eq!(responses.contains_key(status), takes_body, "{id} {status}");
        }
        let names_objects = path.contains('{') || NAMES_OBJECTS.contains(&id);
        assert_eq!(responses.contains_key("404"), names_objects, "{id}");
    }
}

#[test]
fn the_description_lists_the_codes_of_the_catalogue() {
    let description = Validator::new().unwrap();
    let described = names(description.part("/components/schemas/ErrorCode/enum"));
    let known = Code::ALL.iter().map(|code| code.as_str().to_owned()).collect();
    assert_eq!(described, known);
}

#[test]
fn the_description_lists_the_words_of_the_vocabulary() {
    let description = Validator::new().unwrap();
    let words = |pointer: &str| {
        let mut words = names(description.part(&format!("/components/{pointer}/enum")));
        words.remove("null");
        words
    };
    let own = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<BTreeSet<_>>();
    let action = "schemas/Action/properties";
    #[rustfmt::skip]
    let lists: [(String, &[&str]); 12] = [
        (format!("{action}/state"),                             model::State::WORDS),
        (format!("{action}/status"),                            model::Status::WORDS),
        (format!("{action}/mode"),                              model::Mode::WORDS),
        ("schemas/Decision/properties/outcome".to_owned(),      model::DecisionOutcome::WORDS),
        ("schemas/Decision/properties/source".to_owned(),       model::DecisionSource::WORDS),
        ("schemas/Decision/properties/code".to_owned(),         model::DecisionCode::WORDS),
        ("schemas/Execution/properties/status".to_owned(),      model::ExecutionStatus::WORDS),
        ("schemas/Witness/properties/verdict".to_owned(),       model::Verdict::WORDS),
        ("schemas/Witness/properties/method".to_owned(),        model::WitnessMethod::WORDS),
        ("schemas/ApprovalReference/properties/status".to_owned(), model::ApprovalStatus::WORDS),
        ("parameters/State/schema/items".to_owned(),            model::State::WORDS),
        ("schemas/Tool/properties/side_effect".to_owned(),      model::SideEffect::WORDS),
    ];
    for (pointer, known) in lists {
        assert_eq!(words(&pointer), own(known), "{pointer}");
    }
}

#[test]
fn no_route_is_both_served_and_not_yet_served() {
    let later: Vec<(String, &str)> = LATER
        .iter()
        .flat_map(|row| row.methods.split(' ').map(|method| (method.to_owned(), row.path)))
        .collect();
    let distinct: BTreeSet<_> = later.iter().collect();
    assert_eq!(distinct.len(), later.len());
    for route in table() {
        assert!(!later.contains(&(route.method.to_owned(), route.path)), "{}", route.path);
    }
}

#[test]
fn the_docs_name_every_route() {
    let docs = routes_markdown();
    for path in table().iter().map(|route| route.path).chain(LATER.iter().map(|row| row.path)) {
        assert!(docs.contains(&format!("| `{path}` |")), "{path}");
    }
}
