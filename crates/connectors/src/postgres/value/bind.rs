//! Arguments: JSON into the text that the server's input function of the parameter's type reads.
//!
//! An argument only ever travels as a bound value, never as a piece of SQL.

use std::error::Error;

use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::BytesMut;
use crypto::json;
use serde_json::Value;
use tokio_postgres::types::{Format, IsNull, ToSql, Type, to_sql_checked};

use super::Codec;
use crate::postgres::hex;

/// One bound argument: a text, or NULL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::postgres) struct Argument(pub(in crate::postgres) Option<String>);

impl ToSql for Argument {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match &self.0 {
            Some(text) => {
                out.extend_from_slice(text.as_bytes());
                Ok(IsNull::No)
            }
            None => Ok(IsNull::Yes),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    fn encode_format(&self, _: &Type) -> Format {
        Format::Text
    }

    to_sql_checked!();
}

/// The argument, or what would have been accepted.
pub(in crate::postgres) fn encode(codec: &Codec, value: &Value) -> Result<Argument, String> {
    match value {
        Value::Null => Ok(Argument(None)),
        _ => text(codec, value).map(|text| Argument(Some(text))),
    }
}

fn text(codec: &Codec, value: &Value) -> Result<String, String> {
    let fits = match codec {
        Codec::Bool => value.as_bool().map(|value| value.to_string()),
        Codec::Small | Codec::Oid | Codec::Big => integer(value),
        Codec::Numeric | Codec::Float4 | Codec::Float8 => number(value),
        Codec::Text | Codec::Uuid => value.as_str().map(str::to_owned),
        Codec::Bytes => bytes(value),
        Codec::Date | Codec::Time | Codec::Timestamp | Codec::TimestampTz => moment(value),
        Codec::Json | Codec::Jsonb => String::from_utf8(json::canonical(value)).ok(),
        Codec::Array(member) => return array(member, value),
        Codec::Opaque => None,
    };
    fits.ok_or_else(|| format!("expected {}", expected(codec)))
}

fn expected(codec: &Codec) -> &'static str {
    match codec {
        Codec::Bool => "true or false",
        Codec::Small | Codec::Oid | Codec::Big => "an integer, as a number or as a text of digits",
        Codec::Numeric => "a number, or a text that holds one",
        Codec::Float4 | Codec::Float8 => {
            "a number, or a text that holds one, `NaN`, `Infinity` or `-Infinity`"
        }
        Codec::Text => "a text",
        Codec::Uuid => "a UUID as a text",
        Codec::Bytes => "bytes in base64 with padding",
        Codec::Date => "a date such as `2024-01-31`",
        Codec::Time => "a time such as `13:37:00`",
        Codec::Timestamp => "a time such as `2024-01-31T13:37:00`",
        Codec::TimestampTz => "a time such as `2024-01-31T13:37:00Z`",
        Codec::Json | Codec::Jsonb => "any JSON",
        Codec::Array(_) => "an array",
        Codec::Opaque => {
            "null: no argument can be of this type; an admin finds what to write instead by \
             checking the connector"
        }
    }
}

fn integer(value: &Value) -> Option<String> {
    match value {
        Value::Number(number) => number.as_i64().map(|number| number.to_string()),
        Value::String(text) => {
            let digits = text.strip_prefix('-').unwrap_or(text);
            let fits = (1..=19).contains(&digits.len()) && is_all_digits(digits);
            fits.then(|| text.clone())
        }
        _ => None,
    }
}

fn is_all_digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

fn number(value: &Value) -> Option<String> {
    match value {
        Value::Number(number) => Some(number.to_string()),
        Value::String(text) => {
            let special = matches!(text.as_str(), "NaN" | "Infinity" | "-Infinity");
            let plain = text.bytes().any(|byte| byte.is_ascii_digit())
                && text.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
            (special || plain).then(|| text.clone())
        }
        _ => None,
    }
}

fn bytes(value: &Value) -> Option<String> {
    let bytes = STANDARD.decode(value.as_str()?).ok()?;
    Some(format!("\\x{}", hex(&bytes)))
}

/// The server also reads words such as `now` and `tomorrow`, whose meaning would change between
/// the digest and the run; only figures, signs, and the letters of RFC 3339 pass.
fn moment(value: &Value) -> Option<String> {
    let text = value.as_str()?;
    let plain = text.strip_suffix(" BC").unwrap_or(text);
    let figures = plain.starts_with(|first: char| first.is_ascii_digit())
        && plain.bytes().all(|byte| byte.is_ascii_digit() || b"-:.+TZ ".contains(&byte));
    (figures || matches!(text, "infinity" | "-infinity")).then(|| text.to_owned())
}

/// Every member is quoted, so that nothing in it can end it.
fn array(member: &Codec, value: &Value) -> Result<String, String> {
    let Value::Array(items) = value else { return Err("expected an array".to_owned()) };
    let mut out = String::from("{");
    for (at, item) in items.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        match item {
            Value::Null => out.push_str("NULL"),
            // An array of JSON holds JSON arrays; of everything else, another dimension.
            Value::Array(_) if !matches!(member, Codec::Json | Codec::Jsonb) => {
                out.push_str(&array(member, item)?);
            }
            _ => {
                let text = text(member, item).map_err(|error| format!("item {at}: {error}"))?;
                quote(&text, &mut out);
            }
        }
    }
    out.push('}');
    Ok(out)
}

fn quote(text: &str, out: &mut String) {
    out.push('"');
    for next in text.chars() {
        if matches!(next, '"' | '\\') {
            out.push('\\');
        }
        out.push(next);
    }
    out.push('"');
}
