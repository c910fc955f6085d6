//! What a Gate is made of, and what it reads beside its turns.

use std::{
    fmt,
    sync::{Arc, Mutex},
    time::Duration,
};

use ledger::{
    Ledger, Spawn, StoreDown,
    record::{Action, UsedIntent},
};
use model::{ActionId, Clock, OrgId};
use tokio::sync::Semaphore;

use crate::{
    backoff::AskedConnectors,
    leases::Leases,
    limits::Limits,
    ports::{AddressBook, ChangeLog, Pause, Toolbox},
    store::{ActionDetail, ActionPlace, ActionStore, DuePlace, Filter, IntentFilter, Page},
    vouch::KnownKeys,
};

/// What a Gate is made of.
pub struct Parts {
    /// Decides and records.
    pub ledger: Ledger,
    /// Reads what was recorded.
    pub store: Arc<dyn ActionStore>,
    /// Knows the addresses of people.
    pub people: Arc<dyn AddressBook>,
    /// Finds tools.
    pub toolbox: Arc<dyn Toolbox>,
    /// Tells what the change logs of governed databases have.
    pub log: Arc<dyn ChangeLog>,
    /// Starts what outlives its request.
    pub spawn: Arc<dyn Spawn>,
    /// Waits before something is tried again.
    pub pause: Arc<dyn Pause>,
    /// Times runs; only differences count.
    pub clock: Arc<dyn Clock>,
    /// The name of this instance, for leases.
    pub instance: String,
    /// The base URL that signed intents must be for.
    pub audience: Arc<str>,
    /// The bounds that settings give.
    pub limits: Limits,
}

/// Decides actions and carries them out.
#[derive(Clone)]
pub struct Gate {
    pub(crate) parts: Arc<Parts>,
    pub(crate) leases: Leases,
    pub(crate) asked: Arc<AskedConnectors>,
    pub(crate) readers: Arc<Semaphore>,
    // Where the sweep for late evidence goes on.
    pub(crate) late_after: Arc<Mutex<Option<DuePlace>>>,
    pub(crate) known_keys: Arc<KnownKeys>,
}

impl fmt::Debug for Parts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parts").field("instance", &self.instance).finish_non_exhaustive()
    }
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gate").field("parts", &self.parts).finish_non_exhaustive()
    }
}

impl Gate {
    /// A Gate of these parts.
    pub fn new(parts: Parts) -> Self {
        Self {
            readers: Arc::new(Semaphore::new(parts.limits.readers)),
            parts: Arc::new(parts),
            leases: Leases::default(),
            asked: Arc::default(),
            late_after: Arc::default(),
            known_keys: Arc::default(),
        }
    }

    /// The ledger that the Gate records in.
    pub fn ledger(&self) -> &Ledger {
        &self.parts.ledger
    }

    /// The bounds that the Gate keeps.
    pub fn limits(&self) -> &Limits {
        &self.parts.limits
    }

    /// An action of the org.
    pub async fn action(&self, org: OrgId, id: ActionId) -> Result<Option<Action>, StoreDown> {
        self.parts.store.action(org, id).await
    }

    /// An action of the org with everything that is shown of it.
    pub async fn detail(
        &self,
        org: OrgId,
        id: ActionId,
    ) -> Result<Option<ActionDetail>, StoreDown> {
        self.parts.store.detail(org, id).await
    }

    /// A page of the org's actions, newest first.
    pub async fn list(
        &self,
        org: OrgId,
        filter: &Filter,
        after: Option<ActionPlace>,
        limit: usize,
    ) -> Result<Page, StoreDown> {
        self.parts.store.list(org, filter, after, limit).await
    }

    /// Up to `limit` of the org's intents that were used behind this action's, the newest first.
    pub async fn used_intents(
        &self,
        org: OrgId,
        filter: &IntentFilter,
        after: Option<ActionId>,
        limit: usize,
    ) -> Result<Vec<UsedIntent>, StoreDown> {
        self.parts.store.used_intents(org, filter, after, limit).await
    }

    /// Moves the ends of the leases that this instance holds, and returns how many it lost: it
    /// lets go of them, and their runs will be refused when they come to seal.
    pub async fn renew_leases(&self) -> Result<usize, StoreDown> {
        let held = self.leases.all();
        if held.is_empty() {
            return Ok(0);
        }
        let lost = self.leases.forget(&self.parts.store.renew(&held).await?.lost);
        for action in &lost {
            tracing::warn!(%action, "a lease expired before it was renewed");
        }
        Ok(lost.len())
    }

    /// Ends the leases that this instance holds, so that others end its runs at once; returns how
    /// many there were. Only for an instance that will not go on.
    pub async fn hand_back_leases(&self) -> Result<usize, StoreDown> {
        let held = self.leases.forget_all();
        if !held.is_empty() {
            self.parts.store.hand_back(&held).await?;
        }
        Ok(held.len())
    }

    /// Forgets the tools that nobody has asked for in this time, and says of how many connectors.
    pub fn let_go_of_tools(&self, idle: Duration) -> usize {
        self.parts.toolbox.let_go(idle)
    }
}
