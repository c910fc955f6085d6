//! What a style can write of a value: items and members that are single values. The table of OpenAPI
//! 3.1.1 (4.8.12.4) says nothing of lists and objects within others.

use std::{cell::Cell, collections::BTreeSet};

use serde_json::{Map, Value};

use super::{document::Description, kinds::Kinds};
use crate::rest::style::Kind;

/// How many parts of a schema are looked at; of more, nothing is known before a call.
const MOST_PARTS: usize = 1_000;

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
}

impl Flat {
    /// What can be written of a value of this schema.
    pub(super) fn of(description: &Description, schema: &Value) -> Self {
        let left = Cell::new(MOST_PARTS);
        outline(description, schema, &left)
    }

    /// Whether a value of this kind may be one that can be written.
    pub(super) fn has(&self, kind: Kind) -> bool {
        match kind {
            Kind::Scalar => true,
            Kind::List => self.list,
            Kind::Object => self.object,
        }
    }
}

fn outline(description: &Description, schema: &Value, left: &Cell<usize>) -> Flat {
    let (Some(rest), Ok(schema)) = (left.get().checked_sub(1), description.resolve(schema)) else {
        return own(&Value::Null, |_| true);
    };
    left.set(rest);
    let is_single = |schema: &Value| Kinds::within(description, schema, left).has(Kind::Scalar);
    let mut flat = own(schema, is_single);
    let within = |schema: &Value| outline(description, schema, left);
    for part in schema.get("allOf").and_then(Value::as_array).into_iter().flatten() {
        let part = within(part);
        flat.list &= part.list;
        flat.object &= part.object;
        flat.nested.extend(part.nested);
        flat.single.extend(part.single);
        flat.required.extend(part.required);
    }
    for word in ["anyOf", "oneOf"] {
        let Some(choices) = schema.get(word).and_then(Value::as_array) else { continue };
        let (mut list, mut object) = (false, false);
        let (mut nested, mut single) = (BTreeSet::new(), BTreeSet::new());
        for choice in choices {
            let (kinds, choice) = (Kinds::within(description, choice, left), within(choice));
            list |= kinds.has(Kind::List) && choice.list;
            object |= kinds.has(Kind::Object) && choice.object;
            nested.extend(choice.nested);
            single.extend(choice.single);
        }
        flat.list &= list;
        flat.object &= object;
        // A member that one of the choices has as a single value can be sent.
        flat.nested.extend(nested.difference(&single).cloned());
        flat.single.extend(single);
    }
    flat.object &= flat.required.is_disjoint(&flat.nested);
    flat
}

/// What the words beside the compositions of a schema say.
fn own(schema: &Value, is_single: impl Fn(&Value) -> bool) -> Flat {
    let (mut single, mut nested) = (BTreeSet::new(), BTreeSet::new());
    let properties = schema.get("properties").and_then(Value::as_object);
    for (name, property) in properties.into_iter().flatten() {
        let kind = if is_single(property) { &mut single } else { &mut nested };
        kind.insert(name.clone());
    }
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    let others = schema.get("additionalProperties").is_none_or(&is_single);
    let has_one = others || !single.is_empty();
    Flat {
        list: schema.get("items").is_none_or(is_single),
        object: has_one,
        nested,
        single,
        required: required.filter_map(Value::as_str).map(str::to_owned).collect(),
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
