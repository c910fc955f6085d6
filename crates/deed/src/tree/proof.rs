//! Inclusion and consistency proofs of RFC 6962: made from stored nodes, checked from nothing.

use model::Digest;

use super::hash::{empty_root, leaf_hash, node_hash};

/// Knows the roots of full subtrees.
pub trait Nodes {
    /// The root of the `2^height` leaves that begin at leaf `index * 2^height`.
    fn node(&self, height: u32, index: u64) -> Option<Digest>;
}

/// A whole tree in memory.
#[derive(Debug, Clone, Default)]
pub struct Tree {
    // Invariant: `rows[h]` holds the roots of all full subtrees of `2^h` leaves, in order.
    rows: Vec<Vec<Digest>>,
}

impl Tree {
    /// The tree whose leaves are these deeds, by their digests.
    pub fn of(deeds: impl IntoIterator<Item = Digest>) -> Self {
        Self::of_leaves(deeds.into_iter().map(|digest| leaf_hash(digest.as_bytes())))
    }

    /// The tree of leaves that are hashed already.
    pub fn of_leaves(leaves: impl IntoIterator<Item = Digest>) -> Self {
        let mut row: Vec<_> = leaves.into_iter().collect();
        let mut rows = Vec::new();
        while !row.is_empty() {
            let (pairs, _odd) = row.as_chunks::<2>();
            let above = pairs.iter().map(|[left, right]| node_hash(left, right)).collect();
            rows.push(std::mem::replace(&mut row, above));
        }
        Self { rows }
    }

    /// How many leaves the tree has.
    pub fn size(&self) -> u64 {
        self.rows.first().map_or(0, |leaves| leaves.len() as u64)
    }

    /// The root of the tree that the first `size` leaves make.
    pub fn root_at(&self, size: u64) -> Option<Digest> {
        if size == 0 { Some(empty_root()) } else { root_of(self, Range { start: 0, size }) }
    }
}

impl Nodes for Tree {
    fn node(&self, height: u32, index: u64) -> Option<Digest> {
        let row = self.rows.get(usize::try_from(height).ok()?)?;
        row.get(usize::try_from(index).ok()?).copied()
    }
}

/// The proof that the leaf `index` is in the tree of `size` leaves.
///
/// There is none when the index lies outside the tree or a node is not known.
pub fn inclusion(nodes: &impl Nodes, index: u64, size: u64) -> Option<Vec<Digest>> {
    if index >= size {
        return None;
    }
    let mut proof = Vec::new();
    let mut range = Range { start: 0, size };
    while range.size > 1 {
        let (left, right) = range.halves();
        let (next, sibling) = if index < right.start { (left, right) } else { (right, left) };
        proof.push(root_of(nodes, sibling)?);
        range = next;
    }
    proof.reverse();
    Some(proof)
}

/// The proof that the tree of `old` leaves is the beginning of the tree of `new` leaves.
///
/// There is none when `old` is 0 or larger than `new`, or a node is not known.
pub fn consistency(nodes: &impl Nodes, old: u64, new: u64) -> Option<Vec<Digest>> {
    if old == 0 || old > new {
        return None;
    }
    let mut proof = Vec::new();
    let mut range = Range { start: 0, size: new };
    while range.end() != old {
        let (left, right) = range.halves();
        let (next, sibling) = if old <= right.start { (left, right) } else { (right, left) };
        proof.push(root_of(nodes, sibling)?);
        range = next;
    }
    // Whoever checks knows the old root; a smaller subtree must be told.
    if range.start > 0 {
        proof.push(root_of(nodes, range)?);
    }
    proof.reverse();
    Some(proof)
}

/// The roots of the fewest full subtrees over the leaves from `start` up to but not with `end`, in
/// the order of their leaves: what a tree of `start` leaves takes to become the one of `end`.
///
/// There are none when a node is not known.
///
/// ```
#[doc = include_str!("../doc/shop.md")]
/// let deeds = sealer.seal_all(&mut log, vec![stopped(), stopped(), stopped()], org, at)?;
/// let tree = Tree::of(deeds.iter().map(|deed| deed.digest));
/// let mut frontier = Frontier::new();
/// frontier.push(leaf_hash(deeds[0].digest.as_bytes()));
/// // The two deeds behind the first make no full subtree of two.
/// assert!(frontier.append(3, &subtrees(&tree, 1, 3).unwrap()));
/// assert_eq!(frontier.root(), Checkpoint::of(&log).tree.root);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn subtrees(nodes: &impl Nodes, start: u64, end: u64) -> Option<Vec<Digest>> {
    let mut place = start;
    let root = |height| {
        let index = place >> height;
        place += 1_u64 << height;
        nodes.node(height, index)
    };
    heights(start, end).map(root).collect()
}

/// The heights of these subtrees.
pub(crate) fn heights(start: u64, end: u64) -> impl Iterator<Item = u32> {
    let mut place = start;
    std::iter::from_fn(move || {
        let left = end.checked_sub(place)?;
        // The largest that begins here and is over before the end.
        let height = left.checked_ilog2()?.min(place.trailing_zeros());
        place += 1_u64 << height;
        Some(height)
    })
}

/// A tree by its size and root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TreeHead {
    /// How many leaves it has.
    pub size: u64,
    /// Its root.
    pub root: Digest,
}

/// Whether the proof shows that the leaf stands at `index` of the tree (RFC 9162,
/// section 2.1.3.2).
///
/// ```
#[doc = include_str!("../doc/shop.md")]
/// let deeds = sealer.seal_all(&mut log, vec![stopped(), stopped(), stopped()], org, at)?;
/// let tree = Tree::of(deeds.iter().map(|deed| deed.digest));
/// let head = Checkpoint::of(&log).tree;
/// let proof = inclusion(&tree, 1, 3).ok_or("no such place")?;
/// assert!(verify_inclusion(leaf_hash(deeds[1].digest.as_bytes()), 1, &proof, &head));
/// assert!(!verify_inclusion(leaf_hash(deeds[0].digest.as_bytes()), 1, &proof, &head));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn verify_inclusion(leaf: Digest, index: u64, proof: &[Digest], head: &TreeHead) -> bool {
    if index >= head.size {
        return false;
    }
    let (mut place, mut last, mut hash) = (index, head.size - 1, leaf);
    for sibling in proof {
        if last == 0 {
            return false;
        }
        if place & 1 == 1 || place == last {
            hash = node_hash(sibling, &hash);
            while place & 1 == 0 && place != 0 {
                place >>= 1;
                last >>= 1;
            }
        } else {
            hash = node_hash(&hash, sibling);
        }
        place >>= 1;
        last >>= 1;
    }
    last == 0 && hash == head.root
}

/// Whether the proof shows that the old tree is the beginning of the new one (RFC 9162,
/// section 2.1.4.2).
///
/// ```
#[doc = include_str!("../doc/shop.md")]
/// let deeds = sealer.seal_all(&mut log, vec![stopped(), stopped(), stopped()], org, at)?;
/// let tree = Tree::of(deeds.iter().map(|deed| deed.digest));
/// let head = |size| TreeHead { size, root: tree.root_at(size).unwrap() };
/// let proof = consistency(&tree, 2, 3).ok_or("no such sizes")?;
/// assert!(verify_consistency(&head(2), &head(3), &proof));
/// assert!(!verify_consistency(&head(1), &head(3), &proof));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn verify_consistency(old: &TreeHead, new: &TreeHead, proof: &[Digest]) -> bool {
    if old.size == new.size {
        return proof.is_empty() && old.root == new.root;
    }
    if old.size == 0 || old.size > new.size {
        return false;
    }
    let (first, path) = if old.size.is_power_of_two() {
        (Some(old.root), proof)
    } else {
        (proof.first().copied(), proof.get(1..).unwrap_or_default())
    };
    let Some(first) = first else { return false };
    let (mut place, mut last) = (old.size - 1, new.size - 1);
    let shift = place.trailing_ones();
    place >>= shift;
    last >>= shift;
    let (mut old_hash, mut new_hash) = (first, first);
    for sibling in path {
        if last == 0 {
            return false;
        }
        if place & 1 == 1 || place == last {
            old_hash = node_hash(sibling, &old_hash);
            new_hash = node_hash(sibling, &new_hash);
            while place & 1 == 0 && place != 0 {
                place >>= 1;
                last >>= 1;
            }
        } else {
            new_hash = node_hash(&new_hash, sibling);
        }
        place >>= 1;
        last >>= 1;
    }
    last == 0 && old_hash == old.root && new_hash == new.root
}

/// A run of leaves that one node of the tree covers.
#[derive(Clone, Copy)]
struct Range {
    start: u64,
    // Invariant: at least 1, and `start` is a multiple of the power of two at or above it.
    size: u64,
}

impl Range {
    fn end(self) -> u64 {
        self.start + self.size
    }

    /// Splits at the largest power of two below the size.
    fn halves(self) -> (Self, Self) {
        let left = self.size.next_power_of_two() / 2;
        (
            Self { start: self.start, size: left },
            Self { start: self.start + left, size: self.size - left },
        )
    }
}

fn root_of(nodes: &impl Nodes, range: Range) -> Option<Digest> {
    if range.size.is_power_of_two() {
        let height = range.size.trailing_zeros();
        return nodes.node(height, range.start >> height);
    }
    let (left, right) = range.halves();
    Some(node_hash(&root_of(nodes, left)?, &root_of(nodes, right)?))
}
