//! Where settings come from: the process environment, `.env` in dev, the file.
//!
//! Reads them and finds a setting in the first source that has it; it parses no value.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    io,
    path::{Path, PathBuf},
};

use zeroize::Zeroizing;

use super::{
    table::Row,
    yaml::{self, Content, Leaf, Position},
};

/// The texts that settings are read from.
#[derive(Default)]
pub struct Sources {
    /// The process environment's `SERVICE_*` variables and those that the file asks for.
    pub environment: BTreeMap<String, String>,
    /// The text of `.env`.
    pub dotenv: Option<Zeroizing<String>>,
    /// The text of the settings file.
    pub file: Option<Zeroizing<String>>,
}

impl std::fmt::Debug for Sources {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<_> = self.environment.keys().collect();
        f.debug_struct("Sources").field("environment", &names).finish_non_exhaustive()
    }
}

/// A source that cannot be read at all.
#[derive(Debug, thiserror::Error)]
#[error("could not read {what} `{}`: {source}", path.display())]
pub struct SourceError {
    what: &'static str,
    path: PathBuf,
    source: io::Error,
}

impl Sources {
    /// Reads the environment, `.env` of the working folder and the file, if one is named.
    pub fn read(config: Option<&Path>) -> Result<Self, SourceError> {
        let file = match config {
            Some(path) => Some(text_of("the settings file", path)?),
            None => None,
        };
        let dotenv = Path::new(".env");
        let dotenv = if dotenv.is_file() { Some(text_of("the file", dotenv)?) } else { None };
        Ok(Self { environment: process_environment(), dotenv, file })
    }

    /// Returns these sources with one more variable in the environment.
    pub fn with(mut self, name: &str, value: impl Into<String>) -> Self {
        self.environment.insert(name.to_owned(), value.into());
        self
    }
}

fn text_of(what: &'static str, path: &Path) -> Result<Zeroizing<String>, SourceError> {
    std::fs::read_to_string(path).map(Zeroizing::new).map_err(|source| SourceError {
        what,
        path: path.to_owned(),
        source,
    })
}

fn process_environment() -> BTreeMap<String, String> {
    // A text that is not UTF-8 is kept with marks in it, so that its setting refuses it.
    let text = |text: OsString| text.to_string_lossy().into_owned();
    std::env::vars_os().map(|(name, value)| (text(name), text(value))).collect()
}

/// Where one value came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// The process environment.
    Environment,
    /// The file `.env`.
    Dotenv,
    /// A place in the settings file.
    File(Position),
}

impl std::fmt::Display for Origin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Environment => f.write_str("environment"),
            Self::Dotenv => f.write_str("`.env`"),
            Self::File(place) => write!(f, "settings file, {place}"),
        }
    }
}

/// One value as it was written, and where.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Found {
    /// What was written.
    pub content: Content,
    /// Where.
    pub origin: Origin,
}

/// The sources as maps, the first one that wins in front.
#[derive(Default)]
pub(super) struct Layers {
    /// The process environment.
    pub environment: BTreeMap<String, String>,
    /// `.env`; empty in prod.
    pub dotenv: BTreeMap<String, String>,
    /// The settings file.
    pub file: Vec<Leaf>,
}

impl Layers {
    /// What the first source that has this setting says; an empty text says nothing.
    pub(super) fn find(&self, row: &Row) -> Option<Found> {
        let variable = |map: &BTreeMap<String, String>, origin| {
            let text = map.get(row.name).filter(|text| !text.is_empty())?;
            Some(Found { content: Content::Text(text.clone()), origin })
        };
        variable(&self.environment, Origin::Environment)
            .or_else(|| variable(&self.dotenv, Origin::Dotenv))
            .or_else(|| self.in_file(&row.file_path()))
    }

    /// What the file has at this path.
    pub(super) fn in_file(&self, path: &[String]) -> Option<Found> {
        let leaf = self.file.iter().find(|leaf| leaf.path == path)?;
        Some(Found { content: leaf.content.clone(), origin: Origin::File(leaf.place) })
    }
}

/// The variables of a `.env` text, or the number of the line that is none.
pub(super) fn dotenv(text: &str) -> Result<BTreeMap<String, String>, usize> {
    let mut variables = BTreeMap::new();
    for (number, line) in (1_usize..).zip(text.lines()) {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let line = line.strip_prefix("export ").unwrap_or(line);
        let (name, value) = line.split_once('=').ok_or(number)?;
        let value = unquoted(value.trim()).ok_or(number)?;
        variables.insert(name.trim().to_owned(), value.to_owned());
    }
    Ok(variables)
}

fn unquoted(value: &str) -> Option<&str> {
    match value.chars().next() {
        Some(quote @ ('"' | '\'')) => value.strip_prefix(quote)?.strip_suffix(quote),
        _ => Some(value),
    }
}

/// Reads the file's text into leaves.
pub(super) fn leaves(text: &str) -> Result<Vec<Leaf>, yaml::Unreadable> {
    yaml::read(text)
}
