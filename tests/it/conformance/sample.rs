//! Values that a JSON Schema accepts, made of its own words.
//!
//! Not every schema has one that can be found so; whether a value is accepted, its tool says.

use serde_json::{Map, Value, json};

/// The deepest value that is made.
const DEEPEST: usize = 12;
/// How deep optional members are filled.
const OPTIONAL_DEPTH: usize = 3;
/// Texts of the formats that are checked.
const FORMATS: [(&str, &str); 9] = [
    ("date-time", "2026-01-02T03:04:05Z"),
    ("date", "2026-01-02"),
    ("time", "03:04:05Z"),
    ("email", "ann@example.com"),
    ("uri", "https://example.com/a"),
    ("uuid", "0190b1b0-0000-7000-8000-000000000000"),
    ("hostname", "example.com"),
    ("ipv4", "192.0.2.1"),
    ("ipv6", "2001:db8::1"),
];
/// Texts for patterns with these parts.
const PATTERNS: [(&str, &str); 5] = [
    ("sha256:", "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
    ("^refs/", "refs/heads/a"),
    ("^ssh-", "ssh-rsa a"),
    ("[A-Za-z0-9+/]{4}", "YWJj"),
    (r"\d+\.\d+\.\d+", "1.2.3"),
];

/// Which members a value has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    /// Those that are required.
    Required,
    /// Each that is described.
    Described,
}

/// Makes values of the schemas in one document.
pub(super) struct Sampler<'a> {
    root: &'a Value,
    extent: Extent,
}

impl<'a> Sampler<'a> {
    /// Makes values of the schema and of those in its `$defs`.
    pub(super) fn of(root: &'a Value, extent: Extent) -> Self {
        Self { root, extent }
    }

    /// A value of the whole.
    pub(super) fn sample(&self) -> Option<Value> {
        self.value(self.root, 0)
    }

    fn value(&self, schema: &Value, depth: usize) -> Option<Value> {
        if depth > DEEPEST || *schema == json!(false) {
            return None;
        }
        if let Some(reference) = schema["$ref"].as_str() {
            return self.value(self.root.pointer(reference.strip_prefix('#')?)?, depth + 1);
        }
        if let Some(value) = schema.get("const").or_else(|| schema["enum"].get(0)) {
            return Some(value.clone());
        }
        if let Some(parts) = schema["allOf"].as_array() {
            let parts: Option<Vec<_>> = parts.iter().map(|part| self.resolved(part)).collect();
            let whole = parts?.into_iter().fold(without(schema, "allOf"), merged);
            return self.value(&whole, depth + 1);
        }
        for word in ["anyOf", "oneOf"] {
            let Some(branches) = schema[word].as_array() else { continue };
            let rest = without(schema, word);
            return branches.iter().find_map(|branch| {
                self.value(&merged(rest.clone(), self.resolved(branch)?), depth + 1)
            });
        }
        self.own(schema, depth).or_else(|| Some(json!("a")))
    }

    fn resolved<'s>(&'s self, mut schema: &'s Value) -> Option<&'s Value> {
        while let Some(reference) = schema["$ref"].as_str() {
            schema = self.root.pointer(reference.strip_prefix('#')?)?;
        }
        Some(schema)
    }

    /// A value of the words that are beside its compositions; `None` where they say nothing.
    fn own(&self, schema: &Value, depth: usize) -> Option<Value> {
        let kind = match &schema["type"] {
            Value::Array(kinds) => kinds.iter().find(|kind| **kind != "null"),
            kind => Some(kind),
        };
        let has = |word: &str| schema.get(word).is_some();
        match kind.and_then(Value::as_str) {
            Some("string") => Some(text(schema)),
            Some("boolean") => Some(json!(true)),
            Some("integer" | "number") => Some(number(schema)),
            Some("null") => Some(Value::Null),
            Some("array") => self.list(schema, depth),
            Some("object") => self.object(schema, depth),
            _ if has("properties") || has("required") => self.object(schema, depth),
            _ if has("items") => self.list(schema, depth),
            _ => None,
        }
    }

    fn list(&self, schema: &Value, depth: usize) -> Option<Value> {
        let least = schema["minItems"].as_u64().unwrap_or(0).max(1);
        let item = match schema.get("items") {
            Some(items) => self.value(items, depth + 1),
            None => Some(json!("a")),
        };
        match item {
            Some(item) => Some(Value::Array((0..least).map(|_| item.clone()).collect())),
            None if schema["minItems"].as_u64().is_none_or(|least| least == 0) => Some(json!([])),
            None => None,
        }
    }

    fn object(&self, schema: &Value, depth: usize) -> Option<Value> {
        let mut members = Map::new();
        let required: Vec<&str> =
            schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let is_filled = self.extent == Extent::Described && depth < OPTIONAL_DEPTH;
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            let is_required = required.contains(&name.as_str());
            if !is_required && !is_filled {
                continue;
            }
            match self.value(property, depth + 1) {
                Some(value) => drop(members.insert(name.clone(), value)),
                None if is_required => return None,
                None => {}
            }
        }
        for name in required {
            members.entry(name).or_insert_with(|| json!("a"));
        }
        let least = schema["minProperties"].as_u64().unwrap_or(0);
        let is_open = schema.get("properties").is_none() && is_filled;
        if (members.len() as u64) < least || is_open {
            let others = schema.get("additionalProperties").unwrap_or(&Value::Bool(true));
            if let Some(value) = self.value(others, depth + 1) {
                members.insert("a".to_owned(), value);
            }
        }
        Some(Value::Object(members))
    }
}

fn without(schema: &Value, word: &str) -> Value {
    let mut schema = schema.clone();
    schema.as_object_mut().unwrap().remove(word);
    schema
}

/// A schema with the words of both; of a word that both have, the properties and the required names of
/// both, and else the word of the first.
fn merged(mut one: Value, other: &Value) -> Value {
    for (word, value) in other.as_object().into_iter().flatten() {
        match (word.as_str(), &mut one[word], value) {
            (_, own @ Value::Null, value) => *own = value.clone(),
            ("properties", Value::Object(own), Value::Object(others)) => {
                for (name, property) in others {
                    own.entry(name).or_insert_with(|| property.clone());
                }
            }
            ("required", Value::Array(own), Value::Array(others)) => own.extend(others.clone()),
            _ => {}
        }
    }
    one
}

fn text(schema: &Value) -> Value {
    let format = schema["format"].as_str();
    if let Some((_, text)) = FORMATS.iter().find(|(name, _)| Some(*name) == format) {
        return json!(text);
    }
    let pattern = schema["pattern"].as_str();
    let found = PATTERNS.iter().find(|(part, _)| pattern.is_some_and(|it| it.contains(part)));
    if let Some((_, text)) = found {
        return json!(text);
    }
    let least = schema["minLength"].as_u64().unwrap_or(0).max(1);
    json!("a".repeat(usize::try_from(least).unwrap()))
}

fn number(schema: &Value) -> Value {
    let bound = |word: &str| schema[word].as_f64();
    let least = bound("minimum").or_else(|| bound("exclusiveMinimum").map(|bound| bound + 1.0));
    let most = bound("maximum").or_else(|| bound("exclusiveMaximum").map(|bound| bound - 1.0));
    let number = most.map_or(1.0, |most| most.min(1.0)).max(least.unwrap_or(f64::MIN));
    #[expect(clippy::cast_possible_truncation, reason = "bounds of schemas lie within ±2^53")]
    let whole = number.ceil() as i64;
    json!(whole)
}
