//! Schemas that contain themselves or each other.

use serde_json::{Map, Value, json};

use super::{CURRENT, EARLY, accepts, compiled, described, left_out, served};

#[tokio::test]
async fn a_comment_has_replies_that_are_comments() {
    let schemas = json!({"Comment": {"type": "object", "required": ["text"], "properties": {
        "text": {"type": "string"},
        "replies": {"type": "array", "items": {"$ref": "#/components/schemas/Comment"}},
    }}});
    let it = json!({"$ref": "#/components/schemas/Comment"});
    let description = described(EARLY, it.clone(), schemas);
    let tool = served(description.clone()).await;
    let schema = tool.definition().input_schema.value();
    assert_eq!(schema["properties"]["it"], json!({"$ref": "#/$defs/Comment"}));
    assert_eq!(schema["$defs"].as_object().unwrap().len(), 1);
    let nested = |text: Value| {
        (0..8).fold(json!({"text": text}), |inner, _| json!({"text": "a", "replies": [inner]}))
    };
    accepts(description, &[nested(json!("a"))], &[nested(json!(1)), json!({})]).await;
}

#[tokio::test]
async fn two_schemas_refer_to_each_other() {
    let schemas = json!({
        "Person": {"properties": {"pet": {"$ref": "#/components/schemas/Pet"}}, "additionalProperties": false},
        "Pet": {"properties": {"owner": {"$ref": "#/components/schemas/Person"}}, "additionalProperties": false},
    });
    let it = json!({"$ref": "#/components/schemas/Person"});
    let good = [json!({"pet": {"owner": {"pet": {}}}})];
    let bad = [json!({"pet": {"pet": {}}}), json!({"pet": {"owner": {"owner": {}}}})];
    accepts(described(EARLY, it, schemas), &good, &bad).await;
}

#[tokio::test]
async fn an_all_of_of_itself_ends_and_adds_nothing() {
    let own = json!({"$ref": "#/components/schemas/A"});
    let schemas = json!({
        "A": {"allOf": [own, {"type": "object", "required": ["a"]}], "properties": {"a": own}},
        "B": {"allOf": [{"$ref": "#/components/schemas/C"}], "required": ["b"]},
        "C": {"allOf": [{"$ref": "#/components/schemas/B"}, {"type": "object"}], "required": ["c"]},
    });
    let good = json!({"a": {"a": {"a": {}}}});
    let description = described(EARLY, own, schemas.clone());
    accepts(description.clone(), &[], &[good, json!({}), json!(1)]).await;
    assert!(compiled(&description).is_ok());
    let two = described(EARLY, json!({"$ref": "#/components/schemas/B"}), schemas);
    assert!(compiled(&two).is_ok());
    let bad = [json!({"b": 1}), json!({"c": 1}), json!(1)];
    accepts(two, &[json!({"b": 1, "c": 1})], &bad).await;
}

#[test]
fn a_choice_of_itself_is_a_reason() {
    let own = json!({"$ref": "#/components/schemas/A"});
    for a in [
        json!({"anyOf": [own, {"type": "string"}]}),
        json!({"oneOf": [{"allOf": [own]}, {"type": "string"}]}),
        json!({"not": own}),
        json!({"if": own, "then": false}),
        json!({"allOf": [{"$ref": "#/components/schemas/B"}]}),
    ] {
        let schemas = json!({"A": a, "B": {"anyOf": [own, {"type": "string"}]}});
        let found = compiled(&described(CURRENT, own.clone(), schemas)).err().unwrap_or_default();
        assert!(found.contains("applies itself to the same value in a choice"), "{found}");
    }
    let schemas = json!({"A": {"$ref": "#/components/schemas/B"}, "B": own});
    left_out(&described(EARLY, own, schemas), "leads through too many others");
}

#[tokio::test]
async fn a_discriminator_chooses_nothing() {
    let schemas = json!({
        "Pet": {"type": "object", "required": ["kind"], "properties": {"kind": {"type": "string"}},
            "discriminator": {"propertyName": "kind", "mapping": {"cat": "#/components/schemas/Cat"}}},
        "Cat": {"allOf": [{"$ref": "#/components/schemas/Pet"}, {"required": ["lives"]}]},
        "Dog": {"allOf": [{"$ref": "#/components/schemas/Pet"}, {"required": ["barks"]}]},
    });
    let reference = |name: &str| json!({"$ref": format!("#/components/schemas/{name}")});
    let it = json!({"oneOf": [reference("Cat"), reference("Dog")], "discriminator": {"propertyName": "kind"}});
    let good = [json!({"kind": "cat", "lives": 9}), json!({"kind": "dog", "barks": true})];
    let bad = [
        json!({"lives": 9}),
        json!({"kind": "cat"}),
        json!({"kind": "cat", "lives": 9, "barks": true}),
    ];
    accepts(described(EARLY, it, schemas), &good, &bad).await;
}

/// Schemas of which each refers to the next by this, up to a last one without reference.
fn chain(length: usize, link: impl Fn(Value) -> Value) -> Value {
    let next = |at: usize| json!({"$ref": format!("#/components/schemas/S{}", at + 1)});
    let links = (0..length).map(|at| (format!("S{at}"), link(next(at))));
    let last = (format!("S{length}"), json!({"type": "object"}));
    Value::Object(links.chain([last]).collect::<Map<_, _>>())
}

#[tokio::test]
async fn what_references_multiply_is_bounded() {
    let first = json!({"$ref": "#/components/schemas/S0"});
    let twice = |next: Value| json!({"allOf": [next, next]});
    let found = compiled(&described(EARLY, first.clone(), chain(20, twice))).err().unwrap();
    assert!(found.contains("more than 10000 schemas apply to one value"), "{found}");
    let within = described(EARLY, first.clone(), chain(8, twice));
    assert!(compiled(&within).is_ok());
    accepts(within, &[json!({})], &[json!(1)]).await;
    let once = |next: Value| json!({"allOf": [next]});
    let choice = |next: Value| json!({"anyOf": [next]});
    let found = compiled(&described(EARLY, first.clone(), chain(40, choice))).err().unwrap();
    assert!(found.contains("more than 64 schemas"), "{found}");
    let long = described(EARLY, first.clone(), chain(1_000, once));
    left_out(&long, "leads through more than 64 others");
    // A chain into the value is as long as the value is deep.
    let member = |next: Value| json!({"type": "object", "properties": {"a": next}});
    let long = described(EARLY, first, chain(3_000, member));
    let schema = compiled(&long).unwrap();
    let value = |end: Value| (0..30).fold(end, |inner, _| json!({"a": inner}));
    assert!(schema.check(&json!({"it": value(json!({}))})).is_ok());
    assert!(schema.check(&json!({"it": value(json!(1))})).is_err());
}

/// The library checks each part again where it looks for members that none has evaluated.
#[test]
fn unevaluated_properties_within_each_other_are_a_reason() {
    let within = |levels: usize| {
        (0..levels).fold(
            json!({"type": "object"}),
            |inner, _| json!({"anyOf": [inner], "unevaluatedProperties": false}),
        )
    };
    left_out(&described(CURRENT, within(25), json!({})), "schemas apply to one value");
    let (served, _) = super::openapi::every_operation(
        &super::Description::read(&described(CURRENT, within(3), json!({}))).unwrap(),
    );
    assert_eq!(served.len(), 1);
}
