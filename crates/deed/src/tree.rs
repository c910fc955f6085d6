//! The RFC 6962 Merkle tree over a log's deeds: frontier, nodes, and checks of proofs.
//!
//! A leaf is the 32-byte digest of a deed's body, so that the tree can be handed to strangers
//! without handing them a deed.

mod hash;
mod proof;
mod text;

use model::Digest;

pub use hash::{empty_root, leaf_hash, node_hash};
pub(crate) use proof::heights;
pub use proof::{
    Nodes, Tree, TreeHead, consistency, inclusion, subtrees, verify_consistency, verify_inclusion,
};
pub use text::{TlogProof, TlogProofError};

/// The root of a full subtree of `256^level` deeds, which a store keeps once it is known.
///
/// With the deeds' digests these make every tile (C2SP `tlog-tiles`: tile `n` of `level` holds
/// the nodes `256n` to `256n + 255`) and every proof.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Node {
    /// The level in tiles, from 1; level 0 is the leaves.
    pub level: u8,
    /// The place among the nodes of this level, from 0.
    pub index: u64,
    /// The subtree's root.
    pub hash: Digest,
}

/// The roots of the full subtrees that a growing tree consists of, largest first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Frontier {
    size: u64,
    // Invariant: one root for each bit that is set in `size`, the highest bit's first.
    peaks: Vec<Digest>,
}

/// Bytes that are no frontier of the size that they came with.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected {expected} hashes of 32 bytes for a tree of {size} leaves, got {got} bytes")]
pub struct FrontierError {
    expected: u32,
    size: u64,
    got: usize,
}

impl Frontier {
    /// The frontier of a tree without leaves.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads what [`Frontier::to_bytes`] wrote.
    pub fn from_bytes(size: u64, bytes: &[u8]) -> Result<Self, FrontierError> {
        let (hashes, rest) = bytes.as_chunks::<32>();
        if !rest.is_empty() || hashes.len() != size.count_ones() as usize {
            return Err(FrontierError { expected: size.count_ones(), size, got: bytes.len() });
        }
        Ok(Self { size, peaks: hashes.iter().copied().map(Digest::from_bytes).collect() })
    }

    /// The hashes one after the other, for a store.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.peaks.iter().flat_map(|peak| *peak.as_bytes()).collect()
    }

    /// How many leaves the tree has.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Appends a leaf and returns the nodes that a store must keep.
    pub fn push(&mut self, leaf: Digest) -> Vec<Node> {
        let mut nodes = Vec::new();
        self.join((0, leaf), |height, index, hash| {
            if height.is_multiple_of(8) {
                let level = u8::try_from(height / 8).unwrap_or(u8::MAX);
                nodes.push(Node { level, index, hash });
            }
        });
        nodes
    }

    /// Appends the full subtrees over the leaves from the tree's size up to `end`, as
    /// [`subtrees`] returns them, unless there are more or fewer of them than that takes.
    pub fn append(&mut self, end: u64, subtrees: &[Digest]) -> bool {
        let heights: Vec<_> = heights(self.size, end).collect();
        let fits = heights.len() == subtrees.len() && end >= self.size;
        if fits {
            heights.into_iter().zip(subtrees).for_each(|of| self.join((of.0, *of.1), |_, _, _| {}));
        }
        fits
    }

    /// Appends a full subtree at a multiple of its own size, and tells each larger one that is full
    /// with it: its height, its index and its root.
    fn join(&mut self, (height, root): (u32, Digest), mut full: impl FnMut(u32, u64, Digest)) {
        let mut hash = root;
        // Each full subtree of the same size on the left joins the new one.
        for above in 1..=(self.size >> height).trailing_ones() {
            let Some(left) = self.peaks.pop() else { break };
            hash = node_hash(&left, &hash);
            full(height + above, self.size >> (height + above), hash);
        }
        self.peaks.push(hash);
        self.size += 1 << height;
    }

    /// The root of the tree.
    pub fn root(&self) -> Digest {
        let mut peaks = self.peaks.iter().rev().copied();
        let smallest = peaks.next().unwrap_or_else(empty_root);
        peaks.fold(smallest, |right, left| node_hash(&left, &right))
    }
}
