//! How values are written: the table "Style Values" of OpenAPI 3.1.1 (4.8.12.4), cell by cell.

use serde_json::{Value, json};

use super::{
    openapi::{config, described, get, needed, reason},
    world::{Stub, blueprint, built, named, outcome, run, tool, with},
};
use crate::findings;

/// A cell of the table: the bytes of a value, or that it has none.
enum Cell {
    Bytes(&'static str),
    /// The operation is not served, for this reason.
    NotServed(&'static str),
    /// A call with this value is refused, and this is expected.
    Refused(&'static str),
}

use Cell::{Bytes, NotServed, Refused};

const COMMA: &str = "texts without a comma, which separates them, and without blanks at their ends, \
                     which are not sent";
const BRACKETS: &str = "members with a name, and without `[` and `]` in it";

/// A description whose one operation has the parameter `color` in this place.
pub(super) fn colored(place: &str, style: Value, schema: Value) -> Value {
    let mut parameter = json!({"in": place, "name": "color", "required": true, "schema": schema});
    parameter.as_object_mut().unwrap().extend(style.as_object().unwrap().clone());
    described(get(json!({"parameters": [parameter]})))
}

/// The head of the request of a call with this color, or why the call is refused.
pub(super) async fn sent(description: Value, color: &Value) -> Result<String, String> {
    let stub = Stub::saying("200 OK", b"{}").await;
    let mut config = config(description);
    config["base_url"] = json!(stub.url());
    let connector = built(&blueprint(config)).await.unwrap();
    let tool = named(&*connector, "pets.op");
    tool.check_args(&json!({"color": color}))?;
    run(&*tool, json!({"color": color})).await;
    Ok(stub.seen().remove(0))
}

async fn check(place: &str, style: Value, (schema, color): (Value, Value), cell: Cell) {
    let case = format!("{place} {style} {color}");
    let description = colored(place, style, schema);
    match cell {
        NotServed(expected) => {
            let found = reason(&description);
            assert_eq!(found, format!("its parameter `color`: {expected}"), "{case}");
        }
        Refused(expected) => {
            let found = sent(description, &color).await.unwrap_err();
            assert_eq!(found, format!("/color: expected {expected}"), "{case}");
        }
        Bytes(expected) => {
            let mut description = description;
            // What is written as nothing may not be required.
            let parameter = description.pointer_mut("/paths/~1things/get/parameters/0").unwrap();
            parameter["required"] = json!(!expected.is_empty());
            let head = sent(description, &color).await.unwrap();
            if place == "query" {
                let line = head.lines().next().unwrap();
                assert_eq!(line, format!("GET /things{expected} HTTP/1.1"), "{case}");
            } else {
                let header = format!("\r\ncolor: {expected}\r\n");
                assert_eq!(head.contains(&header), !expected.is_empty(), "{case}: {head}");
                assert_eq!(head.contains("\r\ncolor:"), !expected.is_empty(), "{case}: {head}");
            }
        }
    }
}

fn text() -> (Value, Value) {
    (json!({"type": "string"}), json!("blue"))
}

fn list() -> (Value, Value) {
    (json!({"type": "array", "items": {"type": "string"}}), json!(["blue", "black", "brown"]))
}

fn object() -> (Value, Value) {
    (json!({"type": "object"}), json!({"R": 100, "G": 200, "B": 150}))
}

pub(super) fn style(name: &str, explode: bool) -> Value {
    json!({"style": name, "explode": explode})
}

#[tokio::test]
async fn each_style_of_a_query_is_written_as_the_table_says() {
    let nothing = |(schema, _): (Value, Value)| (schema, json!([]));
    let empty = (json!({"type": "string"}), json!(""));
    let form = "an object in the style `form` with `explode: true`";
    for (style, value, cell) in [
        (json!({}), text(), Bytes("?color=blue")),
        (json!({}), list(), Bytes("?color=blue&color=black&color=brown")),
        (json!({}), object(), NotServed(form)),
        (style("form", true), empty.clone(), Bytes("?color=")),
        (style("form", true), nothing(list()), Bytes("")),
        (style("form", false), text(), Bytes("?color=blue")),
        (style("form", false), empty, Bytes("?color=")),
        (style("form", false), list(), Bytes("?color=blue,black,brown")),
        (style("form", false), nothing(list()), Bytes("")),
        (style("form", false), object(), Bytes("?color=B,150,G,200,R,100")),
        (json!({"style": "spaceDelimited"}), list(), Bytes("?color=blue%20black%20brown")),
        (style("spaceDelimited", false), object(), Bytes("?color=B%20150%20G%20200%20R%20100")),
        (json!({"style": "pipeDelimited"}), list(), Bytes("?color=blue%7Cblack%7Cbrown")),
        (style("pipeDelimited", false), object(), Bytes("?color=B%7C150%7CG%7C200%7CR%7C100")),
        (
            style("deepObject", true),
            object(),
            Bytes("?color%5BB%5D=150&color%5BG%5D=200&color%5BR%5D=100"),
        ),
        // 3.1.1 leaves `deepObject` without `explode: true` open; no other form of it exists.
        (
            json!({"style": "deepObject"}),
            object(),
            Bytes("?color%5BB%5D=150&color%5BG%5D=200&color%5BR%5D=100"),
        ),
    ] {
        check("query", style, value, cell).await;
    }
}

#[tokio::test]
async fn a_style_that_the_table_does_not_define_in_a_query_is_not_served() {
    for (style, value, expected) in [
        (style("spaceDelimited", true), list(), "the style `spaceDelimited` with `explode: true`"),
        (style("pipeDelimited", true), list(), "the style `pipeDelimited` with `explode: true`"),
        (style("spaceDelimited", false), text(), "a single value in the style `spaceDelimited`"),
        (style("pipeDelimited", false), text(), "a single value in the style `pipeDelimited`"),
        (style("deepObject", false), object(), "the style `deepObject` with `explode: false`"),
        (
            style("deepObject", true),
            list(),
            "a list in the style `deepObject` with `explode: true`",
        ),
        (
            style("deepObject", true),
            text(),
            "a single value in the style `deepObject` with `explode: true`",
        ),
        (style("simple", false), text(), "the style `simple` in a query"),
        (style("matrix", false), text(), "the style `matrix`"),
        (style("label", false), text(), "the style `label`"),
        (style("colorful", false), text(), "the style `colorful`"),
        (
            json!({"allowReserved": true}),
            text(),
            "`allowReserved`, with which its value could add other parameters",
        ),
    ] {
        check("query", style, value, NotServed(expected)).await;
    }
}

#[tokio::test]
async fn a_header_is_written_in_the_style_simple() {
    for (style, value, cell) in [
        (json!({}), text(), Bytes("blue")),
        (json!({}), list(), Bytes("blue,black,brown")),
        (json!({}), (list().0, json!([])), Bytes("")),
        (json!({}), object(), Bytes("B,150,G,200,R,100")),
        (style("simple", true), list(), Bytes("blue,black,brown")),
        (style("simple", true), object(), Bytes("B=150,G=200,R=100")),
        (style("form", false), text(), NotServed("the style `form` in a header")),
        (style("deepObject", true), object(), NotServed("the style `deepObject` in a header")),
        (style("matrix", true), text(), NotServed("the style `matrix`")),
    ] {
        check("header", style, value, cell).await;
    }
}

#[tokio::test]
async fn a_path_is_written_in_the_style_simple_and_has_single_values() {
    for (style, schema, expected) in [
        (json!({}), list().0, "a list or an object in a path"),
        (json!({}), object().0, "a list or an object in a path"),
        (style("label", false), text().0, "the style `label` in a path"),
        (style("matrix", false), text().0, "the style `matrix` in a path"),
        (style("form", false), text().0, "the style `form` in a path"),
    ] {
        let mut parameter =
            json!({"in": "path", "name": "color", "required": true, "schema": schema});
        parameter.as_object_mut().unwrap().extend(style.as_object().unwrap().clone());
        let operation = json!({"get": {"operationId": "op", "parameters": [parameter]}});
        let found = reason(&described(json!({"/things/{color}": operation})));
        assert_eq!(found, format!("its parameter `color`: {expected}"));
    }
}

/// A delimiter inside of a value would be read as two values, unless it is encoded and the one between
/// two is not.
#[tokio::test]
async fn no_value_is_read_as_two() {
    let of = |item: &str| (list().0, json!([item, "b"]));
    for (place, style, value, cell) in [
        ("query", style("form", false), of("a,b"), Bytes("?color=a%2Cb,b")),
        ("query", style("form", true), of("a&color=c"), Bytes("?color=a%26color%3Dc&color=b")),
        (
            "query",
            style("spaceDelimited", false),
            of("a b"),
            Refused("texts without ` `, which separates them"),
        ),
        (
            "query",
            style("pipeDelimited", false),
            of("a|b"),
            Refused("texts without `|`, which separates them"),
        ),
        ("header", style("simple", false), of("a,b"), Refused(COMMA)),
        (
            "header",
            style("simple", true),
            (object().0, json!({"a=b": 1})),
            Refused("names and texts without `=`, which separates them"),
        ),
        ("header", style("simple", false), of(" a"), Refused(COMMA)),
        ("header", style("simple", false), of(""), Refused(COMMA)),
        ("query", style("deepObject", true), (object().0, json!({"a][b": 1})), Refused(BRACKETS)),
        ("query", style("deepObject", true), (object().0, json!({"": 1})), Refused(BRACKETS)),
        (
            "query",
            style("deepObject", true),
            (object().0, json!({"a=1&b": 1})),
            Bytes("?color%5Ba%3D1%26b%5D=1"),
        ),
    ] {
        check(place, style, value, cell).await;
    }
}

/// The kind that a schema allows is found through references and compositions; a value of another kind
/// is refused by its call.
#[tokio::test]
async fn the_kind_of_a_value_is_found_through_compositions() {
    let choice = json!({"anyOf": [{"type": "integer"}, {"type": "object"}]});
    let deep = style("deepObject", true);
    check("query", deep.clone(), (choice.clone(), json!({"gt": 1})), Bytes("?color%5Bgt%5D=1"))
        .await;
    let expected = "an object of texts, numbers and booleans";
    check("query", deep.clone(), (choice, json!(1)), Refused(expected)).await;
    let nested = (object().0, json!({"a": {"b": 1}}));
    check("query", deep.clone(), nested, Refused(expected)).await;
    let listed = (object().0, json!({"a": [1]}));
    check("query", deep.clone(), listed, Refused(expected)).await;
    let lists = "a list in the style `deepObject` with `explode: true`";
    for schema in [
        json!({"allOf": [{"type": "array"}, {}]}),
        json!({"oneOf": [{"type": "array"}, {"type": "array", "maxItems": 1}]}),
        json!({"enum": [["a"], ["b"]]}),
    ] {
        check("query", deep.clone(), (schema, Value::Null), NotServed(lists)).await;
    }
    let form = "an object in the style `form` with `explode: true`";
    let mut description = colored("query", json!({}), json!({"type": ["object", "null"]}));
    description["openapi"] = json!("3.1.0");
    assert_eq!(reason(&description), format!("its parameter `color`: {form}"));
    // `null` is not sent, so that it is no kind.
    let or_null = json!({"anyOf": [{"type": "object"}, {"type": "null"}]});
    description = colored("query", json!({}), or_null);
    assert_eq!(reason(&description), format!("its parameter `color`: {form}"));
    description = colored("query", json!({}), json!({"enum": [null]}));
    let none = "its parameter `color`: its schema has no value that can be sent";
    assert_eq!(reason(&description), none);
    // A schema that refers to itself in every choice ends.
    let itself = json!({"$ref": "#/components/schemas/A"});
    let mut description = colored("query", json!({}), itself.clone());
    description["components"] = json!({"schemas": {"A": {"anyOf": vec![itself; 20]}}});
    assert!(!reason(&description).is_empty());
}

#[tokio::test]
async fn a_parameter_may_be_json() {
    let schema = json!({"type": "object"});
    let json = needed(
        json!({"in": "query", "content": {"application/json; charset=utf-8": {"schema": schema}}}),
    );
    let stub = Stub::saying("200 OK", b"{}").await;
    let mut config = config(json);
    config["base_url"] = json!(stub.url());
    let connector = built(&blueprint(config)).await.unwrap();
    run(&*named(&*connector, "pets.op"), json!({"a": {"b": [1]}})).await;
    assert!(stub.seen()[0].starts_with("GET /things?a=%7B%22b%22%3A%5B1%5D%7D HTTP/1.1\r\n"));
}

/// The words of before are read.
#[tokio::test]
async fn earlier_words_of_a_tool_list_are_read() {
    let parameters = json!({"parameters": [
        {"in": "query", "name": "list", "style": "comma"},
        {"in": "query", "name": "deep", "style": "deep_object"},
        {"in": "header", "name": "x-list", "arg": "lines", "style": "comma"},
    ]});
    let declared = with(tool("GET", "/pets", &["list", "deep", "lines"]), parameters);
    let call = json!({"list": ["a", "b"], "deep": {"c": 1}, "lines": ["a", "b"]});
    let stub = Stub::saying("200 OK", b"{}").await;
    outcome(&stub, declared, call).await;
    let seen = stub.seen().remove(0);
    assert!(seen.starts_with("GET /pets?list=a,b&deep%5Bc%5D=1 HTTP/1.1\r\n"), "{seen}");
    assert!(seen.contains("\r\nx-list: a,b\r\n"), "{seen}");
}

/// A member that is written as another argument would set it past that one's schema.
#[tokio::test]
async fn no_member_is_written_as_another_argument() {
    let parameters = json!({"parameters": [
        {"in": "query", "name": "filter", "style": "deepObject"},
        {"in": "query", "name": "filter[role]", "arg": "role"},
    ]});
    let declared = with(tool("GET", "/pets", &["filter", "role"]), parameters);
    let stub = Stub::saying("200 OK", b"{}").await;
    let config = super::world::config(&stub, json!([declared]));
    let connector = built(&blueprint(config)).await.unwrap();
    let tool = named(&*connector, "pets.tool");
    let error = tool.check_args(&json!({"filter": {"role": "admin"}})).unwrap_err();
    let expected = "/filter: expected no member that is written as `filter[role]`, which is another \
                    argument";
    assert_eq!(error, expected);
    tool.check_args(&json!({"filter": {"age": 1}, "role": "user"})).unwrap();
}

/// The specification sends nothing for them, so the API would miss a parameter that it needs.
#[tokio::test]
async fn an_empty_value_is_refused_where_one_is_required() {
    let styles = [("form", list()), ("spaceDelimited", list()), ("deepObject", object())];
    let mut places: Vec<_> = styles
        .into_iter()
        .map(|(name, of)| (json!({"in": "query", "name": "a", "style": name}), of))
        .collect();
    places.push((json!({"in": "header", "name": "a"}), list()));
    let expected = "/a: expected at least one item or member: nothing is sent for an empty value, and \
                    this one is required";
    for (parameter, (schema, whole)) in places {
        let parameters = json!({"parameters": [parameter]});
        let mut declared = with(tool("GET", "/pets", &["a"]), parameters);
        declared["args"]["properties"]["a"] = schema;
        let empty = if whole.is_array() { json!([]) } else { json!({}) };
        for is_required in [false, true] {
            if is_required {
                declared["args"]["required"] = json!(["a"]);
            }
            let stub = Stub::saying("200 OK", b"{}").await;
            let config = super::world::config(&stub, json!([declared]));
            let connector = built(&blueprint(config)).await.unwrap();
            let tool = named(&*connector, "pets.tool");
            tool.check_args(&json!({"a": whole})).unwrap();
            let checked = tool.check_args(&json!({"a": empty}));
            assert_eq!(checked.err().as_deref(), is_required.then_some(expected), "{declared}");
        }
    }
}

#[tokio::test]
async fn a_list_of_very_many_items_is_refused() {
    let schema = json!({"type": "array"});
    let items = |count: usize| json!(vec![""; count]);
    for style in [style("form", true), style("form", false)] {
        let description = colored("query", style, schema.clone());
        let error = sent(description, &items(4_097)).await.unwrap_err();
        assert_eq!(error, "/color: expected at most 4096 items");
    }
}

#[tokio::test]
async fn a_tool_list_has_only_formats_that_are_defined() {
    let stub = Stub::saying("200 OK", b"{}").await;
    for (parameter, expected) in [
        (json!({"in": "query", "style": "simple"}), "the style `simple` in a query is not defined"),
        (json!({"in": "header", "style": "deepObject"}), "the style `deepObject` in a header"),
        (
            json!({"in": "query", "style": "pipeDelimited", "explode": true}),
            "the style `pipeDelimited` with `explode: true`",
        ),
        (json!({"in": "query", "style": "matrix"}), "/style"),
    ] {
        let mut parameter = parameter;
        parameter["name"] = json!("a");
        let declared = with(tool("GET", "/pets", &["a"]), json!({"parameters": [parameter]}));
        let config = super::world::config(&stub, json!([declared]));
        let found = findings(&blueprint(config)).unwrap();
        assert!(found[0].to_string().contains(expected), "expected {expected} in {found:?}");
    }
}
