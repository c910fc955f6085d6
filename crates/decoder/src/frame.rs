//! A committed transaction, as the stream tells it.

use std::{collections::BTreeMap, sync::Arc};

use crypto::Sha256;
use model::{Digest, Timestamp};

use crate::{Change, Edit, Lsn, Relation, Table, Truncation};

/// The schema of the service's own tables in a governed database.
pub const SERVICE_SCHEMA: &str = "service";
/// What the service calls its messages in the log.
pub const SERVICE_PREFIX: &str = "service";
/// The longest marker; a longer message is none.
pub const MAX_MARKER_BYTES: usize = 512;
/// The most messages, and the most changes of the service's own tables, that a frame keeps. A
/// transaction of the service has one of each, and both come first.
pub const MAX_OWN_KEPT: usize = 16;
/// The most bytes of rows that a frame keeps, unless an assembler is told otherwise: a few large documents
/// weigh as much as all else that is read.
pub const MAX_KEPT_BYTES: usize = 16 * 1024 * 1024;
/// The heaviest row of the service's own tables that is kept; those that the service writes are far lighter.
pub(crate) const MAX_OWN_BYTES: usize = 64 * 1024;

/// How many rows of a table were changed in a transaction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// New rows.
    pub inserts: u64,
    /// Rows that are others.
    pub updates: u64,
    /// Rows that are gone.
    pub deletes: u64,
    /// How often it was emptied.
    pub truncates: u64,
}

/// The server that a transaction came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// Where it was committed there.
    pub commit_lsn: Lsn,
    /// The server's name.
    pub name: String,
}

/// A message of the service's prefix that was committed with its transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogMessage {
    /// Where it stands in the log.
    pub lsn: Lsn,
    /// What it says; nothing where that is longer than a marker may be.
    pub content: Option<Vec<u8>>,
}

/// A committed transaction.
///
/// Counts, relations and digest are always of the whole transaction; rows are kept up to a limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// Its number, without the epoch. Numbers come again: say which transaction by `commit_lsn`.
    pub xid: u32,
    /// Where its commit record is.
    pub commit_lsn: Lsn,
    /// Where the commit record ends: what the slot may be advanced to once the frame is stored.
    pub end_lsn: Lsn,
    /// When it was committed, by the database's clock.
    pub committed_at: Timestamp,
    /// Where it came from, if from elsewhere.
    pub origin: Option<Origin>,
    /// What was done to each table.
    pub counts: BTreeMap<Table, Counts>,
    /// Every table as it looked at some change, by signature.
    pub relations: BTreeMap<Digest, Arc<Relation>>,
    /// Changes of rows, truncations not counted: all of them, kept or not.
    pub change_count: u64,
    /// The first changes of rows outside the service's schema, in order.
    pub changes: Vec<Change>,
    /// The first changes of the service's own tables, in order.
    pub own_changes: Vec<Change>,
    /// What was emptied, in order.
    pub truncations: Vec<Truncation>,
    /// The first messages of the service's prefix, in order.
    pub messages: Vec<LogMessage>,
    /// All messages of the service's prefix, kept or not.
    pub message_count: u64,
    /// The digest over the canonical form of every change and truncation, kept or not.
    pub digest: Digest,
}

impl Frame {
    /// Whether every change of a row is kept.
    pub fn keeps_all(&self) -> bool {
        let kept = self.changes.len() + self.own_changes.len();
        u64::try_from(kept).is_ok_and(|kept| kept == self.change_count)
    }

    /// About how many bytes what is kept takes.
    pub fn weight(&self) -> usize {
        self.changes.iter().chain(&self.own_changes).map(Change::weight).sum()
    }

    /// The digest of what is kept: that of the frame, if nothing was left out and nothing changed
    /// since. Nothing where rows were left out.
    pub fn digest_of_kept(&self) -> Option<Digest> {
        if !self.keeps_all() {
            return None;
        }
        let changes = self.changes.iter().chain(&self.own_changes);
        let mut forms: Vec<_> = changes
            .map(|change| (change.place, change.canonical()))
            .chain(self.truncations.iter().map(|one| (one.place, one.canonical())))
            .collect();
        forms.sort_by_key(|(place, _)| *place);
        let mut digest = Sha256::new();
        for (_, form) in &forms {
            digest.update(form.bytes());
        }
        Some(digest.finish())
    }

    /// What was done to a table, whatever its number was.
    pub fn counts_of(&self, schema: &str, name: &str) -> Counts {
        let mut sum = Counts::default();
        for (table, counts) in &self.counts {
            if table.schema == schema && table.name == name {
                sum.inserts += counts.inserts;
                sum.updates += counts.updates;
                sum.deletes += counts.deletes;
                sum.truncates += counts.truncates;
            }
        }
        sum
    }

    /// Whether anything outside the service's own schema was changed.
    pub fn touches_governed_tables(&self) -> bool {
        self.counts.keys().any(|table| table.schema != SERVICE_SCHEMA)
    }
}

impl Counts {
    pub(crate) fn add(&mut self, edit: &Edit) {
        match edit {
            Edit::Insert { .. } => self.inserts += 1,
            Edit::Update { .. } => self.updates += 1,
            Edit::Delete { .. } => self.deletes += 1,
        }
    }
}
