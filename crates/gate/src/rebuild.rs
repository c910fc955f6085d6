//! Budget counters held against what each action was charged.
//!
//! Counters and charges are written by the same turns, so they agree, and how far one is from the
//! other is the same before and after any turn. That difference is the trace of a fault: it is told
//! in the log and taken out of the counter, whatever was charged meanwhile.

use std::time::Duration;

use ledger::{Changes, Entry, LedgerError, Needs, Request, Snapshot, record::BudgetUse};
use model::{Mint, OrgId};
use policy::Decimal;

use crate::{gate::Gate, recover::SweepError, store::Miscount};

/// How often counters are looked at again after they were set right.
const LOOKS: usize = 8;

impl Gate {
    /// Compares every counter of a window that still runs with the charges of the org's actions,
    /// sets right those that differ, and returns how many did.
    pub async fn rebuild_budgets(&self, org: OrgId) -> Result<usize, SweepError> {
        let mut most = 0;
        for _ in 0..LOOKS {
            let wrong = self.parts.store.drift(org).await?;
            let count = wrong.len();
            if count == 0 {
                return Ok(most);
            }
            most = most.max(count);
            self.parts.ledger.enter(org, SetRight(wrong)).await?;
            tracing::error!(%org, count, "budget counters were wrong and have been corrected");
            // Two instances that find the same difference at once take it out twice. Both look
            // again, and not at the same time.
            self.parts.pause.pause(self.own_pause()).await;
        }
        Err(LedgerError::Unavailable.into())
    }

    /// A time that is hardly the same for any two instances.
    fn own_pause(&self) -> Duration {
        let name = self.parts.instance.bytes();
        let number = name.fold(7_u64, |sum, byte| (sum * 31 + u64::from(byte)) % 251);
        Duration::from_millis(number)
    }
}

/// Takes the differences out of counters.
struct SetRight(Vec<Miscount>);

impl Request for SetRight {
    type Answer = ();

    fn needs(&self, _: &Snapshot) -> Needs {
        let key = |wrong: &Miscount| (wrong.counter.key.clone(), wrong.counter.window_start);
        Needs { budgets: self.0.iter().map(key).collect(), ..Needs::default() }
    }

    fn decide(&self, snapshot: &Snapshot, _: &Mint<'_>) -> (Entry, ()) {
        let running = self.0.iter().filter(|wrong| snapshot.now() < wrong.counter.window_end);
        let budgets = running.filter_map(|wrong| set_right(wrong, snapshot)).collect();
        let changes = Changes { budgets, ..Changes::default() };
        (Entry { changes, ..Entry::default() }, ())
    }
}

fn set_right(wrong: &Miscount, snapshot: &Snapshot) -> Option<BudgetUse> {
    let Miscount { counter, charged } = wrong;
    let used = snapshot.used(&counter.key, counter.window_start);
    // What this instance remembers may be right where the row is not.
    let right = if used == *charged {
        used
    } else {
        used.checked_add(*charged)?.checked_sub(counter.used)?
    };
    let used = if right.is_negative() { Decimal::ZERO } else { right };
    Some(BudgetUse { used, ..counter.clone() })
}
