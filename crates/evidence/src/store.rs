//! What is kept of change logs.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use async_trait::async_trait;
use decoder::attribution::{Attribution, Known};
use ledger::{StoreDown, record::Action};
use model::{ActionId, ConnectorId, Digest, LogFrame, LogGap, Lsn, OrgId, Timestamp};
use serde::{Deserialize, Serialize};

/// Whose log it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Of {
    /// The org.
    pub org: OrgId,
    /// The connector.
    pub connector: ConnectorId,
}

/// The word of one instance that it reads a log; `token` counts the holders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease {
    /// Which holder this is.
    pub token: u64,
    /// Until when nobody else may take it.
    pub until: Timestamp,
}

/// What came of asking for a lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Held {
    /// It is the asker's, and this is how far the log was read.
    Yes(Lease, Option<Following>),
    /// It is another's.
    No {
        /// Until when, if that one does not renew it.
        until: Timestamp,
    },
}

/// How an epoch began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Began {
    /// Which one, from 1.
    pub epoch: u64,
    /// The cluster's own number.
    pub system: String,
    /// Its timeline.
    pub timeline: u32,
    /// What was published.
    pub published: Digest,
    /// Transactions of at least this number are in the epoch, if they were committed.
    pub from_xid: u64,
}

/// How far a log was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Following {
    /// The stretch that is being read.
    pub began: Began,
    /// Up to where: every commit record that ends up to here was read.
    pub read_to: Lsn,
    /// The end of the last commit record that was read, or of the last full read: no further may the slot
    /// be confirmed.
    pub confirmable: Lsn,
    /// Why the log cannot be read on before somebody makes a new slot; nothing where it can.
    pub broken: Option<LogGap>,
    /// When a beat was last read.
    pub beat_at: Option<Timestamp>,
    /// When this was written.
    pub at: Timestamp,
    /// Whether a slot is being made for a log that was given up before, so that one may stand that was never
    /// read. It stands here for no longer than that takes, and in no text otherwise, which an older
    /// instance could not read.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub makes_slot: bool,
}

impl Following {
    /// Whether the log was given up, and no slot of it is left.
    pub fn is_given_up(&self) -> bool {
        self.broken == Some(LogGap::DecoderOff) && !self.makes_slot
    }
}

/// Where the log was not read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gap {
    /// The epoch that it ended.
    pub ended: u64,
    /// Up to where that one was read.
    pub read_to: Lsn,
    /// What broke it.
    pub cause: LogGap,
    /// When that was seen.
    pub at: Timestamp,
}

/// A transaction as it is kept.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredFrame {
    /// Whose it is.
    pub attribution: Attribution,
    /// The action that it belongs to, or passes for.
    pub claimed: Option<ActionId>,
    /// The transaction's number, without the epoch.
    pub xid: u32,
    /// When it was committed, by the database's clock.
    pub committed_at: Timestamp,
    /// What was read of it, without the service's own tables and without rows.
    pub frame: LogFrame,
    /// The rows that were kept of it, encrypted; nothing where there are none, or not any more.
    pub images: Option<Vec<u8>>,
}

/// What one read adds.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// How far the log is read with it.
    pub following: Following,
    /// The transactions that were not kept before.
    pub frames: Vec<StoredFrame>,
    /// The stretch that ended with it.
    pub gap: Option<Gap>,
}

/// What came of keeping a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Written {
    /// It is kept, whole.
    Yes,
    /// The lease is another's by now; nothing was kept.
    Fenced,
}

/// For how long transactions are kept, by the store's own time since they were written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeptFor {
    /// Those of actions.
    pub own: Duration,
    /// All others.
    pub others: Duration,
}

/// Keeps what change logs say.
#[async_trait]
pub trait EvidenceStore: Send + Sync {
    /// Every log that is to be read, and every other one that was held and whose slot was not given up.
    async fn followed_logs(&self) -> Result<Vec<Of>, StoreDown>;

    /// Whether the log is to be read.
    async fn is_wanted(&self, of: Of) -> Result<bool, StoreDown>;

    /// Every log of which something may be kept, be it read any more or not.
    async fn kept_logs(&self) -> Result<Vec<Of>, StoreDown>;

    /// Takes the lease of a log, or renews it for who holds it.
    async fn hold_log(
        &self,
        of: Of,
        holder: &str,
        (now, until): (Timestamp, Timestamp),
    ) -> Result<Held, StoreDown>;

    /// Keeps transactions, how far they were read and what broke off, in one transaction that holds
    /// only under the lease's token.
    async fn write(&self, of: Of, token: u64, step: &Step) -> Result<Written, StoreDown>;

    /// What is known of each of these that is an action of the org. One is framed where a transaction
    /// that was kept was taken for its run.
    async fn known(
        &self,
        of: Of,
        actions: &BTreeSet<ActionId>,
    ) -> Result<BTreeMap<ActionId, Known>, StoreDown>;

    /// How far a log was read; nothing where it never was.
    async fn following(&self, of: Of) -> Result<Option<Following>, StoreDown>;

    /// The transactions that belong to an action or pass for it, in the order that they were read.
    async fn frames_of(&self, of: Of, action: ActionId) -> Result<Vec<StoredFrame>, StoreDown>;

    /// The transactions of actions in this epoch that end behind this place, the first so many: where
    /// each was committed, and its action.
    async fn own_frames(
        &self,
        of: Of,
        epoch: u64,
        behind: Lsn,
        limit: usize,
    ) -> Result<Vec<(Lsn, ActionId)>, StoreDown>;

    /// Where a log was not read, the latest first.
    async fn gaps(&self, of: Of, limit: usize) -> Result<Vec<Gap>, StoreDown>;

    /// Removes at most so many transactions of the log that were kept until their time was over, and
    /// tells how many those were.
    async fn forget(&self, of: Of, kept_for: KeptFor, limit: usize) -> Result<usize, StoreDown>;
}

/// What attribution has to know of an action; nothing where no connector was to run it. `framed` says
/// whether a transaction was taken for its run.
pub fn known(action: &Action, framed: bool) -> Option<Known> {
    Some(Known {
        org: action.org,
        connector: action.connector.as_ref().and_then(|connector| connector.id)?,
        request_digest: action.request_digest,
        begun: action.execution.is_some(),
        framed,
    })
}
