//! One connection to the governed database: how it is opened, protected and cancelled, and how a
//! transaction begins and ends on it.

use std::{collections::HashMap, fmt, net::SocketAddr, sync::Arc, time::Duration};

use crypto::Secret;
use egress::{Egress, PrivateNetworks};
use model::Lsn;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    runtime::Handle,
    task::AbortHandle,
    time::timeout,
};
use tokio_postgres::{
    CancelToken, Client, NoTls, SimpleQueryMessage, Statement,
    config::{ChannelBinding, SslMode},
    tls::{MakeTlsConnect, TlsConnect},
};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::{
    fault::{ConnectError, SessionError, is_stale},
    meter::{Meter, Metered},
    names::Prefix,
    wire::{GuardedTls, guarded},
};

/// Bytes that a connection may bring outside of a run.
const QUIET_BYTES: usize = 1 << 20;
const CANCEL_LIMIT: Duration = Duration::from_secs(2);

/// The governed database and the way to it.
#[derive(Clone)]
pub(super) struct Target {
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) database: String,
    pub(super) tls: Option<MakeRustlsConnect>,
    pub(super) egress: Egress,
    pub(super) limit: Duration,
    /// What the names of statements prepared there begin with.
    pub(super) prefix: Prefix,
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Target").field("host", &self.host).finish_non_exhaustive()
    }
}

/// Who logs in.
#[derive(Debug, Clone)]
pub(super) struct Login {
    pub(super) user: String,
    // Nothing where the credential has none, and then nobody logs in.
    pub(super) password: Option<Secret<String>>,
}

/// One connection.
pub(super) struct Session {
    pub(super) client: Client,
    meter: Meter,
    statements: HashMap<String, Statement>,
    cancel: CancelToken,
    peer: SocketAddr,
    driver: AbortHandle,
    target: Arc<Target>,
    // Whether a transaction is open on it.
    busy: bool,
    // The cluster's identity; known once the session is fit for tools.
    system: String,
    // The server process that answered first.
    process: Option<String>,
    // Whether it is closed in place of being kept.
    retired: bool,
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("peer", &self.peer).finish_non_exhaustive()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // The socket closes at once, whatever the server is still busy with: nothing that was not
        // sent yet will be. A backend notices only when it next writes, so it is told.
        self.driver.abort();
        if let (true, Ok(runtime)) = (self.busy, Handle::try_current()) {
            let (target, cancel, peer) = (self.target.clone(), self.cancel.clone(), self.peer);
            runtime.spawn(async move { target.cancel(cancel, peer).await });
        }
    }
}

/// Whether a transaction may change anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    ReadOnly,
    ReadWrite,
}

/// How long a transaction and its parts may take, and where its names are looked up.
#[derive(Debug, Clone)]
pub(super) struct Pace<'a> {
    pub(super) statement: Duration,
    pub(super) lock: Duration,
    pub(super) idle: Duration,
    pub(super) search_path: &'a str,
}

impl Target {
    /// A connection that is fit to run tools: its role can do no more than tables allow.
    pub(super) async fn open(self: &Arc<Self>, login: &Login) -> Result<Session, ConnectError> {
        let mut session = self.open_any(login).await?;
        let identified = timeout(self.limit, session.identify(&login.user)).await;
        identified.map_err(|_| ConnectError::Late)??;
        Ok(session)
    }

    /// A connection of whatever role.
    pub(super) async fn open_any(self: &Arc<Self>, login: &Login) -> Result<Session, ConnectError> {
        timeout(self.limit, self.shake_hands(login)).await.map_err(|_| ConnectError::Late)?
    }

    async fn shake_hands(self: &Arc<Self>, login: &Login) -> Result<Session, ConnectError> {
        let Some(password) = &login.password else {
            return Err(ConnectError::NoPassword(login.user.clone()));
        };
        let stream = self.egress.connect(&self.host, self.port, self.limit).await;
        let stream = stream.map_err(ConnectError::Egress)?;
        let peer = stream.peer_addr().map_err(|_| ConnectError::Lost)?;
        let meter = Meter::new(QUIET_BYTES);
        let stream = Metered::new(stream, meter.clone());
        let mut config = tokio_postgres::Config::new();
        config
            .user(&login.user)
            .password(password.expose())
            .dbname(&self.database)
            // Poolers and some certificates cannot be bound to. A server that does offer it finds
            // out in the exchange itself when somebody took the offer away (RFC 5802, section 6).
            .channel_binding(ChannelBinding::Prefer)
            .application_name("service");
        let prefix = self.prefix.clone();
        let (client, driver) = if let Some(make) = &self.tls {
            let tls = connector::<Metered<TcpStream>>(make, &self.host)?;
            start(config.ssl_mode(SslMode::Require), stream, GuardedTls { tls, prefix }).await?
        } else {
            self.refuse_unprotected(peer)?;
            start(config.ssl_mode(SslMode::Disable), guarded(stream, prefix), NoTls).await?
        };
        Ok(Session {
            cancel: client.cancel_token(),
            client,
            meter,
            statements: HashMap::new(),
            peer,
            driver,
            target: self.clone(),
            busy: false,
            system: String::new(),
            process: None,
            retired: false,
        })
    }

    /// Passwords and rows cross a network only under TLS; development may do otherwise.
    fn refuse_unprotected(&self, peer: SocketAddr) -> Result<(), ConnectError> {
        let development = self.egress.private_networks() == PrivateNetworks::Allowed;
        if peer.ip().is_loopback() || development { Ok(()) } else { Err(ConnectError::Unprotected) }
    }

    /// Asks the server to stop what the session's backend is doing, at the very address that the
    /// session is connected to.
    async fn cancel(&self, cancel: CancelToken, peer: SocketAddr) {
        let asking = async {
            let host = peer.ip().to_string();
            let stream = self.egress.connect(&host, peer.port(), CANCEL_LIMIT).await;
            let stream = stream.map_err(ConnectError::Egress)?;
            if let Some(make) = &self.tls {
                let tls = connector::<TcpStream>(make, &self.host)?;
                cancel.cancel_query_raw(stream, tls).await?;
            } else {
                cancel.cancel_query_raw(stream, NoTls).await?;
            }
            Ok::<_, ConnectError>(())
        };
        match timeout(CANCEL_LIMIT, asking).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(%error, "a statement could not be cancelled"),
            Err(_) => tracing::warn!("a statement could not be cancelled in time"),
        }
    }
}

fn connector<S>(
    make: &MakeRustlsConnect,
    host: &str,
) -> Result<<MakeRustlsConnect as MakeTlsConnect<S>>::TlsConnect, ConnectError>
where
    MakeRustlsConnect: MakeTlsConnect<S>,
{
    MakeTlsConnect::<S>::make_tls_connect(&mut make.clone(), host).map_err(|_| {
        ConnectError::Handshake(format!("`{host}` is not a valid name for a certificate"))
    })
}

async fn start<S, T>(
    config: &tokio_postgres::Config,
    stream: S,
    tls: T,
) -> Result<(Client, AbortHandle), ConnectError>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    T: TlsConnect<S>,
    T::Stream: Send + 'static,
{
    let (client, connection) = config.connect_raw(stream, tls).await?;
    // How a connection ended is seen by whoever waits for its answers.
    let driver = tokio::spawn(async move { drop(connection.await) });
    Ok((client, driver.abort_handle()))
}

impl Session {
    /// The database cluster's identity.
    pub(super) fn system(&self) -> &str {
        &self.system
    }

    /// Whether the connection is gone.
    pub(super) fn is_closed(&self) -> bool {
        self.client.is_closed()
    }

    /// Whether the connection broke because the server sent more than it may.
    pub(super) fn is_overrun(&self) -> bool {
        self.meter.is_empty()
    }

    /// Whether a transaction is open on it.
    pub(super) fn is_busy(&self) -> bool {
        self.busy
    }

    /// The server process that answers.
    pub(super) fn process(&self) -> Option<&str> {
        self.process.as_deref()
    }

    /// Whether the connection is not to be used for another call.
    pub(super) fn is_retired(&self) -> bool {
        self.retired
    }

    /// Learns which cluster and which server process answer, once the role is known to be no
    /// mightier than tools need.
    async fn identify(&mut self, user: &str) -> Result<(), ConnectError> {
        let identity = format!("select {PROCESS}, {IDENTITY}");
        let rows = self.client.query_typed(&identity, &[]).await?;
        let row = rows.first().ok_or_else(|| ConnectError::NoIdentity(user.to_owned()))?;
        let (system, powerful): (Option<String>, bool) = (row.try_get(1)?, row.try_get(2)?);
        if powerful {
            return Err(ConnectError::TooPowerful(user.to_owned()));
        }
        self.system = system.ok_or_else(|| ConnectError::NoIdentity(user.to_owned()))?;
        self.process = row.try_get(0)?;
        Ok(())
    }

    /// Begins a transaction in which every setting that values or names depend on is fixed, and
    /// lets `bytes` come in. Returns the transaction's number when it may write.
    ///
    /// The settings are local to the transaction: what a statement of an earlier call may have set
    /// for the session does not count. The text holds numbers and names of the config alone.
    ///
    /// A transaction that begins in another server process than the one that answered first would
    /// meet statements that others prepared, so it is given up.
    pub(super) async fn begin(
        &mut self,
        access: Access,
        pace: &Pace<'_>,
        bytes: usize,
    ) -> Result<Option<String>, SessionError> {
        self.meter.refill(bytes);
        self.busy = true;
        let (mode, number) = match access {
            Access::ReadOnly => ("read only", ""),
            Access::ReadWrite => ("read write", ", pg_catalog.pg_current_xact_id()"),
        };
        let begin = format!(
            "begin isolation level read committed, {mode};
            set local search_path = {path};
            set local statement_timeout = {statement};
            set local lock_timeout = {lock};
            set local idle_in_transaction_session_timeout = {idle};
            set local timezone = 'UTC';
            set local datestyle = 'ISO, YMD';
            set local intervalstyle = 'postgres';
            set local extra_float_digits = 3;
            set local bytea_output = 'hex';
            set local lc_monetary = 'C';
            set local standard_conforming_strings = on;
            set local synchronous_commit = on;
            select {PROCESS}{number}",
            path = pace.search_path,
            statement = millis(pace.statement),
            lock = millis(pace.lock),
            idle = millis(pace.idle),
        );
        let answers = self.client.simple_query(&begin).await?;
        let row = answers.iter().find_map(|answer| match answer {
            SimpleQueryMessage::Row(row) => Some(row),
            _ => None,
        });
        let column = |at| row.filter(|row| at < row.len()).and_then(|row| row.get(at));
        if !self.is_answered_by(column(0)) {
            // A pooler closes its connection to the server where a transaction is not ended.
            self.rollback().await?;
            return Err(SessionError::Connect(ConnectError::Shared));
        }
        Ok(column(1).map(str::to_owned))
    }

    /// Whether this server process is the one that answered first.
    fn is_answered_by(&mut self, process: Option<&str>) -> bool {
        let Some(process) = process else { return false };
        self.process.get_or_insert_with(|| process.to_owned()) == process
    }

    /// The prepared statement, preparing it when this connection has not yet.
    pub(super) async fn prepared(
        &mut self,
        text: &str,
    ) -> Result<Statement, tokio_postgres::Error> {
        if let Some(statement) = self.statements.get(text) {
            return Ok(statement.clone());
        }
        let statement = self.client.prepare(text).await.inspect_err(|error| {
            // The library looks types up by statements of its own, which it prepares once.
            self.retired |= is_stale(error);
        })?;
        self.statements.insert(text.to_owned(), statement.clone());
        Ok(statement)
    }

    /// Prepares the statement anew when it is asked for next.
    pub(super) fn forget(&mut self, text: &str) {
        self.statements.remove(text);
    }

    /// Rolls the transaction back and begins another one on the same connection, in which the
    /// statement is prepared anew. Other statements of it may be as stale, so no call comes after
    /// this one.
    pub(super) async fn begin_anew(
        &mut self,
        text: &str,
        (access, pace, bytes): (Access, &Pace<'_>, usize),
    ) -> Result<Option<String>, SessionError> {
        self.retired = true;
        self.forget(text);
        self.rollback().await?;
        self.begin(access, pace, bytes).await
    }

    /// Commits; an error says nothing yet of whether the server did.
    pub(super) async fn commit(&mut self) -> Result<(), tokio_postgres::Error> {
        self.client.batch_execute("commit").await?;
        self.busy = false;
        Ok(())
    }

    /// A place that the log has reached by now; nothing where the server does not say.
    pub(super) async fn log_place(&self) -> Option<Lsn> {
        let rows = self.client.query_typed(LOG_PLACE, &[]).await.ok()?;
        rows.first()?.try_get::<_, String>(0).ok()?.parse().ok()
    }

    /// Rolls back.
    pub(super) async fn rollback(&mut self) -> Result<(), tokio_postgres::Error> {
        self.client.batch_execute("rollback").await?;
        self.busy = false;
        Ok(())
    }
}

/// Zero would mean no limit.
fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX).clamp(1, 2_147_483_647)
}

/// Which process of which server answers, in the same words whatever the session's settings and
/// search path: processes of two servers may have the same number.
const PROCESS: &str = "
    pg_catalog.concat(pg_catalog.pg_backend_pid(), ' of ', pg_catalog.to_char(
        pg_catalog.timezone('UTC', pg_catalog.pg_postmaster_start_time()),
        'YYYYMMDDHH24MISSUS'))";

const LOG_PLACE: &str = "select pg_catalog.pg_current_wal_insert_lsn()::text";

/// Which cluster this is, and whether the role may do what no tool should.
const IDENTITY: &str = "
    (select system_identifier::text from pg_catalog.pg_control_system()),
    rolsuper or rolreplication
        or pg_has_role(oid, 'pg_execute_server_program', 'member')
        or pg_has_role(oid, 'pg_read_server_files', 'member')
        or pg_has_role(oid, 'pg_write_server_files', 'member')
        or coalesce(
            (select pg_has_role(r.oid, nspowner, 'member')
            from pg_catalog.pg_namespace where nspname = 'service'), false)
    from pg_catalog.pg_roles r
    where rolname = current_user";
