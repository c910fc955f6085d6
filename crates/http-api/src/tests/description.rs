//! The table, the catalogue and the description agree, each with the others.

use std::collections::BTreeSet;

use serde_json::Value;
use web::BodyRule;

use crate::{
    description::Validator,
    routes::{interface, routes_markdown},
};

/// Operations whose body or query names what may not be there.
const NAMES_OBJECTS: [&str; 9] = [
    "createConnector",
    "sendAction",
    "dryRunPolicy",
    "testPolicy",
    "getProof",
    "readLog",
    "chooseOrg",
    "listSessions",
    "checkIntent",
];

fn names(list: Option<&Value>) -> BTreeSet<String> {
    let items = list.and_then(Value::as_array).into_iter().flatten();
    items.filter_map(|item| item.as_str().map(str::to_owned)).collect()
}

#[test]
fn every_served_route_is_described_and_every_described_one_served() {
    let description = Validator::embedded().unwrap();
    let described: BTreeSet<_> = description
        .operations()
        .map(|(path, method, operation)| {
            let id = operation["operationId"].as_str().unwrap();
            (method.to_uppercase(), path.to_owned(), id.to_owned())
        })
        .collect();
    let served: BTreeSet<_> = interface()
        .iter()
        .map(|it| (it.method.to_owned(), it.path.to_owned(), it.operation.to_owned()))
        .collect();
    assert_eq!(described, served);
}

#[test]
fn bodies_queries_and_access_are_described_as_the_table_has_them() {
    let description = Validator::embedded().unwrap();
    let table = interface();
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
        let required = operation.pointer("/requestBody/required") == Some(&Value::Bool(true));
        let needs = matches!(route.input.body, BodyRule::Json(_) | BodyRule::JsonOrForm(_));
        assert_eq!(required, needs, "{id}");
        assert_eq!(operation.get("requestBody").is_some(), takes_body, "{id}");
        let public = operation.get("security").is_some_and(|it| it == &Value::Array(Vec::new()));
        assert_eq!(public, route.access == "PUBLIC", "{id}");
        let responses = operation["responses"].as_object().unwrap();
        // Whoever asks to sign in shows nothing that could be wrong yet.
        assert_eq!(responses.contains_key("401"), !public && id != "startSignIn", "{id} 401");
        assert_eq!(responses.contains_key("403"), !public, "{id} 403");
        for status in ["413", "415"] {
            assert_eq!(responses.contains_key(status), takes_body, "{id} {status}");
        }
        let names_objects = path.contains('{') || NAMES_OBJECTS.contains(&id);
        assert_eq!(responses.contains_key("404"), names_objects, "{id}");
    }
}

#[test]
fn the_description_lists_the_codes_of_the_catalogue() {
    let description = Validator::embedded().unwrap();
    let described = names(description.part("/components/schemas/ErrorCode/enum"));
    let known = crate::catalogue::ALL.iter().map(|code| code.as_str().to_owned()).collect();
    assert_eq!(described, known);
}

#[test]
fn every_error_names_the_codes_that_it_comes_with() {
    let description = Validator::embedded().unwrap();
    let known = |code: &String| crate::catalogue::from_word(code).unwrap().row().statuses;
    for (_, _, operation) in description.operations() {
        let id = operation["operationId"].as_str().unwrap();
        let mut own = names(operation.get("x-error-codes"));
        for (status, response) in operation["responses"].as_object().unwrap() {
            let response = description.follow(response);
            let schema = &response["content"]["application/json"]["schema"];
            let common = names(response.get("x-error-codes"));
            let is_error = schema["$ref"] == "#/components/schemas/Error";
            assert_eq!(common.is_empty(), !is_error, "{id} {status}");
            let status: u16 = status.parse().unwrap();
            assert!(common.iter().all(|code| known(code).contains(&status)), "{id} {status}");
            own.retain(|code| !known(code).contains(&status));
        }
        assert!(own.is_empty(), "{id} describes no answer with {own:?}");
    }
}

#[test]
fn the_description_lists_the_words_of_the_vocabulary() {
    let description = Validator::embedded().unwrap();
    let words = |name: &str| names(description.part(&format!("/components/schemas/{name}/enum")));
    let own = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<BTreeSet<_>>();
    #[rustfmt::skip]
    let lists: [(&str, &[&str]); 12] = [
        ("ActionState",     model::State::WORDS),
        ("ActionStatus",    model::Status::WORDS),
        ("ActionMode",      model::Mode::WORDS),
        ("DecisionOutcome", model::DecisionOutcome::WORDS),
        ("DecisionSource",  model::DecisionSource::WORDS),
        ("DecisionCode",    model::DecisionCode::WORDS),
        ("ExecutionStatus", model::ExecutionStatus::WORDS),
        ("Verdict",         model::Verdict::WORDS),
        ("WitnessMethod",   model::WitnessMethod::WORDS),
        ("ApprovalStatus",  model::ApprovalStatus::WORDS),
        ("SideEffect",      model::SideEffect::WORDS),
        ("Role",            model::Role::WORDS),
    ];
    for (name, known) in lists {
        assert_eq!(words(name), own(known), "{name}");
    }
}

/// Every schema of the description with the pointer that leads to it.
fn schemas(description: &Validator) -> Vec<(String, Value)> {
    let mut found = Vec::new();
    let mut open = vec![(String::new(), description.part("").unwrap().clone(), false)];
    while let Some((at, value, is_schema)) = open.pop() {
        let inner = |key: &str| format!("{at}/{key}");
        match &value {
            Value::Object(members) => {
                let named = at.ends_with("/properties") || at == "/components/schemas";
                // What stands in an example is no schema.
                let speaks = |key: &str| named || !key.starts_with("example");
                for (key, member) in members.iter().filter(|(key, _)| speaks(key)) {
                    let holds = ["schema", "items", "additionalProperties", "not"];
                    open.push((inner(key), member.clone(), named || holds.contains(&key.as_str())));
                }
            }
            Value::Array(items) => {
                let each = ["anyOf", "oneOf", "allOf"].iter().any(|key| at.ends_with(key));
                let items = items.iter().enumerate();
                open.extend(items.map(|(at, item)| (inner(&at.to_string()), item.clone(), each)));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
        if is_schema {
            found.push((at, value));
        }
    }
    found
}

#[test]
fn every_schema_says_what_it_takes() {
    let description = Validator::embedded().unwrap();
    let schemas = schemas(description);
    assert!(schemas.len() > 500, "{} schemas were found", schemas.len());
    for (at, schema) in schemas {
        // Whether other members are taken is a question that yes and no answer.
        let is_answer = at.ends_with("/additionalProperties") && schema.is_boolean();
        let says = schema.as_object().is_some_and(|members| !members.is_empty());
        assert!(is_answer || says, "`{at}` is `{schema}`");
    }
}

/// A generator names a list of words, a choice or an object that has no name of its own by its
/// place, and two such names may meet.
#[test]
fn what_generators_give_a_name_has_one_of_its_own() {
    let description = Validator::embedded().unwrap();
    for (at, schema) in schemas(description) {
        let is_named = at.strip_prefix("/components/schemas/").is_some_and(|it| !it.contains('/'));
        let is_object = schema.get("type").is_some_and(|kind| kind == "object");
        let asks = is_object || ["enum", "oneOf"].iter().any(|key| schema.get(key).is_some());
        assert!(is_named || !asks, "`{at}` has no name: {schema}");
    }
    let schemas = description.part("/components/schemas").and_then(Value::as_object).unwrap();
    let plain = |name: &String| name.replace(['_', '-', '.'], "").to_lowercase();
    let names: BTreeSet<_> = schemas.keys().map(plain).collect();
    assert_eq!(names.len(), schemas.len(), "two schemas have one name");
}

#[test]
fn the_docs_name_every_route() {
    let docs = routes_markdown();
    for path in interface().iter().map(|route| route.path) {
        assert!(docs.contains(&format!("| `{path}` |")), "{path}");
    }
}
