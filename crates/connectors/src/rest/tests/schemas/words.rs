//! Bounds, null, references, drafts and every other word.

use serde_json::{Value, json};

use super::{CURRENT, EARLY, accepts, alone, described, left_out, shown};

const LARGEST: i64 = (1 << 53) - 1;

#[tokio::test]
async fn a_bound_beyond_every_number_keeps_its_meaning() {
    let far =
        [json!(9_223_372_036_854_775_807_u64), json!(1e300), json!(9_007_199_254_740_993_i64)];
    let numbers = [json!(0), json!(0.5), json!(LARGEST), json!(-LARGEST)];
    let text = [json!("text")];
    for far in far {
        let below = json!(-far.as_f64().unwrap());
        for it in [
            json!({"minimum": far}),
            json!({"minimum": far, "exclusiveMinimum": true}),
            json!({"minimum": far, "exclusiveMinimum": 3}),
            json!({"minimum": 3, "exclusiveMinimum": far}),
            json!({"maximum": below}),
            json!({"maximum": below, "exclusiveMaximum": true}),
            json!({"exclusiveMaximum": below}),
        ] {
            alone(CURRENT, it, &text, &numbers).await;
        }
        for it in [
            json!({"minimum": below, "maximum": far}),
            json!({"minimum": below, "exclusiveMinimum": true}),
            json!({"exclusiveMinimum": below, "exclusiveMaximum": far}),
        ] {
            alone(CURRENT, it, &numbers, &[]).await;
        }
        for word in ["maxLength", "maxItems", "maxProperties"] {
            assert_eq!(shown(described(EARLY, json!({word: far}), json!({}))).await, json!({}));
        }
        left_out(&described(EARLY, json!({"minLength": far}), json!({})), "outside ±(2^53−1)");
        left_out(&described(EARLY, json!({"maxLength": below}), json!({})), "outside ±(2^53−1)");
    }
}

#[tokio::test]
async fn a_bound_that_excludes_itself_does_so_in_each_version() {
    let it =
        json!({"minimum": 1, "exclusiveMinimum": true, "maximum": 5, "exclusiveMaximum": false});
    alone(EARLY, it, &[json!(2), json!(5)], &[json!(1), json!(6)]).await;
    let it = json!({"minimum": 1, "exclusiveMinimum": 3});
    alone(CURRENT, it, &[json!(4)], &[json!(3), json!(0)]).await;
}

#[test]
fn a_reference_to_something_that_is_no_schema_is_a_reason() {
    let table = [
        "#",
        "#/info",
        "#/paths",
        "#/components/schemas",
        "#/paths/~1things/post",
        "#/paths/~1things/post/parameters/0",
        "#/components/schemas/A/example",
        "#/components/schemas%2FA%2Fexample",
        "#/components/schemas/A/properties",
    ];
    let schemas = json!({"A": {"example": {"type": "string"}, "properties": {"a": {}}}});
    for reference in table {
        for it in [json!({"$ref": reference}), json!({"items": {"$ref": reference}})] {
            left_out(&described(EARLY, it, schemas.clone()), "something that is no schema");
        }
    }
    let mut description = described(EARLY, json!({}), schemas);
    let example = json!({"$ref": "#/components/schemas/A/example"});
    description["components"]["schemas"]["A"]["example"] =
        json!({"type": "object", "properties": {"a": {}}});
    description["paths"]["/things"]["post"]["requestBody"]["content"]["application/json"]["schema"] =
        example;
    left_out(&description, "something that is no schema");
    let chain = json!({"A": {"$ref": "#/components/schemas/B"}, "B": {"$ref": "#/info"}});
    let it = json!({"$ref": "#/components/schemas/A"});
    left_out(&described(EARLY, it, chain), "something that is no schema");
    left_out(&described(EARLY, json!({"$ref": 5}), json!({})), "its `$ref` is no text");
}

#[tokio::test]
async fn a_reference_to_any_place_of_a_schema_is_followed() {
    let mut description = described(
        EARLY,
        json!({}),
        json!({
            "A": {"type": "object", "properties": {"a/b": {"type": "integer"}, "c": {"items": {"type": "integer"}}}},
            "C": {"allOf": [{"type": "integer"}], "x-own": {"type": "integer"}},
        }),
    );
    description["definitions"] = json!({"D": {"type": "integer"}});
    description["x-schemas"] = json!({"E": {"type": "integer"}});
    description["components"]["parameters"] = json!({
        "schema": {"in": "query", "name": "b", "schema": {"type": "integer"}},
        "json": {"in": "query", "name": "b", "content": {"application/json": {"schema": {"type": "integer"}}}},
    });
    description["paths"]["/things"]["post"]["responses"] = json!({
        "200": {"description": "", "content": {"application/json": {"schema": {"type": "integer"}}}},
    });
    for place in [
        "#/components/schemas/A/properties/a~1b",
        "#/components/schemas/A/properties/c/items",
        "#/components/schemas/C/allOf/0",
        "#/components/schemas/C/x-own",
        "#/components/parameters/schema/schema",
        "#/components/parameters/json/content/application~1json/schema",
        "#/paths/~1things/post/responses/200/content/application~1json/schema",
        "#/definitions/D",
        "#/x-schemas/E",
    ] {
        description["paths"]["/things"]["post"]["requestBody"]["content"]["application/json"]["schema"]
            ["properties"]["it"] = json!({"$ref": place});
        accepts(description.clone(), &[json!(1)], &[json!("a"), json!(null)]).await;
    }
}

#[tokio::test]
async fn another_draft_than_2020_12_is_a_reason() {
    let base = "https://spec.openapis.org/oas/3.1/dialect/base";
    let current = "https://json-schema.org/draft/2020-12/schema";
    let other = "http://json-schema.org/draft-07/schema#";
    let of_document = |version: &str, dialect: &str| {
        let mut description = described(version, json!({"type": "integer"}), json!({}));
        description["jsonSchemaDialect"] = json!(dialect);
        description
    };
    let of_schema = |version: &str, dialect: &str| {
        let it = json!({"$ref": "#/components/schemas/A"});
        described(version, it, json!({"A": {"$schema": dialect, "type": "integer"}}))
    };
    for dialect in [base, current] {
        for description in [of_document(CURRENT, dialect), of_schema(CURRENT, dialect)] {
            accepts(description, &[json!(1)], &[json!("a")]).await;
        }
    }
    let word = "`jsonSchemaDialect` is `http://json-schema.org/draft-07";
    left_out(&of_document(CURRENT, other), word);
    left_out(&of_schema(CURRENT, other), "`$schema` is `http://json-schema.org/draft-07");
    left_out(&of_schema(CURRENT, "https://example.com/own"), "and not 2020-12");
    // In 3.0 neither word exists, and its schemas are those of 3.0.
    accepts(of_document(EARLY, other), &[json!(1)], &[json!("a")]).await;
    accepts(of_schema(EARLY, other), &[json!(1)], &[json!("a")]).await;
}

#[test]
fn a_word_that_restricts_in_another_draft_is_a_reason() {
    for word in [
        "dependencies",
        "additionalItems",
        "divisibleBy",
        "disallow",
        "extends",
        "$id",
        "$anchor",
        "$dynamicRef",
        "$recursiveRef",
    ] {
        for version in [EARLY, CURRENT] {
            left_out(&described(version, json!({word: {}}), json!({})), &format!("`{word}`"));
        }
    }
    for (it, expected) in [
        (json!({"required": true}), "its `required` is no list"),
        (json!({"minimum": "5"}), "its `minimum` is no number"),
        (json!({"exclusiveMaximum": "5"}), "its `exclusiveMaximum` is no number"),
        (json!({"items": [{}]}), "neither an object nor a truth value"),
        (json!({"allOf": {}}), "its `allOf` is no list"),
        (json!({"properties": []}), "its `properties` is no object"),
    ] {
        left_out(&described(EARLY, it, json!({})), expected);
    }
}

#[tokio::test]
async fn every_word_that_restricts_is_carried_over() {
    let table = [
        (json!({"type": "integer"}), json!(1), json!("a")),
        (json!({"enum": [1, 2]}), json!(1), json!(3)),
        (json!({"const": 1}), json!(1), json!(2)),
        (json!({"minLength": 2}), json!("ab"), json!("a")),
        (json!({"maxLength": 1}), json!("a"), json!("ab")),
        (json!({"pattern": "^a"}), json!("a"), json!("b")),
        (json!({"multipleOf": 2}), json!(4), json!(3)),
        (json!({"minimum": 2}), json!(2), json!(1)),
        (json!({"maximum": 2}), json!(2), json!(3)),
        (json!({"minItems": 1}), json!([1]), json!([])),
        (json!({"maxItems": 1}), json!([1]), json!([1, 2])),
        (json!({"uniqueItems": true}), json!([1, 2]), json!([1, 1])),
        (json!({"minProperties": 1}), json!({"a": 1}), json!({})),
        (json!({"maxProperties": 0}), json!({}), json!({"a": 1})),
        (json!({"required": ["a"]}), json!({"a": 1}), json!({})),
        (json!({"contains": {"const": 1}, "minContains": 2}), json!([1, 1]), json!([1])),
        (json!({"contains": {"const": 1}, "maxContains": 1}), json!([1]), json!([1, 1])),
        (json!({"dependentRequired": {"a": ["b"]}}), json!({"a": 1, "b": 1}), json!({"a": 1})),
        (json!({"dependentSchemas": {"a": false}}), json!({"b": 1}), json!({"a": 1})),
        (json!({"properties": {"a": {"type": "null"}}}), json!({"a": null}), json!({"a": 1})),
        (json!({"patternProperties": {"^a": false}}), json!({"b": 1}), json!({"ab": 1})),
        (json!({"additionalProperties": false}), json!({}), json!({"a": 1})),
        (json!({"propertyNames": {"maxLength": 1}}), json!({"a": 1}), json!({"ab": 1})),
        (json!({"unevaluatedProperties": false}), json!({}), json!({"a": 1})),
        (json!({"items": {"type": "null"}}), json!([null]), json!([1])),
        (json!({"prefixItems": [{"type": "null"}]}), json!([null, 1]), json!([1])),
        (json!({"unevaluatedItems": false}), json!([]), json!([1])),
        (json!({"allOf": [{"type": "null"}]}), json!(null), json!(1)),
        (json!({"anyOf": [{"const": 1}, {"const": 2}]}), json!(1), json!(3)),
        (json!({"oneOf": [{"minimum": 1}, {"minimum": 2}]}), json!(1), json!(2)),
        (json!({"not": {"const": 1}}), json!(2), json!(1)),
        (json!({"if": {"const": 1}, "then": false}), json!(2), json!(1)),
        (json!({"if": {"const": 1}, "else": false}), json!(1), json!(2)),
        (json!({"format": "ipv4"}), json!("127.0.0.1"), json!("a")),
    ];
    for (it, good, bad) in table {
        alone(CURRENT, it, &[good], &[bad]).await;
    }
}

#[tokio::test]
async fn words_that_only_describe_restrict_nothing() {
    let it = json!({
        "contentEncoding": "base64", "contentMediaType": "application/json", "contentSchema": {"type": "null"},
        "deprecated": true, "writeOnly": true, "discriminator": {"propertyName": "kind"}, "xml": {},
        "example": 1, "examples": [1], "externalDocs": {"url": "x"}, "$comment": "c", "x-own": 1,
        "required": false,
    });
    let everything = [json!(null), json!("a"), json!(1), json!({"a": 1}), json!([1])];
    for version in [EARLY, CURRENT] {
        alone(version, it.clone(), &everything, &[]).await;
    }
}

#[tokio::test]
async fn null_is_allowed_beside_a_type_and_in_its_enum() {
    let nullable = |mut it: Value| {
        it["nullable"] = json!(true);
        it
    };
    let null = json!(null);
    let text = nullable(json!({"type": "string"}));
    alone(EARLY, text, &[null.clone(), json!("a")], &[json!(1)]).await;
    let choice = nullable(json!({"type": "string", "enum": ["a"]}));
    alone(EARLY, choice, &[null.clone(), json!("a")], &[json!("b"), json!(1)]).await;
    let twice = nullable(json!({"type": ["string", "null"], "enum": ["a", null]}));
    alone(EARLY, twice, &[null.clone(), json!("a")], &[json!("b")]).await;
    // 3.1 has no such word.
    let text = nullable(json!({"type": "string"}));
    alone(CURRENT, text, &[json!("a")], std::slice::from_ref(&null)).await;
    let text = json!({"type": "string", "nullable": false});
    alone(EARLY, text, &[json!("a")], &[null]).await;
}

#[tokio::test]
async fn null_without_a_type_has_no_effect() {
    let nullable = |mut it: Value| {
        it["nullable"] = json!(true);
        it
    };
    let null = [json!(null)];
    alone(EARLY, nullable(json!({})), &[json!(null), json!(1)], &[]).await;
    alone(EARLY, nullable(json!({"enum": ["a"]})), &[json!("a")], &null).await;
    let schemas = json!({"A": {"type": "object"}, "N": {"type": "object", "nullable": true}});
    let all_of = |name: &str| json!({"allOf": [{"$ref": format!("#/components/schemas/{name}")}]});
    let object = [json!({})];
    for it in [
        nullable(all_of("A")),
        nullable(json!({"type": "object", "allOf": all_of("A")["allOf"]})),
        nullable(json!({"$ref": "#/components/schemas/A"})),
    ] {
        accepts(described(EARLY, it, schemas.clone()), &object, &null).await;
    }
    accepts(described(EARLY, all_of("N"), schemas), &[json!({}), json!(null)], &[json!(1)]).await;
}
