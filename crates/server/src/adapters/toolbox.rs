//! The tools of every org: those of its connectors, and the service's own.
//!
//! An org's connectors are read again once they are [`READ_FOR`] old, so a change that another
//! process made shows that much later. Of a name that is not among them it is told which connector was
//! seen: the ledger's turn knows those of now, and has them read again where they are others. Whether
//! a connector is enabled does not rest on this either: the turn looks at that for every call.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use connectors::{
    BadSchema, Blueprint, BuiltinSource, Connector as Built, Deps, InUse, Registry, Revision,
    Standing,
};
use crypto::vault::Ring;
use gate::{Found, Served, Toolbox};
use ledger::{
    StoreDown,
    record::{Connector, ConnectorRef},
};
use model::{Clock, ConnectorId, Fault, OrgId, Timestamp, ToolName};
use tool::Tool;

use super::adjusted::adjusted;

/// How long a reading of an org's connectors is used.
pub(super) const READ_FOR: Duration = Duration::from_secs(1);

/// The first part of the names of the service's own tools, and the type that they show.
const OWN: &str = "service";

/// Finds tools for the Gate.
pub struct OrgTools {
    store: Arc<dyn admin::Store>,
    clock: Arc<dyn Clock>,
    vault: Arc<Ring>,
    registry: Registry,
    own: Vec<Arc<dyn Tool>>,
    read: Mutex<HashMap<OrgId, Reading>>,
    schemas: Mutex<HashMap<ConnectorId, ToolSchemas>>,
}

/// The schemas of the tools of a connector, which its row does not have yet.
#[derive(Debug)]
pub struct ToolSchemas {
    /// The org.
    pub org: OrgId,
    /// The connector, at this revision.
    pub connector: (ConnectorId, u32),
    /// The schemas to store.
    pub tools: admin::KnownTools,
}

/// An org's connectors as they were a moment ago.
#[derive(Clone)]
struct Reading {
    at: Timestamp,
    connectors: Arc<Vec<Connector>>,
}

/// What a connector is built from, its credential in plain text: it is made where a connector is built,
/// and is not kept.
pub(crate) fn blueprint(vault: &Ring, row: &Connector) -> Blueprint {
    let receiver = connectors::receiver(&row.kind, &row.config);
    let fields = admin::open_credential(vault, row, &receiver).unwrap_or_else(|error| {
        // Its tools are known all the same; nobody logs in to run them.
        tracing::error!(connector = %row.id, %error, "a credential could not be decrypted");
        admin::Credential::new()
    });
    Blueprint {
        org: row.org,
        id: row.id,
        name: row.name.clone(),
        kind: row.kind.clone(),
        revision: row.revision.into(),
        config: row.config.clone(),
        credential: connectors::Credential::new(fields)
            .of_kind(row.credential_set.as_ref().map(|set| set.kind.clone())),
        tools: row.tools.clone(),
    }
}

/// Whether what was read then is used still. A clock that was set back must not lengthen a memory.
fn is_fresh(at: Timestamp, now: Timestamp) -> bool {
    at <= now && now.since(at) < READ_FOR
}

impl fmt::Debug for OrgTools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OrgTools").field("registry", &self.registry).finish_non_exhaustive()
    }
}

impl OrgTools {
    /// The tools of the connectors in this store, and the service's own.
    pub fn new(
        store: Arc<dyn admin::Store>,
        clock: Arc<dyn Clock>,
        deps: Deps,
        records: Arc<dyn BuiltinSource>,
    ) -> Result<Self, BadSchema> {
        let (vault, own) = (Arc::clone(&deps.vault), connectors::builtin_tools(records)?);
        Ok(Self {
            store,
            clock,
            vault,
            registry: Registry::new(deps),
            own,
            read: Mutex::default(),
            schemas: Mutex::default(),
        })
    }

    /// The org's connectors, read again if the last reading is old.
    async fn connectors(&self, org: OrgId) -> Result<Arc<Vec<Connector>>, StoreDown> {
        let now = self.clock.now();
        if let Some(reading) = self.lock().get(&org).filter(|it| is_fresh(it.at, now)) {
            return Ok(Arc::clone(&reading.connectors));
        }
        self.read(org, now).await
    }

    async fn read(&self, org: OrgId, now: Timestamp) -> Result<Arc<Vec<Connector>>, StoreDown> {
        let rows = self.store.connectors(org).await?;
        let kept = rows.into_iter().filter(|row| row.archived_at.is_none()).collect();
        let reading = Reading { at: now, connectors: Arc::new(kept) };
        let mut readings = self.lock();
        // What is old is read again anyway, so orgs that are quiet leave nothing behind.
        readings.retain(|_, reading| is_fresh(reading.at, now));
        readings.insert(org, reading.clone());
        Ok(reading.connectors)
    }

    async fn built(&self, row: &Connector) -> Option<Arc<dyn Built>> {
        let Connector { org, id, name, revision, .. } = row;
        let wanted = Revision { org: *org, id: *id, name, revision: (*revision).into() };
        match self.registry.get_or_build(wanted, || blueprint(&self.vault, row)).await {
            Ok(connector) => {
                self.note_schemas(row, &*connector);
                Some(connector)
            }
            Err(error) => {
                tracing::warn!(connector = %row.id, %error, "a connector cannot be used now");
                None
            }
        }
    }

    /// Keeps the tool schemas of a connector whose row has none, since an older version created it.
    fn note_schemas(&self, row: &Connector, built: &dyn Built) {
        let tools = built.tool_schemas();
        if !row.tools.is_empty() || tools.is_empty() {
            return;
        }
        let connector = (row.id, row.revision);
        let schemas = ToolSchemas { org: row.org, connector, tools };
        let mut all = self.schemas.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(row.id, schemas);
    }

    /// The schemas that were read since the last call.
    pub fn take_schemas(&self) -> Vec<ToolSchemas> {
        let mut all = self.schemas.lock().unwrap_or_else(PoisonError::into_inner);
        all.drain().map(|(_, schemas)| schemas).collect()
    }

    /// Those of the connectors that were used of late which are wanted, each with how it was when it
    /// was last tried.
    pub fn in_use(&self, wanted: impl Fn(OrgId, ConnectorId, &Standing) -> bool) -> Vec<InUse> {
        self.registry.in_use(wanted)
    }

    /// The connectors that are out of reach, of one org or of all, and why.
    pub fn lost(&self, of: Option<OrgId>) -> Vec<(InUse, Fault)> {
        let is_lost = |org, _, standing: &Standing| {
            matches!(standing, Standing::Lost(_)) && of.is_none_or(|of| of == org)
        };
        let lost = self.in_use(is_lost).into_iter();
        lost.filter_map(|it| match &it.standing {
            Standing::Lost(fault) => Some((it.clone(), fault.clone())),
            Standing::Reached | Standing::Untried => None,
        })
        .collect()
    }

    /// The connector's tools; nothing when it cannot be used now, which the log tells.
    async fn served(&self, row: &Connector) -> Option<Vec<Served>> {
        let Connector { id, name, kind, test, settings, .. } = row;
        let connector = ConnectorRef { id: Some(*id), name: name.to_string(), kind: kind.clone() };
        let serve = |tool: Arc<dyn Tool>| {
            let said = settings.get(&tool.definition().name).copied().unwrap_or_default();
            let (connector, tool) = (connector.clone(), adjusted(tool, said));
            Served { connector, test: *test, hidden: said.hidden, changed: None, tool }
        };
        Some(self.built(row).await?.tools().into_iter().map(serve).collect())
    }

    fn own(&self) -> impl Iterator<Item = Served> {
        self.own.iter().map(|tool| {
            let connector = ConnectorRef { id: None, name: OWN.to_owned(), kind: OWN.to_owned() };
            let tool = Arc::clone(tool);
            Served { connector, test: false, hidden: false, changed: None, tool }
        })
    }

    /// The tool among these connectors.
    async fn among(&self, connectors: &[Connector], name: &ToolName) -> Found {
        let serves = |row: &&Connector| row.name.as_str() == name.connector();
        let named = |served: &Served| served.tool.definition().name == *name;
        let Some(row) = connectors.iter().find(serves) else { return Found::NotAmong(None) };
        let Some(tools) = self.served(row).await else { return Found::Unavailable };
        let Some(found) = tools.into_iter().find(named) else {
            return Found::NotAmong(Some((row.id, row.revision)));
        };
        let changed = found.tool.changed_to().await;
        Found::Served(Served { changed, ..found })
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<OrgId, Reading>> {
        // The map is whole between any two statements, so a panic elsewhere harms nothing here.
        self.read.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Toolbox for OrgTools {
    async fn find(&self, org: OrgId, name: &ToolName) -> Result<Found, StoreDown> {
        let named = |served: &Served| served.tool.definition().name == *name;
        if name.connector() == OWN {
            return Ok(self.own().find(named).map_or(Found::Nobody, Found::Served));
        }
        Ok(self.among(&self.connectors(org).await?, name).await)
    }

    async fn find_anew(&self, org: OrgId, name: &ToolName) -> Result<Found, StoreDown> {
        Ok(self.among(&self.read(org, self.clock.now()).await?, name).await)
    }

    async fn every(&self, org: OrgId) -> Result<Vec<Served>, StoreDown> {
        let mut every: Vec<_> = self.own().collect();
        for row in self.connectors(org).await?.iter() {
            // What cannot be used now is not offered now.
            every.extend(self.served(row).await.unwrap_or_default());
        }
        every.sort_by(|left, right| left.tool.definition().name.cmp(&right.tool.definition().name));
        Ok(every)
    }

    fn let_go(&self, idle: Duration) -> usize {
        self.registry.let_go(idle)
    }
}
