//! Turns layers of text into typed values and gathers every problem on the way.
//!
//! A value that is refused is replaced by its default so that reading goes on; the settings that
//! come of it are thrown away when there is any problem.

use std::{fmt, str::FromStr, time::Duration};

use super::{
    sources::{Found, Layers, Origin},
    span,
    table::{self, Accepts, Row},
    yaml::Content,
};

/// One thing that is wrong with the settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The setting, or what else is spoken of.
    pub setting: String,
    /// Where it was written, if it was.
    pub origin: Option<Origin>,
    /// What was found and what is accepted.
    pub sentence: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`", self.setting)?;
        if let Some(origin) = self.origin {
            write!(f, " ({origin})")?;
        }
        write!(f, ": {}", self.sentence)
    }
}

/// Reads settings by name.
pub(super) struct Reader<'a> {
    layers: &'a Layers,
    /// Everything that was wrong so far.
    pub problems: Vec<Problem>,
}

impl<'a> Reader<'a> {
    /// A reader over these layers.
    pub(super) fn new(layers: &'a Layers) -> Self {
        Self { layers, problems: Vec::new() }
    }

    /// A setting that may be absent.
    pub(super) fn optional<T>(
        &mut self,
        name: &str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Option<T> {
        self.ranged(name, |_, text| parse(text))
    }

    /// A setting that has a default.
    pub(super) fn value_of<T: Default>(
        &mut self,
        name: &str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> T {
        self.optional(name, parse).unwrap_or_default()
    }

    /// A duration within its range.
    pub(super) fn span(&mut self, name: &str) -> Duration {
        self.ranged(name, ranged_span).unwrap_or_default()
    }

    /// A whole number within its range.
    pub(super) fn number<T: TryFrom<u64> + Default>(&mut self, name: &str) -> T {
        self.ranged(name, |row, text| ranged_number(row, text)?.try_into().ok()).unwrap_or_default()
    }

    /// One word of a closed list.
    pub(super) fn word<T: FromStr + Default>(&mut self, name: &str) -> T {
        self.value_of(name, |text| text.parse().ok())
    }

    /// A list; an environment variable holds it with commas.
    pub(super) fn list<T>(&mut self, name: &str, parse: impl Fn(&str) -> Option<T>) -> Vec<T> {
        let Some(row) = self.row(name) else { return Vec::new() };
        let Some(found) = self.layers.find(row) else { return Vec::new() };
        let items = match &found.content {
            Content::List(items) => items.clone(),
            Content::Text(text) => text.split(',').map(|item| item.trim().to_owned()).collect(),
        };
        let values = items.iter().map(|item| parse(item)).collect::<Option<Vec<T>>>();
        values.unwrap_or_else(|| {
            self.refuse(row, name, &found);
            Vec::new()
        })
    }

    /// Adds a problem.
    pub(super) fn problem(
        &mut self,
        setting: &str,
        origin: Option<Origin>,
        sentence: impl Into<String>,
    ) {
        self.problems.push(Problem {
            setting: setting.to_owned(),
            origin,
            sentence: sentence.into(),
        });
    }

    fn ranged<T>(&mut self, name: &str, parse: impl Fn(&Row, &str) -> Option<T>) -> Option<T> {
        let row = self.row(name)?;
        let found = self.layers.find(row);
        self.value(row, name, found.as_ref(), |text| parse(row, text))
    }

    fn row(&mut self, name: &str) -> Option<&'static Row> {
        let row = table::find(name);
        if row.is_none() {
            self.problem(name, None, "this setting is missing in the service's own table");
        }
        row
    }

    fn value<T>(
        &mut self,
        row: &Row,
        name: &str,
        found: Option<&Found>,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Option<T> {
        let default = || row.default.filter(|text| !text.is_empty()).and_then(&parse);
        let Some(found) = found else { return default() };
        let value = match &found.content {
            Content::Text(text) => parse(text.trim()),
            Content::List(_) => None,
        };
        value.or_else(|| {
            self.refuse(row, name, found);
            default()
        })
    }

    fn refuse(&mut self, row: &Row, name: &str, found: &Found) {
        let expected = row.accepts.expected();
        let sentence = match &found.content {
            Content::Text(text) if row.accepts.shows_refused_value() && text.len() <= 64 => {
                format!("found `{text}`, expected {expected}")
            }
            _ => format!("expected {expected}"),
        };
        self.problem(name, Some(found.origin), sentence);
    }
}

/// The duration, if it lies within the row's range.
pub(super) fn ranged_span(row: &Row, text: &str) -> Option<Duration> {
    let Accepts::Span(least, most) = row.accepts else { return None };
    let range = Duration::from_millis(least)..=Duration::from_millis(most);
    span::parse(text).filter(|value| range.contains(value))
}

/// The number, if it is written in digits alone and lies within the row's range.
pub(super) fn ranged_number(row: &Row, text: &str) -> Option<u64> {
    let Accepts::Number(least, most) = row.accepts else { return None };
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|value| digits && (least..=most).contains(value))
}

/// Whether a switch is on.
pub(super) fn switch(text: &str) -> Option<bool> {
    match text {
        "true" => Some(true),
        "false" => Some(false),
        _ => None,
    }
}
