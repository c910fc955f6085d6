//! Compares two histories of one log: shows that one grew from the other, or that the log forked.
//!
//! Two valid deeds at one place of one log are proof against the holder of the key, whoever
//! brings them.

use std::collections::BTreeMap;

use model::Digest;
use serde::Serialize;

use super::findings::Verified;
use crate::{checkpoint::Checkpoint, tree::verify_consistency};

/// How two histories stand to each other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "comparison", rename_all = "snake_case")]
pub enum Comparison {
    /// They agree at every place that both have.
    Agree {
        /// How many places both have.
        shared: usize,
    },
    /// They have different deeds at one place: the log forked.
    Forked {
        /// The first such place.
        seq: u64,
        /// The deed of the left history.
        left: Digest,
        /// The deed of the right history.
        right: Digest,
    },
    /// They share no place, or are of different logs, so nothing follows.
    Apart,
}

/// Compares two histories, each of which is valid.
///
/// ```
#[doc = include_str!("../doc/shop.md")]
/// let mut other = log.clone();
/// let left = verify(&lines(&[sealer.seal(&mut log, stopped(), org, at)?]), &trust)?;
/// let right = verify(&lines(&[sealer.seal(&mut other, stopped(), org, at)?]), &trust)?;
/// // Two deeds at one place of one log: whoever holds the key told two stories.
/// assert!(matches!(compare(&left, &right), Comparison::Forked { seq: 0, .. }));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn compare(left: &Verified, right: &Verified) -> Comparison {
    let by_place: BTreeMap<_, _> =
        left.deeds().iter().map(|deed| ((deed.log.as_str(), deed.seq), deed.digest)).collect();
    let mut shared = 0;
    for deed in right.deeds() {
        let Some(other) = by_place.get(&(deed.log.as_str(), deed.seq)) else { continue };
        if *other != deed.digest {
            return Comparison::Forked { seq: deed.seq, left: *other, right: deed.digest };
        }
        shared += 1;
    }
    if shared == 0 { Comparison::Apart } else { Comparison::Agree { shared } }
}

impl Checkpoint {
    /// Whether both vouch for one size of one log with different roots: the log forked.
    pub fn contradicts(&self, other: &Self) -> bool {
        self.log == other.log
            && self.tree.size == other.tree.size
            && self.tree.root != other.tree.root
    }

    /// Whether the proof shows that this log grew from the older checkpoint's.
    pub fn grew_from(&self, older: &Self, proof: &[Digest]) -> bool {
        self.log == older.log && verify_consistency(&older.tree, &self.tree, proof)
    }
}
