//! Compares two histories of one log: shows that one grew from the other, or that the log forked.
//!
//! Two valid deeds at one place of one log are proof against the holder of the key, whoever
//! brings them.

use std::collections::BTreeMap;

use model::Digest;
use serde::Serialize;

use super::{DeedSummary, Report, Trust, Verdict, verify};
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

/// Compares two inputs of the verifier; the report of the one that is not valid is the error.
pub fn compare(left: &[u8], right: &[u8], trust: &Trust) -> Result<Comparison, Box<Report>> {
    let (left, right) = (valid(left, trust)?, valid(right, trust)?);
    let by_place: BTreeMap<_, _> =
        left.iter().map(|deed| ((deed.log.as_str(), deed.seq), deed.digest)).collect();
    let mut shared = 0;
    for deed in &right {
        let Some(other) = by_place.get(&(deed.log.as_str(), deed.seq)) else { continue };
        if *other != deed.digest {
            return Ok(Comparison::Forked { seq: deed.seq, left: *other, right: deed.digest });
        }
        shared += 1;
    }
    Ok(if shared == 0 { Comparison::Apart } else { Comparison::Agree { shared } })
}

fn valid(input: &[u8], trust: &Trust) -> Result<Vec<DeedSummary>, Box<Report>> {
    let report = verify(input, trust);
    match report.verdict {
        Verdict::Valid => Ok(report.deeds),
        Verdict::Invalid | Verdict::Undecidable | Verdict::Malformed => Err(Box::new(report)),
    }
}

impl Checkpoint {
    /// Returns whether both vouch for one size of one log with different roots: the log forked.
    pub fn contradicts(&self, other: &Self) -> bool {
        self.log == other.log
            && self.tree.size == other.tree.size
            && self.tree.root != other.tree.root
    }

    /// Returns whether the proof shows that this log grew from the older checkpoint's.
    pub fn grew_from(&self, older: &Self, proof: &[Digest]) -> bool {
        self.log == older.log && verify_consistency(&older.tree, &self.tree, proof)
    }
}
