//! Whether a log is what a checkpoint from before vouched for, with more deeds at most.

use deed::{Checkpoint, LogOrigin, tree::TreeHead};
use ledger::StoreDown;
use model::OrgId;

use crate::{
    proof::{ProofError, consistency},
    store::{LogHead, LogStore, OrgLog},
};

/// In what way a log is not the one that was signed for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LogError {
    /// The store has no such log.
    #[error("the database does not have the log `{log}`, which was signed for")]
    Gone {
        /// The log.
        log: LogOrigin,
    },
    /// The log is shorter than it was.
    #[error("the log `{log}` has {size} deeds, and {signed} were signed for")]
    Shorter {
        /// The log.
        log: LogOrigin,
        /// How many deeds it has.
        size: u64,
        /// How many it had.
        signed: u64,
    },
    /// The log has other deeds.
    #[error("the log `{log}` has other deeds than the {signed} that were signed for")]
    Differs {
        /// The log.
        log: LogOrigin,
        /// How many deeds were signed for.
        signed: u64,
    },
    /// Another log took its place without a word.
    #[error("the log `{log}` was replaced by another, and no sealed deed explains it")]
    Untold {
        /// The log.
        log: LogOrigin,
    },
}

/// Returns in what way the org's log does not hold what the checkpoint vouches for; nothing when
/// it does.
///
/// The log's own root is the one of its head, and the proof is made of the stored hashes: a store
/// in which they do not fit each other holds nothing.
pub async fn compare(
    store: &dyn LogStore,
    org: OrgId,
    head: &LogHead,
    checkpoint: &Checkpoint,
) -> Result<Option<LogError>, StoreDown> {
    let Checkpoint { log, tree: signed } = checkpoint;
    let now = TreeHead { size: head.chain.size(), root: head.chain.root() };
    let log_of = OrgLog { org, no: head.no };
    if head.chain.log() != log {
        return Ok(Some(LogError::Gone { log: log.clone() }));
    }
    if now.size < signed.size {
        let (log, size, signed) = (log.clone(), now.size, signed.size);
        return Ok(Some(LogError::Shorter { log, size, signed }));
    }
    // Every log begins with the one that has no deeds.
    if signed.size == 0 {
        return Ok(None);
    }
    let path = match consistency(store, log_of, (signed.size, now.size)).await {
        Ok(path) => Some(path),
        Err(ProofError::Down(down)) => return Err(down),
        Err(ProofError::NoSuch | ProofError::Missing) => None,
    };
    let holds = path.is_some_and(|path| deed::tree::verify_consistency(signed, &now, &path));
    Ok((!holds).then(|| LogError::Differs { log: log.clone(), signed: signed.size }))
}
