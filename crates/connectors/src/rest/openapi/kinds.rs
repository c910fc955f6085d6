//! The kinds of values that a schema accepts, as far as its outline says.

use std::cell::Cell;

use serde_json::Value;

use super::{document::Description, schema::SPENT};
use crate::rest::style::Kind;

/// How many parts of a composition are looked at; of more, every kind is possible.
const MOST_PARTS: usize = 200;

/// A set of kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Kinds {
    scalar: bool,
    list: bool,
    object: bool,
}

impl Kinds {
    const ALL: Self = Self { scalar: true, list: true, object: true };
    const NONE: Self = Self { scalar: false, list: false, object: false };
    const SCALAR: Self = Self { scalar: true, ..Self::NONE };

    /// The kinds of values that the schema may accept; the parts that are looked at are among those
    /// that may be read of the description.
    pub(super) fn spent(description: &Description, schema: &Value) -> Result<Self, String> {
        let left = Cell::new(MOST_PARTS);
        let kinds = Self::counted(description, schema, &left);
        if description.spend(MOST_PARTS - left.get()) { Ok(kinds) } else { Err(SPENT.to_owned()) }
    }

    /// The same; takes the parts off those that are left.
    pub(super) fn counted(description: &Description, schema: &Value, left: &Cell<usize>) -> Self {
        let most = left.get().min(MOST_PARTS);
        let own = Cell::new(most);
        let kinds = outline(description, schema, &own);
        left.set(left.get() - (most - own.get()));
        kinds
    }

    /// Whether a value of this kind may be accepted.
    pub(super) fn has(self, kind: Kind) -> bool {
        match kind {
            Kind::Scalar => self.scalar,
            Kind::List => self.list,
            Kind::Object => self.object,
        }
    }

    /// Whether one of the kinds is such.
    pub(super) fn any(self, is_such: impl Fn(Kind) -> bool) -> bool {
        Kind::ALL.into_iter().any(|kind| self.has(kind) && is_such(kind))
    }

    fn and(self, other: Self) -> Self {
        Self {
            scalar: self.scalar && other.scalar,
            list: self.list && other.list,
            object: self.object && other.object,
        }
    }

    fn or(self, other: Self) -> Self {
        Self {
            scalar: self.scalar || other.scalar,
            list: self.list || other.list,
            object: self.object || other.object,
        }
    }

    /// The kinds of a `type`.
    fn named(name: &str) -> Self {
        match name {
            "array" => Self { list: true, ..Self::NONE },
            "object" => Self { object: true, ..Self::NONE },
            // A call does not send `null`.
            "null" => Self::NONE,
            _ => Self::SCALAR,
        }
    }

    /// The kind of a value.
    fn of_value(value: &Value) -> Self {
        match value {
            Value::Array(_) => Self::named("array"),
            Value::Object(_) => Self::named("object"),
            Value::Null => Self::NONE,
            Value::Bool(_) | Value::Number(_) | Value::String(_) => Self::SCALAR,
        }
    }

    fn union(kinds: impl Iterator<Item = Self>) -> Self {
        kinds.fold(Self::NONE, Self::or)
    }
}

fn outline(description: &Description, schema: &Value, left: &Cell<usize>) -> Kinds {
    let (Some(rest), Ok(schema)) = (left.get().checked_sub(1), description.resolve(schema)) else {
        return Kinds::ALL;
    };
    left.set(rest);
    if *schema == Value::Bool(false) {
        return Kinds::NONE;
    }
    let within = |schema: &Value| outline(description, schema, left);
    let mut kinds = match schema.get("type") {
        Some(Value::String(name)) => Kinds::named(name),
        Some(Value::Array(names)) => {
            Kinds::union(names.iter().filter_map(Value::as_str).map(Kinds::named))
        }
        _ => Kinds::ALL,
    };
    let values = schema.get("enum").and_then(Value::as_array);
    if let Some(values) = values.filter(|values| values.len() <= MOST_PARTS) {
        kinds = kinds.and(Kinds::union(values.iter().map(Kinds::of_value)));
    }
    if let Some(value) = schema.get("const") {
        kinds = kinds.and(Kinds::of_value(value));
    }
    let every = schema.get("allOf").and_then(Value::as_array).into_iter().flatten();
    for every in every.take_while(|_| left.get() > 0) {
        kinds = kinds.and(within(every));
    }
    for word in ["anyOf", "oneOf"] {
        if let Some(choices) = schema.get(word).and_then(Value::as_array) {
            let looked = choices.iter().take_while(|_| left.get() > 0).map(within);
            let union = Kinds::union(looked);
            // Of those that are not looked at, nothing is known.
            kinds = if left.get() > 0 { kinds.and(union) } else { kinds };
        }
    }
    kinds
}
