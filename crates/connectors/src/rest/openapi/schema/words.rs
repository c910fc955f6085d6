//! The words of a schema, by what is done with each.

/// Words whose value is a schema.
pub(super) const OF_SCHEMA: [&str; 10] = [
    "items",
    "additionalProperties",
    "not",
    "if",
    "then",
    "else",
    "propertyNames",
    "contains",
    "unevaluatedItems",
    "unevaluatedProperties",
];
/// Words whose schema is a test, so that a narrower schema would accept more values elsewhere. The parts
/// of a `oneOf` are none: each says what may be sent.
pub(super) const OF_TEST: [&str; 3] = ["not", "if", "contains"];
/// Words whose value is a list of schemas.
pub(super) const OF_SCHEMAS: [&str; 4] = ["allOf", "anyOf", "oneOf", "prefixItems"];
/// Words whose value has a schema for each name.
pub(super) const OF_NAMES: [&str; 3] = ["properties", "patternProperties", "dependentSchemas"];
/// Words below which a schema is found by its name, although no value is checked by them.
pub(super) const OF_DEFINITIONS: [&str; 2] = ["$defs", "definitions"];
/// Words that are carried over as they are.
pub(super) const AS_THEY_ARE: [&str; 15] = [
    "type",
    "enum",
    "const",
    "minLength",
    "maxLength",
    "pattern",
    "multipleOf",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minProperties",
    "maxProperties",
    "minContains",
    "maxContains",
    "dependentRequired",
];
/// Words that limit a count from above: beyond every number that is accepted, they say nothing.
pub(super) const AT_MOST: [&str; 4] = ["maxLength", "maxItems", "maxProperties", "maxContains"];
/// Least and most, each with the word for the same bound without the number itself, and whether it
/// is the least.
pub(super) const BOUNDS: [(&str, &str, bool); 2] =
    [("minimum", "exclusiveMinimum", true), ("maximum", "exclusiveMaximum", false)];
/// Words that are a reason to leave the operation out: they give a schema another place or another
/// meaning from outside, or restrict values in a draft that neither 3.0 nor 3.1 speaks.
pub(super) const NOT_CARRIED: [&str; 11] = [
    "$id",
    "$anchor",
    "$dynamicRef",
    "$dynamicAnchor",
    "$recursiveRef",
    "$recursiveAnchor",
    "dependencies",
    "additionalItems",
    "divisibleBy",
    "disallow",
    "extends",
];
/// Words that may be beside a reference without restricting a value.
pub(super) const SAYS: [&str; 10] = [
    "$ref",
    "$comment",
    "title",
    "summary",
    "description",
    "default",
    "example",
    "examples",
    "deprecated",
    "externalDocs",
];
/// Formats that are checked; the others become a note.
pub(super) const FORMATS: [&str; 17] = [
    "date-time",
    "date",
    "time",
    "duration",
    "email",
    "hostname",
    "ipv4",
    "ipv6",
    "uri",
    "uri-reference",
    "uri-template",
    "iri",
    "iri-reference",
    "uuid",
    "regex",
    "json-pointer",
    "relative-json-pointer",
];
