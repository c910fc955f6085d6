//! The head of one log: where the next deed goes, and the tree so far.
//!
//! Advancing is a pure step; a head that was not stored is simply forgotten.

use model::{Digest, Timestamp};

use crate::{
    text::LogOrigin,
    tree::{self, Frontier, Node},
};

/// The head of one log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainHead {
    log: LogOrigin,
    last: Digest,
    frontier: Frontier,
    issued_at: Timestamp,
}

impl ChainHead {
    /// The head of a log without deeds.
    pub fn genesis(log: LogOrigin) -> Self {
        let last = genesis_digest(&log);
        Self { log, last, frontier: Frontier::new(), issued_at: Timestamp::EPOCH }
    }

    /// The head that a store kept by its parts: the digest and time of the last deed, and
    /// the tree's frontier.
    pub fn restore(log: LogOrigin, last: Digest, issued_at: Timestamp, frontier: Frontier) -> Self {
        Self { log, last, frontier, issued_at }
    }

    /// The log.
    pub fn log(&self) -> &LogOrigin {
        &self.log
    }

    /// How many deeds the log has, which is the next deed's place.
    pub fn size(&self) -> u64 {
        self.frontier.size()
    }

    /// The digest that the next deed names as `prev`.
    pub fn last(&self) -> &Digest {
        &self.last
    }

    /// The time of the last deed; the next one is not earlier.
    pub fn issued_at(&self) -> Timestamp {
        self.issued_at
    }

    /// The frontier of the tree.
    pub fn frontier(&self) -> &Frontier {
        &self.frontier
    }

    /// The root of the tree.
    pub fn root(&self) -> Digest {
        self.frontier.root()
    }

    /// The head after one more deed, and the nodes that a store must keep.
    pub fn advance(&self, deed: Digest, issued_at: Timestamp) -> (Self, Vec<Node>) {
        let mut next = self.clone();
        let nodes = next.frontier.push(tree::leaf_hash(deed.as_bytes()));
        next.last = deed;
        next.issued_at = issued_at;
        (next, nodes)
    }
}

/// The digest that the first deed of a log names as `prev`.
pub fn genesis_digest(log: &LogOrigin) -> Digest {
    crypto::sha256(format!("service.deed.genesis.v1\n{log}\n"))
}
