//! The PostgreSQL connector: declared statements, run on a governed database.
//!
//! Only the extended protocol carries values, one parsed statement a call. Read tools run in READ
//! ONLY transactions and leave no trace; every write inserts a ledger row and a signed marker in
//! its own transaction, which is how a lost answer is settled later.

mod accepted;
mod chains;
mod changes;
mod check;
mod config;
mod coverage;
mod declared;
mod estimate;
mod fault;
mod governed;
mod ledger;
mod marker;
mod measure;
mod meter;
mod names;
mod pool;
mod read_back;
mod rights;
mod run;
mod scram;
mod session;
mod setup;
mod shape;
mod statement;
pub(crate) mod target;
mod template;
mod tls;
mod value;
mod wire;

use std::{collections::BTreeMap, fmt::Write as _, sync::Arc, time::Duration};

use async_trait::async_trait;
use model::{
    ActionId, ConnectorName, Digest, Fault, Level, OrgId, Outcome, ReadBack, ReadBackGap,
    SideEffect, ToolName,
};
use serde_json::Value;
use tool::{Claim, Definition, Estimate, Reading, Run, Settled, Tool};

use self::{
    accepted::{SchemaMatch, accepted_schema},
    config::{Config, Declared, Returns},
    declared::DeclaredTool,
    governed::Governed,
    pool::Pool,
    shape::Shape,
};
use crate::{
    ArgsSchema, Blueprint, BuildError, Connector, CredentialField, CredentialKind, Deps, Finding,
    Type,
};

pub use changes::{ChangeReader, marker_keys};
pub use config::CONFIG_SCHEMA;
pub use coverage::{Coverage, CoveredTable, Price};
pub use setup::{Owner, SetupError, Witness, apply_setup, setup_sql};

pub(crate) use accepted::targeted;
pub(crate) use check::check;
pub(crate) use coverage::coverage;
pub(crate) use declared::DeclaredConnector;

/// The kind's name.
pub const KIND: &str = "postgres";
/// The field of the credential that tools log in with.
pub const CONN_PASSWORD: &str = "conn_password";
/// The field of the credential that read tools log in with, when they have a role of their own.
pub const READ_PASSWORD: &str = "read_password";
/// The field of the credential that the change log is read with.
pub const DECODER_PASSWORD: &str = "decoder_password";

/// The kind as it is offered.
pub const TYPE: Type = Type {
    kind: KIND,
    title: "PostgreSQL",
    credentials: &[CredentialKind {
        kind: "passwords",
        fields: &[
            CredentialField {
                name: CONN_PASSWORD,
                required: true,
                description: "The password of the role that tools run as.",
            },
            CredentialField {
                name: READ_PASSWORD,
                required: false,
                description: "The password of the role that read tools run as, if they have their own.",
            },
            CredentialField {
                name: DECODER_PASSWORD,
                required: false,
                description: "The password of the role that the change log is read as.",
            },
        ],
    }],
    config_schema: CONFIG_SCHEMA,
    witness_levels: &[Level::L0, Level::L1],
};

/// A governed PostgreSQL database and its tools.
#[derive(Debug)]
pub struct PostgresConnector {
    tools: Vec<Arc<PostgresTool>>,
    /// Tools whose current declaration is not accepted; they do not run.
    unaccepted: Vec<Arc<DeclaredTool>>,
    governed: Arc<Governed>,
}

/// One declared statement.
#[derive(Debug)]
pub(crate) struct PostgresTool {
    definition: Definition,
    /// The entry as written, which the digest covers.
    written: Value,
    shape: Shape,
    estimate: Option<Shape>,
    args: Arc<ArgsSchema>,
    returns: Returns,
    max_rows: usize,
    most_changes: u64,
    reports: Option<config::Reports>,
    schema_match: SchemaMatch,
    governed: Arc<Governed>,
}

/// The errors that the config has without a database.
pub(crate) fn config_findings(connector: &ConnectorName, config: &Value) -> Vec<Finding> {
    match config::read(connector, config) {
        Ok((config, _)) => tls::connector(&config.tls).err().into_iter().collect(),
        Err(findings) => findings,
    }
}

impl PostgresConnector {
    /// The connector with its accepted tools, without a connection to the server. If no tool was accepted
    /// yet, the server prepares every statement first. Calls of tools that are new or changed since then are
    /// recorded and never run.
    pub(crate) async fn build(blueprint: &Blueprint, deps: &Deps) -> Result<Self, BuildError> {
        let (config, declared) = config::read(&blueprint.name, &blueprint.config)
            .map_err(|findings| BuildError::Config { findings })?;
        let governed = Arc::new(Governed::new(&config, blueprint, deps)?);
        let (mut tools, mut unaccepted) = (Vec::new(), Vec::new());
        if blueprint.tools.is_empty() {
            tools = read_tools(&governed, declared, (&config, blueprint)).await?;
        } else {
            for declared in declared {
                if let Some(tool) = accepted(&governed, &declared, &blueprint.tools) {
                    tools.push(tool);
                } else {
                    let tool = DeclaredTool::unaccepted(declared, &governed.target);
                    unaccepted.push(Arc::new(tool));
                }
            }
        }
        let tools = tools.into_iter().map(Arc::new).collect();
        Ok(Self { tools, unaccepted, governed })
    }
}

/// The accepted tool; `None` if it is not accepted, or its declaration has changed.
fn accepted(
    governed: &Arc<Governed>,
    declared: &Declared,
    stored: &BTreeMap<ToolName, Value>,
) -> Option<PostgresTool> {
    let schema = accepted_schema(stored, &declared.name)?;
    let shapes = schema.clone().shapes(declared)?;
    let tool = governed.assemble(declared.clone(), shapes, SchemaMatch::default());
    schema.matches(&tool).then_some(tool)
}

/// The tools with the types that the server has now.
async fn read_tools(
    governed: &Arc<Governed>,
    declared: Vec<Declared>,
    (config, blueprint): (&Config, &Blueprint),
) -> Result<Vec<PostgresTool>, BuildError> {
    setup::credential_is_whole(config, &blueprint.credential)?;
    let mut findings = governed.ledger_findings(&declared).await?;
    let mut tools = Vec::new();
    for (at, tool) in declared.into_iter().enumerate() {
        match governed.tool(tool).await? {
            Ok(tool) => tools.push(tool),
            Err((member, message)) => {
                findings.push(Finding::new(format!("/tools/{at}/{member}"), message));
            }
        }
    }
    if findings.is_empty() { Ok(tools) } else { Err(BuildError::Config { findings }) }
}

impl PostgresTool {
    /// The connections that the tool runs on.
    fn pool(&self) -> &Arc<Pool> {
        match self.definition.side_effect {
            SideEffect::Read => &self.governed.reads,
            SideEffect::Write | SideEffect::Destructive => &self.governed.writes,
        }
    }
}

impl Connector for PostgresConnector {
    fn tools(&self) -> Vec<Arc<dyn Tool>> {
        let accepted = self.tools.iter().map(|tool| Arc::clone(tool) as Arc<dyn Tool>);
        let others = self.unaccepted.iter().map(|tool| Arc::clone(tool) as Arc<dyn Tool>);
        accepted.chain(others).collect()
    }

    fn tool_schemas(&self) -> BTreeMap<ToolName, Value> {
        self.tools.iter().map(|tool| (tool.definition.name.clone(), tool.schema())).collect()
    }

    fn last_connect_error(&self) -> Option<Fault> {
        self.governed.last_connect_error()
    }
}

#[async_trait]
impl Tool for PostgresTool {
    fn definition(&self) -> &Definition {
        &self.definition
    }

    fn check_args(&self, args: &Value) -> Result<(), String> {
        self.args.check(args)?;
        self.shape.bind(args).map(drop)?;
        self.estimate.iter().try_for_each(|shape| shape.bind(args).map(drop))
    }

    async fn changed_to(&self) -> Option<Digest> {
        self.differs().await
    }

    async fn estimate(&self, args: &Value, time_limit: Duration) -> Estimate {
        self.estimate_once(args, time_limit).await
    }

    fn place(&self) -> Option<String> {
        match self.definition.side_effect {
            SideEffect::Read => None,
            SideEffect::Write | SideEffect::Destructive => self.governed.place(),
        }
    }

    async fn run(&self, run: Run<'_>) -> Outcome {
        self.run_once(&run).await
    }

    async fn read_back(&self, claim: Claim<'_>, time_limit: Duration) -> Reading {
        match claim.report.measured.as_deref() {
            Some(measured) => self.governed.read_back(measured, time_limit).await,
            None => Reading::Done(ReadBack::Unread(ReadBackGap::NotOffered)),
        }
    }

    async fn settle(&self, org: OrgId, action: ActionId, place: Option<&str>) -> Settled {
        match self.definition.side_effect {
            // A read tool changes nothing, so there is nothing that could have been applied, unless
            // it wrote when the call was permitted.
            SideEffect::Read if place.is_some() => Settled::Unknowable,
            SideEffect::Read => Settled::NotApplied,
            SideEffect::Write | SideEffect::Destructive => {
                self.governed.settle(org, action, place).await
            }
        }
    }
}

/// The bytes in lowercase hex.
fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The name as an identifier that SQL takes literally.
fn quote(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

#[cfg(test)]
mod tests;
