//! The leases of the actions that this instance runs now.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use ledger::record::Action;
use model::ActionId;

use crate::store::HeldLease;

type ByAction = HashMap<ActionId, HeldLease>;

/// The leases that this instance renews.
#[derive(Clone, Default)]
pub(crate) struct Leases(Arc<Mutex<ByAction>>);

/// A lease that is renewed until this is dropped, however its task ends: one whose run nobody
/// carries out any more must run out.
pub(crate) struct Held {
    all: Leases,
    lease: Option<HeldLease>,
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut all = self.all.lock();
        // This instance may have taken the action over anew meanwhile, under another token.
        if let Some(lease) = &self.lease
            && all.get(&lease.action) == Some(lease)
        {
            all.remove(&lease.action);
        }
    }
}

impl Leases {
    /// Renews the action's lease as long as the task keeps what this returns.
    pub(crate) fn hold(&self, action: &Action) -> Held {
        let lease = action.lease.clone();
        let lease = lease.map(|lease| HeldLease { org: action.org, action: action.id, lease });
        if let Some(lease) = &lease {
            self.lock().insert(lease.action, lease.clone());
        }
        Held { all: self.clone(), lease }
    }

    /// Every lease.
    pub(crate) fn all(&self) -> Vec<HeldLease> {
        self.lock().values().cloned().collect()
    }

    /// Renews none of these any more; returns the actions of those that were renewed until now.
    pub(crate) fn forget(&self, lost: &[HeldLease]) -> Vec<ActionId> {
        let mut all = self.lock();
        // What this instance itself took over anew meanwhile, it holds under another token.
        let lost = lost.iter().filter(|lost| all.get(&lost.action) == Some(lost));
        let lost: Vec<_> = lost.map(|lease| lease.action).collect();
        for action in &lost {
            all.remove(action);
        }
        lost
    }

    /// Renews none any more; returns those that were renewed until now.
    pub(crate) fn forget_all(&self) -> Vec<HeldLease> {
        self.lock().drain().map(|(_, lease)| lease).collect()
    }

    fn lock(&self) -> MutexGuard<'_, ByAction> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use ledger::record::Lease;
    use model::{OrgId, Uuid};

    use super::*;

    #[test]
    fn whoever_held_an_action_before_lets_go_of_its_own_lease_alone() {
        let all = Leases::default();
        let hold = |token| {
            let lease = Lease { holder: "one".to_owned(), token };
            let (org, action) =
                (OrgId::from_uuid(Uuid::from_u128(1)), ActionId::from_uuid(Uuid::from_u128(2)));
            let lease = HeldLease { org, action, lease };
            all.lock().insert(action, lease.clone());
            Held { all: all.clone(), lease: Some(lease) }
        };
        let (first, second) = (hold(1), hold(2));
        drop(first);
        assert_eq!(all.lock().len(), 1, "the second one's is renewed on");
        drop(second);
        assert!(all.lock().is_empty());
    }
}
