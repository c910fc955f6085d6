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
    fault::ConnectError,
    meter::{Meter, Metered},
    scram::{ScramOnly, ScramOnlyTls},
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
        let identity = timeout(self.limit, session.identify(&login.user)).await;
        session.system = identity.map_err(|_| ConnectError::Late)??;
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
        let (client, driver) = if let Some(make) = &self.tls {
            let tls = connector::<Metered<TcpStream>>(make, &self.host)?;
            start(config.ssl_mode(SslMode::Require), stream, ScramOnlyTls::new(tls)).await?
        } else {
            self.refuse_unprotected(peer)?;
            start(config.ssl_mode(SslMode::Disable), ScramOnly::new(stream), NoTls).await?
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
    MakeTlsConnect::<S>::make_tls_connect(&mut make.clone(), host)
        .map_err(|_| ConnectError::Handshake(format!("`{host}` is no name for a certificate")))
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

    /// The cluster's identity, once the role is known to be no mightier than tools need.
    async fn identify(&self, user: &str) -> Result<String, ConnectError> {
        let rows = self.client.query_typed(IDENTITY, &[]).await?;
        let row = rows.first().ok_or_else(|| ConnectError::NoIdentity(user.to_owned()))?;
        let (system, powerful): (Option<String>, bool) = (row.try_get(0)?, row.try_get(1)?);
        if powerful {
            return Err(ConnectError::TooPowerful(user.to_owned()));
        }
        system.ok_or_else(|| ConnectError::NoIdentity(user.to_owned()))
    }

    /// Begins a transaction in which every setting that values or names depend on is fixed, and
    /// lets `bytes` come in. Returns the transaction's number when it may write.
    ///
    /// The settings are local to the transaction: what a statement of an earlier call may have set
    /// for the session does not count. The text holds numbers and names of the config alone.
    pub(super) async fn begin(
        &mut self,
        access: Access,
        pace: &Pace<'_>,
        bytes: usize,
    ) -> Result<Option<String>, tokio_postgres::Error> {
        self.meter.refill(bytes);
        self.busy = true;
        let (mode, number) = match access {
            Access::ReadOnly => ("read only", ""),
            Access::ReadWrite => ("read write", "select pg_catalog.pg_current_xact_id()::text"),
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
            {number}",
            path = pace.search_path,
            statement = millis(pace.statement),
            lock = millis(pace.lock),
            idle = millis(pace.idle),
        );
        let answers = self.client.simple_query(&begin).await?;
        Ok(answers.iter().find_map(|answer| match answer {
            SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
            _ => None,
        }))
    }

    /// The prepared statement, preparing it when this connection has not yet.
    pub(super) async fn prepared(
        &mut self,
        text: &str,
    ) -> Result<Statement, tokio_postgres::Error> {
        if let Some(statement) = self.statements.get(text) {
            return Ok(statement.clone());
        }
        let statement = self.client.prepare(text).await?;
        self.statements.insert(text.to_owned(), statement.clone());
        Ok(statement)
    }

    /// Prepares the statement anew when it is asked for next.
    pub(super) fn forget(&mut self, text: &str) {
        self.statements.remove(text);
    }

    /// Rolls the transaction back and begins another one, on the same connection.
    pub(super) async fn begin_again(
        &mut self,
        access: Access,
        pace: &Pace<'_>,
        bytes: usize,
    ) -> Result<Option<String>, tokio_postgres::Error> {
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

const LOG_PLACE: &str = "select pg_catalog.pg_current_wal_insert_lsn()::text";

/// Which cluster this is, and whether the role may do what no tool should.
const IDENTITY: &str = "
    select
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
