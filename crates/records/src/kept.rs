//! Whether what is kept beside the deeds fits them: the size of the head, and the checkpoints. The
//! deeds themselves are judged in `walk`.

use std::time::Duration;

use deed::{Checkpoint, Purpose, note::NoteKey};
use ledger::StoreDown;

use crate::{
    check::Walk,
    proof::{ProofError, roots},
    store::{DeedRow, Misfit, SignedCheckpoint, Stray},
    walk::{Fault, Problem, fault},
};

/// How far the clock of a store may have been set back before a checkpoint is one of the future.
const CLOCK_SET_BACK: Duration = Duration::from_mins(1);

/// What is wrong where something does not fit the size of its log.
pub(crate) fn misfit(Misfit { what, place, last, at: _ }: &Misfit) -> Fault {
    let (problem, expected, found) = match what {
        Stray::Head => (Problem::Tree, "the head of the log", "none"),
        Stray::Frontier => (Problem::Tree, "the frontier of its size", "another"),
        Stray::Deed => (Problem::Tree, "no deed behind the last one", "a deed"),
        Stray::Node => (Problem::Tree, "no node behind the last one", "a node"),
        Stray::Checkpoint => {
            (Problem::CheckpointMismatch, "no checkpoint of a larger log", "a checkpoint")
        }
    };
    fault(*last, problem, expected, format!("{found} at {place}"))
}

impl Walk<'_> {
    /// What is wrong with the checkpoints that are kept of the sizes behind `first`, up to
    /// `end`, in one tile; these are the rows of it, or some of them.
    pub(crate) async fn kept(
        &self,
        (first, end): (u64, u64),
        rows: &[DeedRow],
    ) -> Result<Option<Fault>, StoreDown> {
        let from = if first == 0 { 0 } else { first + 1 };
        let kept = self.store.checkpoints(self.log(), from..end + 1).await?;
        if kept.is_empty() {
            return Ok(None);
        }
        let roots = match roots(self.store, self.log(), (first, end)).await {
            Ok(roots) => roots,
            Err(ProofError::Down(down)) => return Err(down),
            Err(ProofError::NoSuch | ProofError::Missing) => {
                return Ok(Some(fault(first, Problem::Tree, "every stored hash", "a gap")));
            }
        };
        Ok(kept.iter().find_map(|kept| {
            let root = roots.iter().find(|(size, _)| *size == kept.size);
            let last = rows.iter().find(|row| row.seq + 1 == kept.size);
            let is_early = last.is_some_and(|last| kept.signed_at < last.issued_at);
            let newest = last.map_or(self.head.now, |last| last.issued_at.max(self.head.now));
            let is_late = kept.signed_at > newest + CLOCK_SET_BACK;
            let signed = self.signed(kept);
            let holds = !is_early
                && !is_late
                && root.is_some_and(|(_, root)| *root == kept.root)
                && signed.as_ref().is_some_and(|signed| {
                    (signed.tree.size, signed.tree.root) == (kept.size, kept.root)
                });
            (!holds).then(|| {
                let found = signed.map_or("no signed note", |_| "another size, root or time");
                let place = kept.size.saturating_sub(1);
                fault(place, Problem::CheckpointMismatch, "a checkpoint of the log", found)
            })
        }))
    }

    /// What the kept note says, if a checkpoint key of this log signed it. That the key was
    /// revoked since does not make the row another one than was written.
    fn signed(&self, kept: &SignedCheckpoint) -> Option<Checkpoint> {
        let log = self.head.chain.log();
        let keys = self.keys.keys().iter().filter(|key| key.purpose == Purpose::Checkpoint);
        let keys: Vec<_> =
            keys.filter_map(|key| NoteKey::new(log.as_str(), key.public).ok()).collect();
        Checkpoint::open(&kept.note, &keys).ok().filter(|signed| signed.log == *log)
    }
}
