//! A connector whose database never gave its statements their types: its tools as far as its config
//! declares them, so that calls of them are decided and recorded, and come to what stands in the way.

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

/// The connector as it is declared.
#[derive(Debug)]
pub(crate) struct Unlearnt {
    tools: Vec<Arc<DeclaredTool>>,
    fault: Fault,
}

/// One tool as it is declared, which does not run.
#[derive(Debug)]
pub(super) struct DeclaredTool {
    definition: Definition,
    args: Arc<ArgsSchema>,
    estimates: bool,
    standing: Standing,
    fault: Fault,
}

/// Whether a declared tool is the one that was accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    /// Nobody knows.
    Unlearnt,
    /// It is not.
    Unaccepted,
}

impl Unlearnt {
    /// The connector whose runs all come to this fault; nothing where the config by itself declares
    /// no tools that hold together.
    pub(crate) fn new(blueprint: &Blueprint, fault: &Fault) -> Option<Self> {
        let (_, declared) = config::read(&blueprint.name, &blueprint.config).ok()?;
        let target = Arc::new(target(&blueprint.config));
        let tool = |declared| Arc::new(DeclaredTool::new(declared, &target, fault));
        let tools = declared.into_iter().map(tool).collect();
        Some(Self { tools, fault: fault.clone() })
    }
}

impl DeclaredTool {
    /// A tool that nobody has accepted as it is declared.
    pub(super) fn unaccepted(declared: Declared, target: &Arc<Value>) -> Self {
        let sentence = "the tool's definition is not the one that was accepted";
        let fault = Fault::new(ExecutionErrorCode::ConnectorMisconfigured, sentence);
        Self { standing: Standing::Unaccepted, ..Self::new(declared, target, &fault) }
    }

    fn new(declared: Declared, target: &Arc<Value>, fault: &Fault) -> Self {
        let Declared { name, entry, written, args, statement: _, estimate } = declared;
        // No types are in it, so that it is never taken for the digest of the tool that is learnt.
        let tool = json!({"name": name, "entry": written, "target": **target});
        let definition = entry.definition(name, (sha256(json::canonical(&tool)), target));
        Self {
            definition,
            args,
            estimates: estimate.is_some(),
            standing: Standing::Unlearnt,
            fault: fault.clone(),
        }
    }
}

impl Connector for Unlearnt {
    fn tools(&self) -> Vec<Arc<dyn Tool>> {
        self.tools.iter().map(|tool| Arc::clone(tool) as Arc<dyn Tool>).collect()
    }

    fn learnt(&self) -> BTreeMap<ToolName, Value> {
        BTreeMap::new()
    }

    fn unreached(&self) -> Option<Fault> {
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
        (self.standing == Standing::Unaccepted).then_some(self.definition.digest)
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
            // An instance that does reach the database may have run it.
            SideEffect::Write | SideEffect::Destructive => Settled::Unreachable,
        }
    }
}
