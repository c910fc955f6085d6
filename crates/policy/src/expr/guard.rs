//! What a condition needs at least: one comparison with written-out values that must hold.
//!
//! A condition whose guard is definitely false is false, whatever else stands in it, because `&&`
//! takes a false side even beside an error. A value that is missing is not definitely different.

use std::cmp::Ordering;

use serde_json::Value as Json;

use super::{
    ast::{Access, Expr, Kind},
    names::Fact,
    ops::Binary,
    scope::Scope,
    value::Value,
};

/// What a guard compares.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Operand {
    /// A numbered field of the arguments.
    Slot(usize, Box<[Box<str>]>),
    Fact(Fact),
    /// A label of the agent.
    Label(Box<str>),
}

/// A value that a guard compares with, in a form that can be looked up: numbers that are equal have
/// one form.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Key {
    Text(Box<str>),
    Plain(Plain),
}

/// A value that is no text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Plain {
    Null,
    Bool(bool),
    Int(i64),
    /// The bits of a double that is no `int`.
    Double(u64),
}

/// The most values that a guard compares with; each is kept for each rule.
const MAX_KEYS: usize = 64;

/// One comparison: the operand must equal one of the keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Guard {
    pub(crate) operand: Operand,
    pub(crate) keys: Vec<Key>,
}

impl Guard {
    /// Returns whether the condition cannot hold for this call.
    pub(crate) fn rules_out<'v>(&self, scope: &'v Scope<'v>) -> bool {
        let Some(value) = self.operand.value(scope) else { return false };
        !self.keys.iter().any(|key| key.is(&value))
    }
}

impl Operand {
    /// Returns the value to compare, nothing where it is missing.
    pub(crate) fn value<'v>(&self, scope: &'v Scope<'v>) -> Option<Value<'v>> {
        match self {
            Self::Slot(slot, path) => scope.slot(*slot, path).map(Value::of),
            Self::Fact(fact) => Some(scope.fact(*fact)),
            Self::Label(name) => scope.label(name).map(Value::text),
        }
    }
}

impl Key {
    fn is(&self, value: &Value<'_>) -> bool {
        match (self, value) {
            (Self::Text(key), Value::Text(text)) => **key == **text,
            (Self::Text(_), _) => false,
            (Self::Plain(key), value) => Plain::of(value) == Some(*key),
        }
    }
}

impl Plain {
    /// Returns the form of a value that is no text, list or map.
    pub(crate) fn of(value: &Value<'_>) -> Option<Self> {
        match value {
            Value::Null => Some(Self::Null),
            Value::Bool(value) => Some(Self::Bool(*value)),
            Value::Int(value) => Some(Self::Int(*value)),
            Value::Double(double) => Some(Self::double(*double)),
            Value::Text(_)
            | Value::List(_)
            | Value::Map(_)
            | Value::Time(_)
            | Value::Span(_)
            | Value::Decimal(_)
            | Value::Ip(_)
            | Value::Cidr(_) => None,
        }
    }

    fn double(double: f64) -> Self {
        const BOUND: f64 = 9_223_372_036_854_775_808.0;
        #[expect(clippy::cast_possible_truncation, reason = "lies within i64, as checked here")]
        let int = (-BOUND..BOUND).contains(&double).then_some(double as i64);
        #[expect(clippy::cast_precision_loss, reason = "compared with what it came from")]
        match int {
            Some(int) if (int as f64).partial_cmp(&double) == Some(Ordering::Equal) => {
                Self::Int(int)
            }
            _ => Self::Double(double.to_bits()),
        }
    }
}

/// Returns the guards that the condition has, in the order of the text.
pub(crate) fn guards(condition: &Expr) -> Vec<Guard> {
    match &condition.kind {
        Kind::And(parts) => parts.iter().flat_map(guards).collect(),
        Kind::Binary { op: Binary::Equal, left, right } => {
            let guard = |operand: &Expr, value: &Expr| {
                let Kind::Literal(value) = &value.kind else { return None };
                Some(Guard { operand: self::operand(operand)?, keys: vec![key(value)?] })
            };
            guard(left, right).or_else(|| guard(right, left)).into_iter().collect()
        }
        Kind::Binary { op: Binary::In, left, right } => {
            let Kind::Literal(values) = &right.kind else { return Vec::new() };
            let values = values.as_array().filter(|values| values.len() <= MAX_KEYS);
            let keys = values.and_then(|values| values.iter().map(key).collect());
            let guard = operand(left).zip(keys).map(|(operand, keys)| Guard { operand, keys });
            guard.into_iter().collect()
        }
        _ => Vec::new(),
    }
}

fn operand(expr: &Expr) -> Option<Operand> {
    match &expr.kind {
        Kind::Path { slot, path, .. } => Some(Operand::Slot(*slot, path.clone())),
        Kind::Fact(Fact::AgentLabels | Fact::Now) => None,
        Kind::Fact(fact) => Some(Operand::Fact(*fact)),
        Kind::Field { of, name, access: Access::Must }
            if matches!(of.kind, Kind::Fact(Fact::AgentLabels)) =>
        {
            Some(Operand::Label(name.clone()))
        }
        _ => None,
    }
}

fn key(value: &Json) -> Option<Key> {
    match value {
        Json::String(text) => Some(Key::Text(text.as_str().into())),
        Json::Null | Json::Bool(_) | Json::Number(_) => {
            Plain::of(&Value::of(value)).map(Key::Plain)
        }
        Json::Array(_) | Json::Object(_) => None,
    }
}
