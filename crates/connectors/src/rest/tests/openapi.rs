//! Descriptions of APIs as tools.

use serde_json::{Value, json};

use super::world::{Stub, blueprint, built, named, run, word};
use crate::{
    Blueprint, check, findings,
    rest::{
        convert, not_served,
        openapi::{self, Choice, Description, LeftOut},
    },
};

pub(super) fn every_operation(description: &Value) -> (Vec<openapi::Operation>, Vec<LeftOut>) {
    openapi::every_operation(&Description::read(description).unwrap())
}

/// A description with these paths.
pub(super) fn described(paths: Value) -> Value {
    json!({"openapi": "3.0.3", "info": {"title": "Pets", "version": "1"}, "paths": paths})
}

pub(super) fn get(members: Value) -> Value {
    let mut operation = json!({"operationId": "op", "summary": "Does it", "responses": {}});
    operation.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    json!({"/things": {"get": operation}})
}

pub(super) fn post(schema: Value, required: bool) -> Value {
    json!({"/things": {"post": {
        "operationId": "op",
        "requestBody": {"required": required, "content": {"application/json": {"schema": schema}}},
    }}})
}

pub(super) fn config(description: Value) -> Value {
    json!({"base_url": "https://api.example.com", "auth": "none", "openapi": description})
}

pub(super) async fn tools(description: Value) -> std::sync::Arc<dyn crate::Connector> {
    built(&blueprint(config(description))).await.unwrap()
}

pub(super) async fn args(description: Value) -> Value {
    let connector = tools(description).await;
    (**named(&*connector, "pets.op").definition().input_schema.value()).clone()
}

/// Why the only operation is left out.
pub(super) fn reason(description: &Value) -> String {
    let (served, left_out) = every_operation(description);
    assert_eq!((served.len(), left_out.len()), (0, 1), "{left_out:?}");
    left_out[0].reason.clone()
}

#[tokio::test]
async fn an_operation_is_a_tool_that_can_be_called() {
    let stub = Stub::saying("200 OK", b"{\"ok\": true}").await;
    let description = described(json!({"/pets/{petId}": {
        "parameters": [{"$ref": "#/components/parameters/pet"}],
        "put": {
            "operationId": "pets/update",
            "summary": "Update a pet",
            "description": "Updates one pet.",
            "parameters": [
                {"in": "query", "name": "dry_run", "schema": {"type": "boolean"}},
                {"in": "query", "name": "fields", "explode": false, "schema": {"type": "array", "items": {"type": "string"}}},
                {"in": "header", "name": "X-Trace", "schema": {"type": "string"}},
                {"in": "header", "name": "Authorization", "required": true, "schema": {"type": "string"}},
            ],
            "requestBody": {"required": true, "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Pet"}}}},
        },
    }}));
    let mut description = description;
    description["components"] = json!({
        "parameters": {"pet": {"in": "path", "name": "petId", "required": true, "schema": {"type": "integer"}}},
        "schemas": {
            "Pet": {"type": "object", "required": ["name", "id"], "properties": {
                "id": {"type": "integer", "readOnly": true},
                "name": {"type": "string", "maxLength": 9, "example": "Rex"},
                "mother": {"$ref": "#/components/schemas/Pet"},
                "age": {"type": "integer", "format": "int64", "maximum": 9_223_372_036_854_775_807_u64, "nullable": true},
            }},
        },
    });
    let mut config = config(json!(description.to_string()));
    config["base_url"] = json!(stub.url());
    let connector = built(&blueprint(config)).await.unwrap();
    let tool = named(&*connector, "pets.pets/update");
    let definition = tool.definition();
    assert_eq!(
        (&*definition.title, &*definition.description),
        ("Update a pet", "Updates one pet.")
    );
    let schema = definition.input_schema.value();
    assert_eq!(schema["required"], json!(["name", "petId"]));
    assert_eq!(schema["properties"]["mother"], json!({"$ref": "#/$defs/Pet"}));
    assert_eq!(
        schema["properties"]["age"],
        json!({"type": ["integer", "null"], "description": "Format: int64."})
    );
    assert_eq!(schema["properties"]["name"], json!({"type": "string", "maxLength": 9}));
    assert!(schema["properties"].get("id").is_none());
    assert_eq!(schema["$defs"]["Pet"]["required"], json!(["name"]));
    let call = json!({
        "petId": 7, "dry_run": true, "fields": ["a", "b"], "X-Trace": "t",
        "name": "Rex", "age": null, "mother": {"name": "Mia"},
    });
    assert_eq!(word(&run(&*tool, call).await), "succeeded");
    let seen = stub.seen().remove(0);
    assert!(seen.starts_with("PUT /pets/7?dry_run=true&fields=a,b HTTP/1.1\r\n"), "{seen}");
    assert!(seen.contains("\r\nx-trace: t\r\n"), "{seen}");
    assert!(seen.ends_with(r#"{"age":null,"mother":{"name":"Mia"},"name":"Rex"}"#), "{seen}");
    for bad in [
        json!({"name": "Rex"}),
        json!({"petId": 7, "name": "far too long"}),
        json!({"petId": 7, "name": "a", "id": 1}),
    ] {
        assert!(tool.check_args(&bad).is_err(), "{bad}");
    }
}

#[tokio::test]
async fn a_body_that_is_no_plain_object_is_one_argument() {
    for schema in [
        json!({"type": "array", "items": {"type": "string"}}),
        json!({"oneOf": [{"type": "string"}, {"type": "integer"}]}),
        json!({"type": "object", "additionalProperties": {"type": "string"}}),
        json!({"allOf": [{"type": "object", "properties": {"a": {}}}]}),
        json!({}),
    ] {
        let found = args(described(post(schema.clone(), true))).await;
        assert_eq!(found["required"], json!(["body"]), "{schema}");
        let found = args(described(post(schema, false))).await;
        assert_eq!(found.get("required"), None);
    }
    let clash = json!({"/things/{a}": {"post": {
        "operationId": "op",
        "parameters": [{"in": "path", "name": "a", "required": true, "schema": {"type": "string"}}],
        "requestBody": {"content": {"application/json": {"schema": {"type": "object", "properties": {"a": {}}}}}},
    }}});
    let found = args(described(clash)).await;
    assert!(found["properties"].get("body").is_some(), "{found}");
}

#[tokio::test]
async fn two_parameters_of_one_name_are_told_apart() {
    let parameter = |place: &str| json!({"in": place, "name": "id", "required": true, "schema": {"type": "string"}});
    let paths = json!({"/things/{id}": {"get": {"operationId": "op", "parameters": [parameter("query"), parameter("path"), parameter("header")]}}});
    let found = args(described(paths)).await;
    assert_eq!(found["required"], json!(["header_id", "id", "query_id"]));
}

#[tokio::test]
async fn a_later_dialect_is_carried_over_as_it_is() {
    let mut description = described(post(
        json!({"type": "object", "properties": {
            "a": {"type": ["string", "null"], "const": "x"},
            "b": {"$ref": "#/components/schemas/B", "description": "beside"},
            "c": {"type": "number", "exclusiveMinimum": 3},
        }}),
        true,
    ));
    description["openapi"] = json!("3.1.0");
    description["components"] = json!({"schemas": {"B": {"type": "integer"}}});
    let found = args(description).await;
    assert_eq!(found["properties"]["a"], json!({"type": ["string", "null"], "const": "x"}));
    assert_eq!(found["properties"]["b"], json!({"$ref": "#/$defs/B", "description": "beside"}));
    assert_eq!(found["properties"]["c"], json!({"type": "number", "exclusiveMinimum": 3}));
}

#[tokio::test]
async fn bounds_of_the_early_dialect_are_those_of_the_later() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "number", "minimum": 1, "exclusiveMinimum": true, "maximum": 5, "exclusiveMaximum": false}}});
    let found = args(described(post(schema, true))).await;
    assert_eq!(
        found["properties"]["a"],
        json!({"type": "number", "exclusiveMinimum": 1, "maximum": 5})
    );
}

/// A description whose one parameter is this and cannot be left out.
pub(super) fn needed(mut parameter: Value) -> Value {
    parameter["required"] = json!(true);
    parameter["name"] = json!("a");
    described(get(json!({"parameters": [parameter]})))
}

#[test]
fn what_cannot_be_served_is_left_out_with_its_reason() {
    let body = |kind: &str| {
        described(
            json!({"/things": {"post": {"operationId": "op", "requestBody": {"content": {kind: {}}}}}}),
        )
    };
    let table = [
        (
            described(json!({"/things": {"trace": {"operationId": "op"}}})),
            "do not have the method TRACE",
        ),
        (described(json!({"/things": {"options": {"operationId": "op"}}})), "the method OPTIONS"),
        (
            described(get(json!({"servers": [{"url": "https://other.example"}]}))),
            "an address of its own",
        ),
        (body("text/plain"), "its body is `text/plain`, and neither JSON nor a form"),
        (body("multipart/form-data"), "neither JSON nor a form"),
        (
            described(get(
                json!({"requestBody": {"required": true, "content": {"application/json": {}}}}),
            )),
            "a method that has none",
        ),
        (
            described(json!({"/things/{id}": {"get": {"operationId": "op"}}})),
            "`{id}`, of which nothing is said",
        ),
        (
            described(json!({"/things/{id": {"get": {"operationId": "op"}}})),
            "braces that do not fit",
        ),
    ];
    for (description, expected) in table {
        let found = reason(&description);
        assert!(found.contains(expected), "expected {expected} in {found}");
    }
}

#[test]
fn an_operation_whose_parameter_cannot_be_written_is_left_out_with_its_reason() {
    let table = [
        (needed(json!({"in": "cookie", "schema": {"type": "string"}})), "a cookie"),
        (needed(json!({"in": "query", "content": {"text/csv": {}}})), "other than JSON"),
        (needed(json!({"in": "query"})), "nothing is said of its values"),
        (
            needed(json!({"in": "query", "schema": {"$ref": "https://evil.example/x"}})),
            "leads out of",
        ),
        (needed(json!({"in": "query", "schema": {"$ref": "other.yaml#/a"}})), "leads out of"),
        (needed(json!({"in": "query", "schema": {"$ref": "#/nothing"}})), "leads to nothing"),
        (
            needed(
                json!({"in": "query", "schema": {"$ref": "#/paths/~1things/get/parameters/0/schema"}}),
            ),
            "too many others",
        ),
        (
            needed(json!({"in": "query", "schema": {"type": "string", "$dynamicRef": "#a"}})),
            "`$dynamicRef`",
        ),
        (
            needed(json!({"in": "query", "schema": {"type": "string", "pattern": "(?!no)"}})),
            "its pattern `(?!no)` uses look-around",
        ),
        (
            needed(json!({"in": "query", "schema": {"enum": [9_007_199_254_740_993_u64]}})),
            "outside ±(2^53−1)",
        ),
        (
            needed(json!({"in": "query", "schema": {"enum": ["x".repeat(270_000)]}})),
            "at most 262144 bytes",
        ),
    ];
    for (description, expected) in table {
        let found = reason(&description);
        assert!(found.contains(expected), "expected {expected} in {found}");
    }
}

#[test]
fn a_parameter_that_may_be_left_out_is_left_out_alone() {
    let cookie = json!({"in": "cookie", "name": "session", "schema": {"type": "string"}});
    let (served, left_out) = every_operation(&described(get(json!({"parameters": [cookie]}))));
    assert_eq!(served.len(), 1);
    assert_eq!(left_out[0].operation, "GET /things, parameter `session`");
}

#[test]
fn what_is_no_description_is_told() {
    let deep = (0..200).fold(json!(1), |inner, _| json!([inner]));
    let table = [
        (json!("{"), "`/openapi`"),
        (json!("a: [b"), "`/openapi`"),
        (json!("a: &x 1\nb: *x"), "`/openapi`"),
        (json!({}), "expected an OpenAPI description"),
        (json!({"swagger": "2.0", "paths": {}}), "expected an OpenAPI description"),
        (json!({"openapi": "4.0.0", "paths": {}}), "expected an OpenAPI description"),
        (json!({"openapi": "3.0.0"}), "`paths` is missing"),
        (json!({"openapi": "3.0.0", "paths": {}, "x": deep}), "levels"),
        (described(json!({})), "no operation of the description can be served"),
    ];
    for (description, expected) in table {
        let found = findings(&blueprint(config(description))).unwrap();
        assert!(found[0].to_string().contains(expected), "expected {expected} in {found:?}");
    }
}

#[tokio::test]
async fn a_description_may_be_a_text_of_json_or_yaml() {
    let description = described(get(json!({})));
    tools(json!(description.to_string())).await;
    let yaml = "openapi: 3.1.0\npaths:\n  /things:\n    get:\n      operationId: op\n      parameters:\n        - {in: query, name: a, schema: {type: integer, maximum: 9223372036854775807}}\n";
    let found = args(json!(yaml)).await;
    assert_eq!(found["properties"]["a"], json!({"type": "integer"}));
}

#[test]
fn a_description_in_which_a_key_stands_twice_is_refused_in_json_as_in_yaml() {
    let operation = r#"{"get": {"operationId": "op"}}"#;
    let json = format!(
        r#"{{"openapi": "3.1.0", "paths": {{"/a": {operation}, "/\u0061": {operation}}}}}"#
    );
    let yaml = "openapi: 3.1.0\npaths:\n  /a: {}\n  /a: {}\n";
    for (text, expected) in [(&*json, "the key `/a` appears twice"), (yaml, "duplicate")] {
        let found = findings(&blueprint(config(json!(text)))).unwrap();
        assert!(found[0].to_string().contains(expected), "{found:?}");
    }
}

fn two() -> Value {
    described(json!({"/things": {
        "get": {"operationId": "listThings"},
        "post": {"summary": "Make a thing"},
        "trace": {"operationId": "traceThings"},
    }}))
}

#[tokio::test]
async fn the_config_chooses_operations_and_says_more_of_them() {
    let mut config = config(two());
    config["operations"] = json!([
        {"operation": "listThings", "name": "things.list", "title": "List", "timeout_ms": 50},
        {"operation": "POST /things", "name": "things.make", "side_effect": "destructive", "idempotency_header": "Idempotency-Key"},
    ]);
    let connector = built(&blueprint(config)).await.unwrap();
    assert_eq!(connector.tools().len(), 2);
    assert_eq!(named(&*connector, "pets.things.list").definition().title, "List");
    let made = named(&*connector, "pets.things.make");
    assert_eq!(made.definition().title, "Make a thing");
    assert_eq!(made.definition().side_effect, model::SideEffect::Destructive);
}

#[tokio::test]
async fn a_chosen_operation_that_cannot_be_served_is_a_finding() {
    for (operation, expected) in [
        ("traceThings", "the method TRACE"),
        ("none", "has no such operation"),
        ("GET /none", "has no such operation"),
    ] {
        let mut config = config(two());
        config["operations"] = json!([{"operation": operation}]);
        let found = findings(&blueprint(config)).unwrap();
        assert!(found[0].to_string().contains(expected), "{found:?}");
        assert!(found[0].at.starts_with("/operations/0"), "{found:?}");
    }
}

#[tokio::test]
async fn a_check_lists_what_is_left_out() {
    let stub = Stub::saying("200 OK", b"").await;
    let mut config = config(two());
    config["base_url"] = json!(stub.url());
    let blueprint: Blueprint = blueprint(config);
    let deps = super::world::deps(egress::PrivateNetworks::Allowed);
    let lines = check(&blueprint, &deps).await.unwrap();
    let detail = |name: &str| lines.iter().find(|line| line.name == name).unwrap().detail.clone();
    assert!(detail("TRACE /things").starts_with("not served: tools do not have the method"));
    assert!(lines.iter().all(|line| line.name != "POST /things"), "{lines:?}");
}

#[test]
fn more_tools_than_a_connector_has_are_to_be_chosen_from() {
    let paths: serde_json::Map<_, _> = (0..201)
        .map(|at| (format!("/things/{at}"), json!({"get": {"operationId": format!("get{at}")}})))
        .collect();
    let found = findings(&blueprint(config(described(Value::Object(paths))))).unwrap();
    assert!(found[0].to_string().contains("choose at most 200"), "{found:?}");
}

/// A description of so many operations that each take a thing of so many members.
fn large(operations: usize, members: usize) -> Value {
    let body = json!({"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Thing"}}}});
    let post = |at| json!({"post": {"operationId": format!("make{at}"), "requestBody": body}});
    let paths: serde_json::Map<_, _> =
        (0..operations).map(|at| (format!("/things/{at}"), post(at))).collect();
    let thing: serde_json::Map<_, _> =
        (0..members).map(|at| (format!("a{at}"), json!({}))).collect();
    let mut description = described(Value::Object(paths));
    let thing = json!({"type": "array", "items": {"properties": thing}});
    description["components"] = json!({"schemas": {"Thing": thing}});
    description
}

#[test]
fn the_schemas_of_a_connectors_tools_are_bounded_together() {
    let told = |config: Value| {
        let found = findings(&blueprint(config)).unwrap();
        found.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
    };
    assert_eq!(told(config(large(90, 1_000))), "");
    let too_much = "more than 100000 parts together";
    let found = told(config(large(110, 1_000)));
    assert!(found.contains(too_much), "{found}");
    let choose = |count: usize| {
        let mut config = config(large(110, 1_000));
        let named: Vec<_> =
            (0..count).map(|at| json!({"operation": format!("make{at}")})).collect();
        config["operations"] = json!(named);
        config
    };
    assert_eq!(told(choose(90)), "");
    let found = told(choose(110));
    assert!(found.contains(too_much), "{found}");
    // Those that cannot be served are not read without end either.
    let found = told(config(large(30, 25_000)));
    assert!(found.contains(too_much), "{found}");
    // Whoever makes a file of it has them all left out.
    assert_eq!(convert(&large(30, 25_000).to_string(), &[]).unwrap().left_out.len(), 30);
}

/// What is not served is what was chosen; without a choice, it is all that cannot be served.
#[test]
fn what_is_not_served_is_listed_with_its_reason_up_to_a_bound() {
    let listed = |config: &Value| not_served(&"pets".parse().unwrap(), config);
    let photo = |at: usize| {
        let body = json!({"content": {"image/png": {}}});
        (format!("/{at}"), json!({"put": {"tags": ["photos"], "requestBody": body}, "get": {}}))
    };
    let with = |count| {
        let paths: serde_json::Map<_, _> = (0..count).map(photo).collect();
        config(described(Value::Object(paths)))
    };
    let reason = "its body is `image/png`, and neither JSON nor a form".to_owned();
    let mut some = with(2);
    let both = ["PUT /0", "PUT /1"].map(|put| (put.to_owned(), reason.clone()));
    assert_eq!(listed(&some), both);
    some["operations"] = json!([{"operation": "GET /0"}]);
    assert_eq!(listed(&some), []);
    some["operations"] = json!([{"operation": "GET /0"}, {"tag": "photos"}]);
    assert_eq!(listed(&some), both);
    let mut many = with(1_500);
    many["operations"] = json!([{"operation": "GET /0"}, {"tag": "photos"}]);
    let long = listed(&many);
    assert_eq!((long.len(), &*long[1_000].0), (1_001, "500 more parts"));
    // A config that this version does not read serves nothing, and says why.
    let unread = listed(&with(5_001));
    assert_eq!(unread[0].1, "expected at most 5000 operations");
    assert_eq!(listed(&json!({"base_url": "https://example.com", "tools": []})).len(), 1);
}

#[test]
fn a_document_is_no_longer_than_its_text_may_be() {
    let mut description = described(get(json!({})));
    assert!(findings(&blueprint(config(description.clone()))).unwrap().is_empty());
    description["x-padding"] = json!("x".repeat(1 << 20));
    let found = findings(&blueprint(config(description))).unwrap();
    assert!(found[0].to_string().contains("at most 1048576 bytes"), "{found:?}");
}

#[test]
fn one_thing_under_many_names_is_counted_each_time() {
    let numbers: Vec<i64> = (0..15_000).map(|at| at - 9_000_000_000_000_000).collect();
    let body = |names: &[&str]| {
        let one = |name: &&str| json!({"$ref": format!("#/components/schemas/{name}")});
        let every = names.iter().map(one).collect::<Vec<_>>();
        let mut description = described(post(json!({"anyOf": every}), true));
        description["components"] = json!({"schemas": {"Big": {"enum": numbers}}});
        description
    };
    let found = reason(&body(&["Big"]));
    assert!(found.contains("at most 262144 bytes"), "{found}");
    let found = reason(&body(&["Big", "%42ig", "B%69g"]));
    assert!(found.contains("more than 20000 parts"), "{found}");
}

#[test]
fn an_operation_of_very_many_parameters_is_left_out() {
    let parameter =
        |at: usize| json!({"in": "query", "name": format!("a{at}"), "schema": {"type": "string"}});
    let with = |count| {
        described(get(json!({"parameters": (0..count).map(parameter).collect::<Vec<_>>()})))
    };
    assert_eq!(every_operation(&with(500)).0.len(), 1);
    let found = reason(&with(501));
    assert!(found.contains("more than 500 parameters"), "{found}");
}

#[tokio::test]
async fn a_description_becomes_a_file_whose_tools_are_the_same() {
    let converted = convert(&two().to_string(), &[]).unwrap();
    assert_eq!(converted.config["base_url"], "https://api.example.com");
    let mut config = converted.config;
    config["auth"] = json!("none");
    let connector = built(&blueprint(config)).await.unwrap();
    let names: Vec<_> =
        connector.tools().iter().map(|tool| tool.definition().name.to_string()).collect();
    assert_eq!(names, ["pets.listThings", "pets.post_/things"]);
    assert_eq!(converted.left_out.len(), 1);
    let one = convert(&two().to_string(), &[Choice::Operation("listThings")]).unwrap();
    let converted = named(&*connector, "pets.listThings").definition().digest;
    let mut config = config_of(&one.config);
    config["operations"] = json!([{"operation": "listThings"}]);
    let embedded = built(&blueprint(config)).await.unwrap();
    assert_eq!(named(&*embedded, "pets.listThings").definition().digest, converted);
    assert!(convert(&two().to_string(), &[Choice::Operation("none")]).is_err());
}

fn config_of(converted: &Value) -> Value {
    let mut config = config(two());
    config["base_url"] = converted["base_url"].clone();
    config
}
