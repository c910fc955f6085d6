//! What a value can be: a set of kinds, and the part of a tool's schema that describes it.
//!
//! Schemas are read leniently: what is not understood allows everything.

use serde_json::Value as Json;

use super::{
    names::hint,
    value::{Sort, Value},
};

/// A set of kinds of value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Sorts(u16);

impl Sorts {
    pub(crate) const NONE: Self = Self(0);
    /// What a value can be of which nothing is known.
    pub(crate) const ALL: Self = Self(0b1111_1111_1111);
    /// What a JSON value of unknown shape can be.
    pub(crate) const JSON: Self = Self(0b0111_1111);

    /// The set of one.
    pub(crate) const fn only(sort: Sort) -> Self {
        Self(1 << sort as u16)
    }

    /// Whether the kind is in the set.
    pub(crate) const fn has(self, sort: Sort) -> bool {
        self.0 & Self::only(sort).0 != 0
    }

    /// Whether nothing is known, at least of a part: any JSON value is in the set.
    pub(crate) fn is_anything(self) -> bool {
        self.and(Self::JSON) == Self::JSON
    }

    /// Both sets together.
    pub(crate) const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// What is in both sets.
    pub(crate) const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// What is in this set alone.
    pub(crate) const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Whether a value of these kinds can equal one of those: values of one kind can, and an int
    /// equals a double or a decimal of the same value. A double never equals a decimal.
    pub(crate) fn can_equal(self, other: Self) -> bool {
        let whole = Self::only(Sort::Int);
        let numbers = whole.or(Self::only(Sort::Double)).or(Self::only(Sort::Decimal));
        let meet = |one: Self, other: Self| one.and(other) != Self::NONE;
        meet(self, other)
            || (meet(self, whole) && meet(other, numbers))
            || (meet(self, numbers) && meet(other, whole))
    }

    pub(crate) fn iter(self) -> impl Iterator<Item = Sort> {
        Sort::ALL.into_iter().filter(move |sort| self.has(*sort))
    }

    /// The kinds in words.
    pub(crate) fn names(self) -> String {
        self.iter().map(Sort::name).collect::<Vec<_>>().join(" or ")
    }
}

/// What a value can be.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape<'s> {
    pub(crate) sorts: Sorts,
    schema: Option<&'s Json>,
    /// The whole schema, for references.
    root: Option<&'s Json>,
    /// The kinds of a list's elements where an expression put it together.
    items: Option<Sorts>,
}

/// What a schema says of one field.
pub(crate) struct Field<'s> {
    pub(crate) shape: Shape<'s>,
    pub(crate) is_required: bool,
    /// Set when the schema names fields and not this one.
    pub(crate) unknown: Option<Unknown>,
}

/// A field that a schema does not name.
pub(crate) struct Unknown {
    /// The nearest one, for a message; empty where none is near.
    pub(crate) hint: String,
    /// Whether the schema takes no fields but those that it names.
    pub(crate) is_certain: bool,
}

/// The field of this path, such as `args.customer.id`, if the schema does not have it.
#[cfg(feature = "prover")]
pub(crate) fn unknown(schema: &Json, path: &str) -> Option<Unknown> {
    let mut shape = Shape::arguments(Some(schema));
    for name in path.split('.').skip(1) {
        let field = shape.field(name)?;
        if field.unknown.is_some() {
            return field.unknown;
        }
        shape = field.shape;
    }
    None
}

impl<'s> Shape<'s> {
    /// Any JSON value.
    pub(crate) const ANY: Self = Self::of(Sorts::JSON);
    pub(crate) const BOOL: Self = Self::only(Sort::Bool);

    pub(crate) const fn of(sorts: Sorts) -> Self {
        Self { sorts, schema: None, root: None, items: None }
    }

    pub(crate) const fn only(sort: Sort) -> Self {
        Self::of(Sorts::only(sort))
    }

    pub(crate) fn literal(value: &Json) -> Self {
        let sort = |value| Sorts::only(Value::of(value).sort());
        match value {
            Json::Array(items) => Self::list(items.iter().map(sort)),
            _ => Self::of(sort(value)),
        }
    }

    /// A list with elements of these kinds.
    pub(crate) fn list(items: impl IntoIterator<Item = Sorts>) -> Self {
        let items = items.into_iter().fold(Sorts::NONE, Sorts::or);
        let items = (items != Sorts::NONE).then_some(items);
        Self { items, ..Self::only(Sort::List) }
    }

    /// The shape of the arguments, which are always a mapping.
    pub(crate) fn arguments(schema: Option<&'s Json>) -> Self {
        Self { sorts: Sorts::only(Sort::Map), schema, root: schema, items: None }
    }

    pub(crate) fn or(self, other: Self) -> Self {
        let held = |shape: Self| {
            if shape.sorts.has(Sort::List) { shape.element().sorts } else { Sorts::NONE }
        };
        let is_put_together = self.items.is_some() || other.items.is_some();
        let items = is_put_together.then(|| held(self).or(held(other)));
        Self { items, ..Self::of(self.sorts.or(other.sorts)) }
    }

    /// The same with the elements of the other one.
    pub(crate) fn holding(self, other: Self) -> Self {
        Self { items: other.items, ..self }
    }

    /// What the schema says of a field; nothing where there is no schema.
    pub(crate) fn field(self, name: &str) -> Option<Field<'s>> {
        let schema = self.resolved()?;
        let properties = schema.get("properties").and_then(Json::as_object);
        let names = schema.get("required").and_then(Json::as_array);
        let is_required = names.is_some_and(|names| names.iter().any(|known| known == name));
        let described = properties.and_then(|properties| properties.get(name));
        let shape = described.map_or(Self::ANY, |schema| self.inner(schema));
        let others = schema.get("additionalProperties");
        let is_certain = others.is_some_and(|others| *others == false);
        let takes_others =
            others.is_some() && !is_certain || schema.get("patternProperties").is_some();
        let is_described = properties.is_some() || is_certain;
        let unknown = (described.is_none() && is_described && !takes_others).then(|| {
            let known = properties.into_iter().flat_map(|known| known.keys().map(String::as_str));
            Unknown { hint: hint(name, known), is_certain }
        });
        // A part that the schema does not describe at all is not doubted.
        (is_described || is_required).then_some(Field { shape, is_required, unknown })
    }

    /// What the elements can be: what the list was put together from, or what the schema says.
    pub(crate) fn element(self) -> Self {
        if let Some(items) = self.items {
            // Where it may be a map, its fields and their names are JSON.
            let maps = if self.sorts.has(Sort::Map) { Sorts::JSON } else { Sorts::NONE };
            // What lists among them hold is not followed.
            return Self { items: Some(Sorts::ALL), ..Self::of(items.or(maps)) };
        }
        let items = self.resolved().and_then(|schema| schema.get("items"));
        items.filter(|items| items.is_object()).map_or(Self::ANY, |items| self.inner(items))
    }

    fn inner(self, schema: &'s Json) -> Self {
        let shape = Self { schema: Some(schema), root: self.root, ..Self::ANY };
        let sorts = shape.resolved().map_or(Sorts::JSON, allowed);
        Self { sorts, ..shape }
    }

    /// Follows a reference within the schema, once.
    fn resolved(self) -> Option<&'s Json> {
        let schema = self.schema?;
        match schema.get("$ref").and_then(Json::as_str) {
            Some(reference) => self.root?.pointer(reference.strip_prefix('#')?),
            None => Some(schema),
        }
    }
}

fn allowed(schema: &Json) -> Sorts {
    if let Some(value) = schema.get("const") {
        return Sorts::only(Value::of(value).sort());
    }
    if let Some(values) = schema.get("enum").and_then(Json::as_array) {
        let sorts = values.iter().map(|value| Sorts::only(Value::of(value).sort()));
        return sorts.fold(Sorts::NONE, Sorts::or);
    }
    match schema.get("type") {
        Some(Json::String(name)) => named(name),
        Some(Json::Array(names)) => names
            .iter()
            .map(|name| name.as_str().map_or(Sorts::JSON, named))
            .fold(Sorts::NONE, Sorts::or),
        _ => Sorts::JSON,
    }
}

fn named(name: &str) -> Sorts {
    match name {
        "null" => Sorts::only(Sort::Null),
        "boolean" => Sorts::only(Sort::Bool),
        "integer" => Sorts::only(Sort::Int),
        "number" => Sorts::only(Sort::Int).or(Sorts::only(Sort::Double)),
        "string" => Sorts::only(Sort::Text),
        "array" => Sorts::only(Sort::List),
        "object" => Sorts::only(Sort::Map),
        _ => Sorts::JSON,
    }
}
