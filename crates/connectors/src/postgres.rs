//! The PostgreSQL connector: declared statements, run on a governed database.
//!
//! Only the extended protocol carries values, one parsed statement a call. Read tools run in READ
//! ONLY transactions and leave no trace; every write inserts a ledger row and a signed marker in
//! its own transaction, which is how a lost answer is settled later.

mod check;
mod config;
mod fault;
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

use std::{fmt, fmt::Write as _, sync::Arc, time::Duration};

use async_trait::async_trait;
use crypto::{Secret, json, sha256};
use model::{ActionId, ConnectorName, Entropy, OrgId};
use serde_json::{Value, json};
use tokio::time::timeout;
use tool::{Definition, Run, Settled, Tool};

use self::{
    config::{Config, Declared, Returns},
    fault::{ConnectError, sentence},
    ledger::{Entry, Found, Signer},
    marker::MarkerKey,
    pool::{NotBegun, Pool},
    session::{Access, Login, Pace, Target},
    shape::Shape,
    statement::Statement,
};
use crate::{ArgsSchema, Blueprint, BuildError, CheckLine, Connector, Credential, Deps, Finding};

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

/// How long a settlement waits for a transaction that still holds the action's key.
const SETTLE_LIMIT: Duration = Duration::from_secs(8);
/// How long the server may think about one statement when a connector is built.
const LEARN_LIMIT: Duration = Duration::from_secs(5);
/// How long one step of building a connector may take in all.
const BUILD_LIMIT: Duration = Duration::from_secs(30);
const SMALL_ANSWER: usize = 1 << 20;

/// A governed PostgreSQL database and its tools.
#[derive(Debug)]
pub struct PostgresConnector {
    tools: Vec<Arc<PostgresTool>>,
    blueprint: Blueprint,
    deps: Deps,
}

/// What the tools of one connector share.
pub(crate) struct Core {
    reads: Arc<Pool>,
    writes: Arc<Pool>,
    marker: MarkerKey,
    entropy: Arc<dyn Entropy>,
    statement_limit: Duration,
    lock_limit: Duration,
    search_path: String,
}

impl fmt::Debug for Core {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Core").field("writes", &self.writes).finish_non_exhaustive()
    }
}

/// One declared statement.
#[derive(Debug)]
pub(crate) struct PostgresTool {
    definition: Definition,
    shape: Shape,
    args: ArgsSchema,
    returns: Returns,
    max_rows: usize,
    most_changes: u64,
    core: Arc<Core>,
}

/// Returns what is wrong in the config by itself.
pub(crate) fn config_findings(connector: &ConnectorName, config: &Value) -> Vec<Finding> {
    match config::read(connector, config) {
        Ok((config, _)) => tls::connector(&config.tls).err().into_iter().collect(),
        Err(findings) => findings,
    }
}

impl PostgresConnector {
    /// Returns the connector after the server has prepared every statement.
    pub(crate) async fn build(blueprint: &Blueprint, deps: &Deps) -> Result<Self, BuildError> {
        let (config, declared) = config::read(&blueprint.name, &blueprint.config)
            .map_err(|findings| BuildError::Config { findings })?;
        let core = Arc::new(Core::new(&config, blueprint, deps)?);
        let mut findings = core.ledger_findings(&declared).await?;
        let mut tools = Vec::new();
        for (at, tool) in declared.into_iter().enumerate() {
            match core.tool(tool).await? {
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
        self.shape.bind(args).map(drop)
    }

    async fn run(&self, run: Run<'_>) -> model::Outcome {
        self.run_once(&run).await
    }

    async fn settle(&self, org: OrgId, action: ActionId) -> Settled {
        match self.definition.side_effect {
            // A read tool changes nothing, so there is nothing that could have been applied.
            model::SideEffect::Read => Settled::NotApplied,
            model::SideEffect::Write | model::SideEffect::Destructive => {
                self.core.settle(org, action).await
            }
        }
    }
}

impl Core {
    fn new(config: &Config, blueprint: &Blueprint, deps: &Deps) -> Result<Self, BuildError> {
        let target = Arc::new(target(config, deps)?);
        let pool = |login| Arc::new(Pool::new(target.clone(), login, config.limits.connections));
        let writes = pool(login(&config.user, &blueprint.credential, CONN_PASSWORD)?);
        let reads = match &config.read_user {
            Some(user) => pool(login(user, &blueprint.credential, READ_PASSWORD)?),
            None => writes.clone(),
        };
        let marker = MarkerKey::derive(&deps.vault, blueprint.id).ok_or_else(|| {
            let finding = Finding::new("/", "the vault ring gives no marker key");
            BuildError::Config { findings: vec![finding] }
        })?;
        let path: Vec<String> = config.search_path.iter().map(|name| quote(name)).collect();
        Ok(Self {
            reads,
            writes,
            marker,
            entropy: deps.entropy.clone(),
            statement_limit: config.limits.statement(),
            lock_limit: config.limits.lock(),
            search_path: path.join(", "),
        })
    }

    fn signer(&self) -> Signer<'_> {
        Signer { key: &self.marker, entropy: &*self.entropy }
    }

    fn pace(&self, limit: Duration) -> Pace<'_> {
        Pace { statement: limit, lock: limit, idle: limit * 2, search_path: &self.search_path }
    }

    /// Makes certain whether a write of the action was committed.
    async fn settle(&self, org: OrgId, action: ActionId) -> Settled {
        match timeout(SETTLE_LIMIT + LEARN_LIMIT, self.tombstone(org, action)).await {
            Ok(Ok(Found::Tombstone)) => Settled::NotApplied,
            Ok(Ok(Found::Write)) => Settled::Applied,
            Ok(Err(error)) => {
                tracing::warn!(%action, error, "an action could not be settled");
                Settled::Unreachable
            }
            Err(_) => Settled::Unreachable,
        }
    }

    async fn tombstone(&self, org: OrgId, action: ActionId) -> Result<Found, String> {
        let pace = self.pace(SETTLE_LIMIT);
        let begun = self.writes.begin(Access::ReadWrite, &pace, SMALL_ANSWER).await;
        let (mut lease, xid) = begun.map_err(|error| not_begun(error).message)?;
        let said = |error: tokio_postgres::Error| fault::of_statement(&error).message;
        let xid = xid.unwrap_or_default();
        let system = lease.session.system().to_owned();
        let entry = Entry { org, action, xid: &xid, system: &system };
        match ledger::void_action(&lease.session.client, &entry, self.signer()).await {
            Ok(found) => {
                lease.session.commit().await.map_err(said)?;
                lease.give_back();
                found.ok_or_else(|| "the ledger row went away".to_owned())
            }
            Err(error) => {
                lease.roll_back().await;
                Err(said(error))
            }
        }
    }

    /// A connector that writes needs the governed schema.
    async fn ledger_findings(&self, declared: &[Declared]) -> Result<Vec<Finding>, BuildError> {
        let writes = |tool: &Declared| tool.entry.footprint.is_some();
        if !declared.iter().any(writes) {
            return Ok(Vec::new());
        }
        let mut findings = Vec::new();
        for call in [ledger::BEGIN_ACTION, ledger::VOID_ACTION] {
            if let Err(message) = self.prepare(&self.writes, call).await? {
                let message = format!("the schema `service` is not set up: {message}");
                findings.push(Finding::new("/", message));
            }
        }
        Ok(findings)
    }

    /// Returns the tool with the types that the server gives its statement, or the member of its
    /// entry that does not fit and why.
    async fn tool(
        self: &Arc<Self>,
        declared: Declared,
    ) -> Result<Result<PostgresTool, (&'static str, String)>, BuildError> {
        let Declared { name, entry, written, statement, estimate, args } = declared;
        let pool = if entry.footprint.is_some() { &self.writes } else { &self.reads };
        let shape = match self.learn(pool, &statement, entry.returns).await? {
            Ok(shape) => shape,
            Err(message) => return Ok(Err(("sql", message))),
        };
        if let Some(estimate) = estimate
            && let Err(message) = self.learn(&self.reads, &estimate, Returns::Rows).await?
        {
            return Ok(Err(("estimate_sql", message)));
        }
        let whole = json!({"name": name, "entry": written, "types": shape.written()});
        let max_rows = usize::try_from(entry.max_rows).unwrap_or(usize::MAX);
        let most_changes = entry.footprint.as_ref().map_or(0, |footprint| footprint.max_rows);
        Ok(Ok(PostgresTool {
            definition: Definition {
                name,
                title: entry.title,
                description: entry.description,
                side_effect: entry.side_effect,
                input_schema: entry.args,
                footprint: entry.footprint,
                required_level: entry.required_level,
                digest: sha256(json::canonical(&whole)),
            },
            shape,
            args,
            returns: entry.returns,
            max_rows,
            most_changes,
            core: self.clone(),
        }))
    }

    async fn learn(
        &self,
        pool: &Arc<Pool>,
        statement: &Statement,
        returns: Returns,
    ) -> Result<Result<Shape, String>, BuildError> {
        let prepared = self.prepare(pool, &statement.text).await?;
        Ok(prepared.and_then(|prepared| Shape::learn(statement, &prepared, returns)))
    }

    /// Prepares one statement in a transaction that is rolled back. Nothing is executed.
    async fn prepare(
        &self,
        pool: &Arc<Pool>,
        text: &str,
    ) -> Result<Result<tokio_postgres::Statement, String>, BuildError> {
        let preparing = async {
            let pace = self.pace(LEARN_LIMIT);
            let begun = pool.begin(Access::ReadOnly, &pace, SMALL_ANSWER).await;
            let (mut lease, _) = begun.map_err(not_begun)?;
            let prepared = match lease.session.prepared(text).await {
                Ok(statement) => Ok(statement),
                Err(error) => {
                    let said = error.as_db_error().map(sentence);
                    Err(said.ok_or_else(|| fault::of_statement(&error))?)
                }
            };
            lease.roll_back().await;
            Ok(prepared)
        };
        let late = || Err(ConnectError::Late.fault());
        let prepared = timeout(BUILD_LIMIT, preparing).await.unwrap_or_else(|_| late());
        prepared.map_err(BuildError::Connect)
    }
}

fn target(config: &Config, deps: &Deps) -> Result<Target, BuildError> {
    let tls = tls::connector(&config.tls)
        .map_err(|finding| BuildError::Config { findings: vec![finding] })?;
    Ok(Target {
        host: config.host.clone(),
        port: config.port,
        database: config.database.clone(),
        tls,
        egress: deps.egress.clone(),
        limit: config.limits.connect(),
    })
}

fn login(user: &str, credential: &Credential, field: &'static str) -> Result<Login, BuildError> {
    let password: &Secret<String> =
        credential.field(field).ok_or(BuildError::Credential { field })?;
    Ok(Login { user: user.to_owned(), password: password.clone() })
}

fn not_begun(cause: NotBegun) -> model::Fault {
    match cause {
        NotBegun::Connect(error) => error.fault(),
        NotBegun::Database(error) => fault::of_statement(&error),
    }
}

/// Returns the bytes in lowercase hex.
fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Returns the name as an identifier that SQL takes literally.
fn quote(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

#[cfg(test)]
mod tests;
