//! Schemas of descriptions as schemas of arguments: what they accept, and why they are left out.

mod objects;
mod recursion;
mod words;

use std::sync::Arc;

use serde_json::{Value, json};
use tool::Tool;

use super::world::{blueprint, built, named};
use crate::{
    ArgsSchema,
    rest::{
        convert,
        openapi::{self, Description},
    },
};

const EARLY: &str = "3.0.3";
const CURRENT: &str = "3.1.0";

/// A description of one operation whose argument `it` has this schema.
fn described(version: &str, it: Value, schemas: Value) -> Value {
    let body = json!({"type": "object", "required": ["it"], "properties": {"it": it}});
    json!({
        "openapi": version,
        "info": {"title": "Pets", "version": "1"},
        "paths": {"/things": {"post": {
            "operationId": "op",
            "parameters": [{"in": "query", "name": "dry", "schema": {"type": "boolean"}}],
            "requestBody": {"required": true, "content": {"application/json": {"schema": body}}},
        }}},
        "components": {"schemas": schemas},
    })
}

async fn served(description: Value) -> Arc<dyn Tool> {
    // As a text, since the config itself has no number that is out of range.
    let text = description.to_string();
    let config = json!({"base_url": "https://api.example.com", "auth": "none", "openapi": text});
    named(&*built(&blueprint(config)).await.unwrap(), "pets.op")
}

/// The schema of the argument `it`.
async fn shown(description: Value) -> Value {
    let tool = served(description).await;
    tool.definition().input_schema.value()["properties"]["it"].clone()
}

/// Why the only operation is left out.
fn reason(description: &Value) -> String {
    let description = Description::read(description).unwrap();
    let (served, left_out) = openapi::every_operation(&description);
    assert_eq!((served.len(), left_out.len()), (0, 1), "{left_out:?}");
    left_out[0].reason.clone()
}

fn left_out(description: &Value, expected: &str) {
    let found = reason(description);
    assert!(found.contains(expected), "expected {expected} in {found}");
}

/// Which of the values the argument `it` accepts, and which not.
async fn accepts(description: Value, good: &[Value], bad: &[Value]) {
    let tool = served(description).await;
    let schema = tool.definition().input_schema.value();
    for it in good {
        let checked = tool.check_args(&json!({"it": it}));
        assert!(checked.is_ok(), "{it}: {checked:?} with {schema:?}");
    }
    for it in bad {
        assert!(tool.check_args(&json!({"it": it})).is_err(), "{it} with {schema:?}");
    }
}

async fn alone(version: &str, it: Value, good: &[Value], bad: &[Value]) {
    accepts(described(version, it, json!({})), good, bad).await;
}

/// A matcher of the arguments of the operation.
fn compiled(description: &Value) -> Result<ArgsSchema, String> {
    let operation = Description::read(description).unwrap().operation("op").unwrap();
    let args = operation.into_parts().0.args;
    ArgsSchema::compile_translated(&args).map_err(|error| error.to_string())
}

#[test]
fn a_translated_schema_may_have_256_kib_and_another_64() {
    let schema = |bytes: usize| json!({"enum": ["x".repeat(bytes)]});
    assert!(ArgsSchema::compile(&schema(60_000)).is_ok());
    let error = ArgsSchema::compile(&schema(70_000)).unwrap_err().to_string();
    assert!(error.contains("at most 65536 bytes"), "{error}");
    assert!(ArgsSchema::compile_translated(&schema(250_000)).is_ok());
    let error = ArgsSchema::compile_translated(&schema(270_000)).unwrap_err().to_string();
    assert!(error.contains("at most 262144 bytes"), "{error}");
}

#[tokio::test]
async fn a_tool_list_of_a_long_schema_is_accepted_as_the_description_is() {
    let long = described(EARLY, json!({"enum": ["x".repeat(250_000)]}), json!({}));
    served(long.clone()).await;
    let mut config = convert(&long.to_string(), &[]).unwrap().config;
    config["auth"] = json!("none");
    assert!(built(&blueprint(config)).await.is_ok());
}

#[test]
fn a_translated_schema_has_no_more_levels_than_another() {
    let deep = |levels| (1..levels).fold(json!({}), |inner, _| json!({"not": inner}));
    assert!(ArgsSchema::compile_translated(&deep(64)).is_ok());
    let error = ArgsSchema::compile_translated(&deep(65)).unwrap_err().to_string();
    assert!(error.contains("at most 64 levels"), "{error}");
}

#[tokio::test]
async fn a_format_that_is_not_checked_is_a_note() {
    for format in ["int32", "int64", "uint32", "float", "double", "unix-time", "byte", "password"] {
        let note = format!("Format: {format}.");
        for (text, expected) in [
            (None, note.clone()),
            (Some("The id"), format!("The id. {note}")),
            (Some("The id."), format!("The id. {note}")),
        ] {
            let mut it = json!({"format": format});
            it.as_object_mut().unwrap().extend(text.map(|it| ("description".into(), it.into())));
            let found = shown(described(EARLY, it, json!({}))).await;
            assert_eq!(found, json!({"description": expected}));
        }
    }
}

#[tokio::test]
async fn a_format_that_is_checked_stays() {
    for (format, good, bad) in [
        ("date", "2026-01-31", "2026-02-31"),
        ("uuid", "00000000-0000-4000-8000-000000000000", "1"),
        ("uri-template", "/{a}", "/{"),
        ("relative-json-pointer", "1/a", "/a"),
        ("iri", "https://example.com/é", "é"),
    ] {
        let it = json!({"type": "string", "format": format});
        alone(CURRENT, it, &[json!(good)], &[json!(bad)]).await;
    }
}

#[tokio::test]
async fn a_parameter_keeps_its_description_beside_a_note() {
    let parameter = |schema: Value| {
        let mut description = described(EARLY, json!({}), json!({"Id": {"format": "int64"}}));
        description["paths"]["/things"]["post"]["parameters"][0] =
            json!({"in": "query", "name": "dry", "description": "The id", "schema": schema});
        description
    };
    for (schema, expected) in [
        (json!({"format": "int64"}), "The id. Format: int64."),
        (json!({"format": "int64", "description": "Own"}), "Own. Format: int64."),
        (json!({"$ref": "#/components/schemas/Id"}), "The id"),
        (json!({"type": "string"}), "The id"),
    ] {
        let tool = served(parameter(schema)).await;
        let found = &tool.definition().input_schema.value()["properties"]["dry"]["description"];
        assert_eq!(found, expected);
    }
}

#[test]
fn a_pattern_that_takes_more_than_linear_time_is_a_reason_that_names_it() {
    for (pattern, fault) in [
        ("(?!no)", "uses look-around"),
        ("^(?=.*a)b", "uses look-around"),
        ("(?<=a)b", "uses look-around"),
        ("(?<!a)b", "uses look-around"),
        (r"[)\]](?!no)", "uses look-around"),
        (r"(a)\1", "uses a backreference"),
        (r"(?<x>a)\k<x>", "uses a backreference"),
    ] {
        let expected = format!("its pattern `{pattern}` {fault}, which cannot be checked");
        left_out(&described(EARLY, json!({"pattern": pattern}), json!({})), &expected);
        let names = json!({"patternProperties": {pattern: {}}});
        left_out(&described(CURRENT, names, json!({})), &expected);
    }
    let unread = described(EARLY, json!({"pattern": "(a"}), json!({}));
    left_out(&unread, "the pattern `(a` is not one that the matcher can read");
}

#[tokio::test]
async fn a_pattern_that_only_seems_to_look_around_is_kept() {
    let good = |text: &str| json!(text);
    alone(EARLY, json!({"pattern": "^[(?!]+$"}), &[good("(?!")], &[good("a")]).await;
    alone(EARLY, json!({"pattern": r"^\(?!$"}), &[good("(!"), good("!")], &[good("a")]).await;
    alone(EARLY, json!({"pattern": r"^\\1$"}), &[good(r"\1")], &[good("1")]).await;
    alone(EARLY, json!({"pattern": "^(?:a|b)$"}), &[good("a")], &[good("c")]).await;
}

#[test]
fn a_tool_list_has_the_translated_schemas() {
    let it = json!({"type": "integer", "format": "int64", "nullable": true});
    let description = described(EARLY, it, json!({})).to_string();
    let found = &convert(&description, &[]).unwrap().config["tools"][0]["args"];
    let expected = json!({"type": ["integer", "null"], "description": "Format: int64."});
    assert_eq!(found["properties"]["it"], expected);
}
