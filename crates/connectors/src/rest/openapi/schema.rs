//! The schemas of a description as one JSON Schema of 2020-12 that needs nothing else.
//!
//! What a reference leads to is taken along once, under `$defs`. Words that only describe responses, or
//! that no validator knows, are left aside; words that would change what is accepted and cannot be
//! carried over are a reason to leave the operation out. What comes out is never wider than what was
//! written.

mod dialect;
mod names;
mod place;
mod plain;
mod read_only;
mod words;

use std::mem;

use serde_json::{Map, Value};

use self::{
    names::Definitions,
    read_only::{Names, ReadOnly},
    words::{AS_THEY_ARE, NOT_CARRIED, OF_NAMES, OF_SCHEMA, OF_SCHEMAS, OF_TEST, SAYS},
};
use super::document::{Description, Dialect};

/// Why nothing more of a description is read.
pub(super) const SPENT: &str = "the schemas before it have used up what may be read";

/// The most values of one operation's schema.
const MAX_NODES: usize = 20_000;
/// How much of a text that is carried over as it is counts for one part more.
const TEXT_OF_A_PART: usize = 256;
/// The longest chain of references to one schema.
const LONGEST_CHAIN: usize = 16;
/// How many names that are gathered count for one part.
const NAMES_OF_A_PART: usize = 16;
/// The schema that accepts no value.
const NOTHING: Value = Value::Bool(false);

/// How much of a schema is carried over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Detail {
    /// With what it says to people.
    Full,
    /// Only what is checked.
    Bare,
}

/// What a schema is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Role {
    /// It says what may be sent: properties that are only in responses are refused.
    Sent,
    /// Its result decides something else, such as below `not`. It is carried over without refusing more,
    /// since that would accept more elsewhere.
    Tested,
}

/// Carries the schemas of one operation over.
pub(super) struct Schemas<'a> {
    description: &'a Description,
    detail: Detail,
    role: Role,
    read_only: ReadOnly<'a>,
    /// What is said of the next schema from outside.
    told: Option<String>,
    definitions: Definitions,
    nodes: usize,
}

impl<'a> Schemas<'a> {
    pub(super) fn of(description: &'a Description, detail: Detail) -> Self {
        Self {
            description,
            detail,
            role: Role::Sent,
            read_only: ReadOnly::of(description),
            told: None,
            definitions: Definitions::default(),
            nodes: 0,
        }
    }

    /// Counts parts that are carried over.
    pub(super) fn spend(&mut self, parts: usize) -> Result<(), String> {
        // The description's count goes on where that of the operation ends: the parts of an operation that
        // is left out were read, too.
        if !self.description.spend(parts) {
            return Err(SPENT.to_owned());
        }
        self.nodes = self.nodes.saturating_add(parts);
        if self.nodes > MAX_NODES {
            return Err(format!("its schema has more than {MAX_NODES} parts"));
        }
        Ok(())
    }

    /// The schema, carried over.
    pub(super) fn convert(&mut self, schema: &Value) -> Result<Value, String> {
        self.within(schema, None)
    }

    /// The schema, carried over, with a description from outside where it has none of its own.
    pub(super) fn convert_described(
        &mut self,
        schema: &Value,
        text: Option<&str>,
    ) -> Result<Value, String> {
        self.told = text.filter(|_| self.detail == Detail::Full).map(str::to_owned);
        let converted = self.convert(schema);
        let told = self.told.take();
        let mut converted = converted?;
        if let (Some(members), Some(told)) = (converted.as_object_mut(), told) {
            let told = plain::shortened(&told.into());
            members.entry("description").or_insert(told);
        }
        Ok(converted)
    }

    /// What a schema is, its references followed to the last. It is the schema itself where other words
    /// beside a reference restrict it further.
    pub(super) fn followed<'s>(&self, schema: &'s Value) -> Result<&'s Value, String>
    where
        'a: 's,
    {
        let mut schema = schema;
        for _ in 0..=LONGEST_CHAIN {
            let Some(reference) = schema.get("$ref").and_then(Value::as_str) else {
                return Ok(schema);
            };
            let target = self.target(reference)?;
            let restricts = |(word, _): (&String, &Value)| {
                !SAYS.contains(&word.as_str()) && !word.starts_with("x-")
            };
            let is_current = self.description.dialect == Dialect::Current;
            if is_current && schema.as_object().into_iter().flatten().any(restricts) {
                return Ok(schema);
            }
            schema = target;
        }
        Err("a reference leads through too many others".to_owned())
    }

    /// What the references lead to, by name, and how many parts were carried over; asked for last.
    pub(super) fn definitions(mut self) -> Result<(Map<String, Value>, usize), String> {
        let mut definitions = Map::new();
        while let Some(((reference, role), name)) = self.definitions.next() {
            let target = self.target(&reference)?;
            self.role = role;
            definitions.insert(name, self.convert(target)?);
        }
        Ok((definitions, self.nodes))
    }

    /// The schema, carried over; `around` has the read-only properties of the object of whose `allOf` it
    /// is a part.
    fn within(&mut self, schema: &Value, around: Option<&Names>) -> Result<Value, String> {
        self.spend(1)?;
        dialect::is_known(self.description, schema)?;
        let Some(members) = schema.as_object() else {
            return match schema {
                Value::Bool(_) => Ok(schema.clone()),
                _ => Err("a schema is neither an object nor a truth value".to_owned()),
            };
        };
        let around = self.around(schema, around)?;
        match members.get("$ref") {
            Some(Value::String(reference)) => {
                return self.referred(reference, schema, around.as_ref());
            }
            Some(_) => return Err("its `$ref` is no text".to_owned()),
            None => {}
        }
        if let Some(word) = NOT_CARRIED.iter().find(|word| members.contains_key(**word)) {
            return Err(format!("its schema uses `{word}`"));
        }
        let mut into = self.plain(members)?;
        self.nested(members, &mut into, around.as_ref())?;
        self.required(members, &mut into, around.as_ref())?;
        let is_nullable = members.get("nullable") == Some(&Value::Bool(true));
        if is_nullable && self.description.dialect == Dialect::Early {
            plain::nullable(&mut into);
        }
        Ok(Value::Object(into))
    }

    /// What is read-only in the object that a schema is a part of, where it is composed of several.
    fn around(&mut self, schema: &Value, given: Option<&Names>) -> Result<Option<Names>, String> {
        let is_composed = schema.get("allOf").is_some() || self.is_extended(schema);
        match (given, self.role) {
            (Some(names), _) => Ok(Some(Names::clone(names))),
            (None, Role::Sent) if is_composed => {
                let names = self.read_only.names(schema)?;
                self.spend(names.len() / NAMES_OF_A_PART)?;
                Ok(Some(names))
            }
            (None, Role::Sent | Role::Tested) => Ok(None),
        }
    }

    /// Whether other words count beside a reference. In 3.0 none does.
    fn is_extended(&self, schema: &Value) -> bool {
        let members = schema.as_object().filter(|members| members.contains_key("$ref"));
        self.description.dialect == Dialect::Current && members.is_some_and(|it| it.len() > 1)
    }

    /// Where a reference leads, if it is a place of a schema.
    fn target(&self, reference: &str) -> Result<&'a Value, String> {
        let description: &'a Description = self.description;
        let target = description.target(reference)?;
        if place::is_of_schema(reference) {
            Ok(target)
        } else {
            Err("a reference leads to something that is no schema".to_owned())
        }
    }

    fn referred(
        &mut self,
        reference: &str,
        schema: &Value,
        around: Option<&Names>,
    ) -> Result<Value, String> {
        self.followed(self.target(reference)?)?;
        let name = self.definitions.name((reference.to_owned(), self.role));
        self.spend(more_of(&name))?;
        let mut into = Map::new();
        into.insert("$ref".to_owned(), format!("#/$defs/{name}").into());
        if self.is_extended(schema) {
            let mut beside = schema.clone();
            beside.as_object_mut().map(|members| members.remove("$ref"));
            if let Value::Object(beside) = self.within(&beside, around)? {
                into.extend(beside);
            }
        }
        Ok(Value::Object(into))
    }

    /// The words that hold no schema.
    fn plain(&mut self, members: &Map<String, Value>) -> Result<Map<String, Value>, String> {
        let mut into = Map::new();
        for (word, value) in members.iter().filter(|(word, _)| AS_THEY_ARE.contains(&word.as_str()))
        {
            if let Some(value) = plain::carried(word, value)? {
                self.spend(more_in(&value))?;
                into.insert(word.clone(), value);
            }
        }
        let format = members.get("format").and_then(Value::as_str);
        if let Some(format) = format.filter(|it| plain::is_checked(it)) {
            into.insert("format".to_owned(), format.into());
        }
        if self.detail == Detail::Full {
            let note = format.filter(|it| !plain::is_checked(it));
            self.texts(members, note, &mut into)?;
        }
        plain::bounds(members, &mut into)?;
        Ok(into)
    }

    /// What the schema says to people, with a note of its format.
    fn texts(
        &mut self,
        members: &Map<String, Value>,
        format: Option<&str>,
        into: &mut Map<String, Value>,
    ) -> Result<(), String> {
        let told = self.told.take().map(Value::from);
        for word in ["title", "description", "default"] {
            let value = members.get(word).or(told.as_ref().filter(|_| word == "description"));
            let value = value.filter(|value| !crypto::json::is_out_of_range(value));
            let value = value.map(plain::shortened);
            let value = match format.filter(|_| word == "description") {
                Some(format) => Some(plain::noted(value.as_ref(), format)),
                None => value,
            };
            if let Some(value) = value {
                self.spend(more_in(&value))?;
                into.insert(word.to_owned(), value);
            }
        }
        Ok(())
    }

    /// The words that hold schemas.
    fn nested(
        &mut self,
        members: &Map<String, Value>,
        into: &mut Map<String, Value>,
        around: Option<&Names>,
    ) -> Result<(), String> {
        for (word, value) in members {
            if OF_SCHEMA.contains(&word.as_str()) {
                let role = if OF_TEST.contains(&word.as_str()) { Role::Tested } else { self.role };
                let before = mem::replace(&mut self.role, role);
                let schema = self.convert(value);
                self.role = before;
                let schema = schema?;
                let is_refused = word == "additionalProperties" && self.is_refused(value)?;
                into.insert(word.clone(), if is_refused { NOTHING } else { schema });
            } else if OF_SCHEMAS.contains(&word.as_str()) {
                let around = around.filter(|_| word == "allOf");
                let items = value.as_array().ok_or_else(|| format!("its `{word}` is no list"))?;
                let items: Result<_, _> =
                    items.iter().map(|item| self.within(item, around)).collect();
                into.insert(word.clone(), Value::Array(items?));
            } else if OF_NAMES.contains(&word.as_str()) {
                let named = self.named(word, value, members)?;
                into.insert(word.clone(), Value::Object(named));
            }
        }
        Ok(())
    }

    /// The schemas of a word that has one for each name. A property that is only in responses is
    /// refused: it is left out where the object refuses what it does not name, and otherwise accepts no
    /// value.
    fn named(
        &mut self,
        word: &str,
        value: &Value,
        members: &Map<String, Value>,
    ) -> Result<Map<String, Value>, String> {
        let named = value.as_object().ok_or_else(|| format!("its `{word}` is no object"))?;
        let is_closed = members.get("additionalProperties") == Some(&Value::Bool(false))
            && !members.contains_key("patternProperties");
        let mut kept = Map::new();
        for (name, schema) in named {
            self.spend(more_of(name))?;
            if word == "patternProperties" {
                plain::matchable(name)?;
            }
            if word == "dependentSchemas" || !self.is_refused(schema)? {
                kept.insert(name.clone(), self.convert(schema)?);
            } else if word == "patternProperties" || !is_closed {
                self.spend(1)?;
                kept.insert(name.clone(), NOTHING);
            }
        }
        Ok(kept)
    }

    /// The names that an object must have, without those that are only in responses.
    fn required(
        &mut self,
        members: &Map<String, Value>,
        into: &mut Map<String, Value>,
        around: Option<&Names>,
    ) -> Result<(), String> {
        let required = match members.get("required") {
            None | Some(Value::Bool(false)) => return Ok(()),
            Some(Value::Array(required)) => required,
            Some(_) => return Err("its `required` is no list".to_owned()),
        };
        let written = members.get("properties");
        let carried = into.get("properties");
        let is_refused = |name: &str| {
            let is_written = written.and_then(|it| it.get(name)).is_some_and(|it| *it != NOTHING);
            is_written && carried.and_then(|it| it.get(name)).is_none_or(|it| *it == NOTHING)
        };
        let around = around.filter(|_| self.role == Role::Sent);
        let is_asked = |name: &&Value| {
            let name = name.as_str().unwrap_or_default();
            !is_refused(name) && !around.is_some_and(|names| names.contains(name))
        };
        let kept: Vec<Value> = required.iter().filter(is_asked).cloned().collect();
        let kept = Value::from(kept);
        self.spend(more_in(&kept))?;
        into.insert("required".to_owned(), kept);
        Ok(())
    }

    /// Whether a property is only in responses and the schema says what may be sent.
    fn is_refused(&mut self, schema: &Value) -> Result<bool, String> {
        Ok(self.role == Role::Sent && self.read_only.is(schema)?)
    }
}

/// For how many parts a value counts beside the word that it belongs to: each that is in it, and long
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
