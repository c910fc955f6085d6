//! A connector whose database was never reached: its tools as the config declares them, so that calls of
//! them are decided and recorded, and fail with the cause.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use async_trait::async_trait;
use crypto::{json, sha256};
use model::{ActionId, Digest, ExecutionErrorCode, Fault, OrgId, Outcome, SideEffect, ToolName};
use serde_json::{Value, json};
use tool::{Definition, Estimate, Run, Settled, Tool};

use super::{
    config::{self, Declared},
    target::target,
};
use crate::{ArgsSchema, Blueprint, Connector};

/// The connector as the config declares it.
#[derive(Debug)]
pub(crate) struct DeclaredConnector {
    tools: Vec<Arc<DeclaredTool>>,
    fault: Fault,
}

/// One tool as the config declares it; it does not run.
#[derive(Debug)]
pub(super) struct DeclaredTool {
    definition: Definition,
    args: Arc<ArgsSchema>,
    estimates: bool,
    state: SchemaState,
    fault: Fault,
}

/// Whether a declared tool is the accepted one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SchemaState {
    /// Unknown, because the types were never read.
    Unknown,
    /// The tool is not the accepted one.
    NotAccepted,
}

impl DeclaredConnector {
    /// The connector whose runs all fail with this fault; `None` if the config is invalid.
    pub(crate) fn new(blueprint: &Blueprint, fault: &Fault) -> Option<Self> {
        let (_, declared) = config::read(&blueprint.name, &blueprint.config).ok()?;
        let target = Arc::new(target(&blueprint.config));
        let tool = |declared| Arc::new(DeclaredTool::new(declared, &target, fault));
        let tools = declared.into_iter().map(tool).collect();
        Some(Self { tools, fault: fault.clone() })
    }
}

impl DeclaredTool {
    /// A tool whose current declaration is not accepted.
    pub(super) fn unaccepted(declared: Declared, target: &Arc<Value>) -> Self {
        let sentence = "the tool's definition is not the one that was accepted";
        let fault = Fault::new(ExecutionErrorCode::ConnectorMisconfigured, sentence);
        Self { state: SchemaState::NotAccepted, ..Self::new(declared, target, &fault) }
    }

    fn new(declared: Declared, target: &Arc<Value>, fault: &Fault) -> Self {
        let Declared { name, entry, written, args, statement: _, estimate } = declared;
        // This digest leaves out the types, so it never equals the digest of the tool with its types.
        let tool = json!({"name": name, "entry": written, "target": **target});
        let definition = entry.definition(name, (sha256(json::canonical(&tool)), target));
        Self {
            definition,
            args,
            estimates: estimate.is_some(),
            state: SchemaState::Unknown,
            fault: fault.clone(),
        }
    }
}

impl Connector for DeclaredConnector {
    fn tools(&self) -> Vec<Arc<dyn Tool>> {
        self.tools.iter().map(|tool| Arc::clone(tool) as Arc<dyn Tool>).collect()
    }

    fn tool_schemas(&self) -> BTreeMap<ToolName, Value> {
        BTreeMap::new()
    }

    fn last_connect_error(&self) -> Option<Fault> {
        Some(self.fault.clone())
    }
}

#[async_trait]
impl Tool for DeclaredTool {
    fn definition(&self) -> &Definition {
        &self.definition
    }

    fn check_args(&self, args: &Value) -> Result<(), String> {
        self.args.check(args)
    }

    async fn changed_to(&self) -> Option<Digest> {
        (self.state == SchemaState::NotAccepted).then_some(self.definition.digest)
    }

    async fn estimate(&self, _: &Value, _: Duration) -> Estimate {
        if self.estimates { Estimate::Failed } else { Estimate::NotOffered }
    }

    async fn run(&self, _: Run<'_>) -> Outcome {
        Outcome::Failed(self.fault.clone())
    }

    async fn settle(&self, _: OrgId, _: ActionId, _: Option<&str>) -> Settled {
        match self.definition.side_effect {
            SideEffect::Read => Settled::NotApplied,
            // Another instance, which reached the database, may have run it.
            SideEffect::Write | SideEffect::Destructive => Settled::Unreachable,
        }
    }
}
