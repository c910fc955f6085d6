//! Lists and objects within others, which no style writes.

use serde_json::{Map, Value, json};

use super::{
    openapi::{described, every_operation, get, reason},
    styles::{colored, sent, style},
};
use crate::rest::openapi::Description;

/// The table has single values within lists and objects, and nothing else.
#[tokio::test]
async fn what_is_within_another_list_or_object_is_refused_by_the_schema() {
    let deep = style("deepObject", true);
    let within = |style: &str| format!("a list or an object within another in the style `{style}`");
    let nested = json!({"type": "object", "properties": {
        "a": {"type": "string"},
        "b": {"type": "object", "properties": {"c": {"type": "string"}}},
        "d": {"type": "array"},
    }});
    for schema in [
        nested.clone(),
        json!({"anyOf": [nested, {"enum": [""]}]}),
        json!({"allOf": [{"type": "object"}, nested]}),
    ] {
        let description = colored("query", deep.clone(), schema.clone());
        let (served, left_out) = every_operation(&description);
        let left_out: Vec<_> = left_out.into_iter().map(|it| (it.operation, it.reason)).collect();
        let parts = "GET /things, `b`, `d` of its parameter `color`".to_owned();
        assert_eq!(left_out, [(parts, within("deepObject"))], "{schema}");
        let (called, _) = served.into_iter().next().unwrap().into_parts();
        let color = &called.args["properties"]["color"];
        assert_eq!(color["properties"]["b"], json!(false), "{color}");
        assert!(!color.to_string().contains("\"c\""), "{color}");
        assert!(sent(description.clone(), &json!({"b": {"c": "1"}})).await.is_err(), "{schema}");
        let head = sent(description, &json!({"a": "1"})).await.unwrap();
        assert!(head.starts_with("GET /things?color%5Ba%5D=1 HTTP/1.1\r\n"), "{head}");
    }
    // One of the choices has it as a single value.
    let choices = json!({"oneOf": [nested, {"properties": {"b": {"type": "string"}}}]});
    let description = colored("query", deep.clone(), choices);
    let head = sent(description.clone(), &json!({"b": "1"})).await.unwrap();
    assert!(head.starts_with("GET /things?color%5Bb%5D=1 HTTP/1.1\r\n"), "{head}");
    assert!(sent(description, &json!({"b": {"c": "1"}})).await.is_err());
    let open =
        json!({"anyOf": [nested, {"type": "object", "additionalProperties": {"type": "string"}}]});
    let head = sent(colored("query", deep.clone(), open), &json!({"b": "1"})).await.unwrap();
    assert!(head.starts_with("GET /things?color%5Bb%5D=1 HTTP/1.1\r\n"), "{head}");
    let never = json!({"type": "object", "properties": {"a": {"type": "string"}, "b": false}});
    let (_, left_out) = every_operation(&colored("query", deep.clone(), never));
    assert!(left_out.is_empty(), "{left_out:?}");
    let mut needed = nested.clone();
    needed["required"] = json!(["b"]);
    let of_one = |schema: &Value| json!({"type": "object", "additionalProperties": schema});
    let lists = json!({"type": "array", "items": {"type": "array"}});
    let mut closed = nested.clone();
    closed["properties"]["a"] = json!(false);
    closed["additionalProperties"] = json!(false);
    for (style_of, schema, name) in [
        (deep.clone(), needed.clone(), "deepObject"),
        (deep.clone(), json!({"anyOf": [needed, {"type": "string"}]}), "deepObject"),
        (deep.clone(), json!({"required": ["d"], "allOf": [nested]}), "deepObject"),
        (deep.clone(), json!({"required": ["d"], "oneOf": [nested]}), "deepObject"),
        (deep.clone(), of_one(&nested), "deepObject"),
        (deep.clone(), json!({"allOf": [nested, {"required": ["d"]}]}), "deepObject"),
        (deep, closed, "deepObject"),
        (style("form", false), of_one(&lists), "form"),
        (json!({}), lists.clone(), "form"),
        (json!({"style": "pipeDelimited"}), lists, "pipeDelimited"),
    ] {
        let found = reason(&colored("query", style_of, schema.clone()));
        assert_eq!(found, format!("its parameter `color`: {}", within(name)), "{schema}");
    }
}

/// What is beside a reference counts since 3.1.
#[test]
fn what_an_object_requires_is_found_beside_a_reference() {
    let beside = json!({"$ref": "#/components/schemas/A", "required": ["b"]});
    let mut description = colored("query", style("deepObject", true), beside);
    let of_b = json!({"type": "object", "properties": {"a": {}, "b": {"type": "array"}}});
    description["components"] = json!({"schemas": {"A": of_b}});
    assert_eq!(every_operation(&description).0.len(), 1, "in 3.0 it does not");
    description["openapi"] = json!("3.1.0");
    let within = "a list or an object within another in the style `deepObject`";
    assert_eq!(reason(&description), format!("its parameter `color`: {within}"));
}

#[tokio::test]
async fn a_member_of_responses_is_not_missed() {
    let schema = json!({"type": "object", "required": ["meta", "name"], "properties": {
        "meta": {"type": "object", "readOnly": true},
        "name": {"type": "string"},
    }});
    let description = colored("query", style("deepObject", true), schema);
    assert!(every_operation(&description).1.is_empty());
    let head = sent(description, &json!({"name": "a"})).await.unwrap();
    assert!(head.starts_with("GET /things?color%5Bname%5D=a HTTP/1.1\r\n"), "{head}");
}

/// However large or circular a schema is, what its style can write is looked for within limits, and the
/// limits are those of the description too.
#[test]
fn looking_into_a_schema_comes_to_an_end() {
    let itself = json!({"$ref": "#/components/schemas/A"});
    let names: Vec<String> = (0..5_000).map(|number| format!("a{number}")).collect();
    let wide: Map<String, Value> = names.iter().map(|name| (name.clone(), json!({}))).collect();
    for a in [
        json!({"allOf": [itself]}),
        json!({"type": "object", "allOf": vec![itself.clone(); 1_000]}),
        json!({"type": "object", "required": names, "allOf": vec![itself.clone(); 1_000]}),
        json!({"type": "object", "properties": wide, "anyOf": vec![itself.clone(); 1_000]}),
    ] {
        let parameter = |number: usize| json!({"in": "query", "name": format!("p{number}"), "style": "deepObject", "schema": itself});
        let parameters: Vec<_> = (0..500).map(parameter).collect();
        let mut description = described(get(json!({"parameters": parameters})));
        description["components"] = json!({"schemas": {"A": a}});
        let spent = Description::read(&description).unwrap().within(10_000);
        let _ = spent.operation("op");
        assert!(spent.is_spent());
    }
}
