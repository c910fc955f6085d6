//! The built connectors of every org, kept until their config or credential changes.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use model::{ConnectorId, OrgId};
use tokio::sync::OnceCell;

use crate::{Blueprint, BuildError, Connector, Deps, build};

/// Builds each connector once per revision.
#[derive(Debug)]
pub struct Registry {
    deps: Deps,
    built: Mutex<HashMap<(OrgId, ConnectorId), Slot>>,
}

#[derive(Debug, Clone)]
struct Slot {
    revision: u64,
    // Callers of one revision wait for one build; a failed build leaves the cell empty, and the
    // next caller tries again.
    connector: Arc<OnceCell<Arc<dyn Connector>>>,
}

impl Registry {
    /// A registry without connectors.
    pub fn new(deps: Deps) -> Self {
        Self { deps, built: Mutex::new(HashMap::new()) }
    }

    /// The connector of this revision, building it if nobody has.
    pub async fn get_or_build(
        &self,
        blueprint: &Blueprint,
    ) -> Result<Arc<dyn Connector>, BuildError> {
        let slot = self.slot(blueprint);
        slot.connector.get_or_try_init(|| build(blueprint, &self.deps)).await.cloned()
    }

    /// Forgets a connector, whose connections close when its last call ends.
    pub fn forget(&self, org: OrgId, connector: ConnectorId) {
        self.lock().remove(&(org, connector));
    }

    /// The place of this revision. A caller that still holds an older revision than the
    /// kept one gets a place of its own, which nobody keeps.
    fn slot(&self, blueprint: &Blueprint) -> Slot {
        let fresh = Slot { revision: blueprint.revision, connector: Arc::default() };
        let mut built = self.lock();
        let kept = built.entry((blueprint.org, blueprint.id)).or_insert_with(|| fresh.clone());
        if kept.revision < fresh.revision {
            *kept = fresh.clone();
        }
        if kept.revision == fresh.revision { kept.clone() } else { fresh }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<(OrgId, ConnectorId), Slot>> {
        // The map is whole between any two statements, so a panic elsewhere harms nothing here.
        self.built.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
