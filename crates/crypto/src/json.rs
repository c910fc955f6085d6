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
/// The deepest nesting of a document that is read by [`parse_document`].
pub const MAX_DOCUMENT_DEPTH: usize = 120;
/// The largest magnitude of an integer, 2^53 - 1.
pub const MAX_INTEGER: i64 = (1 << 53) - 1;

/// A text that the strict parser refuses.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct JsonError(String);

/// Reads the value that the text is, or says why it is refused.
pub fn parse(text: &[u8]) -> Result<Value, JsonError> {
    read(text, Strict { room: MAX_DEPTH, most: MAX_DEPTH, numbers: Numbers::Digested })
}

/// Reads a document that is never digested as it stands: as [`parse`] does, but whatever a number is,
/// and as deeply nested as [`MAX_DOCUMENT_DEPTH`].
pub fn parse_document(text: &[u8]) -> Result<Value, JsonError> {
    let most = MAX_DOCUMENT_DEPTH;
    read(text, Strict { room: most, most, numbers: Numbers::Any })
}

/// Reads a text as [`parse`] does, but whatever doubles its numbers are.
fn parse_doubles(text: &[u8]) -> Result<Value, JsonError> {
    read(text, Strict { room: MAX_DEPTH, most: MAX_DEPTH, numbers: Numbers::Doubles })
}

fn read(text: &[u8], rules: Strict) -> Result<Value, JsonError> {
    let mut reader = serde_json::Deserializer::from_slice(text);
    let value = rules.deserialize(&mut reader).map_err(|error| JsonError(error.to_string()))?;
    reader.end().map_err(|error| JsonError(error.to_string()))?;
    Ok(value)
}

/// The RFC 8785 form of the value.
///
/// An integer beyond 2^53 - 1 is rounded to the nearest double, as RFC 8785 defines; only values
/// that came neither from [`parse`] nor through [`Exact`] can hold one that loses a digit by it.
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

/// The size of `serde_json` output, escapes not counted, where that is the canonical form already:
/// numbers are integers, and keys come in order. It costs a third of sorting anew.
fn plain_size(value: &Value) -> Option<usize> {
    // Two brackets, and a comma behind each part; a member has a colon too.
    const FRAME: usize = 2;
    match value {
        Value::Null | Value::Bool(_) => Some("false".len()),
        Value::String(text) => Some(text.len() + FRAME),
        Value::Number(number) => {
            let digits = as_integer(number)?.unsigned_abs().checked_ilog10();
            Some(digits.map_or(1, |digits| digits as usize + FRAME))
        }
        Value::Array(items) => {
            items.iter().try_fold(FRAME, |size, item| Some(size + plain_size(item)? + 1))
        }
        Value::Object(members) => {
            if !are_in_order(members.keys().map(String::as_str)) {
                return None;
            }
            members.iter().try_fold(FRAME, |size, (key, member)| {
                Some(size + key.len() + FRAME + plain_size(member)? + FRAME)
            })
        }
    }
}

/// Whether keys come as RFC 8785 sorts them, by UTF-16. Elsewhere in a build somebody may have
/// turned on `preserve_order` of `serde_json`, which is then on for all of it: its maps are sorted
/// no more.
fn are_in_order<'k>(keys: impl Iterator<Item = &'k str> + Clone) -> bool {
    keys.clone().flat_map(str::chars).all(is_ordered) && keys.is_sorted_by(|one, next| one < next)
}

/// Whether a character has the same place in UTF-8 and in UTF-16: all below the surrogates.
fn is_ordered(character: char) -> bool {
    character <= '\u{d7ff}'
}

/// Whether a number of this value is one that [`parse`] refuses: outside -(2^53-1) to 2^53-1.
pub fn is_out_of_range(value: &Value) -> bool {
    match value {
        Value::Number(number) if number.is_f64() => number.as_f64().is_none_or(is_too_large),
        Value::Number(number) => normal(number).is_none(),
        Value::Array(items) => items.iter().any(is_out_of_range),
        Value::Object(members) => members.values().any(is_out_of_range),
        Value::Null | Value::Bool(_) | Value::String(_) => false,
    }
}

/// The number that is an integer within ±(2^53−1); `1.0` is none.
fn as_integer(number: &Number) -> Option<i64> {
    number.as_i64().filter(|value| (-MAX_INTEGER..=MAX_INTEGER).contains(value))
}

/// The number in its one form, where it lies within ±(2^53−1): a whole one as an integer.
#[expect(clippy::cast_possible_truncation, reason = "the value is an integer below 2^53")]
fn normal(number: &Number) -> Option<Number> {
    if !number.is_f64() {
        return as_integer(number).map(Number::from);
    }
    let value = number.as_f64().filter(|value| !is_too_large(*value))?;
    if value.fract() == 0.0 { Some(Number::from(value as i64)) } else { Some(number.clone()) }
}

/// The number as its canonical form is read again, so that whoever prints it prints those digits.
fn as_double(number: &Number) -> Number {
    normal(number).unwrap_or_else(|| {
        let form = canonical_generally(&Value::Number(number.clone()));
        serde_json::from_slice(&form).unwrap_or_else(|_| number.clone())
    })
}

#[expect(clippy::cast_precision_loss, reason = "2^53 - 1 is exact as a double")]
fn is_too_large(value: f64) -> bool {
    value.abs() > MAX_INTEGER as f64
}

/// Which numbers are taken.
#[derive(Clone, Copy)]
enum Numbers {
    /// Those that have one canonical form, in that form.
    Digested,
    /// All, as their canonical form has them.
    Doubles,
    Any,
}

#[derive(Clone, Copy)]
struct Strict {
    // How many levels may still be entered, of how many.
    room: usize,
    most: usize,
    numbers: Numbers,
}

impl Strict {
    fn deeper<E: de::Error>(self) -> Result<Self, E> {
        let Some(room) = self.room.checked_sub(1) else {
            return Err(E::custom(format_args!("nested deeper than {} levels", self.most)));
        };
        Ok(Self { room, ..self })
    }

    fn number<E: de::Error>(self, number: Number) -> Result<Value, E> {
        match self.numbers {
            Numbers::Any => Ok(Value::Number(number)),
            Numbers::Doubles => Ok(Value::Number(as_double(&number))),
            Numbers::Digested => normal(&number).map(Value::Number).ok_or_else(too_large),
        }
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
        self.number(value.into())
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Value, E> {
        self.number(value.into())
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value).map_or_else(|| Err(too_large()), |number| self.number(number))
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
                return Err(de::Error::custom(format_args!("the key `{start}` appears twice")));
            }
        }
        Ok(Value::Object(object))
    }
}

fn too_large<E: de::Error>() -> E {
    E::custom("a number lies outside -(2^53-1) to 2^53-1; send it as a string")
}

fn no_nul<E: de::Error>(text: &str) -> Result<(), E> {
    if text.contains('\0') { Err(E::custom("a string holds the NUL character")) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_keys_in_the_order_of_rfc_8785_are_written_as_they_come() {
        let known = [
            (&[][..], true),
            (&["a"], true),
            (&["", "A", "a", "aa", "b", "\u{e9}", "\u{d7ff}"], true),
            (&["b", "a"], false),
            (&["a", "c", "b"], false),
            (&["a", "a"], false),
            // By bytes these are in order, by UTF-16 the other way round.
            (&["\u{fb33}", "\u{1f600}"], false),
        ];
        for (keys, expected) in known {
            assert_eq!(are_in_order(keys.iter().copied()), expected, "{keys:?}");
        }
    }

    #[test]
    fn the_order_in_which_members_were_put_in_does_not_show() {
        let member = |names: [&str; 3]| -> Value {
            names.into_iter().map(|name| (name.to_owned(), Value::from(1))).collect()
        };
        for value in [member(["a", "b", "c"]), member(["c", "a", "b"])] {
            let text = String::from_utf8(canonical(&Value::from(vec![value]))).unwrap();
            assert_eq!(text, r#"[{"a":1,"b":1,"c":1}]"#);
        }
    }
}
