//! Conversions between kinds of values. Nothing is coerced: these are the only ways.

use std::borrow::Cow;

use super::time;
use crate::expr::{
    decimal::Decimal,
    duration,
    failure::Cause,
    functions::Function,
    network::{self, Cidr},
    value::Value,
};

/// The value in the kind that the function makes.
pub(super) fn convert(
    function: Function,
    value: Value<'_>,
) -> std::result::Result<Value<'_>, Cause<'static>> {
    let (name, of) = (function.name(), value.sort());
    let converted = match (function, value) {
        (Function::ToInt, Value::Double(value)) => {
            return whole(value).map(Value::Int).ok_or(Cause::Overflow);
        }
        (Function::ToInt, Value::Text(text)) => text.parse().ok().map(Value::Int),
        (Function::ToInt, Value::Time(at)) => Some(Value::Int(time::seconds(at))),
        #[expect(clippy::cast_precision_loss, reason = "`double` of an int is the nearest double")]
        (Function::ToDouble, Value::Int(value)) => Some(Value::Double(value as f64)),
        (Function::ToDouble, Value::Text(text)) => text.parse().ok().and_then(Value::finite),
        (Function::ToText, value) => print(value).map(Value::Text),
        (Function::ToTime, Value::Text(text)) => time::parse(&text).map(Value::Time),
        (Function::ToTime, Value::Int(seconds)) => time::from_seconds(seconds).map(Value::Time),
        (Function::ToSpan, Value::Text(text)) => duration::parse(&text).map(Value::Span),
        (Function::ToDecimal, Value::Text(text)) => text.parse().ok().map(Value::Decimal),
        (Function::ToDecimal, Value::Int(value)) => Some(Value::Decimal(Decimal::from(value))),
        (Function::ToIp, Value::Text(text)) => network::ip(&text).map(Value::Ip),
        (Function::ToCidr, Value::Text(text)) => Cidr::parse(&text).map(Value::Cidr),
        (Function::ToInt, same @ Value::Int(_))
        | (Function::ToDouble, same @ Value::Double(_))
        | (Function::ToTime, same @ Value::Time(_))
        | (Function::ToSpan, same @ Value::Span(_))
        | (Function::ToDecimal, same @ Value::Decimal(_)) => Some(same),
        _ => return Err(Cause::NoFunction { name, of }),
    };
    converted.ok_or(match of {
        crate::expr::value::Sort::Text | crate::expr::value::Sort::Int => Cause::BadInput { name },
        _ => Cause::NoFunction { name, of },
    })
}

fn print(value: Value<'_>) -> Option<Cow<'_, str>> {
    Some(match value {
        Value::Text(text) => text,
        Value::Bool(value) => Cow::Owned(value.to_string()),
        Value::Int(value) => Cow::Owned(value.to_string()),
        Value::Double(value) => Cow::Owned(value.to_string()),
        Value::Time(at) => Cow::Owned(at.to_string()),
        Value::Span(span) => Cow::Owned(duration::print(span)),
        Value::Decimal(value) => Cow::Owned(value.to_string()),
        Value::Ip(address) => Cow::Owned(address.to_string()),
        Value::Cidr(cidr) => Cow::Owned(cidr.to_string()),
        Value::Null | Value::List(_) | Value::Map(_) => return None,
    })
}

/// The double without its fraction where that is an `int`; the bounds themselves are out,
/// since a double there may stand for a number past the range.
fn whole(value: f64) -> Option<i64> {
    const BOUND: f64 = 9_223_372_036_854_775_808.0;
    #[expect(clippy::cast_possible_truncation, reason = "lies within i64, as checked here")]
    (value > -BOUND && value < BOUND).then_some(value.trunc() as i64)
}

/// What stands after the one `@`, in lower case.
pub(super) fn email_domain(address: &str) -> Option<String> {
    let (name, domain) = address.split_once('@')?;
    let letters = |byte: u8| byte.is_ascii_alphanumeric() || b".-".contains(&byte);
    let fits = !name.is_empty() && !domain.is_empty() && domain.bytes().all(letters);
    fits.then(|| domain.to_ascii_lowercase())
}
