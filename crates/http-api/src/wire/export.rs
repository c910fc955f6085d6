//! The history as it is read out: one entry a line, as JSON or as comma-separated values.

use model::Digest;
use serde_json::{Value, json};

/// The form of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExportForm {
    /// One JSON object a line.
    Ndjson,
    /// Comma-separated values (RFC 4180) with a line of names.
    Csv,
}

impl ExportForm {
    /// The media type.
    pub(crate) const fn media_type(self) -> &'static str {
        match self {
            Self::Ndjson => "application/x-ndjson",
            Self::Csv => "text/csv; charset=utf-8; header=present",
        }
    }

    /// What stands before the entries.
    pub(crate) fn head(self) -> String {
        match self {
            Self::Ndjson => String::new(),
            Self::Csv => row(COLUMNS.iter().map(|(name, _)| (*name).to_owned())),
        }
    }

    /// An entry as a line.
    pub(crate) fn line(self, entry: &Value) -> String {
        match self {
            Self::Ndjson => format!("{entry}\n"),
            Self::Csv => row(COLUMNS.iter().map(|(_, place)| cell(entry.pointer(place)))),
        }
    }

    /// The last line: how many entries there were, and the digest of all bytes before it.
    pub(crate) fn last(self, count: u64, sum: Digest) -> String {
        match self {
            Self::Ndjson => {
                let last = json!({ "object": "ledger_export", "count": count, "sha256": sum });
                format!("{last}\n")
            }
            Self::Csv => {
                let told = ["ledger_export".to_owned(), count.to_string(), sum.to_string()];
                let rest = COLUMNS.iter().skip(told.len()).map(|_| String::new());
                row(told.into_iter().chain(rest))
            }
        }
    }
}

/// The columns and where their values stand in an entry.
#[rustfmt::skip]
const COLUMNS: &[(&str, &str)] = &[
    ("id",           "/id"),
    ("seq",          "/seq"),
    ("at",           "/at"),
    ("livemode",     "/livemode"),
    ("kind",         "/kind"),
    ("type",         "/type"),
    ("actor_kind",   "/actor/kind"),
    ("actor_id",     "/actor/id"),
    ("actor_name",   "/actor/name"),
    ("subject_kind", "/subject/kind"),
    ("subject_id",   "/subject/id"),
    ("tool",         "/tool"),
    ("summary",      "/summary"),
    ("deed",         "/deed"),
];

/// What a program for tables takes for the beginning of a formula.
const FORMULA: [char; 6] = ['=', '+', '-', '@', '\t', '\r'];

fn cell(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

fn row(cells: impl Iterator<Item = String>) -> String {
    let cells: Vec<_> = cells.map(|text| quoted(&text)).collect();
    format!("{}\r\n", cells.join(","))
}

/// The text as one cell. A name of an agent or a tool may come from anybody, so that none is
/// ever taken for a formula: an apostrophe in front makes it a text.
fn quoted(text: &str) -> String {
    let guard = if text.starts_with(FORMULA) { "'" } else { "" };
    format!("\"{guard}{}\"", text.replace('"', "\"\""))
}

#[cfg(test)]
mod tests;
