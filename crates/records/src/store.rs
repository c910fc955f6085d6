//! What the reading of logs asks of its store: rows as they stand, judged by nobody yet.

use std::ops::Range;

use async_trait::async_trait;
use deed::{ChainHead, LogOrigin};
use ledger::{LogNo, Place, StoreDown};
use model::{ActionId, AgentId, DeedId, Digest, OrgId, Timestamp};

/// The deeds that one stored node of the first level stands for.
pub(crate) const TILE: u64 = 256;

/// One of an org's logs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct OrgLog {
    /// The org.
    pub org: OrgId,
    /// Which one.
    pub no: LogNo,
}

/// Whether deeds are still added to a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It is the org's present one.
    Open,
    /// Another took its place.
    Closed {
        /// When that was.
        at: Timestamp,
    },
}

/// How long a log is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogSize {
    /// Which log it is.
    pub of: OrgLog,
    /// Its name.
    pub log: LogOrigin,
    /// How many deeds it has.
    pub size: u64,
    /// Whether it is open.
    pub standing: Standing,
}

/// How long all logs are.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Logs {
    /// The logs that could be looked at, by org and number.
    pub sizes: Vec<LogSize>,
    /// Orgs whose logs could not: the part of the store that has them is away. Nothing can be said of
    /// them, and they are not gone.
    pub unreached: Vec<OrgId>,
}

impl Logs {
    /// The log of this name, `None` where there is none; an error where it may be a log that could not
    /// be looked at.
    pub fn named(&self, name: &LogOrigin) -> Result<Option<&LogSize>, StoreDown> {
        match self.sizes.iter().find(|log| log.log == *name) {
            None if !self.unreached.is_empty() => Err(away()),
            found => Ok(found),
        }
    }

    /// The logs of an org, in order; an error where they could not be looked at.
    pub fn of(&self, org: OrgId) -> Result<Vec<&LogSize>, StoreDown> {
        let found: Vec<_> = self.sizes.iter().filter(|log| log.of.org == org).collect();
        if found.is_empty() && !self.unreached.is_empty() {
            return Err(away());
        }
        Ok(found)
    }
}

fn away() -> StoreDown {
    StoreDown {
        attempt: "look for a log",
        source: "the part of the store that has it is away".into(),
    }
}

/// Where a log stands, and when that was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogHead {
    /// Which of the org's logs it is.
    pub no: LogNo,
    /// Whether it is open.
    pub standing: Standing,
    /// The head of its chain and tree.
    pub chain: ChainHead,
    /// The place of the org's last event while the log was open.
    pub event_seq: u64,
    /// The store's own time.
    pub now: Timestamp,
}

/// A run of stored hashes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span {
    /// The level in tiles; 0 is the digests of the deeds, level `n` the roots of `256^n` deeds.
    pub level: u8,
    /// The first one's place in its level.
    pub start: u64,
    /// How many there are.
    pub count: u64,
}

/// A deed as it stands in its row. Nothing of it has been checked: whoever changed the row changed
/// what is read here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeedRow {
    /// Which of the org's logs has it.
    pub log_no: LogNo,
    /// The place in that log.
    pub seq: u64,
    /// The deed's id.
    pub id: DeedId,
    /// What it records, as the row has it.
    pub kind: String,
    /// The agent that may read it.
    pub agent: Option<AgentId>,
    /// The action that it is about.
    pub action: Option<ActionId>,
    /// The agent of that action, as the action's own row has it.
    pub acting: Option<AgentId>,
    /// When it was sealed.
    pub issued_at: Timestamp,
    /// The bytes that were signed.
    pub body: String,
    /// SHA-256 of the body.
    pub digest: Digest,
    /// The signature.
    pub signature: [u8; 64],
    /// The thumbprint of the key that made it.
    pub key_id: String,
}

impl DeedRow {
    /// The deed's place among all of its org.
    pub fn place(&self) -> Place {
        Place::of(self.log_no, self.seq)
    }
}

/// What is known of a full tile of deeds that lies in a partition which is away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Away {
    /// The digest of its last deed.
    pub last: Digest,
    /// When that was sealed.
    pub issued_at: Timestamp,
}

/// Full tiles of deeds that lie in one partition which is away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AwayTiles {
    /// The partition's name.
    pub partition: String,
    /// The first tile behind them.
    pub end: u64,
}

/// A checkpoint as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedCheckpoint {
    /// How many deeds it speaks of.
    pub size: u64,
    /// The root of their tree.
    pub root: Digest,
    /// The signed note.
    pub note: String,
    /// When it was signed.
    pub signed_at: Timestamp,
}

/// Something that is stored and does not fit the size that the log's head tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misfit {
    /// What it is.
    pub what: Stray,
    /// The place, or the size, that it claims.
    pub place: u64,
    /// The last place of the log, as the head tells its size.
    pub last: u64,
    /// When it was looked for, by the store's own time.
    pub at: Timestamp,
}

/// What may not fit the size of its log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stray {
    /// There is no head at all.
    Head,
    /// The frontier of the head is that of another size.
    Frontier,
    /// A deed stands behind the last one.
    Deed,
    /// A node of the tree stands behind the last one.
    Node,
    /// A checkpoint speaks of a larger log.
    Checkpoint,
}

/// Where logs are kept.
#[async_trait]
pub trait LogStore: Send + Sync {
    /// How long every log of every org is, open and closed.
    async fn logs(&self) -> Result<Logs, StoreDown>;

    /// Where an org's open log stands, nothing for an org that is not there.
    async fn head(&self, org: OrgId) -> Result<Option<LogHead>, StoreDown>;

    /// Where the logs stood that the org had before, in order.
    async fn closed(&self, org: OrgId) -> Result<Vec<LogHead>, StoreDown>;

    /// The hashes of each run, as far as they are there and without a gap from its start.
    async fn hashes(&self, log: OrgLog, spans: &[Span]) -> Result<Vec<Vec<Digest>>, StoreDown>;

    /// How many actions have no deed yet, and when the oldest of them was recorded.
    async fn unsealed(&self, org: OrgId) -> Result<(u64, Option<Timestamp>), StoreDown>;

    /// Returns up to `limit` deeds from this place on, in the order of their places.
    async fn rows(&self, log: OrgLog, from: u64, limit: usize) -> Result<Vec<DeedRow>, StoreDown>;

    /// What is known of this tile of a log while its deeds are away, with all that the tree needs of
    /// them still there; nothing of a tile that is here.
    async fn away(&self, log: OrgLog, tile: u64) -> Result<Option<Away>, StoreDown> {
        let _ = (log, tile);
        Ok(None)
    }

    /// The tiles from this one on that are in the same partition, while that is away; nothing of a tile
    /// that is here.
    async fn away_from(&self, log: OrgLog, tile: u64) -> Result<Option<AwayTiles>, StoreDown> {
        let _ = (log, tile);
        Ok(None)
    }

    /// Keeps a checkpoint, unless one of this size is kept already.
    async fn put_checkpoint(
        &self,
        log: OrgLog,
        checkpoint: &SignedCheckpoint,
    ) -> Result<(), StoreDown>;

    /// The checkpoints that are kept of sizes in this range, the smallest first.
    async fn checkpoints(
        &self,
        log: OrgLog,
        sizes: Range<u64>,
    ) -> Result<Vec<SignedCheckpoint>, StoreDown>;

    /// The first thing that is stored and does not fit the size of the log, at one moment;
    /// nothing when all of it fits. It must answer when the head itself cannot be read.
    async fn misfit(&self, log: OrgLog) -> Result<Option<Misfit>, StoreDown>;

    /// The checkpoint of the largest size that is kept.
    async fn last_checkpoint(&self, log: OrgLog) -> Result<Option<SignedCheckpoint>, StoreDown>;
}
