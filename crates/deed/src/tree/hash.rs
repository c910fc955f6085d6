//! The hashes of RFC 6962: of a leaf, of a node, and of nothing.

use model::Digest;

/// The hash of a leaf.
pub fn leaf_hash(entry: &[u8]) -> Digest {
    crypto::sha256([&[0], entry].concat())
}

/// The hash of two subtrees under one node.
pub fn node_hash(left: &Digest, right: &Digest) -> Digest {
    let mut bytes = [1; 65];
    for (to, from) in bytes.iter_mut().skip(1).zip(left.as_bytes().iter().chain(right.as_bytes())) {
        *to = *from;
    }
    crypto::sha256(bytes)
}

/// The root of the tree without leaves.
pub fn empty_root() -> Digest {
    crypto::sha256([])
}
