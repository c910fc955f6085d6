//! What operators and functions make of their values.

use std::{borrow::Cow, cmp::Ordering};

use super::{convert, time, url};
use crate::expr::{
    failure::Cause,
    functions::Function,
    network,
    ops::Binary,
    value::{List, Value},
};

type Result<'v> = std::result::Result<Value<'v>, Cause<'static>>;

/// What the operator makes of its two sides.
pub(super) fn binary<'v>(op: Binary, left: Value<'v>, right: Value<'v>) -> Result<'v> {
    let wrong = Cause::NoOperator { sign: op.sign(), left: left.sort(), right: right.sort() };
    let ordered = |accepts: fn(Ordering) -> bool| {
        let order = left.order(&right).map_err(|_| wrong)?;
        Ok(Value::Bool(order.is_some_and(accepts)))
    };
    match op {
        Binary::Equal => Ok(Value::Bool(left.equals(&right))),
        Binary::NotEqual => Ok(Value::Bool(!left.equals(&right))),
        Binary::Less => ordered(Ordering::is_lt),
        Binary::LessOrEqual => ordered(Ordering::is_le),
        Binary::Greater => ordered(Ordering::is_gt),
        Binary::GreaterOrEqual => ordered(Ordering::is_ge),
        Binary::In => member(&left, &right).map(Value::Bool).ok_or(wrong),
        Binary::Add => add(left, right, wrong),
        Binary::Subtract => subtract(&left, &right, wrong),
        Binary::Multiply => multiply(&left, &right, wrong),
    }
}

fn member(needle: &Value<'_>, haystack: &Value<'_>) -> Option<bool> {
    match (needle, haystack) {
        (needle, Value::List(list)) => Some(list.iter().any(|item| item.equals(needle))),
        (Value::Text(name), Value::Map(map)) => Some(map.get(name).is_some()),
        // The names of JSON's fields are strings, so nothing else is among them.
        (Value::Int(_) | Value::Double(_) | Value::Bool(_), Value::Map(_)) => Some(false),
        _ => None,
    }
}

fn add<'v>(left: Value<'v>, right: Value<'v>, wrong: Cause<'static>) -> Result<'v> {
    let sum = match (left, right) {
        (Value::Int(left), Value::Int(right)) => left.checked_add(right).map(Value::Int),
        (Value::Double(left), Value::Double(right)) => Value::finite(left + right),
        (Value::Decimal(left), Value::Decimal(right)) => {
            left.checked_add(right).map(Value::Decimal)
        }
        (Value::Decimal(one), Value::Int(other)) | (Value::Int(other), Value::Decimal(one)) => {
            one.checked_add(other.into()).map(Value::Decimal)
        }
        (Value::Text(left), Value::Text(right)) => {
            Some(Value::Text(Cow::Owned(left.into_owned() + &right)))
        }
        (Value::List(left), Value::List(right)) => {
            Some(Value::List(List::Built(left.iter().chain(right.iter()).collect())))
        }
        (Value::Time(at), Value::Span(span)) | (Value::Span(span), Value::Time(at)) => {
            time::shift(at, span)
        }
        (Value::Span(left), Value::Span(right)) => time::span(left.checked_add(right)),
        _ => return Err(wrong),
    };
    sum.ok_or(Cause::Overflow)
}

fn subtract<'v>(left: &Value<'v>, right: &Value<'v>, wrong: Cause<'static>) -> Result<'v> {
    let difference = match (left, right) {
        (Value::Int(left), Value::Int(right)) => left.checked_sub(*right).map(Value::Int),
        (Value::Double(left), Value::Double(right)) => Value::finite(left - right),
        (Value::Decimal(left), Value::Decimal(right)) => {
            left.checked_sub(*right).map(Value::Decimal)
        }
        (Value::Decimal(left), Value::Int(right)) => {
            left.checked_sub((*right).into()).map(Value::Decimal)
        }
        (Value::Int(left), Value::Decimal(right)) => {
            crate::expr::Decimal::from(*left).checked_sub(*right).map(Value::Decimal)
        }
        (Value::Time(left), Value::Time(right)) => time::span(Some(left.duration_since(*right))),
        (Value::Time(at), Value::Span(span)) => {
            span.checked_neg().and_then(|span| time::shift(*at, span))
        }
        (Value::Span(left), Value::Span(right)) => time::span(left.checked_sub(*right)),
        _ => return Err(wrong),
    };
    difference.ok_or(Cause::Overflow)
}

fn multiply<'v>(left: &Value<'v>, right: &Value<'v>, wrong: Cause<'static>) -> Result<'v> {
    let product = match (left, right) {
        (Value::Int(left), Value::Int(right)) => left.checked_mul(*right).map(Value::Int),
        (Value::Double(left), Value::Double(right)) => Value::finite(left * right),
        (Value::Decimal(one), Value::Int(times)) | (Value::Int(times), Value::Decimal(one)) => {
            one.checked_mul(*times).map(Value::Decimal)
        }
        _ => return Err(wrong),
    };
    product.ok_or(Cause::Overflow)
}

/// The value with the other sign.
pub(super) fn negate<'v>(value: &Value<'v>) -> Result<'v> {
    let negated = match value {
        Value::Int(value) => value.checked_neg().map(Value::Int),
        Value::Double(value) => Some(Value::Double(-value)),
        Value::Decimal(value) => crate::expr::Decimal::ZERO.checked_sub(*value).map(Value::Decimal),
        Value::Span(span) => time::span(span.checked_neg()),
        other => return Err(Cause::NoFunction { name: "-", of: other.sort() }),
    };
    negated.ok_or(Cause::Overflow)
}

/// The element of a list or mapping, or nothing where there is none.
pub(super) fn element<'v>(
    of: &Value<'v>,
    key: &Value<'v>,
) -> std::result::Result<Option<Value<'v>>, Cause<'static>> {
    match (of, key) {
        (Value::List(list), Value::Int(place)) => {
            Ok(usize::try_from(*place).ok().and_then(|place| list.get(place)))
        }
        (Value::Map(map), Value::Text(name)) => Ok(map.get(name)),
        (Value::List(_) | Value::Map(_), key) => {
            Err(Cause::NoOperator { sign: "[]", left: of.sort(), right: key.sort() })
        }
        (of, _) => Err(Cause::NoParts(of.sort())),
    }
}

/// The text that the function was given.
pub(super) fn text<'t>(
    name: &'static str,
    value: &'t Value<'_>,
) -> std::result::Result<&'t str, Cause<'static>> {
    match value {
        Value::Text(text) => Ok(text),
        other => Err(Cause::NoFunction { name, of: other.sort() }),
    }
}

/// What the function makes of its one or two values.
pub(super) fn function<'v>(
    function: Function,
    first: Value<'v>,
    second: Option<Value<'v>>,
) -> Result<'v> {
    let name = function.name();
    let second_text = || text(name, second.as_ref().unwrap_or(&Value::Null));
    match function {
        Function::Size => size(&first).ok_or(Cause::NoFunction { name, of: first.sort() }),
        Function::StartsWith => Ok(Value::Bool(text(name, &first)?.starts_with(second_text()?))),
        Function::EndsWith => Ok(Value::Bool(text(name, &first)?.ends_with(second_text()?))),
        Function::Contains => Ok(Value::Bool(text(name, &first)?.contains(second_text()?))),
        Function::LowerAscii => {
            Ok(Value::Text(Cow::Owned(text(name, &first)?.to_ascii_lowercase())))
        }
        Function::EmailDomain => convert::email_domain(text(name, &first)?)
            .map(|domain| Value::Text(Cow::Owned(domain)))
            .ok_or(Cause::BadInput { name }),
        Function::UrlHost => url::host(text(name, &first)?)
            .map(|host| Value::Text(Cow::Owned(host)))
            .ok_or(Cause::BadInput { name }),
        Function::ToInt
        | Function::ToDouble
        | Function::ToText
        | Function::ToTime
        | Function::ToSpan
        | Function::ToDecimal
        | Function::ToIp
        | Function::ToCidr => convert::convert(function, first),
        Function::ContainsIp => {
            let Value::Cidr(cidr) = &first else {
                return Err(Cause::NoFunction { name, of: first.sort() });
            };
            let address = match &second {
                Some(Value::Ip(address)) => Some(*address),
                _ => network::ip(second_text()?),
            };
            let contains = address.and_then(|address| cidr.contains(address));
            contains.map(Value::Bool).ok_or(Cause::BadInput { name })
        }
        Function::Part(part) => {
            let zone = second.is_some().then(second_text).transpose()?;
            time::part(part, &first, zone).map(Value::Int)
        }
    }
}

fn size<'v>(of: &Value<'_>) -> Option<Value<'v>> {
    let size = match of {
        Value::Text(text) => text.chars().count(),
        Value::List(list) => list.len(),
        Value::Map(map) => map.len(),
        _ => return None,
    };
    i64::try_from(size).ok().map(Value::Int)
}
