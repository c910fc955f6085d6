//! Tools that are functions of this program, and the toolbox that holds them.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use admin::{Candidate, ConnectorCheck, KnownTools, UnfitError};
use async_trait::async_trait;
use gate::{Found, Served, Toolbox};
use ledger::{StoreDown, record::ConnectorRef};
use model::{
    ActionId, ConnectorId, ExecutionErrorCode, Fault, Footprint, Level, OrgId, Outcome, Report,
    SideEffect, ToolName,
};
use serde_json::{Value, json};
use tool::{Definition, Run, Settled, Tool};

use super::OfficeError;

/// The type of the office's connectors.
pub(super) const KIND: &str = "memory";

type Function = dyn Fn(&Value) -> Result<Value, String> + Send + Sync;

/// A tool that is a function of this program. Its error says that nothing was done.
pub struct FnTool {
    definition: Definition,
    run: Box<Function>,
}

impl fmt::Debug for FnTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FnTool").field("name", &self.definition.name).finish_non_exhaustive()
    }
}

impl FnTool {
    /// A tool named `<connector>.<tool>` that takes any JSON object.
    pub fn new(
        name: &str,
        side_effect: SideEffect,
        run: impl Fn(&Value) -> Result<Value, String> + Send + Sync + 'static,
    ) -> Result<Self, OfficeError> {
        let input_schema = json!({ "type": "object" });
        let changes = match side_effect {
            SideEffect::Read => None,
            SideEffect::Write | SideEffect::Destructive => Some(Footprint::default()),
        };
        let definition = Definition {
            name: name.parse().map_err(|error: model::ToolNameError| OfficeError::of(error))?,
            title: name.to_owned(),
            description: String::new(),
            side_effect,
            target: None,
            digest: crypto::sha256(crypto::json::canonical(&json!([name, input_schema]))),
            input_schema: input_schema.into(),
            footprint: changes,
            required_level: Level::L0,
        };
        Ok(Self { definition, run: Box::new(run) })
    }
}

#[async_trait]
impl Tool for FnTool {
    fn definition(&self) -> &Definition {
        &self.definition
    }

    fn check_args(&self, _: &Value) -> Result<(), String> {
        Ok(())
    }

    async fn run(&self, run: Run<'_>) -> Outcome {
        match (self.run)(run.args) {
            Ok(result) => Outcome::Succeeded { result, report: Report::of_rows(None) },
            Err(sentence) => Outcome::Failed(Fault::new(ExecutionErrorCode::ToolError, sentence)),
        }
    }

    async fn settle(&self, _: OrgId, _: ActionId, _: Option<&str>) -> Settled {
        // The process that would ask is the one that ran the function.
        Settled::Unknowable
    }
}

/// The office's tools, by the connectors that their names begin with.
#[derive(Debug)]
pub(super) struct Tools {
    tools: BTreeMap<ToolName, Arc<dyn Tool>>,
    connectors: Mutex<BTreeMap<String, ConnectorId>>,
}

impl Tools {
    pub(super) fn of(tools: Vec<FnTool>) -> Self {
        let tools = tools
            .into_iter()
            .map(|tool| (tool.definition.name.clone(), Arc::new(tool) as Arc<dyn Tool>));
        Self { tools: tools.collect(), connectors: Mutex::default() }
    }

    /// The names of the connectors that the tools need.
    pub(super) fn connectors(&self) -> BTreeSet<&str> {
        self.tools.keys().map(ToolName::connector).collect()
    }

    pub(super) fn connect(&self, name: &str, id: ConnectorId) {
        let mut connectors = self.connectors.lock().unwrap_or_else(PoisonError::into_inner);
        connectors.insert(name.to_owned(), id);
    }

    fn served(&self, tool: &Arc<dyn Tool>) -> Served {
        let name = tool.definition().name.connector();
        let connectors = self.connectors.lock().unwrap_or_else(PoisonError::into_inner);
        let connector = ConnectorRef {
            id: connectors.get(name).copied(),
            name: name.to_owned(),
            kind: KIND.to_owned(),
        };
        Served { connector, test: false, hidden: false, changed: None, tool: Arc::clone(tool) }
    }
}

#[async_trait]
impl Toolbox for Tools {
    async fn find(&self, _: OrgId, name: &ToolName) -> Result<Found, StoreDown> {
        let tool = self.tools.get(name);
        Ok(tool.map_or(Found::Nobody, |tool| Found::Served(self.served(tool))))
    }

    async fn every(&self, _: OrgId) -> Result<Vec<Served>, StoreDown> {
        Ok(self.tools.values().map(|tool| self.served(tool)).collect())
    }
}

#[async_trait]
impl ConnectorCheck for Tools {
    async fn check(&self, candidate: Candidate<'_>) -> Result<KnownTools, UnfitError> {
        match candidate.kind {
            KIND => Ok(KnownTools::new()),
            other => Err(UnfitError::UnknownKind(other.to_owned())),
        }
    }
}
