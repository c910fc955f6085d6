//! JSON bodies, read field by field: every member is parsed by the strict parser, every unknown
//! member refused, and every error names the member at fault.

use std::{borrow::Cow, str::FromStr};

use model::Timestamp;
use serde::{Deserialize, de::IgnoredAny};
use serde_json::{Map, Value};

use crate::{
    codes,
    error::{ApiError, excerpt},
    text::Text,
};

/// The members of a JSON object that have not been read yet.
#[derive(Debug)]
pub struct Fields {
    // The path in front of a member's name, such as `context.`; empty at the top.
    prefix: String,
    members: Map<String, Value>,
}

impl Fields {
    /// Reads a body that is one JSON object.
    ///
    /// Members are parsed one by one, so that the strict parser's refusal carries the name of the
    /// member it is about, and so that each has the parser's whole depth for itself.
    pub fn of_body(body: &[u8]) -> Result<Self, ApiError> {
        Self::of(split(body)?)
    }

    /// Reads a body that is one JSON object, all but one member, which is given as its text.
    pub fn of_body_beside<'b>(
        body: &'b [u8],
        name: &str,
    ) -> Result<(Self, Option<&'b [u8]>), ApiError> {
        let mut members = split(body)?;
        let at = members.iter().position(|(member, _)| member == name);
        let text = at.map(|at| members.remove(at).1);
        if text.is_some() && members.iter().any(|(member, _)| member == name) {
            return Err(twice(name));
        }
        Ok((Self::of(members)?, text))
    }

    /// Reads a body that is a form: its members are texts, and one that is empty is absent.
    ///
    /// Browsers send each line break of a text as two letters, where whoever typed it sees one.
    pub(crate) fn of_form(body: &[u8]) -> Result<Self, ApiError> {
        let unreadable = |name: &str| ApiError::invalid(excerpt(name).to_owned(), Text::EXPECTED);
        let text = std::str::from_utf8(body).map_err(|_| unreadable("body"))?;
        let mut members = Map::new();
        for pair in text.split('&').filter(|pair| !pair.is_empty()) {
            let (raw_name, raw_value) = pair.split_once('=').unwrap_or((pair, ""));
            let name = Text::of_query(raw_name).ok_or_else(|| unreadable(raw_name))?;
            let name = name.as_str().to_owned();
            let value = Text::of_query(raw_value).ok_or_else(|| unreadable(&name))?;
            let value = value.as_str().replace("\r\n", "\n");
            let value = if value.is_empty() { Value::Null } else { value.into() };
            if members.insert(name.clone(), value).is_some() {
                return Err(twice(&name));
            }
        }
        Ok(Self { prefix: String::new(), members })
    }

    fn of(texts: Vec<(String, &[u8])>) -> Result<Self, ApiError> {
        let mut members = Map::new();
        for (name, text) in texts {
            let value = crypto::json::parse(text)
                .map_err(|error| ApiError::invalid(excerpt(&name).to_owned(), error.to_string()))?;
            if members.insert(name.clone(), value).is_some() {
                return Err(twice(&name));
            }
        }
        Ok(Self { prefix: String::new(), members })
    }

    /// No members.
    pub(crate) fn none() -> Self {
        Self { prefix: String::new(), members: Map::new() }
    }

    /// Takes a member that must be there.
    pub fn required<T: FromJson>(&mut self, name: &'static str) -> Result<T, ApiError> {
        match self.optional(name)? {
            Some(value) => Ok(value),
            None => Err(self.error(name, format!("this field is required: {}", T::EXPECTED))),
        }
    }

    /// Takes a member that may be absent or null.
    pub fn optional<T: FromJson>(&mut self, name: &'static str) -> Result<Option<T>, ApiError> {
        match self.members.remove(name) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => {
                T::from_json(value).map(Some).map_err(|problem| self.error(name, problem))
            }
        }
    }

    /// Takes a member of any value, null included.
    pub fn any(&mut self, name: &'static str) -> Option<Value> {
        self.members.remove(name)
    }

    /// Takes a member that is an object and reads its own members.
    pub fn nested<T>(
        &mut self,
        name: &'static str,
        read: fn(Fields) -> Result<T, ApiError>,
    ) -> Result<Option<T>, ApiError> {
        let Some(members) = self.optional::<Map<String, Value>>(name)? else { return Ok(None) };
        read(Fields { prefix: format!("{}{name}.", self.prefix), members }).map(Some)
    }

    /// Takes a member that is a list of objects and reads each.
    pub fn each<T>(
        &mut self,
        name: &'static str,
        read: fn(Fields) -> Result<T, ApiError>,
    ) -> Result<Vec<T>, ApiError> {
        let items: Vec<Value> = self.required(name)?;
        let prefix = &self.prefix;
        let item = |(index, item): (usize, Value)| match item {
            Value::Object(members) => {
                read(Fields { prefix: format!("{prefix}{name}[{index}]."), members })
            }
            _ => Err(ApiError::invalid(format!("{prefix}{name}[{index}]"), "expected an object")),
        };
        items.into_iter().enumerate().map(item).collect()
    }

    /// Ends the reading; a member that nobody took is refused.
    pub fn finish(self) -> Result<(), ApiError> {
        match self.members.keys().next() {
            None => Ok(()),
            Some(name) => {
                let name = format!("{}{}", self.prefix, excerpt(name));
                Err(ApiError::invalid(name, "this field is not known"))
            }
        }
    }

    /// The error about one member.
    pub fn error(&self, name: &str, problem: impl Into<Cow<'static, str>>) -> ApiError {
        ApiError::invalid(format!("{}{name}", self.prefix), problem)
    }
}

/// A value that a JSON member can hold.
pub trait FromJson: Sized {
    /// What is accepted, as the end of a sentence.
    const EXPECTED: &'static str;

    /// The value, or what is wrong with it.
    fn from_json(value: Value) -> Result<Self, String>;
}

impl FromJson for String {
    const EXPECTED: &'static str = "expected a string";

    fn from_json(value: Value) -> Result<Self, String> {
        match value {
            Value::String(text) => Ok(text),
            _ => Err(Self::EXPECTED.to_owned()),
        }
    }
}

impl FromJson for Map<String, Value> {
    const EXPECTED: &'static str = "expected an object";

    fn from_json(value: Value) -> Result<Self, String> {
        match value {
            Value::Object(members) => Ok(members),
            _ => Err(Self::EXPECTED.to_owned()),
        }
    }
}

impl FromJson for Vec<Value> {
    const EXPECTED: &'static str = "expected a list";

    fn from_json(value: Value) -> Result<Self, String> {
        match value {
            Value::Array(items) => Ok(items),
            _ => Err(Self::EXPECTED.to_owned()),
        }
    }
}

impl FromJson for bool {
    const EXPECTED: &'static str = "expected `true` or `false`";

    fn from_json(value: Value) -> Result<Self, String> {
        value.as_bool().ok_or_else(|| Self::EXPECTED.to_owned())
    }
}

impl FromJson for u32 {
    const EXPECTED: &'static str = "expected a whole number from 0 to 4294967295";

    fn from_json(value: Value) -> Result<Self, String> {
        let number = value.as_u64().and_then(|number| number.try_into().ok());
        number.ok_or_else(|| Self::EXPECTED.to_owned())
    }
}

impl FromJson for u64 {
    const EXPECTED: &'static str = "expected a whole number from 0 to 9007199254740991";

    fn from_json(value: Value) -> Result<Self, String> {
        value.as_u64().ok_or_else(|| Self::EXPECTED.to_owned())
    }
}

/// A time with any offset, as callers write it.
impl FromJson for Timestamp {
    const EXPECTED: &'static str = "expected a time such as `2026-10-01T12:00:00Z`";

    fn from_json(value: Value) -> Result<Self, String> {
        let text = String::from_json(value)?;
        Self::parse_rfc3339(&text)
            .map_err(|error| format!("could not read `{}`: {error}", excerpt(&text)))
    }
}

impl FromJson for f64 {
    const EXPECTED: &'static str = "expected a number";

    fn from_json(value: Value) -> Result<Self, String> {
        value.as_f64().ok_or_else(|| Self::EXPECTED.to_owned())
    }
}

/// A word that its own type reads: an id, a digest, a word of a closed list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Word<T>(pub T);

impl<T: FromStr<Err: std::fmt::Display>> FromJson for Word<T> {
    const EXPECTED: &'static str = "expected a string";

    fn from_json(value: Value) -> Result<Self, String> {
        let text = String::from_json(value)?;
        let read = text.parse().map(Word);
        read.map_err(|error| format!("could not read `{}`: {error}", excerpt(&text)))
    }
}

fn twice(name: &str) -> ApiError {
    ApiError::invalid(excerpt(name).to_owned(), "this field appears twice in the body")
}

/// Cuts the text of an object into the names and the texts of its members.
fn split(body: &[u8]) -> Result<Vec<(String, &[u8])>, ApiError> {
    let fault = |rest: &[u8]| not_an_object(body.len() - rest.len());
    let mut rest = after(body, b'{').ok_or_else(|| fault(body))?;
    let mut members = Vec::new();
    if after(rest, b'}').is_none() {
        loop {
            let (name, tail) = value::<String>(rest).ok_or_else(|| fault(rest))?;
            let text = after(tail, b':').ok_or_else(|| fault(tail))?;
            let (IgnoredAny, tail) = value(text).ok_or_else(|| fault(text))?;
            members.push((name, text.get(..text.len() - tail.len()).unwrap_or_default()));
            rest = tail;
            match after(rest, b',') {
                Some(next) => rest = next,
                None => break,
            }
        }
    }
    match after(rest, b'}') {
        Some(end) if end.trim_ascii().is_empty() => Ok(members),
        Some(end) => Err(fault(end)),
        None => Err(fault(rest)),
    }
}

/// Reads one JSON value and returns it with what follows.
fn value<'a, T: Deserialize<'a>>(text: &'a [u8]) -> Option<(T, &'a [u8])> {
    let mut values = serde_json::Deserializer::from_slice(text).into_iter::<T>();
    let value = values.next()?.ok()?;
    Some((value, text.get(values.byte_offset()..)?))
}

/// What follows the mark, if the text begins with it.
fn after(text: &[u8], mark: u8) -> Option<&[u8]> {
    match text.trim_ascii_start().split_first() {
        Some((first, rest)) if *first == mark => Some(rest),
        _ => None,
    }
}

fn not_an_object(place: usize) -> ApiError {
    let message =
        format!("expected the body to be one JSON object; it is not valid from byte {place}");
    ApiError::new(codes::VALIDATION_FAILED, message)
}
