//! The store in memory behind what a test lets through.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use ledger::{AppendError, Base, LedgerStore, Loaded, Needs, StoreDown, Turn};
use model::{OrgId, PolicyVersionId, Timestamp};
use store_memory::MemoryStore;
use tokio::sync::Semaphore;

/// What is shown of an org, which may be that it is gone.
#[derive(Clone)]
pub(super) struct Shown(pub(super) Option<Base>);

/// A store of which a test chooses what it shows and when it appends.
pub(super) struct Fronted {
    pub(super) store: Arc<MemoryStore>,
    /// What every org looks like in place of what it is.
    pub(super) shows: Mutex<Option<Shown>>,
    /// Each append takes a permit.
    pub(super) open: Semaphore,
    /// How many deeds each append had.
    pub(super) deeds: Mutex<Vec<usize>>,
}

impl Fronted {
    /// The store as it is, for so many appends.
    pub(super) fn new(store: Arc<MemoryStore>, open: usize) -> Arc<Self> {
        let open = Semaphore::new(open);
        Arc::new(Self { store, shows: Mutex::default(), open, deeds: Mutex::default() })
    }
}

#[async_trait]
impl LedgerStore for Fronted {
    async fn base(&self, org: OrgId) -> Result<(Option<Base>, Timestamp), StoreDown> {
        let (base, now) = self.store.base(org).await?;
        let shown = self.shows.lock().unwrap().clone();
        Ok((shown.map_or(base, |Shown(base)| base), now))
    }

    async fn load(&self, org: OrgId, needs: &Needs) -> Result<Loaded, StoreDown> {
        self.store.load(org, needs).await
    }

    async fn policy_document(
        &self,
        org: OrgId,
        version: PolicyVersionId,
    ) -> Result<Option<String>, StoreDown> {
        self.store.policy_document(org, version).await
    }

    async fn append(&self, turn: &Turn) -> Result<Timestamp, AppendError> {
        self.open.acquire().await.unwrap().forget();
        self.deeds.lock().unwrap().push(turn.deeds.len());
        self.store.append(turn).await
    }

    async fn settle(&self, turn: &Turn) -> Result<bool, StoreDown> {
        self.store.settle(turn).await
    }
}
