//! The tools that the service itself runs: `service.whoami` and `service.action_status`.
//!
//! Policy decides them like any other tool. They change nothing, and what they tell comes through
//! [`BuiltinSource`], which resolves the agent from the calling action and so never shows an agent
//! another agent's actions.

use std::{fmt, sync::Arc};

use async_trait::async_trait;
use crypto::{json, sha256};
use model::{
    ActionId, AgentId, DeedId, ExecutionErrorCode, Fault, Level, OrgId, Outcome, Report,
    SideEffect, State, Status, Timestamp,
};
use serde::Serialize;
use serde_json::{Value, json};
use tool::{Definition, Run, Settled, Tool};

use crate::{ArgsSchema, BadSchema};

/// Who made a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Caller {
    /// The org.
    pub org: OrgId,
    /// The agent.
    pub agent: AgentId,
    /// The agent's name.
    pub name: String,
    /// Whether the call counts as real.
    pub livemode: bool,
}

/// How one action stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ActionStatus {
    /// The action.
    pub action: ActionId,
    /// The tool as called.
    pub tool: String,
    /// Its state.
    pub state: State,
    /// Its status.
    pub status: Status,
    /// When it was sent.
    pub created_at: Timestamp,
    /// Its deed, once sealed.
    pub deed: Option<DeedId>,
}

/// The source could not be asked.
#[derive(Debug, Clone, thiserror::Error)]
#[error("the service's records could not be read")]
pub struct SourceUnavailable;

/// Reads the service's own records for the built-in tools.
#[async_trait]
pub trait BuiltinSource: Send + Sync + fmt::Debug {
    /// Who sent the calling action.
    async fn caller(&self, org: OrgId, calling: ActionId) -> Result<Caller, SourceUnavailable>;

    /// How `asked` stands, if the agent that sent `calling` sent it too.
    async fn action_status(
        &self,
        org: OrgId,
        calling: ActionId,
        asked: ActionId,
    ) -> Result<Option<ActionStatus>, SourceUnavailable>;
}

/// The built-in tools.
pub fn builtin_tools(source: Arc<dyn BuiltinSource>) -> Result<Vec<Arc<dyn Tool>>, BadSchema> {
    let build = |kind: Kind| {
        let definition = kind.definition()?;
        let schema = ArgsSchema::compile(definition.input_schema.value())?;
        Ok(Arc::new(Builtin { kind, definition, schema, source: source.clone() }) as Arc<dyn Tool>)
    };
    [Kind::Whoami, Kind::ActionStatus].into_iter().map(build).collect()
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    Whoami,
    ActionStatus,
}

#[derive(Debug)]
struct Builtin {
    kind: Kind,
    definition: Definition,
    schema: ArgsSchema,
    source: Arc<dyn BuiltinSource>,
}

impl Kind {
    fn definition(self) -> Result<Definition, BadSchema> {
        let (name, title, description, input_schema) = match self {
            Self::Whoami => (
                "service.whoami",
                "Who am I",
                "Returns the org and the agent that this key belongs to.",
                json!({"type": "object", "additionalProperties": false}),
            ),
            Self::ActionStatus => (
                "service.action_status",
                "Action status",
                "Returns the status of one of this agent's own actions.",
                json!({
                    "type": "object",
                    "additionalProperties": false,
                    "required": ["action"],
                    "properties": {"action": {"type": "string", "pattern": "^act_[0-7][0-9a-hjkmnp-tv-z]{25}$"}},
                }),
            ),
        };
        let whole = json!({
            "name": name, "title": title, "description": description, "args": input_schema,
        });
        Ok(Definition {
            name: name.parse().map_err(|_| BadSchema::of("a built-in tool has no tool name"))?,
            title: title.to_owned(),
            description: description.to_owned(),
            side_effect: SideEffect::Read,
            input_schema: input_schema.into(),
            footprint: None,
            required_level: Level::L0,
            target: None,
            digest: sha256(json::canonical(&whole)),
        })
    }
}

impl Builtin {
    async fn answer(&self, run: &Run<'_>) -> Result<Value, Fault> {
        let unavailable =
            |error: SourceUnavailable| Fault::new(ExecutionErrorCode::ToolError, error.to_string());
        let answer = match self.kind {
            Kind::Whoami => {
                let caller = self.source.caller(run.org, run.action).await.map_err(unavailable)?;
                serde_json::to_value(caller)
            }
            Kind::ActionStatus => {
                let asked = asked_action(run.args)?;
                let found = self.source.action_status(run.org, run.action, asked).await;
                serde_json::to_value(found.map_err(unavailable)?.ok_or_else(|| {
                    let message = format!("this agent has no action `{asked}`");
                    Fault::new(ExecutionErrorCode::ToolError, message)
                })?)
            }
        };
        answer.map_err(|error| Fault::new(ExecutionErrorCode::ResultInvalid, error.to_string()))
    }
}

fn asked_action(args: &Value) -> Result<ActionId, Fault> {
    let text = args.get("action").and_then(Value::as_str).unwrap_or_default();
    text.parse().map_err(|error: model::IdError| {
        Fault::new(ExecutionErrorCode::ToolError, format!("`/action`: {error}"))
    })
}

#[async_trait]
impl Tool for Builtin {
    fn definition(&self) -> &Definition {
        &self.definition
    }

    fn check_args(&self, args: &Value) -> Result<(), String> {
        self.schema.check(args)
    }

    async fn run(&self, run: Run<'_>) -> Outcome {
        let late = Fault::new(ExecutionErrorCode::ToolTimeout, "reading the records timed out");
        match tokio::time::timeout(run.time_limit, self.answer(&run)).await {
            Ok(Ok(result)) => Outcome::Succeeded { result, report: Report::default() },
            Ok(Err(fault)) => Outcome::Failed(fault),
            Err(_) => Outcome::Failed(late),
        }
    }

    async fn settle(&self, _: OrgId, _: ActionId, _: Option<&str>) -> Settled {
        // Reading changes nothing, so there is nothing that could have been applied.
        Settled::NotApplied
    }
}
