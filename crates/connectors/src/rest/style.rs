//! How an argument is written into a query, a header or a form: the table "Style Values" of OpenAPI
//! 3.1.1 (4.8.12.4), which is that of 3.0.
//!
//! A value that the table does not define for a style is refused. So is a value that would be read as
//! another one, such as an item with a comma in a header.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{entry::Place, percent::encode};

/// The most items of a list that is not JSON.
const MOST_ITEMS: usize = 4_096;

/// The styles of OpenAPI that are served, and JSON.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Style {
    #[default]
    Form,
    Simple,
    SpaceDelimited,
    PipeDelimited,
    #[serde(alias = "deep_object")]
    DeepObject,
    Json,
    /// An earlier name of `simple`, and in a query of `form` without `explode`.
    Comma,
}

impl Style {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Form => "form",
            Self::Simple => "simple",
            Self::SpaceDelimited => "spaceDelimited",
            Self::PipeDelimited => "pipeDelimited",
            Self::DeepObject => "deepObject",
            Self::Json => "json",
            Self::Comma => "comma",
        }
    }
}

/// A style, and whether each item or member has a pair of its own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Format {
    #[serde(default)]
    pub(super) style: Style,
    /// `None` is the default of the style: `true` for `form` and `deepObject`, `false` for the others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) explode: Option<bool>,
}

/// The kinds of values that the table tells apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Scalar,
    List,
    Object,
}

impl Kind {
    pub(super) const ALL: [Self; 3] = [Self::Scalar, Self::List, Self::Object];

    /// The word of a message.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Scalar => "a single value",
            Self::List => "a list",
            Self::Object => "an object",
        }
    }
}

impl Format {
    /// The one spelling of each format, which the digest of a tool covers.
    pub(super) fn canonical(self, place: Place) -> Self {
        let style = match (self.style, place) {
            (Style::Comma | Style::Form, Place::Header) => Style::Simple,
            (Style::Comma, Place::Query) => {
                return Self { style: Style::Form, explode: Some(false) };
            }
            (style, _) => style,
        };
        let default = matches!(style, Style::Form | Style::DeepObject);
        let explode = self.explode.filter(|explode| *explode != default && style != Style::Json);
        Self { style, explode }
    }

    fn explodes(self) -> bool {
        self.explode.unwrap_or(matches!(self.style, Style::Form | Style::DeepObject))
    }

    /// Why the table has no row for this format here.
    pub(super) fn problem(self, place: Place) -> Option<String> {
        let name = self.style.name();
        match (place, self.style, self.explodes()) {
            (_, Style::Json, _)
            | (Place::Query, Style::Form, _)
            | (Place::Header, Style::Simple, _)
            | (Place::Query, Style::SpaceDelimited | Style::PipeDelimited, false)
            | (Place::Query, Style::DeepObject, true) => None,
            (Place::Query, Style::SpaceDelimited | Style::PipeDelimited, true) => {
                Some(format!("the style `{name}` with `explode: true`"))
            }
            (Place::Query, Style::DeepObject, false) => {
                Some(format!("the style `{name}` with `explode: false`"))
            }
            (Place::Query, Style::Simple | Style::Comma, _) => {
                Some(format!("the style `{name}` in a query"))
            }
            (Place::Header, _, _) => Some(format!("the style `{name}` in a header")),
        }
    }

    /// Whether the table defines how a value of this kind is written. Members of an object in the style
    /// `form` with `explode` would be parameters of any name, so they are not served.
    pub(super) fn writes(self, kind: Kind) -> bool {
        match (self.style, kind) {
            (Style::Json | Style::Simple | Style::Comma, _)
            | (Style::Form, Kind::Scalar | Kind::List)
            | (Style::SpaceDelimited | Style::PipeDelimited, Kind::List | Kind::Object)
            | (Style::DeepObject, Kind::Object) => true,
            (Style::Form, Kind::Object) => !self.explodes(),
            (Style::SpaceDelimited | Style::PipeDelimited, Kind::Scalar)
            | (Style::DeepObject, Kind::Scalar | Kind::List) => false,
        }
    }

    /// What a message says was expected.
    fn expected(self) -> String {
        let kinds = Kind::ALL.into_iter().filter(|kind| self.writes(*kind)).map(Kind::name);
        format!("{} of texts, numbers and booleans", kinds.collect::<Vec<_>>().join(" or "))
    }

    /// The pairs of a query or a form for this value, percent-encoded; on failure, what was expected.
    pub(super) fn pairs(self, name: &str, value: &Value) -> Result<Vec<String>, String> {
        let format = self.canonical(Place::Query);
        let texts = |items: &[Value]| {
            bounded(items)?;
            items.iter().map(scalar).collect::<Option<Vec<_>>>().ok_or_else(|| format.expected())
        };
        match (format.style, value) {
            (Style::Json, value) => Ok(vec![pair(name, &value.to_string())]),
            (Style::Form, Value::Array(items)) if format.explodes() => {
                Ok(texts(items)?.iter().map(|text| pair(name, text)).collect())
            }
            (Style::Form | Style::SpaceDelimited | Style::PipeDelimited, Value::Array(items)) => {
                format.joined(name, &texts(items)?)
            }
            (Style::DeepObject, Value::Object(members)) => {
                // Servers read `name[a][b]` and `name[]` as something else than a member.
                if members.keys().any(|name| name.is_empty() || name.contains(['[', ']'])) {
                    return Err("members with a name, and without `[` and `]` in it".to_owned());
                }
                let member = |(member, value): (&String, &Value)| {
                    Some(pair(&format!("{name}[{member}]"), &scalar(value)?))
                };
                let pairs: Option<Vec<_>> = members.iter().map(member).collect();
                pairs.ok_or_else(|| format.expected())
            }
            (_, Value::Object(_)) if format.writes(Kind::Object) => {
                format.joined(name, &flat(value).ok_or_else(|| format.expected())?)
            }
            (Style::Form, one) => {
                let text = scalar(one).ok_or_else(|| format.expected())?;
                Ok(vec![pair(name, &text)])
            }
            _ => Err(format.expected()),
        }
    }

    /// One pair of several texts; nothing where there are none (RFC 6570, 2.3).
    fn joined(self, name: &str, texts: &[String]) -> Result<Vec<String>, String> {
        // A comma inside of a text is encoded and the one between two is not (RFC 6570, 3.2.8). The other
        // two delimiters are encoded in both places, so a text that has one would be read as two.
        let (delimiter, forbidden) = match self.style {
            Style::SpaceDelimited => ("%20", Some(' ')),
            Style::PipeDelimited => ("%7C", Some('|')),
            _ => (",", None),
        };
        if let Some(forbidden) = forbidden.filter(|it| texts.iter().any(|text| text.contains(*it)))
        {
            return Err(format!("texts without `{forbidden}`, which separates them"));
        }
        let Some((first, rest)) = texts.split_first() else { return Ok(Vec::new()) };
        let mut pair = pair(name, first);
        for text in rest {
            pair.push_str(delimiter);
            encode(text, &mut pair);
        }
        Ok(vec![pair])
    }

    /// The text of a header for this value, or `None` where there is nothing to send; on failure, what
    /// was expected.
    pub(super) fn line(self, value: &Value) -> Result<Option<String>, String> {
        let texts = match (self.style, value) {
            (Style::Json, value) => return Ok(Some(value.to_string())),
            (_, Value::Array(items)) => items.iter().map(scalar).collect(),
            (_, Value::Object(members)) if self.explode == Some(true) => {
                let member = |(name, value): (&String, &Value)| {
                    scalar(value).map(|value| (name.clone(), value))
                };
                let members: Option<Vec<_>> = members.iter().map(member).collect();
                let members = members.ok_or_else(|| self.expected())?;
                if members.iter().any(|(name, value)| name.contains('=') || value.contains('=')) {
                    return Err("names and texts without `=`, which separates them".to_owned());
                }
                Some(members.into_iter().map(|(name, value)| format!("{name}={value}")).collect())
            }
            (_, value @ Value::Object(_)) => flat(value),
            (_, one) => return scalar(one).map(Some).ok_or_else(|| self.expected()),
        };
        let texts: Vec<String> = texts.ok_or_else(|| self.expected())?;
        if texts.iter().any(|text| text.contains(',') || text.trim() != text || text.is_empty()) {
            return Err(
                "texts without a comma, which separates them, and without blanks at their \
                        ends, which are not sent"
                    .to_owned(),
            );
        }
        Ok((!texts.is_empty()).then(|| texts.join(",")))
    }
}

/// The pairs of a form for a member of which its encoding says nothing: a list repeats the name, and an
/// object is JSON (OpenAPI 3.1.1, 4.8.15.1, `contentType`).
pub(super) fn pairs_by_kind(name: &str, value: &Value) -> Result<Vec<String>, String> {
    let text = |value: &Value| scalar(value).unwrap_or_else(|| value.to_string());
    match value {
        Value::Array(items) if items.iter().any(Value::is_null) => {
            Err("a list without `null`, which a form cannot have".to_owned())
        }
        Value::Array(items) => {
            bounded(items)?;
            Ok(items.iter().map(|item| pair(name, &text(item))).collect())
        }
        one => Ok(vec![pair(name, &text(one))]),
    }
}

/// Each item may repeat the name, so that a list in a request is shorter than one of a call may be.
fn bounded(items: &[Value]) -> Result<(), String> {
    if items.len() > MOST_ITEMS {
        return Err(format!("at most {MOST_ITEMS} items"));
    }
    Ok(())
}

/// The names and values of an object, one behind the other.
fn flat(value: &Value) -> Option<Vec<String>> {
    let mut texts = Vec::new();
    for (name, value) in value.as_object()? {
        texts.push(name.clone());
        texts.push(scalar(value)?);
    }
    Some(texts)
}

fn pair(name: &str, value: &str) -> String {
    let mut pair = String::new();
    encode(name, &mut pair);
    pair.push('=');
    encode(value, &mut pair);
    pair
}

/// The text of a value that has one.
pub(super) fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        // The form that was digested, whatever the number's own print is.
        Value::Number(_) => String::from_utf8(crypto::json::canonical(value)).ok(),
        Value::Bool(value) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}
