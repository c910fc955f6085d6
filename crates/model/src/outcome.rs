//! What a tool declares that it may touch, and what one run of it came to.

use std::{collections::BTreeMap, fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::{ExecutionErrorCode, Measured, deserialize_text};

/// An operation on rows of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RowOp {
    /// New rows.
    Insert,
    /// Changed rows.
    Update,
    /// Removed rows.
    Delete,
}

/// The most that one run of a tool may change.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Footprint {
    /// Which operations on which tables.
    pub tables: BTreeMap<String, Vec<RowOp>>,
    /// How many rows in all.
    pub max_rows: u64,
    /// Which columns an update may set; absent means any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub columns: Option<BTreeMap<String, Vec<String>>>,
    /// Which column of a table holds which argument in every row that may be changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<BTreeMap<String, BTreeMap<String, String>>>,
}

/// What a tool says that it did, beside its result.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// Rows that the tool says it changed; absent for tools that count none.
    pub rows_changed: Option<u64>,
    /// What the connector measured of the run, where evidence was asked for and it can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<Box<Measured>>,
}

impl Report {
    /// A report of so many changed rows, or of none that are counted.
    pub fn of_rows(rows_changed: Option<u64>) -> Self {
        Self { rows_changed, measured: None }
    }
}

/// What one run of a tool came to.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// The tool answered.
    Succeeded {
        /// Its answer.
        result: Value,
        /// What it says that it did.
        report: Report,
    },
    /// The call was certainly applied, and its answer is lost.
    Applied,
    /// The call was certainly not applied.
    Failed(Fault),
    /// Nobody can say whether the call was applied.
    Unknown(Fault),
}

/// Why a run did not succeed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The code that programs branch on.
    pub code: ErrorCode,
    /// The sentence that people read; it holds no credential and no row value.
    pub message: String,
}

impl Fault {
    /// The fault with a code of the closed list.
    pub fn new(code: ExecutionErrorCode, message: impl Into<String>) -> Self {
        Self { code: code.into(), message: message.into() }
    }
}

/// An execution's error code: one of [`ExecutionErrorCode`] or an edge's own.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct ErrorCode(Box<str>);

/// A text that is no error code.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected 1 to 64 characters of `a-z0-9_`")]
pub struct ErrorCodeError;

impl ErrorCode {
    /// The code.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<ExecutionErrorCode> for ErrorCode {
    fn from(code: ExecutionErrorCode) -> Self {
        Self(code.as_str().into())
    }
}

impl FromStr for ErrorCode {
    type Err = ErrorCodeError;

    fn from_str(text: &str) -> Result<Self, ErrorCodeError> {
        let fits = (1..=64).contains(&text.len())
            && text.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_'));
        if fits { Ok(Self(text.into())) } else { Err(ErrorCodeError) }
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for ErrorCode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for ErrorCode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserialize_text(deserializer)
    }
}
