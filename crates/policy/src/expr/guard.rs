//! What a condition needs at least: one comparison with written-out values that must hold, or one
//! of a few.
//!
//! A condition whose guard is definitely false is false, whatever else stands in it, because `&&`
//! takes a false side even beside an error. A value that is missing, or of a kind that the
//! comparison does not take, is not definitely different.

use std::cmp::Ordering;

use serde_json::Value as Json;

use super::{
    ast::{Access, Expr, Kind},
    functions::Function,
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
    /// The start of a text.
    Start(Box<str>),
    /// The end of a text.
    End(Box<str>),
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
/// The most sides of an `||` that a guard is made of.
const MAX_BRANCHES: usize = 8;

/// Comparisons of which at least one must hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Guard {
    pub(crate) branches: Vec<Branch>,
}

/// One comparison: the operand must be one of the keys, or start or end so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Branch {
    pub(crate) operand: Operand,
    pub(crate) keys: Vec<Key>,
}

impl Guard {
    /// Whether the condition cannot hold for this call.
    pub(crate) fn rules_out<'v>(&self, scope: &'v Scope<'v>) -> bool {
        self.branches.iter().all(|branch| {
            let Some(value) = branch.operand.value(scope) else { return false };
            branch.keys.iter().all(|key| key.differs(&value))
        })
    }
}

impl Operand {
    /// The value to compare, nothing where it is missing.
    pub(crate) fn value<'v>(&self, scope: &'v Scope<'v>) -> Option<Value<'v>> {
        match self {
            Self::Slot(slot, path) => scope.slot(*slot, path).map(Value::of),
            Self::Fact(fact) => Some(scope.fact(*fact)),
            Self::Label(name) => scope.label(name).map(Value::text),
        }
    }
}

impl Key {
    /// Whether the comparison is false for the value, and no error.
    fn differs(&self, value: &Value<'_>) -> bool {
        match (self, value) {
            (Self::Text(key), Value::Text(text)) => **key != **text,
            (Self::Text(_), _) => true,
            (Self::Plain(key), value) => Plain::of(value) != Some(*key),
            (Self::Start(key), Value::Text(text)) => !text.starts_with(&**key),
            (Self::End(key), Value::Text(text)) => !text.ends_with(&**key),
            (Self::Start(_) | Self::End(_), _) => false,
        }
    }
}

impl Plain {
    /// The form of a value that is no text, list or map.
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

/// The guards that the condition has, in the order of the text.
pub(crate) fn guards(condition: &Expr) -> Vec<Guard> {
    match &condition.kind {
        Kind::And(parts) => parts.iter().flat_map(guards).collect(),
        Kind::Or(parts) => {
            // Every side needs a guard of its own, or the whole may hold without any of them.
            let sides: Option<Vec<Guard>> =
                parts.iter().map(|part| guards(part).into_iter().min_by_key(breadth)).collect();
            let branches: Vec<Branch> =
                sides.into_iter().flatten().flat_map(|guard| guard.branches).collect();
            let fits = (1..=MAX_BRANCHES).contains(&branches.len());
            fits.then_some(Guard { branches }).into_iter().collect()
        }
        Kind::Binary { op: Binary::Equal, left, right } => {
            let guard = |operand: &Expr, value: &Expr| {
                let Kind::Literal(value) = &value.kind else { return None };
                single(operand, Some(vec![key(value)?]))
            };
            guard(left, right).or_else(|| guard(right, left)).into_iter().collect()
        }
        Kind::Binary { op: Binary::In, left, right } => {
            let Kind::Literal(values) = &right.kind else { return Vec::new() };
            let values = values.as_array().filter(|values| values.len() <= MAX_KEYS);
            let keys = values.and_then(|values| values.iter().map(key).collect());
            single(left, keys).into_iter().collect()
        }
        Kind::Call { function: Function::StartsWith, args } => affix(args, Key::Start),
        Kind::Call { function: Function::EndsWith, args } => affix(args, Key::End),
        Kind::Glob { of, pattern } => {
            // What is no text is an error, not a difference, so even a whole text is a start here.
            let start = pattern.as_str().split('*').next().filter(|start| !start.is_empty());
            single(of, start.map(|start| vec![Key::Start(start.into())])).into_iter().collect()
        }
        _ => Vec::new(),
    }
}

fn breadth(guard: &Guard) -> usize {
    guard.branches.iter().map(|branch| branch.keys.len()).sum()
}

fn single(operand: &Expr, keys: Option<Vec<Key>>) -> Option<Guard> {
    let branch = Branch { operand: self::operand(operand)?, keys: keys? };
    Some(Guard { branches: vec![branch] })
}

fn affix(args: &[Expr], key: fn(Box<str>) -> Key) -> Vec<Guard> {
    let [of, text] = args else { return Vec::new() };
    let Kind::Literal(text) = &text.kind else { return Vec::new() };
    let keys = text.as_str().filter(|text| !text.is_empty()).map(|text| vec![key(text.into())]);
    single(of, keys).into_iter().collect()
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
