//! Results: any JSON, held without changing a digit or a character of it.

use std::borrow::Cow;

use model::Digest;
use serde::de::IgnoredAny;
use serde_json::{Number, Value};

use super::{Canonical, JsonError, MAX_DEPTH, as_double, as_integer, canonical, parse_doubles};
use crate::sha256;

/// A value that somebody else made and that cannot be refused any more, such as a tool's result.
///
/// A number that a double does not keep digit for digit stands as the text of its digits; every other
/// stands as it is, beyond ±(2^53−1) too. What [`super::parse`] refuses for more than its numbers
/// (NUL, a lone surrogate, a key that stands twice, more than 32 levels) stands as a whole as the JSON
/// text that it was.
#[derive(Debug, Clone, PartialEq)]
pub struct Exact {
    canonical: Canonical,
    stands_as_text: bool,
    // Of the text that was read, where it is not what is held.
    as_sent: Option<Digest>,
    // Of its RFC 8785 form, where it has one and that is not what is held.
    rounded: Option<Digest>,
}

impl Exact {
    /// Reads any JSON text, and refuses what is none.
    pub fn parse(text: &[u8]) -> Result<Self, JsonError> {
        // What is no UTF-8 is no JSON: the parser says where.
        let Ok(text) = std::str::from_utf8(text) else {
            return parse_doubles(text).map(Self::from);
        };
        let text = text.trim_matches([' ', '\t', '\n', '\r']);
        let quoted = numbers_quoted(text);
        let value = match parse_doubles(quoted.as_bytes()) {
            Ok(value) => value,
            Err(_) if is_json(text) => Value::String(text.to_owned()),
            Err(error) => return Err(error),
        };
        let mut exact = Self::from(value);
        // No JSON text of a string is that string, so this is the one above.
        if matches!(quoted, Cow::Owned(_)) || **exact.canonical.value() == *text {
            exact.stands_as_text = true;
            exact.as_sent = Some(sha256(text));
            let rounded = serde_json::from_str(text).ok();
            exact.rounded = rounded.map(|value: Value| sha256(canonical(&value)));
        }
        Ok(exact)
    }

    /// The value, with what stands as text, and its canonical form.
    pub fn canonical(&self) -> &Canonical {
        &self.canonical
    }

    /// Whether a number of it stands as the text of its digits, or the whole as its JSON text.
    /// Where this holds and the value is a string, that string is the JSON text that was read.
    pub fn stands_as_text(&self) -> bool {
        self.stands_as_text
    }

    /// Whether a digest is that of the value: as it is held, as the text that was read, or in the
    /// RFC 8785 form of that, which rounds its numbers.
    pub fn has_digest(&self, digest: Digest) -> bool {
        self.canonical.digest() == digest || [self.as_sent, self.rounded].contains(&Some(digest))
    }
}

impl From<Value> for Exact {
    fn from(mut value: Value) -> Self {
        let stands_as_text = if is_read(&value, MAX_DEPTH) {
            hold(&mut value)
        } else {
            value = Value::String(value.to_string());
            true
        };
        Self { canonical: Canonical::new(value), stands_as_text, as_sent: None, rounded: None }
    }
}

/// Whether the text is JSON of any form. This takes no stack, however deep the text is.
fn is_json(text: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(text).is_ok()
}

/// Whether [`super::parse`] reads such a value, numbers not looked at.
fn is_read(value: &Value, levels: usize) -> bool {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => true,
        Value::String(text) => !text.contains('\0'),
        Value::Array(items) => levels > 0 && items.iter().all(|item| is_read(item, levels - 1)),
        Value::Object(members) => {
            let read =
                |(key, member): (&String, _)| !key.contains('\0') && is_read(member, levels - 1);
            levels > 0 && members.iter().all(read)
        }
    }
}

/// Writes numbers as [`parse_doubles`] reads them and those that a double does not keep as texts;
/// whether there were any of these.
fn hold(value: &mut Value) -> bool {
    match value {
        Value::Number(number) => {
            let held = held(number);
            let is_text = held.is_none();
            *value = held.unwrap_or_else(|| Value::String(number.to_string()));
            is_text
        }
        // Every member is gone through, whatever the first one was.
        Value::Array(items) => items.iter_mut().map(hold).fold(false, |one, other| one | other),
        Value::Object(members) => {
            members.values_mut().map(hold).fold(false, |one, other| one | other)
        }
        Value::Null | Value::Bool(_) | Value::String(_) => false,
    }
}

/// The number as [`parse_doubles`] reads it, unless that takes a digit from it.
fn held(number: &Number) -> Option<Value> {
    let double = as_double(number);
    let keeps = number.is_f64() || as_integer(number).is_some() || has_digits_of(&double, number);
    keeps.then_some(Value::Number(double))
}

fn has_digits_of(double: &Number, number: impl ToString) -> bool {
    significant(&double.to_string()) == significant(&number.to_string())
}

/// Whether a double keeps every number of a JSON text digit for digit.
pub fn keeps_numbers(text: &str) -> bool {
    matches!(numbers_quoted(text), Cow::Borrowed(_))
}

/// The text with quotes around its numbers that would not be kept. What is no JSON is none
/// afterwards.
fn numbers_quoted(text: &str) -> Cow<'_, str> {
    let words = |(outside, _)| words(outside);
    if !pieces(text).flat_map(words).any(|(_, word, after)| is_changed(word, after)) {
        return Cow::Borrowed(text);
    }
    let mut quoted = String::with_capacity(text.len() + 64);
    for (outside, inside) in pieces(text) {
        let mut end = outside;
        for (before, word, after) in self::words(outside) {
            let quote = if is_changed(word, after) { "\"" } else { "" };
            quoted.extend([before, quote, word, quote]);
            end = after;
        }
        quoted.extend([end, inside]);
    }
    Cow::Owned(quoted)
}

/// Cuts a JSON text into what stands outside its strings, each with the string behind it, quotes
/// included.
pub fn pieces(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (outside, from) = rest.split_at(rest.find('"').unwrap_or(rest.len()));
        let (inside, after) = from.split_at(end_of_string(from));
        rest = after;
        Some((outside, inside))
    })
}

fn end_of_string(text: &str) -> usize {
    let mut bytes = text.bytes().enumerate().skip(1);
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b'"' => return at + 1,
            b'\\' => {
                bytes.next();
            }
            _ => {}
        }
    }
    text.len()
}

/// The words of a text without strings, each with what is before and behind it.
fn words(outside: &str) -> impl Iterator<Item = (&str, &str, &str)> {
    let mut rest = outside;
    std::iter::from_fn(move || {
        let (before, from) = rest.split_at(rest.find(is_word_part)?);
        let end = from.find(|next| !is_word_part(next)).unwrap_or(from.len());
        let (word, after) = from.split_at(end);
        rest = after;
        Some((before, word, after))
    })
}

fn is_word_part(next: char) -> bool {
    next.is_ascii_alphanumeric() || matches!(next, '-' | '+' | '.')
}

/// Whether a word is a number that is not read as it stands. In the place of a key none is.
fn is_changed(word: &str, after: &str) -> bool {
    const SAFE_DIGITS: usize = 15;
    if word.len() <= SAFE_DIGITS && word.bytes().all(|byte| byte.is_ascii_digit()) {
        return false;
    }
    let begins = word.starts_with(|first: char| first == '-' || first.is_ascii_digit());
    let is_number = begins && is_json(word);
    is_number && !is_kept(word) && !after.trim_start().starts_with(':')
}

/// A number is kept when it becomes a double that prints the same digits.
fn is_kept(word: &str) -> bool {
    let number = serde_json::from_str::<Number>(word);
    number.is_ok_and(|number| has_digits_of(&as_double(&number), word))
}

/// The digits without zeros at either end, and the power of ten of the last one.
fn significant(number: &str) -> Option<(String, i64)> {
    let unsigned = number.strip_prefix('-').unwrap_or(number);
    let (mantissa, exponent) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
    let exponent: i64 = exponent.parse().ok()?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    let cut = digits.trim_end_matches('0');
    let zeros = i64::try_from(digits.len() - cut.len()).ok()?;
    let places = i64::try_from(fraction.len()).ok()?;
    let cut = cut.trim_start_matches('0').to_owned();
    let power = if cut.is_empty() { 0 } else { exponent.checked_add(zeros - places)? };
    Some((cut, power))
}
