//! The built connectors of every org, kept until their config or credential changes.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use model::{ConnectorId, ConnectorName, ExecutionErrorCode, Fault, OrgId};
use tokio::{
    sync::OnceCell,
    time::{Instant, timeout},
};

use crate::{Blueprint, BuildError, Connector, Deps, build, connector::stand_in};

/// For how long a connector that could not be built is not tried again.
const FAILED_FOR: Duration = Duration::from_secs(3);

/// How long a build may take; whoever calls a tool waits for it, and not for much longer than this.
const BUILT_WITHIN: Duration = Duration::from_secs(4);

/// What there is in place of a connector that could not be built.
type Instead = Result<Arc<dyn Connector>, BuildError>;

/// How a connector was when it was last tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// Nobody has tried it since it was made or changed.
    Untried,
    /// It was built, and its system answered if it was asked.
    Reached,
    /// What calls of its tools come to.
    Lost(Fault),
}

/// A connector that somebody uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InUse {
    /// The org.
    pub org: OrgId,
    /// The connector.
    pub id: ConnectorId,
    /// Its name.
    pub name: ConnectorName,
    /// The revision that was tried.
    pub revision: u64,
    /// How it was when it was last tried.
    pub standing: Standing,
}

/// A connector at one of its revisions, by which a registry keeps it.
#[derive(Debug, Clone, Copy)]
pub struct Revision<'a> {
    /// The org.
    pub org: OrgId,
    /// The connector.
    pub id: ConnectorId,
    /// Its name.
    pub name: &'a ConnectorName,
    /// A number that grows with every change of config or credential.
    pub revision: u64,
}

/// Builds each connector once per revision.
#[derive(Debug)]
pub struct Registry {
    deps: Deps,
    built: Mutex<HashMap<(OrgId, ConnectorId), Kept>>,
}

#[derive(Debug)]
struct Kept {
    name: ConnectorName,
    slot: Slot,
    used: Instant,
}

#[derive(Debug, Clone)]
struct Slot {
    revision: u64,
    // Callers of one revision wait for one build. A failed one leaves the cell empty and is
    // remembered, so that those who waited hear of it and do not try one after the other.
    connector: Arc<OnceCell<Arc<dyn Connector>>>,
    failed: Arc<Mutex<Option<(Instant, Instead)>>>,
}

impl Slot {
    fn new(revision: u64) -> Self {
        Self { revision, connector: Arc::default(), failed: Arc::default() }
    }

    async fn build(
        &self,
        blueprint: impl FnOnce() -> Blueprint,
        deps: &Deps,
    ) -> Result<Arc<dyn Connector>, Instead> {
        if let Some((at, instead)) = &*self.failed()
            && at.elapsed() < FAILED_FOR
        {
            return Err(instead.clone());
        }
        let blueprint = &blueprint();
        let built = timeout(BUILT_WITHIN, build(blueprint, deps)).await;
        built.unwrap_or_else(|_| Err(late())).map_err(|error| {
            tracing::warn!(connector = %blueprint.id, %error, "a connector cannot be built now");
            let instead = stand_in(blueprint, &error).ok_or(error);
            *self.failed() = Some((Instant::now(), instead.clone()));
            instead
        })
    }

    fn standing(&self) -> Standing {
        let of = |connector: &Arc<dyn Connector>| {
            connector.last_connect_error().map_or(Standing::Reached, Standing::Lost)
        };
        match (self.connector.get(), &*self.failed()) {
            (Some(built), _) => of(built),
            (None, Some((_, Ok(stand_in)))) => of(stand_in),
            (None, Some((_, Err(error)))) => Standing::Lost(error.fault()),
            (None, None) => Standing::Untried,
        }
    }

    fn failed(&self) -> MutexGuard<'_, Option<(Instant, Instead)>> {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn late() -> BuildError {
    let message = "the governed system did not respond in time";
    BuildError::Connect(Fault::new(ExecutionErrorCode::ConnectorUnreachable, message))
}

impl Registry {
    /// A registry without connectors.
    pub fn new(deps: Deps) -> Self {
        Self { deps, built: Mutex::new(HashMap::new()) }
    }

    /// The connector of this revision, building it if nobody has. In place of one that could not be
    /// built there are its declared tools, which come to what stood in the way, for a moment without
    /// another try; one that declares none that hold together fails.
    ///
    /// The blueprint has the connector's secrets in plain text, so it is made for a build and dropped
    /// behind it.
    pub async fn get_or_build(
        &self,
        wanted: Revision<'_>,
        blueprint: impl FnOnce() -> Blueprint,
    ) -> Result<Arc<dyn Connector>, BuildError> {
        let slot = self.slot(wanted);
        match slot.connector.get_or_try_init(|| slot.build(blueprint, &self.deps)).await {
            Ok(connector) => Ok(Arc::clone(connector)),
            Err(instead) => instead,
        }
    }

    /// Those of the connectors that are kept which are wanted.
    pub fn in_use(&self, wanted: impl Fn(OrgId, ConnectorId, &Standing) -> bool) -> Vec<InUse> {
        let seen = |(&(org, id), Kept { name, slot, .. }): (&(OrgId, ConnectorId), &Kept)| {
            let standing = slot.standing();
            let (name, revision) = (name.clone(), slot.revision);
            wanted(org, id, &standing).then_some(InUse { org, id, name, revision, standing })
        };
        self.lock().iter().filter_map(seen).collect()
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
    fn slot(&self, wanted: Revision<'_>) -> Slot {
        let Revision { org, id, name, revision } = wanted;
        let fresh = Slot::new(revision);
        let mut built = self.lock();
        let used = Instant::now();
        let kept = built
            .entry((org, id))
            .and_modify(|kept| kept.used = used)
            .or_insert_with(|| Kept { name: name.clone(), slot: fresh.clone(), used });
        if kept.slot.revision < fresh.revision {
            (kept.slot, kept.name) = (fresh.clone(), name.clone());
        }
        if kept.slot.revision == fresh.revision { kept.slot.clone() } else { fresh }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<(OrgId, ConnectorId), Kept>> {
        // The map is whole between any two statements, so a panic elsewhere harms nothing here.
        self.built.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
