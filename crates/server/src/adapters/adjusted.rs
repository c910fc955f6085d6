//! A tool as an admin made it stricter than its definition.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use ledger::record::ToolSettings;
use model::{ActionId, Digest, OrgId, Outcome};
use serde_json::Value;
use tool::{Claim, Definition, Estimate, Reading, Run, Settled, Tool};

/// The tool with another side effect or another level; it runs as it always did.
#[derive(Debug)]
struct Adjusted {
    definition: Definition,
    tool: Arc<dyn Tool>,
}

/// The tool with what is said of it beyond its definition.
pub(super) fn adjusted(tool: Arc<dyn Tool>, settings: ToolSettings) -> Arc<dyn Tool> {
    let defined = tool.definition();
    let definition = Definition {
        side_effect: settings
            .side_effect
            .map_or(defined.side_effect, |it| it.max(defined.side_effect)),
        required_level: settings
            .required_level
            .map_or(defined.required_level, |it| it.max(defined.required_level)),
        ..defined.clone()
    };
    if definition == *defined { tool } else { Arc::new(Adjusted { definition, tool }) }
}

#[async_trait]
impl Tool for Adjusted {
    fn definition(&self) -> &Definition {
        &self.definition
    }

    fn check_args(&self, args: &Value) -> Result<(), String> {
        self.tool.check_args(args)
    }

    async fn changed_to(&self) -> Option<Digest> {
        self.tool.changed_to().await
    }

    async fn estimate(&self, args: &Value, time_limit: Duration) -> Estimate {
        self.tool.estimate(args, time_limit).await
    }

    fn place(&self) -> Option<String> {
        self.tool.place()
    }

    async fn run(&self, run: Run<'_>) -> Outcome {
        self.tool.run(run).await
    }

    async fn read_back(&self, claim: Claim<'_>, time_limit: Duration) -> Reading {
        self.tool.read_back(claim, time_limit).await
    }

    async fn settle(&self, org: OrgId, action: ActionId, place: Option<&str>) -> Settled {
        self.tool.settle(org, action, place).await
    }
}
