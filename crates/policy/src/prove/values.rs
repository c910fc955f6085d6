//! Values that a domain may admit, and what must be put in for something worked out to come to a
//! value. Everything here is a suggestion; domains and the evaluator decide.

use jiff::SignedDuration;
use serde_json::{Number, Value as Json};

use super::{
    domain::{Domain, Scalar, forms},
    term::plain,
    texts::{self, Test},
};
use crate::expr::{Binary, Decimal, Expr, Function, Kind, List, Value};

/// Values that the domain admits, the simplest first.
pub(super) fn admitted(domain: &Domain, hints: &[Scalar]) -> Vec<Scalar> {
    let mut found: Vec<Scalar> = Vec::new();
    for value in candidates(domain, hints) {
        if domain.admits(&value) && !found.iter().any(|known| known.equals(&value)) {
            found.push(value);
        }
        // The simplest few are enough to tell terms apart.
        if found.len() >= 4 {
            break;
        }
    }
    found
}

fn candidates<'d>(domain: &'d Domain, hints: &'d [Scalar]) -> impl Iterator<Item = Scalar> + 'd {
    let listed = domain.one_of.iter().flatten().flat_map(forms);
    let bounds = [&domain.low, &domain.high].into_iter().flatten();
    let near = bounds.flat_map(|(bound, _)| around(bound)).flat_map(|value| forms(&value));
    let texts = texts::instances(&domain.passes).into_iter().map(text);
    let texts = texts.filter(|_| !domain.passes.is_empty());
    let list = Value::List(List::Built(domain.includes.clone()));
    let plain = ["x", "y", "other", ""].into_iter().map(|word| text(word.to_owned()));
    let ints = [1, 0, 2, 3, -1, 100].into_iter().map(Value::Int);
    let rest = [Value::Bool(true), Value::Bool(false), Value::Null, Value::Double(0.5)];
    let decimals = [1, 0, 2].into_iter().map(|whole| Value::Decimal(Decimal::from(whole)));
    let spans = [Value::Span(SignedDuration::from_hours(1))];
    let times = [Value::Time(jiff::Timestamp::UNIX_EPOCH)];
    // A list that must have elements comes first, since nothing else can hold them.
    let lists = std::iter::once(list.clone()).filter(|_| !domain.includes.is_empty());
    listed
        .chain(lists)
        .chain(near)
        .chain(hints.iter().cloned())
        .chain(texts)
        .chain(ints)
        .chain(plain)
        .chain(rest)
        .chain(decimals)
        .chain(spans)
        .chain(times)
        .chain([list])
}

fn text(text: String) -> Scalar {
    Value::Text(text.into())
}

/// The bound and its neighbours.
fn around(bound: &Scalar) -> Vec<Scalar> {
    let whole = |value: i64| {
        let near = [Some(value), value.checked_add(1), value.checked_sub(1)];
        near.into_iter().flatten().map(Value::Int).collect()
    };
    match bound {
        Value::Int(value) => whole(*value),
        Value::Double(value) => {
            #[expect(clippy::cast_possible_truncation, reason = "saturates, and is only tried")]
            let mut near = whole(value.round() as i64);
            near.extend([*value, value + 0.5, value - 0.5].map(Value::Double));
            near.extend([value.next_up(), value.next_down()].map(Value::Double));
            near
        }
        Value::Decimal(value) => {
            let cent: Decimal = "0.01".parse().unwrap_or_default();
            let near = [Some(*value), value.checked_add(cent), value.checked_sub(cent)];
            near.into_iter().flatten().map(Value::Decimal).collect()
        }
        Value::Time(at) => {
            let second = SignedDuration::from_secs(1);
            let near = [Ok(*at), at.checked_add(second), at.checked_sub(second)];
            near.into_iter().flatten().map(Value::Time).collect()
        }
        Value::Span(span) => {
            let second = SignedDuration::from_secs(1);
            let near = [Some(*span), span.checked_add(second), span.checked_sub(second)];
            near.into_iter().flatten().map(Value::Span).collect()
        }
        Value::Text(word) => {
            vec![bound.clone(), text(format!("{word}a")), text(String::new()), text("~".into())]
        }
        Value::Null
        | Value::Bool(_)
        | Value::List(_)
        | Value::Map(_)
        | Value::Ip(_)
        | Value::Cidr(_) => vec![bound.clone()],
    }
}

/// What the one field that the expression is worked out from may be, and that field, so that
/// the expression comes to the value.
pub(super) fn invert<'p>(expr: &'p Expr, value: &Scalar) -> Option<(&'p Expr, Vec<Scalar>)> {
    let expr = plain(expr);
    match &expr.kind {
        Kind::Field { .. } | Kind::Variable { .. } => Some((expr, vec![value.clone()])),
        Kind::OrValue { chain, .. } => Some((chain, vec![value.clone()])),
        Kind::Call { function, args } => {
            let of = args.first()?;
            let inputs = inputs(*function, value);
            let mut all = Vec::new();
            for input in inputs {
                let (field, values) = invert(of, &input)?;
                all.push((field, values));
            }
            let field = all.first()?.0;
            Some((field, all.into_iter().flat_map(|(_, values)| values).collect()))
        }
        Kind::Binary { op, left, right } => {
            let known = |side: &Expr| match &side.kind {
                Kind::Literal(value) => Value::of(value).to_scalar(),
                _ => None,
            };
            if let Some(right) = known(right) {
                return invert(left, &undo(*op, value, &right)?);
            }
            let left = known(left)?;
            let back = match op {
                Binary::Subtract => undo(Binary::Add, &left, value)?,
                op => undo(*op, value, &left)?,
            };
            invert(right, &back)
        }
        _ => None,
    }
}

/// What the operator made the value of, together with what stood on the other side.
fn undo(op: Binary, value: &Scalar, other: &Scalar) -> Option<Scalar> {
    match (op, value, other) {
        (Binary::Add, Value::Int(sum), Value::Int(other)) => {
            sum.checked_sub(*other).map(Value::Int)
        }
        (Binary::Subtract, Value::Int(rest), Value::Int(other)) => {
            rest.checked_add(*other).map(Value::Int)
        }
        (Binary::Multiply, Value::Int(product), Value::Int(other)) => {
            product.checked_div(*other).map(Value::Int)
        }
        (Binary::Add, Value::Double(sum), Value::Double(other)) => Some(Value::Double(sum - other)),
        (Binary::Subtract, Value::Double(rest), Value::Double(other)) => {
            Some(Value::Double(rest + other))
        }
        (Binary::Multiply, Value::Double(product), Value::Double(other)) => {
            Some(Value::Double(product / other))
        }
        _ => None,
    }
}

/// What the function may have been given when it came to the value.
fn inputs(function: Function, value: &Scalar) -> Vec<Scalar> {
    match (function, value) {
        (Function::Size, Value::Int(size)) => {
            let size = usize::try_from(*size).unwrap_or(0).min(1_000);
            let list = Value::List(List::Built(vec![Value::Int(1); size]));
            vec![list, text("x".repeat(size))]
        }
        (Function::LowerAscii | Function::ToText, Value::Text(_))
        | (Function::ToDouble, Value::Int(_)) => vec![value.clone()],
        (Function::EmailDomain, Value::Text(domain)) => vec![text(format!("someone@{domain}"))],
        (Function::UrlHost, Value::Text(host)) => vec![text(format!("https://{host}/"))],
        (Function::ToDecimal, Value::Decimal(amount)) => vec![text(amount.to_string())],
        (Function::ToInt, Value::Int(number)) => vec![value.clone(), text(number.to_string())],
        (Function::ToDouble, Value::Double(number)) => {
            vec![value.clone(), text(number.to_string())]
        }
        (Function::ToTime, Value::Time(at)) => vec![text(at.to_string())],
        (Function::ToIp, Value::Ip(address)) => vec![text(address.to_string())],
        _ => Vec::new(),
    }
}

/// The value as arguments carry it; nothing for kinds that JSON does not have.
pub(super) fn to_json(value: &Value<'_>) -> Option<Json> {
    Some(match value {
        Value::Null => Json::Null,
        Value::Bool(value) => Json::Bool(*value),
        Value::Int(value) => Json::from(*value),
        Value::Double(value) => Json::Number(Number::from_f64(*value)?),
        Value::Text(text) => Json::String(text.clone().into_owned()),
        Value::List(list) => Json::Array(list.iter().filter_map(|item| to_json(&item)).collect()),
        Value::Map(_)
        | Value::Time(_)
        | Value::Span(_)
        | Value::Decimal(_)
        | Value::Ip(_)
        | Value::Cidr(_) => return None,
    })
}

/// The texts as values to try.
pub(super) fn hints(words: &[String], passes: &[Test]) -> Vec<Scalar> {
    let fits = |word: &&String| passes.iter().all(|test| test.is_match(word));
    words.iter().filter(fits).map(|word| text(word.clone())).collect()
}
