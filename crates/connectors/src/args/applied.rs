//! How often a schema applies others to one and the same value.
//!
//! References multiply: ten schemas that each refer to the next one twice check a value a thousand
//! times. The size of a schema does not bound that, nor how deep the validator descends, so both are
//! counted before a value is checked.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// The most schemas that are applied to one value.
const MOST_APPLIED: usize = 10_000;
/// The most schemas that contain each other and are applied to one value.
const MOST_LEVELS: usize = 64;

/// Whether a word that applies schemas to the value itself makes the result depend on each of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Joins {
    /// All of them must fit, so a schema that comes again adds nothing.
    All,
    /// The result depends on which of them fit, so a schema that comes again has no defined result.
    Some,
}

/// Words that apply schemas to the value itself.
const TO_ITSELF: [(&str, Joins); 8] = [
    ("allOf", Joins::All),
    ("anyOf", Joins::Some),
    ("oneOf", Joins::Some),
    ("not", Joins::Some),
    ("if", Joins::Some),
    ("then", Joins::Some),
    ("else", Joins::Some),
    ("dependentSchemas", Joins::Some),
];

/// Words that apply schemas to what is in the value.
const TO_PARTS: [&str; 9] = [
    "properties",
    "patternProperties",
    "additionalProperties",
    "unevaluatedProperties",
    "propertyNames",
    "items",
    "prefixItems",
    "unevaluatedItems",
    "contains",
];

/// Words of which several schemas are the value, by name or in a list.
const OF_SEVERAL: [&str; 7] = [
    "allOf",
    "anyOf",
    "oneOf",
    "prefixItems",
    "properties",
    "patternProperties",
    "dependentSchemas",
];

/// Words that depend on what the other words of the schema evaluated.
const UNEVALUATED: [&str; 2] = ["unevaluatedProperties", "unevaluatedItems"];

/// Whether every reference of the schema leads to one of its `$defs`, as in a translated schema.
pub(super) fn is_countable(schema: &Value) -> bool {
    let is_known = |(word, value): (&String, &Value)| match (word.as_str(), value.as_str()) {
        ("$ref", Some(reference)) => {
            reference.strip_prefix("#/$defs/").is_some_and(|name| !name.contains('/'))
        }
        ("$dynamicRef", Some(_)) => false,
        _ => is_countable(value),
    };
    match schema {
        Value::Array(items) => items.iter().all(is_countable),
        Value::Object(members) => members.iter().all(is_known),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    }
}

/// Whether checking a value against the schema is bounded, or why it is not.
pub(super) fn bounded(schema: &Value) -> Result<(), String> {
    let none = Map::new();
    let named = schema.get("$defs").and_then(Value::as_object).unwrap_or(&none);
    let mut counting =
        Counting { named, known: BTreeMap::new(), open: Vec::new(), choices: 0, applied: 0 };
    counting.start(schema)?;
    counting.parts(schema)?;
    named.values().try_for_each(|schema| counting.parts(schema))
}

/// What applying a schema to a value comes to.
#[derive(Debug, Clone, Copy, Default)]
struct Size {
    applied: usize,
    levels: usize,
    /// Whether it contains itself. The size then depends on where the count began.
    is_circular: bool,
}

struct Counting<'a> {
    named: &'a Map<String, Value>,
    known: BTreeMap<&'a str, Size>,
    /// The names that are being counted, each with the number of choices above it.
    open: Vec<(&'a str, usize)>,
    /// How many words above the schema make a choice.
    choices: usize,
    /// What was counted since the start.
    applied: usize,
}

impl<'a> Counting<'a> {
    /// Counts what is applied to the values of each schema in the schema.
    fn parts(&mut self, schema: &'a Value) -> Result<(), String> {
        for word in TO_PARTS {
            for part in schemas(schema, word) {
                self.start(part)?;
                self.parts(part)?;
            }
        }
        TO_ITSELF
            .iter()
            .flat_map(|(word, _)| schemas(schema, word))
            .try_for_each(|other| self.parts(other))
    }

    fn start(&mut self, schema: &'a Value) -> Result<(), String> {
        self.applied = 0;
        self.count(schema, MOST_LEVELS).map(drop)
    }

    fn count(&mut self, schema: &'a Value, left: usize) -> Result<Size, String> {
        self.spend(1)?;
        let below = left.checked_sub(1).ok_or_else(too_deep)?;
        let mut size = Size { applied: 1, levels: 1, is_circular: false };
        let mut add = |more: Size| {
            size.applied += more.applied;
            size.levels = size.levels.max(more.levels + 1);
            size.is_circular |= more.is_circular;
        };
        let reference = schema.get("$ref").and_then(Value::as_str);
        if let Some(name) = reference.and_then(|it| it.strip_prefix("#/$defs/")) {
            add(self.target(name, below)?);
        }
        for (word, joins) in TO_ITSELF {
            let choice = usize::from(joins == Joins::Some);
            self.choices += choice;
            for other in schemas(schema, word) {
                add(self.count(other, below)?);
            }
            self.choices -= choice;
        }
        // The library checks each part again to find which members it left unevaluated.
        if UNEVALUATED.iter().any(|word| schema.get(word).is_some()) {
            let again = size.applied.saturating_mul(2);
            self.spend(again)?;
            size.applied = size.applied.saturating_add(again);
        }
        Ok(size)
    }

    fn target(&mut self, name: &'a str, left: usize) -> Result<Size, String> {
        if let Some(size) = self.known.get(name).copied() {
            self.spend(size.applied)?;
            return if size.levels > left { Err(too_deep()) } else { Ok(size) };
        }
        if let Some((_, choices)) = self.open.iter().find(|(open, _)| *open == name) {
            return if *choices == self.choices {
                Ok(Size { is_circular: true, ..Size::default() })
            } else {
                Err(format!(
                    "the schema `{name}` applies itself to the same value in a choice, which has no \
                     defined result"
                ))
            };
        }
        let Some(schema) = self.named.get(name) else { return Ok(Size::default()) };
        self.open.push((name, self.choices));
        let size = self.count(schema, left)?;
        self.open.pop();
        // Of one that nothing else contains, the size is exact.
        if !size.is_circular || self.open.is_empty() {
            self.known.insert(name, size);
        }
        Ok(size)
    }

    fn spend(&mut self, schemas: usize) -> Result<(), String> {
        self.applied = self.applied.saturating_add(schemas);
        if self.applied > MOST_APPLIED {
            return Err(format!("more than {MOST_APPLIED} schemas apply to one value"));
        }
        Ok(())
    }
}

fn too_deep() -> String {
    format!("more than {MOST_LEVELS} schemas that contain each other apply to one value")
}

/// The schemas that a word of the schema holds.
fn schemas<'a>(schema: &'a Value, word: &str) -> impl Iterator<Item = &'a Value> {
    let value = schema.get(word);
    let (one, list, named) = match value {
        Some(Value::Array(items)) if OF_SEVERAL.contains(&word) => (None, Some(items), None),
        Some(Value::Object(members)) if OF_SEVERAL.contains(&word) => (None, None, Some(members)),
        other => (other, None, None),
    };
    let named = named.into_iter().flat_map(|members| members.values());
    one.into_iter().chain(list.into_iter().flatten()).chain(named)
}
