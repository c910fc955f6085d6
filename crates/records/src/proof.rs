//! Proofs over a log's tree, made of the few stored hashes that they need.
//!
//! A proof is worked out twice: once to learn which nodes it needs, and again with those nodes
//! loaded. What the store gives is not trusted: whoever checks the proof finds a wrong hash.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
};

use deed::{
    ArchivedDeeds, LogOrigin,
    tree::{self, Frontier, Nodes, Tree, leaf_hash},
};
use ledger::StoreDown;
use model::Digest;

use crate::store::{LogStore, OrgLog, Span, TILE};

/// The levels of the tree that one level of tiles spans.
const TILE_HEIGHT: u32 = 8;

/// Why there is no proof.
#[derive(Debug, thiserror::Error)]
pub enum ProofError {
    /// The store could not be asked.
    #[error(transparent)]
    Down(#[from] StoreDown),
    /// There is nothing to prove at these sizes.
    #[error("there is no such proof in a log of this size")]
    NoSuch,
    /// A hash that the proof needs is not in the store.
    #[error("the store lacks a hash of the log's tree")]
    Missing,
}

/// The proof that the deed at `index` is in the tree of the first `size` deeds.
pub async fn inclusion(
    store: &dyn LogStore,
    log: OrgLog,
    (index, size): (u64, u64),
) -> Result<Vec<Digest>, ProofError> {
    let needed = Needed::by(|nodes| tree::inclusion(nodes, index, size))?;
    let loaded = Loaded::load(store, log, &needed).await?;
    tree::inclusion(&loaded, index, size).ok_or(ProofError::Missing)
}

/// The proof that the tree of the first `old` deeds is the beginning of that of `new`.
pub async fn consistency(
    store: &dyn LogStore,
    log: OrgLog,
    (old, new): (u64, u64),
) -> Result<Vec<Digest>, ProofError> {
    let needed = Needed::by(|nodes| tree::consistency(nodes, old, new))?;
    let loaded = Loaded::load(store, log, &needed).await?;
    tree::consistency(&loaded, old, new).ok_or(ProofError::Missing)
}

/// The line that stands for deeds of a partition which is away, in a log that is read out.
pub(crate) async fn archived_deeds(
    store: &dyn LogStore,
    log: OrgLog,
    of: (&LogOrigin, &str),
    (from, to): (u64, u64),
    checkpoint: Option<String>,
) -> Result<ArchivedDeeds, ProofError> {
    let last = to.checked_sub(1).ok_or(ProofError::NoSuch)?;
    let needed = Needed::by(|nodes| tree::subtrees(nodes, from, last))?;
    let loaded = Loaded::load(store, log, &needed).await?;
    let span = Span { level: 0, start: last, count: 1 };
    let digests = store.hashes(log, &[span]).await?;
    let digest = digests.into_iter().flatten().next().ok_or(ProofError::Missing)?;
    ArchivedDeeds::of(of, (from, to), (&loaded, digest), checkpoint).ok_or(ProofError::Missing)
}

/// The sizes from `first` to `end`, which end in one tile, with the root of the tree of so
/// many deeds.
pub(crate) async fn roots(
    store: &dyn LogStore,
    log: OrgLog,
    (first, end): (u64, u64),
) -> Result<Vec<(u64, Digest)>, ProofError> {
    let before = first - first % TILE;
    let peaks = (0..u64::BITS).rev().filter(|height| before >> height & 1 == 1);
    let peaks: Vec<_> = peaks.map(|height| (height, (before >> height) - 1)).collect();
    let loaded = Loaded::load(store, log, &peaks.iter().copied().collect()).await?;
    let hashes: Option<Vec<_>> =
        peaks.iter().map(|(height, index)| loaded.node(*height, *index)).collect();
    let bytes = hashes
        .ok_or(ProofError::Missing)?
        .iter()
        .flat_map(|peak| *peak.as_bytes())
        .collect::<Vec<_>>();
    let mut frontier = Frontier::from_bytes(before, &bytes).map_err(|_| ProofError::Missing)?;
    let span = Span { level: 0, start: before, count: end - before };
    let leaves = store.hashes(log, &[span]).await?.pop().unwrap_or_default();
    let mut roots = vec![(before, frontier.root())];
    for leaf in leaves {
        frontier.push(leaf_hash(leaf.as_bytes()));
        roots.push((frontier.size(), frontier.root()));
    }
    Ok(roots)
}

/// Notes which nodes are asked for.
#[derive(Default)]
struct Needed(RefCell<BTreeSet<(u32, u64)>>);

impl Needed {
    fn by(
        proof: impl FnOnce(&Self) -> Option<Vec<Digest>>,
    ) -> Result<BTreeSet<(u32, u64)>, ProofError> {
        let needed = Self::default();
        proof(&needed).ok_or(ProofError::NoSuch)?;
        Ok(needed.0.into_inner())
    }
}

impl Nodes for Needed {
    fn node(&self, height: u32, index: u64) -> Option<Digest> {
        self.0.borrow_mut().insert((height, index));
        Some(tree::empty_root())
    }
}

/// The nodes that a proof needs.
struct Loaded(BTreeMap<(u32, u64), Digest>);

impl Loaded {
    async fn load(
        store: &dyn LogStore,
        log: OrgLog,
        needed: &BTreeSet<(u32, u64)>,
    ) -> Result<Self, StoreDown> {
        let spans: Vec<Span> = needed.iter().map(|node| span(*node)).collect();
        let hashes = store.hashes(log, &spans).await?;
        let nodes = needed.iter().zip(spans.iter().zip(hashes));
        Ok(Self(
            nodes
                .filter_map(|(node, (span, hashes))| Some((*node, root(*span, hashes)?)))
                .collect(),
        ))
    }
}

impl Nodes for Loaded {
    fn node(&self, height: u32, index: u64) -> Option<Digest> {
        self.0.get(&(height, index)).copied()
    }
}

/// The stored hashes that a node is made of.
fn span((height, index): (u32, u64)) -> Span {
    let (level, above) = (height / TILE_HEIGHT, height % TILE_HEIGHT);
    let level = u8::try_from(level).unwrap_or(u8::MAX);
    Span { level, start: index << above, count: 1 << above }
}

/// The root of a full subtree by its stored hashes, nothing when one is missing.
fn root(span: Span, hashes: Vec<Digest>) -> Option<Digest> {
    if hashes.len() as u64 != span.count {
        return None;
    }
    let tree = if span.level == 0 { Tree::of(hashes) } else { Tree::of_leaves(hashes) };
    tree.root_at(span.count)
}
