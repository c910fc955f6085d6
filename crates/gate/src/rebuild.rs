//! Budget counters made anew from what each action was charged.
//!
//! Counters and charges are written by the same turns, so they agree; a counter that does not is
//! the trace of a fault, is told in the log, and is set right.

use ledger::{Changes, Entry, LedgerError, Needs, Request, Snapshot};
use model::{Mint, OrgId};

use crate::{gate::Gate, recover::SweepError, store::Drift};

/// How often an org that moves meanwhile is looked at before it is left to the next time.
const TRIES: usize = 8;

impl Gate {
    /// Compares every counter of a window that still runs with the charges of the org's actions,
    /// sets right those that differ, and returns how many did.
    pub async fn rebuild_budgets(&self, org: OrgId) -> Result<usize, SweepError> {
        for _ in 0..TRIES {
            let drift = self.parts.store.drift(org).await?;
            if drift.counters.is_empty() {
                return Ok(0);
            }
            let count = drift.counters.len();
            if self.parts.ledger.enter(org, SetRight(drift)).await? {
                tracing::error!(%org, count, "budget counters were wrong and are set right");
                return Ok(count);
            }
        }
        Err(LedgerError::Unavailable.into())
    }
}

/// Sets counters to what they were found to be, if the org has not moved since.
struct SetRight(Drift);

impl Request for SetRight {
    /// Whether it was done.
    type Answer = bool;

    fn needs(&self, _: &Snapshot) -> Needs {
        Needs::default()
    }

    fn decide(&self, snapshot: &Snapshot, _: &Mint<'_>) -> (Entry, bool) {
        let Drift { version, counters } = &self.0;
        if snapshot.base().is_none_or(|base| base.head.version != *version) {
            return (Entry::nothing(), false);
        }
        let changes = Changes { budgets: counters.clone(), ..Changes::default() };
        (Entry { changes, ..Entry::default() }, true)
    }
}
