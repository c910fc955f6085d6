//! Walking through a log tile by tile, and the checks that somebody asked for.
//!
//! A tile is 256 deeds with the node over them. Each is checked by itself and against its
//! neighbour, so that a walk can begin anywhere and stop anywhere.

use deed::{
    Checkpoint, KeySet, LogOrigin, Recovered,
    tree::{TreeHead, leaf_hash, verify_inclusion},
};
use ledger::StoreDown;
use model::{CheckId, Digest, OrgId, Timestamp};
use serde::{Deserialize, Serialize};

use crate::{
    guard::compare,
    proof::{ProofError, inclusion},
    store::{DeedRow, LogHead, LogStore, OrgLog, Span, TILE},
    walk::{Before, Fault, Judge, Leaves, Problem, fault, node_fault},
};

/// How a check stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckStatus {
    /// Nobody has begun it.
    Queued,
    /// Under way.
    Running,
    /// The log is as it was sealed.
    Passed,
    /// The log is not as it was sealed.
    Failed,
}

impl CheckStatus {
    /// The word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Passed => "passed",
            Self::Failed => "failed",
        }
    }
}

/// A check of a part of a log that somebody asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChainCheck {
    /// Its id.
    pub id: CheckId,
    /// The org.
    pub org: OrgId,
    /// When it was asked for.
    pub created_at: Timestamp,
    /// How it stands.
    pub status: CheckStatus,
    /// The log; absent in checks from when an org had but one.
    #[serde(default)]
    pub log: Option<LogOrigin>,
    /// The first place that is checked.
    pub from_seq: u64,
    /// The place behind the last one that is checked.
    pub end_seq: u64,
    /// A checkpoint that the log must have grown from, as a signed note.
    pub checkpoint: Option<String>,
    /// How many deeds were checked.
    pub checked: u64,
    /// How many were left out because they are archived: of these the tree alone was looked at.
    #[serde(default)]
    pub archived: u64,
    /// When it ended.
    pub finished_at: Option<Timestamp>,
    /// The first thing that is wrong.
    pub first_bad: Option<Fault>,
}

/// What was found of the deeds of one tile, or of some of them.
pub(crate) struct Looked {
    /// The place behind them.
    pub(crate) end: u64,
    /// How many were looked at: none of a tile that is away.
    pub(crate) deeds: u64,
    /// The first thing that is wrong.
    pub(crate) fault: Option<Fault>,
}

/// A part of a log that is to be checked, and what it is held against.
#[derive(Clone, Copy)]
pub(crate) struct Walk<'a> {
    pub(crate) store: &'a dyn LogStore,
    pub(crate) keys: &'a KeySet,
    pub(crate) org: OrgId,
    pub(crate) head: &'a LogHead,
}

impl Walk<'_> {
    pub(crate) fn log(&self) -> OrgLog {
        OrgLog { org: self.org, no: self.head.no }
    }

    /// What is wrong with the deeds from `first` to the end of their tile, or to `end` if
    /// that comes first. Of a tile that is away the tree is looked at alone.
    pub(crate) async fn tile(&self, first: u64, end: u64) -> Result<Looked, StoreDown> {
        let end = end.min(self.head.chain.size()).min((first / TILE + 1) * TILE);
        let away = self.store.away(self.log(), first / TILE).await?;
        let (rows, found) = match away {
            Some(_) => (Vec::new(), None),
            None => self.deeds((first, end)).await?,
        };
        let found = match found {
            None if end.is_multiple_of(TILE) && end >= TILE => self.nodes(end, &rows).await?,
            found => found,
        };
        let fault = match found {
            None => self.kept((first, end), &rows).await?,
            found => found,
        };
        Ok(Looked { end, deeds: away.map_or(end - first, |_| 0), fault })
    }

    /// The rows of these deeds, with that of the one before them where it is here, and what is wrong
    /// with them.
    async fn deeds(
        &self,
        (first, end): (u64, u64),
    ) -> Result<(Vec<DeedRow>, Option<Fault>), StoreDown> {
        let from = first.saturating_sub(1);
        let limit = usize::try_from(end - from).unwrap_or(usize::MAX);
        let rows = self.store.rows(self.log(), from, limit).await?;
        let judge = Judge { org: self.org, log: self.head.chain.log(), keys: self.keys };
        let found = match (first, rows.split_first()) {
            (0, _) => judge.rows((0, end), Before::Beginning, &rows),
            (_, Some((before, rows))) if before.seq == from => {
                judge.rows((first, end), Before::Deed(before), rows)
            }
            (_, _) => match self.store.away(self.log(), from / TILE).await? {
                Some(before) => judge.rows((first, end), Before::Away(before), &rows),
                None => Some(fault(from, Problem::Gap, "a deed", "none")),
            },
        };
        Ok((rows, found))
    }

    /// What is wrong with the stored nodes that are complete with the deed before `end`, and with what
    /// they are made of beside these rows.
    async fn nodes(&self, end: u64, rows: &[DeedRow]) -> Result<Option<Fault>, StoreDown> {
        let mut spans = vec![Span { level: 0, start: end - TILE, count: TILE }];
        let mut stored = Vec::new();
        let (mut level, mut count) = (1, end / TILE);
        loop {
            stored.push(Span { level, start: count - 1, count: 1 });
            if count % TILE != 0 {
                break;
            }
            spans.push(Span { level, start: count - TILE, count: TILE });
            (level, count) = (level + 1, count / TILE);
        }
        let mut hashes = self.store.hashes(self.log(), &[&spans[..], &stored].concat()).await?;
        let nodes = hashes.split_off(spans.len());
        let leaves = hashes.first().map(Vec::as_slice).unwrap_or_default();
        if let Some(fault) = differs(rows, (end - TILE, leaves)) {
            return Ok(Some(fault));
        }
        let pairs = spans.iter().zip(hashes.iter().zip(&nodes));
        Ok(pairs.into_iter().find_map(|(span, (below, node))| {
            let leaves = if span.level == 0 { Leaves::Deeds } else { Leaves::Nodes };
            node_fault(end - 1, below, leaves, node.first())
        }))
    }

    /// What is wrong with the head: its root must be that of the stored hashes, its last
    /// digest and its time those of the last deed.
    pub(crate) async fn head(&self) -> Result<Option<Fault>, StoreDown> {
        let chain = &self.head.chain;
        let Some(last) = chain.size().checked_sub(1) else { return Ok(None) };
        let rows = self.store.rows(self.log(), last, 1).await?;
        let Some(row) = rows.first().filter(|row| row.seq == last) else {
            return Ok(Some(fault(last, Problem::Gap, "a deed", "none")));
        };
        if row.issued_at != chain.issued_at() {
            return Ok(Some(fault(last, Problem::Row, row.issued_at, chain.issued_at())));
        }
        let path = match inclusion(self.store, self.log(), (last, chain.size())).await {
            Ok(path) => path,
            Err(ProofError::Down(down)) => return Err(down),
            Err(ProofError::NoSuch | ProofError::Missing) => {
                return Ok(Some(fault(last, Problem::Tree, "every stored hash", "a gap")));
            }
        };
        let (leaf, tree) = (
            leaf_hash(chain.last().as_bytes()),
            TreeHead { size: chain.size(), root: chain.root() },
        );
        let holds = verify_inclusion(leaf, last, &path, &tree);
        Ok((!holds).then(|| fault(last, Problem::Tree, chain.root(), "another root")))
    }

    /// What is wrong with a closed log beside what the log that follows tells of it.
    pub(crate) fn told(&self, told: Option<&Recovered>) -> Option<Fault> {
        let stands = Checkpoint::of(&self.head.chain);
        let last = stands.tree.size.saturating_sub(1);
        let says = told.map(|told| Checkpoint { log: told.log.clone(), tree: told.tree() });
        (says.as_ref() != Some(&stands)).then(|| {
            let expected = "what the first deed of the next log says of this one";
            fault(last, Problem::CheckpointMismatch, expected, stands.tree.root)
        })
    }

    /// What is wrong with the log beside a checkpoint that was kept.
    pub(crate) async fn checkpoint(&self, note: &str) -> Result<Option<Fault>, StoreDown> {
        let known = match Checkpoint::open_with(note, self.keys) {
            Ok(known) => known,
            Err(error) => return Ok(Some(mismatch(error))),
        };
        let broken = compare(self.store, self.org, self.head, &known).await?;
        Ok(broken.map(mismatch))
    }
}

/// The first row whose digest is not the one that the tree is made of, from this place on.
fn differs(rows: &[DeedRow], (start, leaves): (u64, &[Digest])) -> Option<Fault> {
    rows.iter().find_map(|row| {
        let place = usize::try_from(row.seq.checked_sub(start)?).ok()?;
        let leaf = leaves.get(place).filter(|leaf| **leaf != row.digest)?;
        Some(fault(row.seq, Problem::Digest, leaf, row.digest))
    })
}

fn mismatch(found: impl ToString) -> Fault {
    fault(0, Problem::CheckpointMismatch, "a log that grew from the checkpoint", found)
}
