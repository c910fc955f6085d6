//! Values while an expression runs: mostly borrowed from the call's arguments and the policy.

use std::{borrow::Cow, cmp::Ordering, collections::BTreeMap, net::IpAddr};

use jiff::{SignedDuration, Timestamp};
use serde_json::{Map as JsonMap, Number, Value as Json};

use super::{decimal::Decimal, network::Cidr};

/// What kind of value something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Sort {
    Null,
    Bool,
    Int,
    Double,
    Text,
    List,
    Map,
    Time,
    Span,
    Decimal,
    Ip,
    Cidr,
}

impl Sort {
    pub(crate) const ALL: [Self; 12] = [
        Self::Null,
        Self::Bool,
        Self::Int,
        Self::Double,
        Self::Text,
        Self::List,
        Self::Map,
        Self::Time,
        Self::Span,
        Self::Decimal,
        Self::Ip,
        Self::Cidr,
    ];

    /// The name that messages use.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool => "bool",
            Self::Int => "int",
            Self::Double => "double",
            Self::Text => "string",
            Self::List => "list",
            Self::Map => "map",
            Self::Time => "timestamp",
            Self::Span => "duration",
            Self::Decimal => "decimal",
            Self::Ip => "ip",
            Self::Cidr => "cidr",
        }
    }
}

/// A value.
#[derive(Debug, Clone)]
pub(crate) enum Value<'v> {
    Null,
    Bool(bool),
    Int(i64),
    Double(f64),
    Text(Cow<'v, str>),
    List(List<'v>),
    Map(Map<'v>),
    Time(Timestamp),
    Span(SignedDuration),
    Decimal(Decimal),
    Ip(IpAddr),
    Cidr(Cidr),
}

/// Two values of kinds that have no order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Unordered;

/// A list that lies in JSON or was put together.
#[derive(Debug, Clone)]
pub(crate) enum List<'v> {
    Json(&'v [Json]),
    Built(Vec<Value<'v>>),
}

/// A mapping that lies in JSON or the agent's labels.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Map<'v> {
    Json(&'v JsonMap<String, Json>),
    Labels(&'v BTreeMap<String, String>),
}

impl<'v> Value<'v> {
    /// The JSON value as it reads in expressions.
    pub(crate) fn of(json: &'v Json) -> Self {
        match json {
            Json::Null => Self::Null,
            Json::Bool(value) => Self::Bool(*value),
            Json::Number(number) => Self::number(number),
            Json::String(text) => Self::text(text),
            Json::Array(items) => Self::List(List::Json(items)),
            Json::Object(map) => Self::Map(Map::Json(map)),
        }
    }

    /// A borrowed text.
    pub(crate) fn text(text: &'v str) -> Self {
        Self::Text(Cow::Borrowed(text))
    }

    /// An integer that fits is an `int`; a larger one and every fraction is a `double`.
    fn number(number: &Number) -> Self {
        match number.as_i64() {
            Some(value) => Self::Int(value),
            None => Self::Double(number.as_f64().unwrap_or(f64::NAN)),
        }
    }

    /// The double; nothing where it is infinite or not a number. NaN is neither above nor below
    /// anything, so that a condition such as `x > 100` would step over it.
    pub(crate) fn finite(value: f64) -> Option<Self> {
        value.is_finite().then_some(Self::Double(value))
    }

    /// What kind of value this is.
    pub(crate) const fn sort(&self) -> Sort {
        match self {
            Self::Null => Sort::Null,
            Self::Bool(_) => Sort::Bool,
            Self::Int(_) => Sort::Int,
            Self::Double(_) => Sort::Double,
            Self::Text(_) => Sort::Text,
            Self::List(_) => Sort::List,
            Self::Map(_) => Sort::Map,
            Self::Time(_) => Sort::Time,
            Self::Span(_) => Sort::Span,
            Self::Decimal(_) => Sort::Decimal,
            Self::Ip(_) => Sort::Ip,
            Self::Cidr(_) => Sort::Cidr,
        }
    }

    /// How the two values are ordered, nothing where one of two numbers is NaN.
    pub(crate) fn order(&self, other: &Self) -> Result<Option<Ordering>, Unordered> {
        Ok(match (self, other) {
            (Self::Int(left), Self::Int(right)) => Some(left.cmp(right)),
            (Self::Int(left), Self::Double(right)) => order_exactly(*left, *right),
            (Self::Double(left), Self::Int(right)) => {
                order_exactly(*right, *left).map(Ordering::reverse)
            }
            (Self::Double(left), Self::Double(right)) => left.partial_cmp(right),
            (Self::Decimal(left), Self::Decimal(right)) => Some(left.cmp(right)),
            (Self::Decimal(left), Self::Int(right)) => Some(left.cmp(&Decimal::from(*right))),
            (Self::Int(left), Self::Decimal(right)) => Some(Decimal::from(*left).cmp(right)),
            (Self::Text(left), Self::Text(right)) => Some(left.as_bytes().cmp(right.as_bytes())),
            (Self::Bool(left), Self::Bool(right)) => Some(left.cmp(right)),
            (Self::Time(left), Self::Time(right)) => Some(left.cmp(right)),
            (Self::Span(left), Self::Span(right)) => Some(left.cmp(right)),
            _ => return Err(Unordered),
        })
    }

    /// Whether the two values are equal; values of different kinds are not, but an int and a double
    /// or a decimal are by their exact value. A double equals no decimal: `0.1` of JSON is another
    /// number than the one that was written.
    pub(crate) fn equals(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Null, Self::Null) => true,
            (Self::Ip(left), Self::Ip(right)) => left == right,
            (Self::Cidr(left), Self::Cidr(right)) => left == right,
            (Self::List(left), Self::List(right)) => {
                left.len() == right.len()
                    && left.iter().zip(right.iter()).all(|(left, right)| left.equals(&right))
            }
            (Self::Map(left), Self::Map(right)) => {
                left.len() == right.len()
                    && left.iter().all(|(name, value)| {
                        right.get(name).is_some_and(|other| value.equals(&other))
                    })
            }
            _ => self.order(other) == Ok(Some(Ordering::Equal)),
        }
    }

    /// How much work it is to look at the whole value once, for the fuel.
    pub(crate) fn weight(&self) -> usize {
        match self {
            Self::Text(text) => text.len() / 64,
            Self::List(list) => list.iter().map(|item| 1 + item.weight()).sum(),
            Self::Map(map) => {
                map.iter().map(|(name, value)| 1 + name.len() / 64 + value.weight()).sum()
            }
            Self::Null
            | Self::Bool(_)
            | Self::Int(_)
            | Self::Double(_)
            | Self::Time(_)
            | Self::Span(_)
            | Self::Decimal(_)
            | Self::Ip(_)
            | Self::Cidr(_) => 0,
        }
    }

    /// How much work it is to copy the value, for the fuel: what is borrowed costs nothing.
    pub(crate) fn copied(&self) -> usize {
        match self {
            Self::Text(Cow::Owned(text)) => text.len() / 64,
            Self::List(List::Built(items)) => items.iter().map(|item| 1 + item.copied()).sum(),
            Self::Text(Cow::Borrowed(_))
            | Self::List(List::Json(_))
            | Self::Map(_)
            | Self::Null
            | Self::Bool(_)
            | Self::Int(_)
            | Self::Double(_)
            | Self::Time(_)
            | Self::Span(_)
            | Self::Decimal(_)
            | Self::Ip(_)
            | Self::Cidr(_) => 0,
        }
    }
}

impl<'v> List<'v> {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Json(items) => items.len(),
            Self::Built(items) => items.len(),
        }
    }

    pub(crate) fn get(&self, place: usize) -> Option<Value<'v>> {
        match self {
            Self::Json(items) => items.get(place).map(Value::of),
            Self::Built(items) => items.get(place).cloned(),
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Value<'v>> {
        (0..self.len()).filter_map(|place| self.get(place))
    }
}

impl<'v> Map<'v> {
    pub(crate) fn len(self) -> usize {
        match self {
            Self::Json(map) => map.len(),
            Self::Labels(labels) => labels.len(),
        }
    }

    pub(crate) fn get(self, name: &str) -> Option<Value<'v>> {
        match self {
            Self::Json(map) => map.get(name).map(Value::of),
            Self::Labels(labels) => labels.get(name).map(|text| Value::text(text)),
        }
    }

    pub(crate) fn iter(self) -> Box<dyn Iterator<Item = (&'v str, Value<'v>)> + 'v> {
        match self {
            Self::Json(map) => {
                Box::new(map.iter().map(|(name, value)| (name.as_str(), Value::of(value))))
            }
            Self::Labels(labels) => {
                Box::new(labels.iter().map(|(name, text)| (name.as_str(), Value::text(text))))
            }
        }
    }
}

/// Compares without rounding, which a cast of a large integer would do.
fn order_exactly(int: i64, double: f64) -> Option<Ordering> {
    const BOUND: f64 = 9_223_372_036_854_775_808.0;
    if double.is_nan() {
        return None;
    }
    if double >= BOUND {
        return Some(Ordering::Less);
    }
    if double < -BOUND {
        return Some(Ordering::Greater);
    }
    #[expect(clippy::cast_possible_truncation, reason = "lies within i64, as checked above")]
    let whole = double.trunc() as i64;
    let rest = double - double.trunc();
    Some(int.cmp(&whole).then(0.0_f64.partial_cmp(&rest)?))
}
