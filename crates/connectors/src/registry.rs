//! The built connectors of every org, kept until their config or credential changes.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use model::{ConnectorId, OrgId};
use tokio::{sync::OnceCell, time::Instant};

use crate::{Blueprint, BuildError, Connector, Deps, build};

/// For how long a connector that could not be built is not tried again.
const FAILED_FOR: Duration = Duration::from_secs(3);

/// Builds each connector once per revision.
#[derive(Debug)]
pub struct Registry {
    deps: Deps,
    built: Mutex<HashMap<(OrgId, ConnectorId), Kept>>,
}

#[derive(Debug)]
struct Kept {
    slot: Slot,
    used: Instant,
}

#[derive(Debug, Clone)]
struct Slot {
    revision: u64,
    // Callers of one revision wait for one build. A failed one leaves the cell empty and is
    // remembered, so that those who waited hear of it and do not try one after the other.
    connector: Arc<OnceCell<Arc<dyn Connector>>>,
    failed: Arc<Mutex<Option<(Instant, BuildError)>>>,
}

impl Slot {
    fn new(revision: u64) -> Self {
        Self { revision, connector: Arc::default(), failed: Arc::default() }
    }

    async fn build(
        &self,
        blueprint: &Blueprint,
        deps: &Deps,
    ) -> Result<Arc<dyn Connector>, BuildError> {
        if let Some((at, error)) = &*self.failed()
            && at.elapsed() < FAILED_FOR
        {
            return Err(error.clone());
        }
        let built = build(blueprint, deps).await;
        if let Err(error) = &built {
            *self.failed() = Some((Instant::now(), error.clone()));
        }
        built
    }

    fn failed(&self) -> MutexGuard<'_, Option<(Instant, BuildError)>> {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Registry {
    /// A registry without connectors.
    pub fn new(deps: Deps) -> Self {
        Self { deps, built: Mutex::new(HashMap::new()) }
    }

    /// The connector of this revision, building it if nobody has. One that could not be built a
    /// moment ago fails at once.
    pub async fn get_or_build(
        &self,
        blueprint: &Blueprint,
    ) -> Result<Arc<dyn Connector>, BuildError> {
        let slot = self.slot(blueprint);
        slot.connector.get_or_try_init(|| slot.build(blueprint, &self.deps)).await.cloned()
    }

    /// How many of the connectors that are kept could not be built, or could not be reached, when
    /// they were last tried.
    pub fn out_of_reach(&self) -> usize {
        let is_lost = |kept: &&Kept| match kept.slot.connector.get() {
            Some(connector) => connector.unreached().is_some(),
            None => kept.slot.failed().is_some(),
        };
        self.lock().values().filter(is_lost).count()
    }

    /// Forgets the connectors that nobody has asked for in this time, and says how many. The
    /// connections of one close when its last call ends.
    pub fn let_go(&self, idle: Duration) -> usize {
        let mut built = self.lock();
        let before = built.len();
        built.retain(|_, kept| kept.used.elapsed() < idle);
        built.shrink_to_fit();
        before - built.len()
    }

    /// The place of this revision. A caller that still holds an older revision than the
    /// kept one gets a place of its own, which nobody keeps.
    fn slot(&self, blueprint: &Blueprint) -> Slot {
        let fresh = Slot::new(blueprint.revision);
        let mut built = self.lock();
        let used = Instant::now();
        let kept = built
            .entry((blueprint.org, blueprint.id))
            .and_modify(|kept| kept.used = used)
            .or_insert_with(|| Kept { slot: fresh.clone(), used });
        if kept.slot.revision < fresh.revision {
            kept.slot = fresh.clone();
        }
        if kept.slot.revision == fresh.revision { kept.slot.clone() } else { fresh }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<(OrgId, ConnectorId), Kept>> {
        // The map is whole between any two statements, so a panic elsewhere harms nothing here.
        self.built.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
