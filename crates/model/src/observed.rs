//! What was seen to be done to rows: by the tool's own transaction, by a read-back, by the change
//! log.
//!
//! Values are texts as the type's output function writes them under settings that are pinned to
//! `TimeZone=UTC`, `DateStyle=ISO`, `IntervalStyle=postgres`, `bytea_output=hex` and
//! `extra_float_digits=3`, so that two observations of one value are the same text.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    str::FromStr,
};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{Digest, LogBlind, LogGap, Lsn, ReadBackGap, Resource, RowOp, deserialize_text};

/// A table by its whole name, printed as `schema.name`. A name with a dot in it is told apart by the
/// first one, so a schema's name has none here.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TableName {
    /// Its schema.
    pub schema: String,
    /// Its name; of a partitioned table's rows, that of the leaf.
    pub name: String,
}

/// A text that is no table's whole name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected a schema and a table such as `public.orders`")]
pub struct TableNameError;

impl TableName {
    /// The table of this name in this schema.
    pub fn new(schema: impl Into<String>, name: impl Into<String>) -> Self {
        Self { schema: schema.into(), name: name.into() }
    }
}

impl fmt::Display for TableName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.schema, self.name)
    }
}

impl FromStr for TableName {
    type Err = TableNameError;

    fn from_str(text: &str) -> Result<Self, TableNameError> {
        match text.split_once('.') {
            Some((schema, name)) if !schema.is_empty() && !name.is_empty() => {
                Ok(Self::new(schema, name))
            }
            _ => Err(TableNameError),
        }
    }
}

impl Serialize for TableName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for TableName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserialize_text(deserializer)
    }
}

/// How many rows of a table were changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RowCounts {
    /// New rows.
    #[serde(default)]
    pub inserts: u64,
    /// Changed rows.
    #[serde(default)]
    pub updates: u64,
    /// Removed rows.
    #[serde(default)]
    pub deletes: u64,
    /// How often it was emptied.
    #[serde(default)]
    pub truncates: u64,
}

impl RowCounts {
    /// Rows of all three operations.
    pub fn rows(&self) -> u64 {
        self.inserts.saturating_add(self.updates).saturating_add(self.deletes)
    }

    /// Rows of one operation.
    pub fn of(&self, op: RowOp) -> u64 {
        match op {
            RowOp::Insert => self.inserts,
            RowOp::Update => self.updates,
            RowOp::Delete => self.deletes,
        }
    }

    /// Both together.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        Self {
            inserts: self.inserts.saturating_add(other.inserts),
            updates: self.updates.saturating_add(other.updates),
            deletes: self.deletes.saturating_add(other.deletes),
            truncates: self.truncates.saturating_add(other.truncates),
        }
    }
}

/// A value of a row as it was observed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Datum {
    /// Null.
    Null,
    /// The output function's text.
    Text(String),
    /// It was not told: a large value that an update left alone, of a table whose identity is not
    /// full. Never to be taken for a value.
    Unresolved,
}

/// A row as it was observed, by column; generated columns and columns that were not told are absent.
pub type Image = BTreeMap<String, Datum>;

/// A change of one row, as the change log tells it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RowChange {
    /// The row's table.
    pub table: TableName,
    /// What was done.
    pub op: RowOp,
    /// The row before, as far as it is told; none for a new row, and none where the table's identity
    /// tells nothing.
    pub before: Option<Image>,
    /// The row after; none for a removed row.
    pub after: Option<Image>,
}

/// What a transaction of the change log tells of one table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableInLog {
    /// Always of the whole transaction, whatever rows were kept.
    pub counts: RowCounts,
    /// The digest of each shape that the table had at some change of the transaction.
    pub signatures: BTreeSet<Digest>,
    /// Whether old rows were told whole at every change.
    pub identity: OldRows,
}

/// How much of old rows a table tells its change log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OldRows {
    /// All of them: REPLICA IDENTITY FULL.
    Whole,
    /// Keys at most.
    Partly,
}

/// Where in the change log something was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogSource {
    /// Which unbroken stretch of the log; places of two epochs cannot be compared.
    pub epoch: u64,
    /// The database cluster's own number.
    pub system: String,
    /// The commit record.
    pub commit_lsn: Lsn,
    /// Where the commit record ends.
    pub end_lsn: Lsn,
    /// The digest over every change of the transaction, kept or not.
    pub digest: Digest,
}

/// The committed transaction of one run, as the change log tells it, without what it did in the
/// service's own schema.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogFrame {
    /// Where it was read.
    pub source: LogSource,
    /// Every table that was touched.
    pub tables: BTreeMap<TableName, TableInLog>,
    /// The changes of rows in order: all of them, or the first ones.
    pub changes: Vec<RowChange>,
    /// How many changes of rows there were, kept or not.
    pub change_count: u64,
    /// How many other transactions passed for this run's; anything but 0 is somebody's work.
    pub repeats: u64,
    /// How many messages stood in it that only the service may write, and which it did not.
    pub foreign_markers: u64,
}

impl LogFrame {
    /// Whether every change of a row was kept.
    pub fn keeps_all(&self) -> bool {
        u64::try_from(self.changes.len()).is_ok_and(|kept| kept == self.change_count)
    }
}

/// By what a run's transaction is known in the log, as the run itself saw it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogTrace {
    /// The database cluster's own number.
    pub system: String,
    /// The transaction's number with its epoch, as the database prints it.
    pub xid: String,
    /// A place that the log reached after the commit was answered: a transaction that is not in the
    /// log up to here was not committed. None where the answer did not come.
    pub until: Option<Lsn>,
}

/// What the change log tells of a run, as far as it was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogAnswer {
    /// It was not read far enough: what was asked about may still come.
    NotYet {
        /// How far it was read; none where it has not been read at all.
        read_to: Option<Lsn>,
    },
    /// The run's transaction.
    Committed(Box<LogFrame>),
    /// The log was read without a break from before the run until after its end, and no transaction
    /// of the run is in it.
    NeverCommitted {
        /// How far it was read.
        read_to: Lsn,
    },
    /// It will never tell, and why.
    Untold(LogGap),
}

/// What a connector measured of the transaction that it ran itself, before the commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measured {
    /// By what the transaction is known in the log.
    pub trace: LogTrace,
    /// Every table whose rows the server's own counters saw changed, the service's own left out. The
    /// counters are an upper bound: they keep what a rolled back savepoint took back.
    pub touched: BTreeMap<TableName, Touched>,
    /// The tables that the tool declares, as the server resolves their names.
    pub names: BTreeMap<String, TableName>,
    /// What every row of a table must hold by the arguments.
    pub scope: Vec<Scoped>,
    /// The rows that the answer tells of; none where it tells of no rows of a table.
    pub rows: Option<ReportedRows>,
}

/// A column that must hold an argument in every row that may be changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scoped {
    /// The table.
    pub table: TableName,
    /// The column.
    pub column: String,
    /// The argument.
    pub told: Told,
}

/// A table whose rows were changed, as the server's counters and its catalog tell it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Touched {
    /// At most so many rows.
    pub counts: RowCounts,
    /// The partitioned table that it is a part of.
    pub root: Option<TableName>,
    /// The columns of its primary key, in order.
    pub key: Vec<String>,
    /// Its generated columns that the change log shows. They change with the columns that they are
    /// computed from.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub generated: BTreeSet<String>,
    /// Why the change log does not tell everything of it; empty where it does.
    pub blind: Vec<LogBlind>,
}

/// The rows of one table that a tool's answer tells of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReportedRows {
    /// The table: the partitioned one where it has parts.
    pub table: TableName,
    /// What the tool says that it did to them, where that is known.
    pub op: Option<RowOp>,
    /// The columns of the table's primary key, in order.
    pub key: Vec<String>,
    /// Whose word the rows are.
    pub teller: Teller,
    /// The rows, each by the columns that the answer tells.
    pub rows: Vec<BTreeMap<String, Told>>,
}

/// Whose word a reported row is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Teller {
    /// The database's own: what a statement that changes rows returned of them.
    Database,
    /// A function's, which may say what it likes.
    Function,
}

/// A value as the tool tells it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Told {
    /// Its text; none for null.
    pub text: Option<String>,
    /// When two texts are one value.
    pub form: TextForm,
}

/// When two texts are one value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TextForm {
    /// When they are the same.
    Exact,
    /// When they are the same number.
    Number,
    /// When they are the same JSON.
    Json,
    /// That cannot be said of two texts.
    Unclear,
}

/// What a separate reader found of what a report tells of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReadBack {
    /// What stands there now, in the order of the reported rows; none for a row that is not there.
    Rows(Vec<Option<ReadRow>>),
    /// What an API says of the resource that the report is about.
    Resource(Resource),
    /// Nothing could be read, and why.
    Unread(ReadBackGap),
}

/// A row that was read back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReadRow {
    /// The transaction that made this version of the row, without its epoch.
    pub xmin: u32,
    /// The columns that were reported.
    pub image: Image,
}

impl Told {
    /// Whether this value is what was told; nothing where it is not known.
    pub fn is(&self, seen: &Datum) -> Option<bool> {
        match (&self.text, seen) {
            (_, Datum::Unresolved) => None,
            (None, Datum::Null) => Some(true),
            (Some(_), Datum::Null) | (None, Datum::Text(_)) => Some(false),
            (Some(told), Datum::Text(seen)) => match self.form {
                TextForm::Exact => Some(told == seen),
                TextForm::Number => Some(is_same_number(told, seen)),
                TextForm::Json => Some(is_same_json(told, seen)),
                TextForm::Unclear => None,
            },
        }
    }
}

/// Plain decimals are compared as they are written, however long; what has an exponent is a double.
fn is_same_number(one: &str, other: &str) -> bool {
    if let (Some(one), Some(other)) = (decimal(one), decimal(other)) {
        return one == other;
    }
    match (one.parse::<f64>(), other.parse::<f64>()) {
        (Ok(one), Ok(other)) => one.to_bits() == other.to_bits() || one.is_nan() && other.is_nan(),
        (_, _) => one == other,
    }
}

/// Sign, whole part and fraction without the zeros that say nothing.
fn decimal(text: &str) -> Option<(bool, &str, &str)> {
    let (is_negative, digits) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let is_plain = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !is_plain(whole) || !is_plain(fraction) {
        return None;
    }
    let (whole, fraction) = (whole.trim_start_matches('0'), fraction.trim_end_matches('0'));
    let is_zero = whole.is_empty() && fraction.is_empty();
    Some((is_negative && !is_zero, whole, fraction))
}

fn is_same_json(one: &str, other: &str) -> bool {
    let read = |text: &str| serde_json::from_str::<serde_json::Value>(text);
    match (read(one), read(other)) {
        (Ok(one), Ok(other)) => one == other,
        (_, _) => one == other,
    }
}

impl LogTrace {
    /// The transaction's number without its epoch, as rows and the log have it.
    pub fn short_xid(&self) -> Option<u32> {
        let xid: u64 = self.xid.parse().ok()?;
        u32::try_from(xid & 0xffff_ffff).ok()
    }
}
