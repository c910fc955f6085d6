//! Which operations of a description become tools, and the names of tools and arguments.

use serde_json::{Value, json};

use super::{
    openapi::{config, described, every_operation, get},
    world::{blueprint, built, named},
};
use crate::{
    findings,
    rest::{Choice, convert, openapi::Operation},
};

/// A description with one operation for each of these ids, at `/0`, `/1` and so on.
fn called(ids: &[&str]) -> Value {
    let paths: serde_json::Map<_, _> = ids
        .iter()
        .enumerate()
        .map(|(at, id)| (format!("/{at}"), json!({"get": {"operationId": id}})))
        .collect();
    described(Value::Object(paths))
}

fn names(description: &Value) -> Vec<String> {
    let (served, left_out) = every_operation(description);
    assert!(left_out.is_empty(), "{left_out:?}");
    served.iter().map(|operation| operation.name().to_owned()).collect()
}

#[test]
fn a_name_is_the_operation_id_with_one_underscore_for_each_run_of_other_characters() {
    for (id, expected) in [
        ("listPets", "listPets"),
        ("pets.list-all_now", "pets.list-all_now"),
        ("actions/add-label", "actions/add-label"),
        ("list all  pets", "list_all_pets"),
        ("Größe(ändern)", "Gr_e_ndern_"),
        ("a_ b", "a__b"),
        ("\u{200b}pets\u{202e}", "_pets_"),
        (&*"x".repeat(64), &*"x".repeat(64)),
    ] {
        assert_eq!(names(&called(&[id])), [expected], "{id}");
    }
}

#[test]
fn a_longer_name_is_cut_and_ends_in_a_hash_of_the_whole() {
    let (one, other) = ("x".repeat(65), "x".repeat(66));
    let id = "actions/set-github-actions-default-workflow-permissions-organization";
    let found = names(&called(&[&one, &other, id]));
    assert_eq!(found[2], "actions/set-github-actions-default-workflow-permissions_9e2bdb6e");
    assert_ne!(found[0], found[1]);
    for name in &found {
        assert_eq!(name.len(), 64, "{name}");
    }
    assert!(found[0].starts_with(&format!("{}_", "x".repeat(55))));
}

#[test]
fn an_operation_without_an_id_is_called_by_method_and_path() {
    let description = described(json!({
        "/pets/{petId}": {"delete": {"parameters": [
            {"in": "path", "name": "petId", "required": true, "schema": {"type": "string"}},
        ]}},
        "/pets": {"get": {"operationId": ""}},
    }));
    assert_eq!(names(&description), ["get_/pets", "delete_/pets/_petId_"]);
}

/// What a connector refuses is not written, so that a file that was made is a file that is accepted.
#[test]
fn a_tool_that_no_connector_can_have_is_left_out() {
    let description = described(json!({
        "/undo": {"post": {"operationId": "undo"}},
        "/größe": {"get": {"operationId": "size"}},
        "/pets?all": {"get": {"operationId": "all"}},
        "/pets": {"get": {"operationId": "listPets"}},
    }));
    let converted = convert(&description.to_string(), &[]).unwrap();
    let path = "expected visible ASCII characters, and neither `?`, `#` nor `\\`";
    let left_out = [
        ("GET /größe", path),
        ("GET /pets?all", path),
        ("POST /undo", "the name `undo` is reserved for undoing writes"),
    ];
    let mut found = converted.left_out.clone();
    found.sort();
    let mut left_out = left_out.map(|(key, reason)| (key.to_owned(), reason.to_owned()));
    left_out.sort();
    assert_eq!(found, left_out);
    assert_eq!(converted.tools, 1);
    assert!(findings(&blueprint(converted.config)).unwrap().is_empty());
    let error = convert(&description.to_string(), &[Choice::Operation("undo")]).unwrap_err();
    assert_eq!(error.to_string(), "`undo`: the name `undo` is reserved for undoing writes");
}

#[tokio::test]
async fn two_operations_of_one_name_are_refused_by_both_names() {
    let description = called(&["a b", "a(b", "A b", "same", "same"]);
    let (served, left_out) = every_operation(&description);
    assert_eq!(served.len(), 1, "a name that differs in case is another one");
    let reasons: Vec<_> =
        left_out.iter().map(|left| (left.operation.as_str(), left.reason.as_str())).collect();
    let reason = |other: &str, name: &str| {
        format!(
            "its name `{name}` is also the name of `{other}`: choose one of them, or give it a \
             `name` in `operations`"
        )
    };
    assert_eq!(
        reasons,
        [
            ("GET /0", &*reason("a(b (GET /1)", "a_b")),
            ("GET /1", &*reason("a b (GET /0)", "a_b")),
            ("GET /3", &*reason("same (GET /4)", "same")),
            ("GET /4", &*reason("same (GET /3)", "same")),
        ]
    );
    // A choice of both says which is which.
    let mut config = config(description);
    config["operations"] = json!([{"operation": "a b"}, {"operation": "a(b"}]);
    let found = findings(&blueprint(config.clone())).unwrap();
    assert_eq!(
        found[0].to_string(),
        "`/operations/1/name`: `a b (GET /0)` and `a(b (GET /1)` are both named `a_b`: expected \
         another name for one of them"
    );
    config["operations"] = json!([{"operation": "a b"}, {"operation": "a(b", "name": "other"}]);
    let connector = built(&blueprint(config.clone())).await.unwrap();
    assert_eq!(connector.tools().len(), 2);
    config["operations"] = json!([{"operation": "same"}]);
    let found = findings(&blueprint(config.clone())).unwrap();
    assert!(
        found[0].to_string().contains("`GET /3` and `GET /4` have this `operationId`"),
        "{found:?}"
    );
    config["operations"] = json!([{"operation": "GET /3"}]);
    assert_eq!(findings(&blueprint(config)).unwrap(), []);
}

#[tokio::test]
async fn the_operation_id_stays_in_the_definition() {
    let entry = async |description: Value| {
        let connector = built(&blueprint(config(description))).await.unwrap();
        let schemas = connector.tool_schemas();
        schemas.values().next().unwrap()["entry"].clone()
    };
    assert_eq!(entry(called(&["list pets"])).await["operation"], "list pets");
    // A name that is the same says it already.
    assert_eq!(entry(called(&["listPets"])).await.get("operation"), None);
    let converted = convert(&called(&["list pets"]).to_string(), &[]).unwrap();
    assert_eq!(converted.config["tools"][0]["operation"], "list pets");
}

/// Pets and toys, of which one cannot be served.
fn tagged() -> Value {
    described(json!({
        "/pets": {
            "get": {"operationId": "listPets", "tags": ["pets"]},
            "post": {"operationId": "addPet", "tags": ["pets", "writes"]},
            "trace": {"operationId": "tracePets", "tags": ["pets"]},
        },
        "/toys": {"get": {"operationId": "listToys", "tags": ["toys"]}},
    }))
}

#[tokio::test]
async fn operations_are_chosen_by_tag() {
    let mut config = config(tagged());
    config["operations"] = json!([
        {"tag": "pets"},
        {"operation": "addPet", "name": "pets.add", "side_effect": "destructive"},
        {"tag": "writes"},
    ]);
    let connector = built(&blueprint(config.clone())).await.unwrap();
    let found: Vec<_> =
        connector.tools().iter().map(|tool| tool.definition().name.to_string()).collect();
    assert_eq!(found, ["pets.pets.add", "pets.listPets"]);
    let added = named(&*connector, "pets.pets.add");
    assert_eq!(added.definition().side_effect, model::SideEffect::Destructive);
    config["operations"] = json!([{"tag": "cats"}]);
    let found = findings(&blueprint(config.clone())).unwrap();
    assert_eq!(
        found[0].to_string(),
        "`/operations/0/tag`: no operation of the description has the tag `cats`"
    );
    config["operations"] = json!([{"tag": "pets", "name": "x"}]);
    assert!(!findings(&blueprint(config)).unwrap().is_empty(), "a tag is no single operation");
    let text = tagged().to_string();
    let file = convert(&text, &[Choice::Operation("listToys"), Choice::Tag("pets")]).unwrap();
    let tools = file.config["tools"].as_array().unwrap();
    let found: Vec<_> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(found, ["listToys", "listPets", "addPet"]);
    assert_eq!(file.left_out.len(), 1);
    assert_eq!(file.tools, 3);
    let shown = |tool: &Value| {
        ["name", "title", "description", "args"].map(|key| tool[key].to_string().len())
    };
    assert_eq!(file.bytes, tools.iter().flat_map(shown).sum::<usize>());
    assert!(convert(&text, &[Choice::Tag("cats")]).is_err());
}

#[test]
fn an_argument_has_the_name_of_its_parameter_whatever_the_order_of_a_description() {
    let parameter = |(place, name): (&str, &str)| json!({"in": place, "name": name, "required": true, "schema": {"type": "string"}});
    let with = |parameters: &[(&str, &str)]| {
        let parameters: Vec<_> = parameters.iter().copied().map(parameter).collect();
        described(json!({"/things/{id}": {"get": {"operationId": "op", "parameters": parameters}}}))
    };
    let arguments = |parameters: &[(&str, &str)]| {
        let (served, _) = every_operation(&with(parameters));
        let (called, _) = served.into_iter().next()?.into_parts();
        let sent = called.parameters.into_iter().map(|it| (it.name, it.arg));
        Some(sent.collect::<std::collections::BTreeMap<_, _>>())
    };
    let (path, query, header) = (("path", "id"), ("query", "id"), ("header", "x"));
    let one = arguments(&[path, query, header]).unwrap();
    assert_eq!(one, arguments(&[header, query, path]).unwrap());
    assert_eq!(one["id"], "query_id");
    let other = ("query", "query_id");
    assert_eq!(arguments(&[path, query, other]), None);
    assert_eq!(arguments(&[path, other, query]), None);
}

/// Which of two operations is served does not depend on the order in which they were chosen.
#[tokio::test]
async fn a_clash_is_the_same_in_whatever_order_operations_are_chosen() {
    let description = described(json!({
        "/0": {"get": {"operationId": "a b", "tags": ["one"]}},
        "/1": {"get": {"operationId": "a(b", "tags": ["two"]}},
        "/2": {"get": {"operationId": "other", "tags": ["one"]}},
        "/3": {"options": {"operationId": "other"}},
    }));
    let (served, _) = every_operation(&description);
    let found: Vec<_> = served.iter().map(Operation::name).collect();
    assert_eq!(found, ["other"], "a method that tools do not have takes no name");
    let tags = [Choice::Tag("one"), Choice::Tag("two")];
    for tags in [tags, [tags[1], tags[0]]] {
        let file = convert(&description.to_string(), &tags).unwrap();
        assert_eq!((file.tools, file.left_out.len()), (1, 2));
        let tags = tags.map(|tag| match tag {
            Choice::Tag(tag) => json!({"tag": tag}),
            Choice::Operation(_) => unreachable!(),
        });
        let mut config = config(description.clone());
        config["operations"] = json!(tags);
        assert_eq!(built(&blueprint(config)).await.unwrap().tools().len(), 1);
    }
    for choices in [
        [Choice::Operation("a b"), Choice::Tag("one")],
        [Choice::Tag("one"), Choice::Operation("a b")],
    ] {
        let file = convert(&description.to_string(), &choices).unwrap();
        assert_eq!(file.config["tools"][0]["name"], "a_b");
        assert_eq!(file.tools, 2);
    }
    // A name that somebody chose is taken, in a file as in a config.
    let choices = [Choice::Tag("two"), Choice::Operation("a b")];
    let file = convert(&description.to_string(), &choices).unwrap();
    assert_eq!((file.tools, file.left_out.len()), (1, 1));
    let mut config = config(description);
    config["operations"] = json!([{"tag": "two"}, {"operation": "a b"}]);
    assert_eq!(built(&blueprint(config)).await.unwrap().tools().len(), 1);
}

/// A description of 30 megabytes is converted; one of more operations than anybody reads is refused,
/// with the bound.
#[test]
fn a_very_long_description_is_converted_and_one_of_too_many_operations_is_refused() {
    let with = |count: usize, text: usize| {
        let paths: serde_json::Map<_, _> = (0..count)
            .map(|at| (format!("/{at}"), json!({"get": {"description": "x".repeat(text)}})))
            .collect();
        described(Value::Object(paths)).to_string()
    };
    let long = with(4_000, 8_000);
    assert!(long.len() > 30_000_000);
    let converted = convert(&long, &[]).unwrap();
    assert_eq!((converted.tools, converted.left_out.len()), (4_000, 0));
    let refused = convert(&with(20_000, 10), &[]).unwrap_err();
    assert_eq!(refused.to_string(), "`/openapi/paths`: expected at most 5000 operations");
}

/// A description may name one thing very often; what is kept of it is bounded.
#[test]
fn one_item_at_very_many_paths_is_bounded() {
    let with = |count: usize, id: &str| {
        let paths: serde_json::Map<_, _> =
            (0..count).map(|at| (format!("/{at}"), json!({"$ref": "#/x"}))).collect();
        let mut description = described(Value::Object(paths));
        description["x"] = json!({"get": {"operationId": id, "tags": ["t".repeat(300_000)]}});
        description
    };
    let found = findings(&blueprint(config(with(5_001, "a")))).unwrap();
    assert!(found[0].to_string().contains("at most 5000 operations"), "{found:?}");
    let (served, left_out) = every_operation(&with(5_000, "a"));
    assert_eq!((served.len(), left_out.len()), (0, 5_000));
    assert!(left_out[9].reason.contains("`a (GET /0)` and 4998 more"), "{}", left_out[9].reason);
    assert!(left_out.iter().all(|left| left.reason.len() < 300));
    // A longer id is none.
    assert_eq!(every_operation(&with(5_000, &"x".repeat(300_000))).0.len(), 5_000);
}

#[test]
fn a_parameter_in_another_place_or_of_a_very_long_name_is_left_out_with_its_reason() {
    let with = |parameters: Value| {
        described(json!({"/things": {"get": {"operationId": "op", "parameters": parameters}}}))
    };
    let parameter = |place: &str, name: &str, required| json!({"in": place, "name": name, "required": required, "schema": {"type": "string"}});
    for place in ["formData", "querystring", "Query"] {
        let (served, left_out) = every_operation(&with(json!([parameter(place, "a", false)])));
        assert_eq!((served.len(), left_out.len()), (1, 1));
        assert_eq!(left_out[0].reason, format!("the place `{place}`"));
        assert_eq!(every_operation(&with(json!([parameter(place, "a", true)]))).0.len(), 0);
    }
    let long = with(json!([parameter("query", &"x".repeat(201), false)]));
    let (served, left_out) = every_operation(&long);
    assert_eq!(served.len(), 0);
    assert_eq!(left_out[0].reason, "a parameter has no name, or one of more than 200 bytes");
    // Headers of one name are one, in whatever letters.
    let one = with(json!([parameter("header", "X-A", false), parameter("header", "x-a", false)]));
    let (called, _) = every_operation(&one).0.remove(0).into_parts();
    assert_eq!(called.parameters.len(), 1);
    let over = with(json!([parameter("header", "X-HTTP-Method-Override", false)]));
    let (_, left_out) = every_operation(&over);
    assert_eq!(left_out[0].reason, "it changes which operation is called");
}

#[test]
fn a_path_that_cannot_be_read_is_listed() {
    let description = described(json!({
        "/pets": {"$ref": "#/components/pathItems/none"},
        "/toys": {"get": {"operationId": "listToys"}},
    }));
    let (served, left_out) = every_operation(&description);
    assert_eq!(served.len(), 1);
    assert_eq!(left_out[0].operation, "/pets");
    assert_eq!(left_out[0].reason, "a reference leads to nothing");
}

#[test]
fn a_header_that_the_connector_sets_is_no_argument() {
    let with = |name: &str, required| {
        let parameter = json!({"in": "header", "name": name, "required": required, "schema": {"type": "string"}});
        described(json!({"/things": {"get": {"operationId": "op", "parameters": [parameter]}}}))
    };
    // OpenAPI says that these are ignored.
    for name in ["Accept", "content-type", "Authorization"] {
        let (served, left_out) = every_operation(&with(name, true));
        assert_eq!((served.len(), left_out.len()), (1, 0), "{name}");
    }
    for name in ["Range", "Cookie", "Expect", "X-Forwarded-For"] {
        let (served, left_out) = every_operation(&with(name, false));
        assert_eq!((served.len(), left_out.len()), (1, 1), "{name}");
        let (served, left_out) = every_operation(&with(name, true));
        assert_eq!((served.len(), left_out.len()), (0, 1), "{name}");
        assert!(left_out[0].reason.ends_with("a header that the connector sets"));
    }
    let mut config = config(with("X-Api-Version", false));
    config["headers"] = json!({"x-api-version": "1"});
    let found = findings(&blueprint(config.clone())).unwrap();
    assert!(found[0].to_string().contains("no operation of the description"), "{found:?}");
    config["operations"] = json!([{"operation": "op"}]);
    let found = findings(&blueprint(config)).unwrap();
    assert!(
        found[0].to_string().contains("the connector's `headers` set this header"),
        "{found:?}"
    );
}

#[test]
fn an_address_of_its_own_is_another_than_that_of_the_api() {
    for (api, own, is_served) in [
        (json!("https://api.example"), json!("https://api.example/"), true),
        (json!("//api.example"), json!("https://api.example"), true),
        (Value::Null, json!("/"), true),
        (json!("https://api.example"), json!("https://files.example"), false),
        (json!("https://api.example"), json!("http://api.example"), false),
        (json!("https://api.example/v1"), json!("https://api.example/v2"), false),
        (Value::Null, json!("https://files.example"), false),
    ] {
        let case = format!("{api} {own}");
        let mut description = described(get(json!({"servers": [{"url": own}]})));
        if !api.is_null() {
            description["servers"] = json!([{"url": api}]);
        }
        assert_eq!(every_operation(&description).0.len(), usize::from(is_served), "{case}");
    }
}

#[test]
fn a_parameter_of_the_path_is_in_the_path() {
    let parameter =
        json!({"in": "path", "name": "id", "required": true, "schema": {"type": "string"}});
    let (served, left_out) = every_operation(&described(get(json!({"parameters": [parameter]}))));
    assert_eq!(served.len(), 0);
    assert_eq!(left_out[0].reason, "its path has no `{id}`");
}

/// One text may be in the reasons of very many operations.
#[test]
fn a_reason_quotes_no_more_than_the_beginning_of_a_text() {
    let long = "x".repeat(200_000);
    let body = json!({"required": true, "content": {long.as_str(): {}}});
    let parameter = |parameter: Value| {
        let mut parameter = parameter;
        parameter["name"] = json!("a");
        parameter["required"] = json!(true);
        described(get(json!({"parameters": [parameter]})))
    };
    let schema = json!({"type": "string"});
    for description in [
        described(json!({"/things": {"post": {"operationId": "op", "requestBody": body}}})),
        described(json!({long.replace('x', "/x"): {"get": {"operationId": "op"}}})),
        parameter(json!({"in": long, "schema": schema})),
        parameter(json!({"in": "query", "style": long, "schema": schema})),
    ] {
        let (served, left_out) = every_operation(&description);
        assert_eq!((served.len(), left_out.len()), (0, 1));
        let left = &left_out[0];
        assert!(left.reason.len() + left.operation.len() < 300, "{}", left.reason.len());
    }
}

/// Frameworks take it for the method of a request.
#[test]
fn no_argument_is_a_method() {
    let schema = json!({"type": "string"});
    let parameter = json!({"in": "query", "name": "_method", "schema": schema});
    let (served, left_out) = every_operation(&described(get(json!({"parameters": [parameter]}))));
    assert_eq!((served.len(), left_out.len()), (1, 1));
    let form = |schema: Value| {
        let media = json!({"application/x-www-form-urlencoded": {"schema": schema}});
        described(
            json!({"/things": {"post": {"operationId": "op", "requestBody": {"content": media}}}}),
        )
    };
    let members = json!({"type": "object", "properties": {"_method": schema, "a": schema}});
    let (served, left_out) = every_operation(&form(members));
    assert_eq!((served.len(), left_out.len()), (1, 1));
    assert_eq!(left_out[0].reason, "it changes which operation is called");
}

/// Only the parameter is left out, wherever its schema is.
#[test]
fn a_parameter_is_left_out_alone_if_what_it_refers_to_cannot_be_used() {
    let parameter =
        json!({"in": "query", "name": "a", "schema": {"$ref": "#/components/schemas/A"}});
    let mut description = described(get(json!({"parameters": [parameter]})));
    description["components"] = json!({"schemas": {"A": {"type": "string", "pattern": "(?!no)"}}});
    let (served, left_out) = every_operation(&description);
    assert_eq!((served.len(), left_out.len()), (1, 1), "{left_out:?}");
    assert_eq!(left_out[0].operation, "GET /things, parameter `a`");
}
