//! Which properties are only in responses.
//!
//! `readOnly` may be beside a reference, at its target, or in a part of an `allOf`; if one of them has
//! it, the property has it.

use std::{
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use serde_json::Value;

use super::{
    super::document::{Description, Dialect},
    NAMES_OF_A_PART,
};

/// The most schemas that lead from one to the next.
const MOST_STEPS: usize = 64;

/// Names of properties.
pub(super) type Names = Rc<BTreeSet<String>>;

/// Looks for `readOnly`.
pub(super) struct ReadOnly<'a> {
    description: &'a Description,
    /// Whether what a reference leads to is read-only.
    known: BTreeMap<String, bool>,
    /// The read-only properties of what a reference leads to.
    names: BTreeMap<String, Names>,
}

impl<'a> ReadOnly<'a> {
    pub(super) fn of(description: &'a Description) -> Self {
        Self { description, known: BTreeMap::new(), names: BTreeMap::new() }
    }

    /// Whether a property of this schema is only in responses.
    pub(super) fn is(&mut self, schema: &Value) -> Result<bool, String> {
        self.is_within(schema, MOST_STEPS)
    }

    /// The properties of the schema that are only in responses: its own, those of its target, and those
    /// of the parts of its `allOf`.
    pub(super) fn names(&mut self, schema: &Value) -> Result<Names, String> {
        self.names_within(schema, MOST_STEPS)
    }

    fn is_within(&mut self, schema: &Value, left: usize) -> Result<bool, String> {
        let left = left.checked_sub(1).ok_or_else(too_long)?;
        if self.counts(schema) && schema.get("readOnly") == Some(&Value::Bool(true)) {
            return Ok(true);
        }
        if let Some(reference) = reference(schema) {
            let known = self.known.get(reference).copied();
            let is_read_only = known.map_or_else(|| self.is_target(reference, left), Ok)?;
            if is_read_only {
                return Ok(true);
            }
        }
        for part in self.parts(schema) {
            if self.is_within(part, left)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn is_target(&mut self, reference: &str, left: usize) -> Result<bool, String> {
        // A schema that contains itself is read-only by its other words only.
        self.known.insert(reference.to_owned(), false);
        let target = self.description.target(reference)?;
        let is_read_only = self.is_within(target, left)?;
        self.known.insert(reference.to_owned(), is_read_only);
        Ok(is_read_only)
    }

    fn names_within(&mut self, schema: &Value, left: usize) -> Result<Names, String> {
        let left = left.checked_sub(1).ok_or_else(too_long)?;
        let mut names = BTreeSet::new();
        if let Some(reference) = reference(schema) {
            let known = self.names.get(reference).cloned();
            let of_target = known.map_or_else(|| self.names_of_target(reference, left), Ok)?;
            self.spend(of_target.len())?;
            names.extend(of_target.iter().cloned());
        }
        let properties = schema.get("properties").and_then(Value::as_object);
        for (name, property) in properties.filter(|_| self.counts(schema)).into_iter().flatten() {
            if self.is(property)? {
                names.insert(name.clone());
            }
        }
        for part in self.parts(schema) {
            let of_part = self.names_within(part, left)?;
            self.spend(of_part.len())?;
            names.extend(of_part.iter().cloned());
        }
        Ok(Rc::new(names))
    }

    fn names_of_target(&mut self, reference: &str, left: usize) -> Result<Names, String> {
        self.names.insert(reference.to_owned(), Names::default());
        let target = self.description.target(reference)?;
        let names = self.names_within(target, left)?;
        self.names.insert(reference.to_owned(), Names::clone(&names));
        Ok(names)
    }

    /// Counts names that are copied: many references may each lead to many.
    fn spend(&self, names: usize) -> Result<(), String> {
        if self.description.spend(names / NAMES_OF_A_PART) {
            Ok(())
        } else {
            Err("the schemas before it have used up what may be read".to_owned())
        }
    }

    /// Whether the schema's own words count: in 3.0 none does beside a reference.
    fn counts(&self, schema: &Value) -> bool {
        self.description.dialect == Dialect::Current || reference(schema).is_none()
    }

    fn parts<'s>(&self, schema: &'s Value) -> impl Iterator<Item = &'s Value> + use<'s> {
        let parts = schema.get("allOf").filter(|_| self.counts(schema)).and_then(Value::as_array);
        parts.into_iter().flatten()
    }
}

fn reference(schema: &Value) -> Option<&str> {
    schema.get("$ref").and_then(Value::as_str)
}

fn too_long() -> String {
    format!("its schema leads through more than {MOST_STEPS} others")
}
