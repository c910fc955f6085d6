//! Properties that are only in responses.

use serde_json::{Value, json};

use super::{CURRENT, EARLY, accepts, alone, described, served, shown};

#[tokio::test]
async fn a_read_only_property_is_refused_with_every_value() {
    let read_only = json!({"type": "integer", "readOnly": true});
    let schemas = json!({
        "Id": read_only,
        "Thing": {"type": "object", "required": ["id"], "properties": {"id": read_only, "a": {}}},
    });
    let object = |id: Value| json!({"type": "object", "required": ["id", "a"], "properties": {"id": id, "a": {}}});
    let of_thing = json!({"$ref": "#/components/schemas/Thing"});
    let id = json!({"$ref": "#/components/schemas/Id"});
    for it in [
        object(read_only.clone()),
        object(id.clone()),
        object(json!({"allOf": [id]})),
        object(json!({"allOf": [{"type": "integer"}], "readOnly": true})),
        of_thing.clone(),
        json!({"allOf": [of_thing]}),
        json!({"allOf": [of_thing, {"type": "object", "required": ["id", "a"]}]}),
        json!({"allOf": [of_thing], "required": ["a", "id"]}),
        json!({"allOf": [{"properties": {"id": {"type": "integer"}}}, object(read_only.clone())]}),
        json!({"allOf": [{"allOf": [{"required": ["id"]}]}, object(read_only.clone())]}),
        json!({"additionalProperties": false, "patternProperties": {"^.$|d": {}}, "properties": {"id": read_only}}),
        json!({"patternProperties": {"^id$": read_only}}),
        json!({"properties": {"a": {}}, "additionalProperties": read_only}),
    ] {
        let good = [json!({"a": 1})];
        let bad =
            [json!({"id": 1, "a": 1}), json!({"id": "x", "a": 1}), json!({"id": null, "a": 1})];
        for version in [EARLY, CURRENT] {
            accepts(described(version, it.clone(), schemas.clone()), &good, &bad).await;
        }
    }
}

#[tokio::test]
async fn what_is_beside_a_reference_counts_as_its_version_says() {
    let schemas = json!({"Id": {"type": "integer"}});
    let beside =
        json!({"properties": {"id": {"$ref": "#/components/schemas/Id", "readOnly": true}}});
    let sent = [json!({"id": 1})];
    accepts(described(EARLY, beside.clone(), schemas.clone()), &sent, &[json!({"id": "x"})]).await;
    accepts(described(CURRENT, beside, schemas.clone()), &[json!({})], &sent).await;
    let narrower = json!({"$ref": "#/components/schemas/Id", "maximum": 5});
    accepts(described(EARLY, narrower.clone(), schemas.clone()), &[json!(7)], &[json!("x")]).await;
    accepts(described(CURRENT, narrower, schemas), &[json!(5)], &[json!(7), json!("x")]).await;
}

#[tokio::test]
async fn a_read_only_property_is_shown_only_where_it_would_be_accepted() {
    let object = |is_closed: bool| {
        let mut it = json!({"type": "object", "properties": {"id": {"readOnly": true}, "a": {}}});
        it.as_object_mut()
            .unwrap()
            .extend(is_closed.then(|| ("additionalProperties".to_owned(), json!(false))));
        it
    };
    let open = shown(described(EARLY, object(false), json!({}))).await;
    assert_eq!(open["properties"], json!({"id": false, "a": {}}));
    let closed = shown(described(EARLY, object(true), json!({}))).await;
    assert_eq!(closed["properties"], json!({"a": {}}));
    alone(EARLY, object(true), &[json!({"a": 1})], &[json!({"id": 1})]).await;
}

#[tokio::test]
async fn a_read_only_member_of_the_body_is_no_argument() {
    let mut description = described(EARLY, json!({}), json!({}));
    let body = &mut description["paths"]["/things"]["post"]["requestBody"]["content"]["application/json"]
        ["schema"];
    body["properties"]["id"] = json!({"type": "integer", "readOnly": true});
    body["required"] = json!(["it", "id"]);
    let tool = served(description).await;
    let schema = tool.definition().input_schema.value();
    assert!(schema["properties"].get("id").is_none(), "{schema:?}");
    assert!(tool.check_args(&json!({"it": 1})).is_ok());
    assert!(tool.check_args(&json!({"it": 1, "id": 1})).is_err());
}

#[tokio::test]
async fn a_schema_that_is_a_test_is_not_made_narrower() {
    let with_id =
        json!({"required": ["id"], "properties": {"id": {"type": "integer", "readOnly": true}}});
    let (with, without) = ([json!({"id": 1})], [json!({}), json!({"id": "x"})]);
    alone(CURRENT, json!({"not": with_id}), &without, &with).await;
    let schemas = json!({"WithId": with_id});
    let reference = json!({"$ref": "#/components/schemas/WithId"});
    accepts(described(CURRENT, json!({"not": reference}), schemas.clone()), &without, &with).await;
    let choice = json!({"if": with_id, "then": false});
    alone(CURRENT, choice, &without, &with).await;
    // The same schema refuses the property where it says what is sent.
    let both = json!({"properties": {"a": reference, "b": {"not": reference}}});
    let good = [json!({"a": {}, "b": {}})];
    let bad = [json!({"a": {"id": 1}}), json!({"b": {"id": 1}})];
    accepts(described(CURRENT, both, schemas), &good, &bad).await;
}

#[tokio::test]
async fn a_refused_member_is_named() {
    let it = json!({"properties": {"id": {"readOnly": true}}});
    let tool = served(described(EARLY, it, json!({}))).await;
    let found = tool.check_args(&json!({"it": {"id": 1}})).unwrap_err();
    let found = format!("{found:?}");
    assert!(found.contains("/it/id: the schema accepts no value here"), "{found}");
}
