//! One governed database as all tools of a connector see it, and what is asked of it beside running
//! them: learning the types of statements, and settling actions whose end nobody saw.

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
    config::{Config, Declared, Returns},
    fault::{ConnectError, SessionError, of_statement, sentence},
    ledger::{self, Entry, Found, Signer},
    marker::MarkerKey,
    names::Prefix,
    pin::{Fit, LOOK_AGAIN},
    pool::{Lease, Pool},
    quote,
    session::{Access, Login, Pace, Target},
    shape::Shape,
    statement::Statement,
    tls,
};
use crate::{Blueprint, BuildError, Credential, Deps, Finding};

/// How long a settlement waits for a transaction that still holds the action's key.
const SETTLE_LIMIT: Duration = Duration::from_secs(8);
/// How long the server may think about one statement when a connector is built.
const LEARN_LIMIT: Duration = Duration::from_secs(5);
/// How long one step of building a connector may take in all.
const BUILD_LIMIT: Duration = Duration::from_secs(30);
/// Bytes that anything but a run may bring.
pub(super) const SMALL_ANSWER: usize = 1 << 20;

/// One governed database.
pub(super) struct Governed {
    pub(super) reads: Arc<Pool>,
    pub(super) writes: Arc<Pool>,
    // Which connector at which revision, and which database.
    named: (String, String),
    // The cluster that was met last.
    system: Mutex<Option<String>>,
    // Since when, and why, the database could not be reached; nothing once it was.
    unreached: Mutex<Option<(Instant, Fault)>>,
    marker: MarkerKey,
    entropy: Arc<dyn Entropy>,
    /// Where tools run, as their digests cover it.
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
    /// The pools and keys; nothing is asked of the database yet.
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
            unreached: Mutex::default(),
            marker,
            target: Arc::new(super::target::target(&blueprint.config)),
            entropy: deps.entropy.clone(),
            statement_limit: config.limits.statement(),
            lock_limit: config.limits.lock(),
            search_path: path.join(", "),
            publication: format!("svc_{}", blueprint.id),
        })
    }

    /// Who signs markers.
    pub(super) fn signer(&self) -> Signer<'_> {
        Signer { key: &self.marker, entropy: &*self.entropy }
    }

    /// The pace of a transaction whose every step may take this long.
    pub(super) fn pace(&self, limit: Duration) -> Pace<'_> {
        Pace { statement: limit, lock: limit, idle: limit * 2, search_path: &self.search_path }
    }

    /// The place where writes leave their traces, as far as it is known: the connector as it is
    /// configured, the cluster and the database. A database that is restored or moved elsewhere is
    /// another place.
    pub(super) fn place(&self) -> Option<String> {
        let system = self.system.lock().unwrap_or_else(PoisonError::into_inner).clone();
        system.map(|system| self.place_at(&system))
    }

    /// The place that this connection leads to, which is from now on the place of the connector.
    pub(super) fn noted(&self, lease: &Lease) -> String {
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

    /// A connection in a fresh transaction; whether it could be had is what the connector's state is
    /// told by.
    pub(super) async fn begin(
        &self,
        pool: &Arc<Pool>,
        access: Access,
        (pace, bytes): (&Pace<'_>, usize),
    ) -> Result<(Lease, Option<String>), SessionError> {
        let begun = pool.begin(access, pace, bytes).await;
        match &begun {
            Ok((lease, _)) => {
                self.noted(lease);
                self.note_reached(None);
            }
            // That all connections are busy, or shared with others, says nothing of the database.
            Err(
                SessionError::Connect(ConnectError::Busy(_) | ConnectError::Shared)
                | SessionError::Database(_),
            ) => {}
            Err(SessionError::Connect(error)) => self.note_reached(Some(error.fault())),
        }
        begun
    }

    /// What kept the database from being reached when it was last tried.
    pub(super) fn unreached(&self) -> Option<Fault> {
        let unreached = self.unreached.lock().unwrap_or_else(PoisonError::into_inner);
        unreached.as_ref().map(|(_, fault)| fault.clone())
    }

    /// Whether the database could not be reached a moment ago, so that it is not asked again yet.
    pub(super) fn rests(&self) -> bool {
        let unreached = self.unreached.lock().unwrap_or_else(PoisonError::into_inner);
        unreached.as_ref().is_some_and(|(at, _)| at.elapsed() < LOOK_AGAIN)
    }

    /// Notes that nobody waited any longer for the database.
    pub(super) fn not_reached_in_time(&self) {
        self.note_reached(Some(ConnectError::Late.fault()));
    }

    fn note_reached(&self, fault: Option<Fault>) {
        let now = fault.map(|fault| (Instant::now(), fault));
        let mut unreached = self.unreached.lock().unwrap_or_else(PoisonError::into_inner);
        *unreached = now;
    }

    /// Makes certain whether a write of the action was committed. A database that is not at the
    /// place of the run knows nothing of it, so what it lacks says nothing.
    pub(super) async fn settle(
        &self,
        org: OrgId,
        action: ActionId,
        place: Option<&str>,
    ) -> Settled {
        match timeout(SETTLE_LIMIT + LEARN_LIMIT, self.tombstone(org, action, place)).await {
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

    /// What the ledger holds of the action from now on; nothing where this is another place.
    async fn tombstone(
        &self,
        org: OrgId,
        action: ActionId,
        ran_at: Option<&str>,
    ) -> Result<Option<Found>, String> {
        let pace = self.pace(SETTLE_LIMIT);
        let begun = self.begin(&self.writes, Access::ReadWrite, (&pace, SMALL_ANSWER)).await;
        let (mut lease, xid) = begun.map_err(|error| error.fault().message)?;
        let here = self.noted(&lease);
        if ran_at.is_some_and(|ran_at| ran_at != here) {
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

    /// A connector that writes needs the governed schema.
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

    /// The tool with the types that the server gives its statement, or the member of its
    /// entry that does not fit and why.
    pub(super) async fn tool(
        self: &Arc<Self>,
        declared: Declared,
    ) -> Result<Result<PostgresTool, (&'static str, String)>, BuildError> {
        let Declared { entry, statement, estimate, .. } = &declared;
        let pool = if entry.footprint.is_some() { &self.writes } else { &self.reads };
        let shape = match self.learn(pool, statement, entry.returns).await? {
            Ok(shape) => shape,
            Err(message) => return Ok(Err(("sql", message))),
        };
        let estimate = match estimate {
            None => None,
            Some(statement) => match self.learn(&self.reads, statement, Returns::Rows).await? {
                Ok(shape) => Some(shape),
                Err(message) => return Ok(Err(("estimate_sql", message))),
            },
        };
        Ok(Ok(self.assemble(declared, (shape, estimate), Fit::learnt())))
    }

    /// The tool with these types.
    pub(super) fn assemble(
        self: &Arc<Self>,
        declared: Declared,
        (shape, estimate): (Shape, Option<Shape>),
        fit: Fit,
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
            fit,
            governed: self.clone(),
        }
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

    /// Prepares one statement anew in a transaction that is rolled back. Nothing is executed.
    pub(super) async fn prepare(
        &self,
        pool: &Arc<Pool>,
        text: &str,
    ) -> Result<Result<tokio_postgres::Statement, String>, BuildError> {
        let preparing = async {
            let pace = self.pace(LEARN_LIMIT);
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

/// The digest of a tool that is written like this, has these types and runs there.
pub(super) fn digest_of(
    name: &ToolName,
    (written, types): (&Value, &Value),
    target: &Value,
) -> Digest {
    let tool = json!({"name": name, "entry": written, "types": types, "target": target});
    sha256(json::canonical(&tool))
}
