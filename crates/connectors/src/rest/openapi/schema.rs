//! The schemas of a description as one JSON Schema of 2020-12 that stands by itself.
//!
//! What a reference leads to is taken along once, under `$defs`. Words that only describe answers, or
//! that no validator knows, are left aside; words that would change what is accepted and cannot be
//! carried over are a reason to leave the operation out.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde_json::{Map, Value, json};

use super::document::{Description, Dialect};

/// The most values of one operation's schema.
const MAX_NODES: usize = 20_000;
/// How much of a description inside a schema is kept.
const MAX_TEXT: usize = 500;
/// How much of a text that is carried over as it is counts for one part more.
const TEXT_OF_A_PART: usize = 256;

/// Words whose value is a schema.
const OF_SCHEMA: [&str; 10] = [
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
/// Words whose value is a list of schemas.
const OF_SCHEMAS: [&str; 4] = ["allOf", "anyOf", "oneOf", "prefixItems"];
/// Words whose value has a schema for each name.
const OF_NAMES: [&str; 3] = ["properties", "patternProperties", "dependentSchemas"];
/// Words that are carried over as they are.
const AS_THEY_ARE: [&str; 15] = [
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
/// Words that give a schema another place or another meaning from outside.
const NOT_CARRIED: [&str; 6] =
    ["$id", "$anchor", "$dynamicRef", "$dynamicAnchor", "$recursiveRef", "$recursiveAnchor"];
/// Formats that are checked; the others only tell people something.
const FORMATS: [&str; 13] = [
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
    "uuid",
    "regex",
    "json-pointer",
];

/// How much of a schema is carried over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Detail {
    /// With what it says to people.
    Full,
    /// Only what is checked.
    Bare,
}

/// Carries the schemas of one operation over.
pub(super) struct Schemas<'a> {
    description: &'a Description,
    detail: Detail,
    /// The name under `$defs` of each reference.
    names: BTreeMap<String, String>,
    taken: BTreeSet<String>,
    /// For each name that several want, the number that is tried next.
    numbers: BTreeMap<String, usize>,
    waiting: VecDeque<String>,
    nodes: usize,
}

impl<'a> Schemas<'a> {
    pub(super) fn of(description: &'a Description, detail: Detail) -> Self {
        Self {
            description,
            detail,
            names: BTreeMap::new(),
            taken: BTreeSet::new(),
            numbers: BTreeMap::new(),
            waiting: VecDeque::new(),
            nodes: 0,
        }
    }

    /// Counts parts that are carried over.
    fn spend(&mut self, parts: usize) -> Result<(), String> {
        self.nodes = self.nodes.saturating_add(parts);
        if self.nodes > MAX_NODES {
            return Err(format!("its schema has more than {MAX_NODES} parts"));
        }
        if !self.description.spend(parts) {
            return Err("the schemas before it have used up what may be read".to_owned());
        }
        Ok(())
    }

    /// The schema, carried over.
    pub(super) fn convert(&mut self, schema: &Value) -> Result<Value, String> {
        self.spend(1)?;
        let Some(members) = schema.as_object() else {
            return match schema {
                Value::Bool(_) => Ok(schema.clone()),
                _ => Err("a schema is neither an object nor a truth value".to_owned()),
            };
        };
        if let Some(reference) = members.get("$ref").and_then(Value::as_str) {
            return self.referred(reference, members);
        }
        if let Some(word) = NOT_CARRIED.iter().find(|word| members.contains_key(**word)) {
            return Err(format!("its schema uses `{word}`"));
        }
        let mut into = self.plain(members)?;
        self.nested(members, &mut into)?;
        Ok(self.nullable(members, into))
    }

    /// What the references lead to, by name, and how many parts were carried over; asked for last.
    pub(super) fn definitions(mut self) -> Result<(Map<String, Value>, usize), String> {
        let mut definitions = Map::new();
        while let Some(reference) = self.waiting.pop_front() {
            let target = self.description.target(&reference)?;
            let schema = self.convert(target)?;
            let name = self.names.get(&reference).cloned().unwrap_or_default();
            definitions.insert(name, schema);
        }
        Ok((definitions, self.nodes))
    }

    fn referred(&mut self, reference: &str, members: &Map<String, Value>) -> Result<Value, String> {
        self.description.target(reference)?;
        let known = self.names.get(reference).cloned();
        let name = known.unwrap_or_else(|| {
            let name = self.free_name(reference);
            self.names.insert(reference.to_owned(), name.clone());
            self.waiting.push_back(reference.to_owned());
            name
        });
        self.spend(more_of(&name))?;
        let mut into = Map::new();
        into.insert("$ref".to_owned(), format!("#/$defs/{name}").into());
        // In 3.0 nothing counts that stands beside a reference.
        if self.description.dialect == Dialect::Current && members.len() > 1 {
            let beside: Map<String, Value> =
                members.iter().filter(|(key, _)| *key != "$ref").map(owned).collect();
            if let Value::Object(beside) = self.convert(&Value::Object(beside))? {
                into.extend(beside);
            }
        }
        Ok(Value::Object(into))
    }

    /// A name of letters that no other reference has.
    fn free_name(&mut self, reference: &str) -> String {
        let last = reference.rsplit('/').next().unwrap_or_default();
        let plain =
            |it: char| if it.is_ascii_alphanumeric() || "._-".contains(it) { it } else { '_' };
        let name: String = last.chars().map(plain).collect();
        if self.taken.insert(name.clone()) {
            return name;
        }
        // Numbers that were tried before are taken for good.
        let number = self.numbers.entry(name.clone()).or_insert(2);
        loop {
            let numbered = format!("{name}_{number}");
            *number += 1;
            if self.taken.insert(numbered.clone()) {
                return numbered;
            }
        }
    }

    /// The words that hold no schema.
    fn plain(&mut self, members: &Map<String, Value>) -> Result<Map<String, Value>, String> {
        let mut into = Map::new();
        for (word, value) in members {
            let word = word.as_str();
            if AS_THEY_ARE.contains(&word) {
                if crypto::json::is_out_of_range(value) {
                    return Err(format!("a number of its `{word}` lies outside ±(2^53−1)"));
                }
                self.spend(more_in(value))?;
                into.insert(word.to_owned(), value.clone());
            }
            let told = word == "description" || word == "title" || word == "default";
            if told && self.detail == Detail::Full && !crypto::json::is_out_of_range(value) {
                let value = shortened(value);
                self.spend(more_in(&value))?;
                into.insert(word.to_owned(), value);
            }
            if word == "format" && value.as_str().is_some_and(|it| FORMATS.contains(&it)) {
                into.insert(word.to_owned(), value.clone());
            }
        }
        bounds(members, &mut into);
        Ok(into)
    }

    /// The words that hold schemas.
    fn nested(
        &mut self,
        members: &Map<String, Value>,
        into: &mut Map<String, Value>,
    ) -> Result<(), String> {
        let description = self.description;
        for (word, value) in members {
            if OF_SCHEMA.contains(&word.as_str()) {
                into.insert(word.clone(), self.convert(value)?);
            } else if OF_SCHEMAS.contains(&word.as_str()) {
                let items = value.as_array().ok_or_else(|| format!("its `{word}` is no list"))?;
                let items: Result<_, _> = items.iter().map(|item| self.convert(item)).collect();
                into.insert(word.clone(), Value::Array(items?));
            } else if OF_NAMES.contains(&word.as_str()) {
                let named = value.as_object();
                let named = named.ok_or_else(|| format!("its `{word}` is no object"))?;
                let mut kept = Map::new();
                for (name, schema) in
                    named.iter().filter(|(_, schema)| !is_answered(description, schema))
                {
                    self.spend(more_of(name))?;
                    kept.insert(name.clone(), self.convert(schema)?);
                }
                into.insert(word.clone(), Value::Object(kept));
            }
        }
        if let Some(required) = members.get("required").and_then(Value::as_array) {
            let properties = members.get("properties");
            let asked = |name: &&Value| {
                let schema = name.as_str().and_then(|name| properties?.get(name));
                !schema.is_some_and(|schema| is_answered(description, schema))
            };
            let required: Vec<Value> = required.iter().filter(asked).cloned().collect();
            let required = Value::from(required);
            self.spend(more_in(&required))?;
            into.insert("required".to_owned(), required);
        }
        Ok(())
    }

    /// In 3.0 null is allowed by a word of its own.
    fn nullable(&self, members: &Map<String, Value>, mut into: Map<String, Value>) -> Value {
        let is_nullable = members.get("nullable") == Some(&Value::Bool(true));
        if self.description.dialect == Dialect::Current || !is_nullable {
            return Value::Object(into);
        }
        let Some(Value::String(kind)) = into.get("type").cloned() else {
            return json!({"anyOf": [into, {"type": "null"}]});
        };
        into.insert("type".to_owned(), json!([kind, "null"]));
        if let Some(Value::Array(values)) = into.get_mut("enum")
            && !values.contains(&Value::Null)
        {
            values.push(Value::Null);
        }
        Value::Object(into)
    }
}

/// Whether a property only stands in answers.
fn is_answered(description: &Description, schema: &Value) -> bool {
    let resolved = description.resolve(schema).unwrap_or(schema);
    resolved.get("readOnly") == Some(&Value::Bool(true))
}

/// Least and most. A bound that no number which is accepted anywhere can pass says nothing.
fn bounds(members: &Map<String, Value>, into: &mut Map<String, Value>) {
    for (bound, exclusive) in [("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")] {
        let keep = |value: &&Value| value.is_number() && !crypto::json::is_out_of_range(value);
        let limit = members.get(bound).filter(keep);
        let excluded = members.get(exclusive);
        match (limit, excluded) {
            (Some(limit), Some(Value::Bool(true))) => {
                into.insert(exclusive.to_owned(), limit.clone());
            }
            (limit, excluded) => {
                into.extend(limit.map(|limit| (bound.to_owned(), limit.clone())));
                let excluded = excluded.filter(keep);
                into.extend(excluded.map(|limit| (exclusive.to_owned(), limit.clone())));
            }
        }
    }
}

/// For how many parts a value counts beside the word that it stands at: each that is in it, and long
/// texts for several.
fn more_in(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        Value::String(text) => more_of(text),
        Value::Array(items) => items.iter().map(|item| 1 + more_in(item)).sum(),
        Value::Object(members) => {
            members.iter().map(|(name, value)| 1 + more_of(name) + more_in(value)).sum()
        }
    }
}

fn more_of(text: &str) -> usize {
    text.len() / TEXT_OF_A_PART
}

fn owned((key, value): (&String, &Value)) -> (String, Value) {
    (key.clone(), value.clone())
}

fn shortened(value: &Value) -> Value {
    match value {
        Value::String(text) => text.chars().take(MAX_TEXT).collect::<String>().into(),
        other => other.clone(),
    }
}
