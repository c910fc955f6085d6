//! What turns are taken with: the store, the sealer, clock and randomness, compiled policies, and
//! where it is told what was done. It takes no turn.

use std::{fmt, sync::Arc};

use futures_util::future::BoxFuture;
use model::{Clock, Entropy, OrgId, Timestamp};

use crate::{
    data::Base,
    figures::Figures,
    notice::Notices,
    policies::Policies,
    seen::Marks,
    snapshot::Snapshot,
    store::{LedgerStore, StoreDown},
};

/// Starts tasks that nobody waits for.
pub trait Spawn: Send + Sync {
    /// Runs the task to its end.
    fn spawn(&self, task: BoxFuture<'static, ()>);

    /// Does work that never waits and may take milliseconds, where it keeps no task from going on;
    /// at once where there is no such place.
    fn compute(&self, work: Box<dyn FnOnce() + Send>) {
        work();
    }
}

/// What a ledger is made of.
pub struct Parts {
    /// Where turns are kept.
    pub store: Arc<dyn LedgerStore>,
    /// Signs deeds.
    pub sealer: Arc<deed::Sealer>,
    /// This process's clock; only differences of it count, the store's own time is the truth.
    pub clock: Arc<dyn Clock>,
    /// Randomness for ids and salts.
    pub entropy: Arc<dyn Entropy>,
    /// Starts the tasks that take turns.
    pub spawn: Arc<dyn Spawn>,
    /// The host that names logs, as in `<host>/logs/<log id>`.
    pub log_host: String,
}

impl fmt::Debug for Parts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parts").field("log_host", &self.log_host).finish_non_exhaustive()
    }
}

/// What every turn of a ledger is taken with.
pub(crate) struct Means {
    pub(crate) parts: Parts,
    pub(crate) policies: Policies,
    pub(crate) notices: Notices,
    pub(crate) figures: Figures,
    pub(crate) marks: Marks,
}

impl Means {
    pub(crate) fn new(parts: Parts) -> prometheus::Result<Self> {
        let (policies, notices) = (Policies::default(), Notices::new());
        let (figures, marks) = (Figures::new()?, Marks::default());
        Ok(Self { parts, policies, notices, figures, marks })
    }

    /// What every turn of the org needs to know, read just now.
    pub(crate) async fn look(&self, org: OrgId) -> Result<Snapshot, StoreDown> {
        let read = self.parts.store.base(org).await?;
        self.snapshot(org, read).await
    }

    /// The snapshot of an org whose base is this, with the policies that are active.
    pub(crate) async fn snapshot(
        &self,
        org: OrgId,
        (base, now): (Option<Base>, Timestamp),
    ) -> Result<Snapshot, StoreDown> {
        let store = self.parts.store.as_ref();
        let active = base.as_ref().map(|base| base.active.clone()).unwrap_or_default();
        let policies = self.policies.load(store, org, &active).await?;
        Ok(Snapshot::new(org, now, base, policies))
    }
}
