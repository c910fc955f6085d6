//! One governed database, shared by all tools of a connector: its pools, the types of its statements, and
//! the settlement of actions with an unknown outcome.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use crypto::{json, sha256};
use model::{ActionId, Digest, Entropy, Fault, OrgId, ToolName};
use serde_json::{Value, json};
use tokio::time::{Instant, timeout};
use tool::Settled;

use super::{
    CONN_PASSWORD, PostgresTool, READ_PASSWORD,
    accepted::{BACKOFF, SchemaMatch},
    config::{Config, Declared, Returns},
    fault::{ConnectError, SessionError, of_statement, sentence},
    ledger::{self, Entry, Found, Signer},
    marker::MarkerKey,
    names::Prefix,
    pool::{Lease, Pool},
    quote,
    session::{Access, Login, Pace, Target},
    shape::Shape,
    statement::Statement,
    tls,
};
use crate::{Blueprint, BuildError, Credential, Deps, Finding};

/// How long a settlement waits for a transaction that has the row of the action locked.
const SETTLE_LIMIT: Duration = Duration::from_secs(8);
/// Time limit of one statement when a connector is built.
const PREPARE_LIMIT: Duration = Duration::from_secs(5);
/// Time limit of one step of building a connector, including the connection.
const BUILD_LIMIT: Duration = Duration::from_secs(30);
/// Maximum size of the response to a statement that is not a tool's own, in bytes.
pub(super) const SMALL_ANSWER: usize = 1 << 20;

/// One governed database.
pub(super) struct Governed {
    pub(super) reads: Arc<Pool>,
    pub(super) writes: Arc<Pool>,
    // The connector with its revision, and the database.
    named: (String, String),
    // The system identifier of the cluster at the last connection.
    system: Mutex<Option<String>>,
    // The time and the cause of the last failed connection; `None` after a successful one.
    last_connect_error: Mutex<Option<(Instant, Fault)>>,
    marker: MarkerKey,
    entropy: Arc<dyn Entropy>,
    /// The database that tools run on, in the form that their digests cover.
    pub(super) target: Arc<Value>,
    pub(super) statement_limit: Duration,
    pub(super) lock_limit: Duration,
    pub(super) search_path: String,
    /// The publication that the change log is read by.
    pub(super) publication: String,
}

impl fmt::Debug for Governed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Governed").field("writes", &self.writes).finish_non_exhaustive()
    }
}

impl Governed {
    /// The pools and keys; it does not connect yet.
    pub(super) fn new(
        config: &Config,
        blueprint: &Blueprint,
        deps: &Deps,
    ) -> Result<Self, BuildError> {
        let server = Arc::new(target(config, deps)?);
        let pool = |login| Arc::new(Pool::new(server.clone(), login, config.limits.connections));
        let writes = pool(login(&config.user, &blueprint.credential, CONN_PASSWORD));
        let reads = match &config.read_user {
            Some(user) => pool(login(user, &blueprint.credential, READ_PASSWORD)),
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
            named: (format!("{}/{}", blueprint.id, blueprint.revision), config.database.clone()),
            system: Mutex::default(),
            last_connect_error: Mutex::default(),
            marker,
            target: Arc::new(super::target::target(&blueprint.config)),
            entropy: deps.entropy.clone(),
            statement_limit: config.limits.statement(),
            lock_limit: config.limits.lock(),
            search_path: path.join(", "),
            publication: format!("svc_{}", blueprint.id),
        })
    }

    /// The signer of markers: the logical messages that attribute a transaction to its action.
    pub(super) fn signer(&self) -> Signer<'_> {
        Signer { key: &self.marker, entropy: &*self.entropy }
    }

    /// The time limits of a transaction with this limit for each statement.
    pub(super) fn pace(&self, limit: Duration) -> Pace<'_> {
        Pace { statement: limit, lock: limit, idle: limit * 2, search_path: &self.search_path }
    }

    /// The place of writes: the revision of the connector, the cluster and the database; `None` before the
    /// first connection. A database that was restored or moved to another cluster is another place.
    pub(super) fn place(&self) -> Option<String> {
        let system = self.system.lock().unwrap_or_else(PoisonError::into_inner).clone();
        system.map(|system| self.place_at(&system))
    }

    /// The place of this connection, which becomes the place of the connector.
    pub(super) fn note_place(&self, lease: &Lease) -> String {
        let system = lease.session.system();
        let mut known = self.system.lock().unwrap_or_else(PoisonError::into_inner);
        if known.as_deref() != Some(system) {
            *known = Some(system.to_owned());
        }
        self.place_at(system)
    }

    fn place_at(&self, system: &str) -> String {
        let (connector, database) = &self.named;
        format!("{connector}/{system}/{database}")
    }

    /// A connection with a new transaction, and the id of that transaction if it writes. Its success or
    /// failure is recorded as the last connection.
    pub(super) async fn begin(
        &self,
        pool: &Arc<Pool>,
        access: Access,
        (pace, bytes): (&Pace<'_>, usize),
    ) -> Result<(Lease, Option<String>), SessionError> {
        let begun = pool.begin(access, pace, bytes).await;
        match &begun {
            Ok((lease, _)) => {
                self.note_place(lease);
                self.note_connected(None);
            }
            // An exhausted pool, a connection behind a transaction pooler, and an error of a statement do
            // not mean that the database is unreachable.
            Err(
                SessionError::Connect(ConnectError::Busy(_) | ConnectError::Shared)
                | SessionError::Database(_),
            ) => {}
            Err(SessionError::Connect(error)) => self.note_connected(Some(error.fault())),
        }
        begun
    }

    /// The error of the last connection; `None` if it succeeded.
    pub(super) fn last_connect_error(&self) -> Option<Fault> {
        let last = self.last_connect_error.lock().unwrap_or_else(PoisonError::into_inner);
        last.as_ref().map(|(_, fault)| fault.clone())
    }

    /// Whether the last connection failed less than [`BACKOFF`] ago, so that the database is not tried yet.
    pub(super) fn in_backoff(&self) -> bool {
        let last = self.last_connect_error.lock().unwrap_or_else(PoisonError::into_inner);
        last.as_ref().is_some_and(|(at, _)| at.elapsed() < BACKOFF)
    }

    /// Records that a wait for the database timed out.
    pub(super) fn note_connect_timeout(&self) {
        self.note_connected(Some(ConnectError::Late.fault()));
    }

    fn note_connected(&self, fault: Option<Fault>) {
        let now = fault.map(|fault| (Instant::now(), fault));
        let mut last = self.last_connect_error.lock().unwrap_or_else(PoisonError::into_inner);
        *last = now;
    }

    /// Determines whether a write of the action was committed. If this is not the database in which the action
    /// ran, a missing row proves nothing.
    pub(super) async fn settle(
        &self,
        org: OrgId,
        action: ActionId,
        place: Option<&str>,
    ) -> Settled {
        match timeout(SETTLE_LIMIT + PREPARE_LIMIT, self.tombstone(org, action, place)).await {
            Ok(Ok(Some(Found::Tombstone))) => Settled::NotApplied,
            Ok(Ok(Some(Found::Write))) => Settled::Applied,
            Ok(Ok(None)) => Settled::Unknowable,
            Ok(Err(error)) => {
                tracing::warn!(%action, error, "an action could not be settled");
                Settled::Unreachable
            }
            Err(_) => Settled::Unreachable,
        }
    }

    /// Writes a tombstone into the ledger of the database, which makes a later commit of the action fail, unless
    /// the row of its write is there. Returns which of the two the ledger has; `None` if this is not the
    /// database in which the action ran.
    async fn tombstone(
        &self,
        org: OrgId,
        action: ActionId,
        run_place: Option<&str>,
    ) -> Result<Option<Found>, String> {
        let pace = self.pace(SETTLE_LIMIT);
        let begun = self.begin(&self.writes, Access::ReadWrite, (&pace, SMALL_ANSWER)).await;
        let (mut lease, xid) = begun.map_err(|error| error.fault().message)?;
        let here = self.note_place(&lease);
        if run_place.is_some_and(|place| place != here) {
            lease.roll_back().await;
            return Ok(None);
        }
        let said = |error: tokio_postgres::Error| of_statement(&error).message;
        let xid = xid.unwrap_or_default();
        let system = lease.session.system().to_owned();
        let entry = Entry { org, action, xid: &xid, system: &system };
        match ledger::void_action(&lease.session.client, &entry, self.signer()).await {
            Ok(found) => {
                lease.session.commit().await.map_err(said)?;
                lease.give_back();
                found.map(Some).ok_or_else(|| "the ledger row disappeared".to_owned())
            }
            Err(error) => {
                lease.roll_back().await;
                Err(said(error))
            }
        }
    }

    /// The findings about the schema `service`, which a connector that writes needs.
    pub(super) async fn ledger_findings(
        &self,
        declared: &[Declared],
    ) -> Result<Vec<Finding>, BuildError> {
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

    /// The tool with the types that the server has for its statements, or the member of its entry that is
    /// invalid and why.
    pub(super) async fn tool(
        self: &Arc<Self>,
        declared: Declared,
    ) -> Result<Result<PostgresTool, (&'static str, String)>, BuildError> {
        let Declared { entry, statement, estimate, .. } = &declared;
        let pool = if entry.footprint.is_some() { &self.writes } else { &self.reads };
        let shape = match self.read_types(pool, statement, entry.returns).await? {
            Ok(shape) => shape,
            Err(message) => return Ok(Err(("sql", message))),
        };
        let estimate = match estimate {
            None => None,
            Some(statement) => {
                match self.read_types(&self.reads, statement, Returns::Rows).await? {
                    Ok(shape) => Some(shape),
                    Err(message) => return Ok(Err(("estimate_sql", message))),
                }
            }
        };
        Ok(Ok(self.assemble(declared, (shape, estimate), SchemaMatch::just_read())))
    }

    /// The tool with these types.
    pub(super) fn assemble(
        self: &Arc<Self>,
        declared: Declared,
        (shape, estimate): (Shape, Option<Shape>),
        schema_match: SchemaMatch,
    ) -> PostgresTool {
        let Declared { name, entry, written, statement: _, estimate: _, args } = declared;
        let digest = digest_of(&name, (&written, &shape.written()), &self.target);
        let returns = entry.returns;
        let max_rows = usize::try_from(entry.max_rows).unwrap_or(usize::MAX);
        let reports = entry.reports.clone();
        let most_changes = entry.footprint.as_ref().map_or(0, |footprint| footprint.max_rows);
        PostgresTool {
            definition: entry.definition(name, (digest, &self.target)),
            written,
            shape,
            estimate,
            args,
            returns,
            max_rows,
            most_changes,
            reports,
            schema_match,
            governed: self.clone(),
        }
    }

    async fn read_types(
        &self,
        pool: &Arc<Pool>,
        statement: &Statement,
        returns: Returns,
    ) -> Result<Result<Shape, String>, BuildError> {
        let prepared = self.prepare(pool, &statement.text).await?;
        Ok(prepared.and_then(|prepared| Shape::learn(statement, &prepared, returns)))
    }

    /// Prepares one statement, bypassing the cache of prepared statements, in a transaction that is rolled
    /// back. It executes nothing.
    pub(super) async fn prepare(
        &self,
        pool: &Arc<Pool>,
        text: &str,
    ) -> Result<Result<tokio_postgres::Statement, String>, BuildError> {
        let preparing = async {
            let pace = self.pace(PREPARE_LIMIT);
            let begun = self.begin(pool, Access::ReadOnly, (&pace, SMALL_ANSWER)).await;
            let (mut lease, _) = begun.map_err(|error| error.fault())?;
            lease.session.forget(text);
            let prepared = match lease.session.prepared(text).await {
                Ok(statement) => Ok(statement),
                Err(error) => {
                    let said = error.as_db_error().map(sentence);
                    Err(said.ok_or_else(|| of_statement(&error))?)
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

/// The database that the config names.
pub(super) fn target(config: &Config, deps: &Deps) -> Result<Target, BuildError> {
    let tls = tls::connector(&config.tls)
        .map_err(|finding| BuildError::Config { findings: vec![finding] })?;
    Ok(Target {
        host: config.host.clone(),
        port: config.port,
        database: config.database.clone(),
        tls,
        egress: deps.egress.clone(),
        limit: config.limits.connect(),
        prefix: Prefix::draw(&*deps.entropy),
    })
}

fn login(user: &str, credential: &Credential, field: &str) -> Login {
    Login { user: user.to_owned(), password: credential.field(field).cloned() }
}

/// The digest of a tool with this entry, these types and this target.
pub(super) fn digest_of(
    name: &ToolName,
    (written, types): (&Value, &Value),
    target: &Value,
) -> Digest {
    let tool = json!({"name": name, "entry": written, "types": types, "target": target});
    sha256(json::canonical(&tool))
}
