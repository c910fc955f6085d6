//! The one strict JSON parser and the one canonical form (RFC 8785).
//!
//! Everything that is digested, signed or run goes through [`parse`], so that two different
//! requests can never share a digest: duplicate keys, integers that a double cannot hold, deep
//! nesting, NUL and lone surrogates are refused, and numbers are normalised so that
//! `parse(canonical(v)) == v`.

mod canonical;
mod exact;

use std::fmt;

use serde::de::{self, DeserializeSeed, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

pub use canonical::Canonical;
pub use exact::{Exact, keeps_numbers, pieces};

/// The deepest nesting of arrays and objects that is read.
pub const MAX_DEPTH: usize = 32;
/// The largest magnitude of an integer, 2^53 - 1.
pub const MAX_INTEGER: i64 = (1 << 53) - 1;

/// A text that the strict parser refuses.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct JsonError(String);

/// Reads the value that the text is, or says why it is refused.
pub fn parse(text: &[u8]) -> Result<Value, JsonError> {
    let mut reader = serde_json::Deserializer::from_slice(text);
    let value = Strict { depth: 0 }
        .deserialize(&mut reader)
        .map_err(|error| JsonError(error.to_string()))?;
    reader.end().map_err(|error| JsonError(error.to_string()))?;
    Ok(value)
}

/// The RFC 8785 form of the value.
///
/// An integer beyond 2^53 - 1 is rounded to the nearest double, as RFC 8785 defines; only values
/// that came neither from [`parse`] nor through [`Exact`] can hold one, and [`is_lossy`] finds them.
pub fn canonical(value: &Value) -> Vec<u8> {
    let Some(size) = plain_size(value) else { return canonical_generally(value) };
    // Memory that grows while it is written would be copied each time.
    let mut text = Vec::with_capacity(size);
    // Writing a `Value` to memory cannot fail: its keys are strings and its numbers finite.
    let _ = serde_json::to_writer(&mut text, value);
    text
}

/// The RFC 8785 form by the general canonicalizer, however plain the value is: what every
/// faster way is held to.
pub fn canonical_generally(value: &Value) -> Vec<u8> {
    serde_json_canonicalizer::to_vec(value).unwrap_or_default()
}

/// The size of sorted `serde_json` output, escapes not counted, where that is the canonical form
/// already: numbers are integers, and the order of bytes in the keys is that of UTF-16. It costs a
/// third of sorting anew.
fn plain_size(value: &Value) -> Option<usize> {
    // Two brackets, and a comma behind each part; a member has a colon too.
    const FRAME: usize = 2;
    match value {
        Value::Null | Value::Bool(_) => Some("false".len()),
        Value::String(text) => Some(text.len() + FRAME),
        Value::Number(number) => {
            let digits = normal(number)?.as_i64()?.unsigned_abs().checked_ilog10();
            Some(digits.map_or(1, |digits| digits as usize + FRAME))
        }
        Value::Array(items) => {
            items.iter().try_fold(FRAME, |size, item| Some(size + plain_size(item)? + 1))
        }
        Value::Object(members) => members.iter().try_fold(FRAME, |size, (key, member)| {
            let ordered = key.chars().all(is_ordered);
            Some(size + key.len() + FRAME + plain_size(member).filter(|_| ordered)? + FRAME)
        }),
    }
}

/// Whether a character has the same place in UTF-8 and in UTF-16: all below the surrogates.
fn is_ordered(character: char) -> bool {
    character <= '\u{d7ff}'
}

/// Whether a number of this value is one that [`parse`] refuses.
pub fn is_lossy(value: &Value) -> bool {
    match value {
        Value::Number(number) => exact::held(number).is_none(),
        Value::Array(items) => items.iter().any(is_lossy),
        Value::Object(members) => members.values().any(is_lossy),
        Value::Null | Value::Bool(_) | Value::String(_) => false,
    }
}

fn normal(number: &Number) -> Option<Number> {
    let integer = number.as_i64().filter(|value| (-MAX_INTEGER..=MAX_INTEGER).contains(value));
    integer.map(Number::from)
}

#[derive(Clone, Copy)]
struct Strict {
    depth: usize,
}

impl Strict {
    fn deeper<E: de::Error>(self) -> Result<Self, E> {
        if self.depth == MAX_DEPTH {
            return Err(E::custom(format_args!("nested deeper than {MAX_DEPTH} levels")));
        }
        Ok(Self { depth: self.depth + 1 })
    }
}

impl<'de> DeserializeSeed<'de> for Strict {
    type Value = Value;

    fn deserialize<D: de::Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Value, E> {
        integer(value)
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Value, E> {
        integer(i64::try_from(value).unwrap_or(i64::MAX))
    }

    #[expect(clippy::cast_possible_truncation, reason = "the value is whole and below 2^53")]
    #[expect(clippy::cast_precision_loss, reason = "2^53 - 1 is exact as a double")]
    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Value, E> {
        if value.abs() > MAX_INTEGER as f64 {
            return Err(too_large());
        }
        if value.fract() == 0.0 {
            return Ok(Value::from(value as i64));
        }
        Ok(Value::from(value))
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<Value, E> {
        self.visit_string(value.to_owned())
    }

    fn visit_string<E: de::Error>(self, value: String) -> Result<Value, E> {
        no_nul(&value)?;
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let inner = self.deeper()?;
        let mut array = Vec::new();
        while let Some(item) = items.next_element_seed(inner)? {
            array.push(item);
        }
        Ok(Value::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let inner = self.deeper()?;
        let mut object = Map::new();
        while let Some(key) = members.next_key::<String>()? {
            no_nul(&key)?;
            let value = members.next_value_seed(inner)?;
            if let Some(_twice) = object.insert(key.clone(), value) {
                let start: String = key.chars().take(64).collect();
                return Err(de::Error::custom(format_args!("the key `{start}` stands twice")));
            }
        }
        Ok(Value::Object(object))
    }
}

fn integer<E: de::Error>(value: i64) -> Result<Value, E> {
    normal(&Number::from(value)).map(Value::Number).ok_or_else(too_large)
}

fn too_large<E: de::Error>() -> E {
    E::custom("a number lies outside -(2^53-1) to 2^53-1; send it as a string")
}

fn no_nul<E: de::Error>(text: &str) -> Result<(), E> {
    if text.contains('\0') { Err(E::custom("a string holds the NUL character")) } else { Ok(()) }
}
