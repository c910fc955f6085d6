//! What a style can write of a value: items and members that are single values. The table of OpenAPI
//! 3.1.1 (4.8.12.4) says nothing of lists and objects within others.

use std::{cell::Cell, collections::BTreeSet};

use serde_json::{Map, Value};

use super::{
    document::{Description, Dialect},
    kinds::Kinds,
    schema::SPENT,
};
use crate::rest::style::Kind;

/// How many parts of a schema are looked at; of more, nothing is known before a call.
const MOST_PARTS: usize = 1_000;
/// How many schemas lead from one to the next.
const DEEPEST: usize = 50;

/// What can be written of the values that a schema accepts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Flat {
    list: bool,
    object: bool,
    /// The members that are no single values.
    pub(super) nested: BTreeSet<String>,
    /// The members that may be single values.
    single: BTreeSet<String>,
    required: BTreeSet<String>,
    /// Whether members of any name may be single values.
    is_open: bool,
}

impl Flat {
    /// A value of which nothing is known.
    fn unknown() -> Self {
        let (nested, single, required) = <(BTreeSet<_>, BTreeSet<_>, BTreeSet<_>)>::default();
        Self { list: true, object: true, nested, single, required, is_open: true }
    }

    /// What can be written of a value of this schema.
    pub(super) fn of(description: &Description, schema: &Value) -> Result<Self, String> {
        if description.is_spent() {
            return Err(SPENT.to_owned());
        }
        let looking = Looking { description, left: Cell::new(MOST_PARTS) };
        let flat = looking.at(schema, DEEPEST);
        let is_known = looking.left.get() > 0;
        if !description.spend(MOST_PARTS - looking.left.get()) {
            return Err(SPENT.to_owned());
        }
        Ok(if is_known { flat } else { Self::unknown() })
    }

    /// Whether a value of this kind may be one that can be written.
    pub(super) fn has(&self, kind: Kind) -> bool {
        match kind {
            Kind::Scalar => true,
            Kind::List => self.list,
            Kind::Object => self.object,
        }
    }

    /// Adds what a part says, with which a value has to agree as well.
    fn and(&mut self, part: Self) {
        self.list &= part.list;
        self.object &= part.object;
        self.nested.extend(part.nested);
        self.single.extend(part.single);
        self.required.extend(part.required);
        self.is_open &= part.is_open;
    }
}

/// Looks at schemas within a limit.
struct Looking<'a> {
    description: &'a Description,
    left: Cell<usize>,
}

impl Looking<'_> {
    /// Counts a part; says whether it may be looked at.
    fn may_look(&self) -> bool {
        let left = self.left.get().checked_sub(1);
        self.left.set(left.unwrap_or_default());
        left.is_some()
    }

    fn at(&self, schema: &Value, depth: usize) -> Flat {
        let Some(below) = depth.checked_sub(1).filter(|_| self.may_look()) else {
            return Flat::unknown();
        };
        let reference = schema.get("$ref").and_then(Value::as_str);
        let target = reference.and_then(|reference| self.description.target(reference).ok());
        if let Some(target) = target.filter(|_| self.description.dialect == Dialect::Early) {
            return self.at(target, below);
        }
        let mut flat = self.own(schema);
        if let Some(target) = target {
            flat.and(self.at(target, below));
        }
        let parts = schema.get("allOf").and_then(Value::as_array).into_iter().flatten();
        for part in parts.take_while(|_| self.left.get() > 0) {
            flat.and(self.at(part, below));
        }
        for word in ["anyOf", "oneOf"] {
            if let Some(choices) = schema.get(word).and_then(Value::as_array) {
                flat.and(self.any(choices, below));
            }
        }
        flat.object &= flat.required.is_disjoint(&flat.nested);
        flat
    }

    /// What one of the choices can be.
    fn any(&self, choices: &[Value], below: usize) -> Flat {
        let mut any = Flat { list: false, object: false, is_open: false, ..Flat::unknown() };
        let mut objects = Vec::new();
        for choice in choices.iter().take_while(|_| self.left.get() > 0) {
            let (kinds, choice) = (self.kinds(choice), self.at(choice, below));
            any.list |= kinds.has(Kind::List) && choice.list;
            any.nested.extend(choice.nested.iter().cloned());
            if kinds.has(Kind::Object) && choice.object {
                any.object = true;
                any.is_open |= choice.is_open;
                any.single.extend(choice.single.iter().cloned());
                objects.push(choice);
            }
        }
        // A member that one of the choices accepts as a single value can be sent.
        let accepts = |flat: &Flat, name: &String| {
            flat.single.contains(name) || (flat.is_open && !flat.nested.contains(name))
        };
        any.nested.retain(|name| !objects.iter().any(|flat| accepts(flat, name)));
        any
    }

    /// What the words beside the compositions of a schema say.
    fn own(&self, schema: &Value) -> Flat {
        let mut flat = Flat::unknown();
        let is_single = |schema: &Value| self.kinds(schema).has(Kind::Scalar);
        let properties = schema.get("properties").and_then(Value::as_object);
        for (name, property) in properties.into_iter().flatten() {
            if !self.may_look() {
                break;
            }
            if *property == Value::Bool(false) || self.is_read_only(property) {
                continue;
            }
            let kind = if is_single(property) { &mut flat.single } else { &mut flat.nested };
            kind.insert(name.clone());
        }
        let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
        let required = required.take_while(|_| self.may_look()).filter_map(Value::as_str);
        flat.required = required.map(str::to_owned).collect();
        let patterns = schema.get("patternProperties").and_then(Value::as_object);
        let mut others = patterns.into_iter().flat_map(Map::values).take_while(|_| self.may_look());
        flat.is_open =
            schema.get("additionalProperties").is_none_or(is_single) || others.any(is_single);
        flat.object = flat.is_open || !flat.single.is_empty();
        flat.list = schema.get("items").is_none_or(is_single);
        flat
    }

    /// The kinds of a schema, counted.
    fn kinds(&self, schema: &Value) -> Kinds {
        Kinds::counted(self.description, schema, &self.left)
    }

    /// Whether a property is only in responses: no call sends it, so how it would be written is nothing.
    fn is_read_only(&self, property: &Value) -> bool {
        let says = |schema: &Value| schema.get("readOnly") == Some(&Value::Bool(true));
        let own = self.description.dialect == Dialect::Current || property.get("$ref").is_none();
        (own && says(property)) || self.description.resolve(property).is_ok_and(says)
    }
}

/// Refuses members in a schema that was carried over: the properties of these names accept no value.
pub(super) fn narrow(schema: &mut Value, nested: &BTreeSet<String>) {
    let Some(members) = schema.as_object_mut().filter(|_| !nested.is_empty()) else { return };
    let properties = members.entry("properties").or_insert_with(|| Map::new().into());
    for name in nested {
        if let Some(properties) = properties.as_object_mut() {
            properties.insert(name.clone(), Value::Bool(false));
        }
    }
    // What a choice says of them is for nobody.
    for word in ["allOf", "anyOf", "oneOf"] {
        for part in members.get_mut(word).and_then(Value::as_array_mut).into_iter().flatten() {
            let properties = part.get_mut("properties").and_then(Value::as_object_mut);
            for (name, property) in properties.into_iter().flatten() {
                if nested.contains(name) {
                    *property = Value::Bool(false);
                }
            }
        }
    }
}
