//! The PostgreSQL connector: declared statements, run on a governed database.
//!
//! Only the extended protocol carries values, one parsed statement a call. Read tools run in READ
//! ONLY transactions and leave no trace; every write inserts a ledger row and a signed marker in
//! its own transaction, which is how a lost answer is settled later.

mod check;
mod config;
mod estimate;
mod fault;
mod governed;
mod ledger;
mod marker;
mod meter;
mod pool;
mod run;
mod session;
mod setup;
mod shape;
mod statement;
mod tls;
mod value;

use std::{fmt::Write as _, sync::Arc, time::Duration};

use async_trait::async_trait;
use model::{ActionId, ConnectorName, OrgId, Outcome, SideEffect};
use serde_json::Value;
use tool::{Definition, Estimate, Run, Settled, Tool};

use self::{config::Returns, governed::Governed, shape::Shape};
use crate::{ArgsSchema, Blueprint, BuildError, CheckLine, Connector, Deps, Finding};

pub use config::CONFIG_SCHEMA;
pub use setup::{SetupError, Superuser, apply_setup, setup_sql};

pub(crate) use check::check;

/// The kind's name.
pub const KIND: &str = "postgres";
/// The field of the credential that tools log in with.
pub const CONN_PASSWORD: &str = "conn_password";
/// The field of the credential that read tools log in with, when they have a role of their own.
pub const READ_PASSWORD: &str = "read_password";
/// The field of the credential that the change log is read with.
pub const DECODER_PASSWORD: &str = "decoder_password";

/// A governed PostgreSQL database and its tools.
#[derive(Debug)]
pub struct PostgresConnector {
    tools: Vec<Arc<PostgresTool>>,
    blueprint: Blueprint,
    deps: Deps,
}

/// One declared statement.
#[derive(Debug)]
pub(crate) struct PostgresTool {
    definition: Definition,
    shape: Shape,
    estimate: Option<Shape>,
    args: ArgsSchema,
    returns: Returns,
    max_rows: usize,
    most_changes: u64,
    governed: Arc<Governed>,
}

/// What is wrong in the config by itself.
pub(crate) fn config_findings(connector: &ConnectorName, config: &Value) -> Vec<Finding> {
    match config::read(connector, config) {
        Ok((config, _)) => tls::connector(&config.tls).err().into_iter().collect(),
        Err(findings) => findings,
    }
}

impl PostgresConnector {
    /// The connector after the server has prepared every statement.
    pub(crate) async fn build(blueprint: &Blueprint, deps: &Deps) -> Result<Self, BuildError> {
        let (config, declared) = config::read(&blueprint.name, &blueprint.config)
            .map_err(|findings| BuildError::Config { findings })?;
        let governed = Arc::new(Governed::new(&config, blueprint, deps)?);
        let mut findings = governed.ledger_findings(&declared).await?;
        let mut tools = Vec::new();
        for (at, tool) in declared.into_iter().enumerate() {
            match governed.tool(tool).await? {
                Ok(tool) => tools.push(Arc::new(tool)),
                Err((member, message)) => {
                    findings.push(Finding::new(format!("/tools/{at}/{member}"), message));
                }
            }
        }
        if !findings.is_empty() {
            return Err(BuildError::Config { findings });
        }
        Ok(Self { tools, blueprint: blueprint.clone(), deps: deps.clone() })
    }
}

#[async_trait]
impl Connector for PostgresConnector {
    fn tools(&self) -> Vec<Arc<dyn Tool>> {
        self.tools.iter().map(|tool| Arc::clone(tool) as Arc<dyn Tool>).collect()
    }

    async fn check(&self) -> Vec<CheckLine> {
        check::lines(&self.blueprint, &self.deps).await
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
