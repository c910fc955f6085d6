//! A database's change log as a follower asks for it.

use std::collections::BTreeSet;

use async_trait::async_trait;
use decoder::Frame;
use model::{ActionId, Digest, Fault, Lsn};

/// A slot, as the database shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slot {
    /// Up to where somebody said that the log may be forgotten.
    pub confirmed: Lsn,
    /// Whether the database gave up log that the slot would need.
    pub lost: bool,
    /// How much log the slot keeps the database from removing, in bytes.
    pub held_bytes: u64,
}

/// What a database shows of itself beside its log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sight {
    /// The cluster's own number.
    pub system: String,
    /// Its timeline, which another server that takes over begins anew.
    pub timeline: u32,
    /// A place that the log has reached.
    pub flushed: Lsn,
    /// The slot, if there is one.
    pub slot: Option<Slot>,
    /// What is published, so that a change is seen though it was taken back.
    pub published: Digest,
    /// For how many seconds the oldest transaction that writes has been open: it is what makes reads
    /// begin far back.
    pub oldest_writer: Option<u64>,
}

/// What one read of a slot brought.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Read {
    /// The transactions in the order of their commits, those of earlier reads among them.
    pub frames: Vec<Frame>,
    /// Every transaction whose commit record ends up to here is among them, or was read before. Of a full
    /// read it is where the last of what came ends, be that a commit record or a message that belongs to
    /// no transaction.
    pub until: Lsn,
    /// Whether there may be more than came.
    pub full: bool,
    /// Whether it was cut short for its weight, so that less is to be asked for. It is full then, too.
    pub heavy: bool,
    /// How long the database took, in milliseconds.
    pub took_ms: u64,
}

/// A row of the ledger in a governed database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerRow {
    /// The action that it names.
    pub action: ActionId,
    /// The org that it names.
    pub org: String,
    /// The transaction that it says to be of.
    pub xid: u64,
}

/// The end of the ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerEnd {
    /// Its rows, those that name no action left out.
    pub rows: Vec<LedgerRow>,
    /// How many pages the ledger has.
    pub pages: u64,
    /// A place of the log behind the commits of all of them.
    pub reached: Lsn,
}

/// Why the log could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SourceError {
    /// The database could not be reached, or refused.
    #[error("{}", .0.message)]
    Down(Fault),
    /// Somebody else is reading or making the slot just now.
    #[error("the slot is being read or made by somebody else")]
    Busy,
    /// The slot is gone, or the database gave up log that it needs.
    #[error("the slot is gone or lost its log")]
    Gone,
    /// It did not answer within the time that a read may take.
    #[error("reading the slot took longer than it may")]
    Late,
    /// What it sent is no change log.
    #[error("the change log cannot be read: {0}")]
    Unreadable(#[from] decoder::DecodeError),
}

/// Reads one database's change log. Nothing is lost by a read: what was not confirmed comes again.
#[async_trait]
pub trait ChangeSource: Send + Sync {
    /// Looks at the database.
    async fn look(&self) -> Result<Sight, SourceError>;

    /// A number that no transaction had so far: every one that has it, or a higher one, is committed after
    /// this, if ever. It takes a number of the database's, so it is asked for seldom.
    async fn mark(&self) -> Result<u64, SourceError>;

    /// Makes the slot, from which on the log is kept.
    async fn make_slot(&self) -> Result<(), SourceError>;

    /// Reads at most about this many changes; a transaction is never cut.
    async fn read(&self, changes: u32) -> Result<Read, SourceError>;

    /// Says that the log up to the end of a commit record is not needed any more, and tells how many
    /// milliseconds that took the database.
    ///
    /// It has to be the end of a commit record that was read, or where a full read ended: a place within a
    /// commit record would have the database leave its transaction out for good.
    async fn confirm(&self, end: Lsn) -> Result<u64, SourceError>;

    /// The rows of the ledger from this page on, or of its last few pages; never of more than some
    /// hundreds.
    async fn ledger_from(&self, page: Option<u64>, last: u64) -> Result<LedgerEnd, SourceError>;

    /// Those of these actions that have a row in the ledger.
    async fn in_ledger(
        &self,
        actions: &BTreeSet<ActionId>,
    ) -> Result<BTreeSet<ActionId>, SourceError>;

    /// Writes a beat through the publication, which is read as any other change.
    async fn beat(&self) -> Result<(), SourceError>;

    /// Removes the slot that was seen, so that the database need not keep its log for nobody. Where there is
    /// none any more, that is done; where another one stands by now, such as one that is only being made, it is
    /// left alone, and somebody else is said to have it.
    async fn drop_slot(&self, seen: Option<Slot>) -> Result<(), SourceError>;
}
