//! Query strings, read strictly: every parameter is known, decodes to UTF-8 and stands as often
//! as it may. Values are judged by whoever asks for them.

use std::str::FromStr;

use crate::{
    error::{ApiError, excerpt},
    text::Text,
};

/// A parameter that a route takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Param {
    /// May stand once.
    One(&'static str),
    /// May stand any number of times.
    Many(&'static str),
}

impl Param {
    /// The name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::One(name) | Self::Many(name) => name,
        }
    }
}

/// A query whose every parameter the route knows.
#[derive(Debug, Default)]
pub struct Query(Vec<(&'static str, Text)>);

impl Query {
    /// Reads the text behind the `?` under the route's list of parameters.
    pub fn read(text: Option<&str>, known: &[Param]) -> Result<Self, ApiError> {
        let mut pairs: Vec<(&'static str, Text)> = Vec::new();
        for pair in text.unwrap_or_default().split('&').filter(|pair| !pair.is_empty()) {
            let (raw_name, raw_value) = pair.split_once('=').unwrap_or((pair, ""));
            let name = Text::of_query(raw_name);
            let name = name.ok_or_else(|| unreadable(excerpt(raw_name).to_owned()))?;
            let Some(param) = known.iter().find(|param| param.name() == name.as_str()) else {
                return Err(unknown(name.as_str(), known));
            };
            let value = Text::of_query(raw_value).ok_or_else(|| unreadable(param.name()))?;
            let repeated = pairs.iter().any(|(known, _)| *known == param.name());
            if repeated && matches!(param, Param::One(_)) {
                return Err(ApiError::invalid(param.name(), "this parameter may appear only once"));
            }
            pairs.push((param.name(), value));
        }
        Ok(Self(pairs))
    }

    /// The parameter's text.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str())
    }

    /// A parameter that is `true` or `false`, and `false` where it is absent.
    pub fn flag(&self, name: &'static str) -> Result<bool, ApiError> {
        match self.text(name) {
            None | Some("false") => Ok(false),
            Some("true") => Ok(true),
            Some(_) => Err(ApiError::invalid(name, "expected `true` or `false`")),
        }
    }

    /// Every text of a repeatable parameter.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(known, _)| *known == name).map(|(_, value)| value.as_str())
    }

    /// Every parameter that was sent, by name and text.
    pub fn pairs(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.0.iter().map(|(name, value)| (*name, value.as_str()))
    }

    /// The parameter as a `T`, whose own error says what is accepted.
    pub fn parse<T>(&self, name: &'static str) -> Result<Option<T>, ApiError>
    where
        T: FromStr<Err: std::fmt::Display>,
    {
        self.text(name)
            .map(|text| text.parse().map_err(|error: T::Err| wrong(name, text, &error)))
            .transpose()
    }

    /// The parameter as a number, which is written plainly.
    pub fn number<T>(&self, name: &'static str) -> Result<Option<T>, ApiError>
    where
        T: FromStr<Err: std::fmt::Display>,
    {
        if self.text(name).is_some_and(|text| !is_plain_number(text)) {
            return Err(ApiError::invalid(name, "expected a number in digits, such as `20`"));
        }
        self.parse(name)
    }

    /// The items of a comma list, none of which may be empty.
    pub fn list<T>(&self, name: &'static str) -> Result<Vec<T>, ApiError>
    where
        T: FromStr<Err: std::fmt::Display>,
    {
        let Some(text) = self.text(name) else { return Ok(Vec::new()) };
        let item = |item: &str| {
            if item.is_empty() {
                return Err(ApiError::invalid(
                    name,
                    "expected a comma-separated list without empty items",
                ));
            }
            item.parse().map_err(|error: T::Err| wrong(name, item, &error))
        };
        text.split(',').map(item).collect()
    }
}

fn wrong(name: &'static str, text: &str, error: &impl std::fmt::Display) -> ApiError {
    ApiError::invalid(name, format!("could not read `{}`: {error}", excerpt(text)))
}

fn unknown(name: &str, known: &[Param]) -> ApiError {
    let names: Vec<String> = known.iter().map(|param| format!("`{}`", param.name())).collect();
    let message = match names.as_slice() {
        [] => "this route accepts no query parameters".to_owned(),
        names => format!("this route accepts {}", names.join(", ")),
    };
    ApiError::invalid(excerpt(name).to_owned(), message)
}

fn unreadable(name: impl Into<std::borrow::Cow<'static, str>>) -> ApiError {
    ApiError::invalid(name, Text::EXPECTED)
}

/// Whether a number is written in the one way that is taken: digits without a sign, an exponent or
/// zeros in front, and a point only between digits.
fn is_plain_number(text: &str) -> bool {
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    digits(whole) && digits(fraction) && (whole == "0" || !whole.starts_with('0'))
}
