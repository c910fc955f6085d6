//! What went wrong, in the service's closed list of codes and in sentences that hold no secret.
//!
//! Of what the server said, only SQLSTATE and the primary message go on: details and hints hold
//! row values. Messages of class 22 (bad data) quote the value they choked on, so they end before
//! the quote.

use std::io;

use egress::EgressError;
use model::{ExecutionErrorCode as Code, Fault};
use tokio_postgres::error::{DbError, Severity, SqlState};

use super::scram::MethodError;

/// Codes of the server by the start of their SQLSTATE; the first that fits counts.
#[rustfmt::skip]
const SQLSTATES: &[(&str, Code)] = &[
    ("57014", Code::StatementTimeout),
    ("55P03", Code::LockTimeout),
    ("25006", Code::ConnectorMisconfigured),
    ("0A000", Code::ConnectorMisconfigured),
    ("3D",    Code::ConnectorMisconfigured),
    ("3F",    Code::ConnectorMisconfigured),
    ("42",    Code::ConnectorMisconfigured),
    ("28",    Code::ConnectorAuthFailed),
    ("08",    Code::ConnectorUnreachable),
    ("53",    Code::ConnectorUnreachable),
    ("57",    Code::ConnectorUnreachable),
    ("58",    Code::ConnectorUnreachable),
    ("",      Code::ToolError),
];

/// Why a session could not be had.
#[derive(Debug, thiserror::Error)]
pub(super) enum ConnectError {
    #[error(transparent)]
    Egress(EgressError),
    #[error("the connection to the governed database timed out")]
    Late,
    #[error("all {0} connections of this role are busy")]
    Busy(usize),
    #[error(transparent)]
    Method(MethodError),
    #[error("the handshake with the governed database failed: {0}")]
    Handshake(String),
    #[error(
        "an unencrypted connection is allowed only to this machine: set `tls.mode` to `verify-full`"
    )]
    Unprotected,
    #[error("the governed database refused the connection: {}", sentence(.0))]
    Refused(Box<DbError>),
    #[error("the connection to the governed database was lost")]
    Lost,
    #[error(
        "the role `{0}` has too many privileges: expected a role that is not a superuser, has no REPLICATION, cannot read or write server files or run programs, and does not own the schema `service`"
    )]
    TooPowerful(String),
    #[error("the connector's credential has no password for the role `{0}`")]
    NoPassword(String),
    #[error("the role `{0}` cannot read the identity of the governed database")]
    NoIdentity(String),
    #[error(
        "connections to the governed database share server processes, as behind a pooler in transaction mode: expected a connection to the server itself, or a pooler in session mode"
    )]
    Shared,
    #[error("the governed database is not the same database as when the call was allowed")]
    Moved,
    #[error("the governed database could not be reached when the call was allowed")]
    NotMet,
}

impl ConnectError {
    /// What a call says that needed the session.
    pub(super) fn fault(&self) -> Fault {
        let code = match self {
            Self::Egress(error) if error.is_refusal() => Code::EgressRefused,
            Self::Egress(_)
            | Self::Late
            | Self::Busy(_)
            | Self::Lost
            | Self::Moved
            | Self::NotMet => Code::ConnectorUnreachable,
            Self::Method(_) | Self::NoPassword(_) => Code::ConnectorAuthFailed,
            // Who is not let in has met no tool yet, whatever the server's reason.
            Self::Refused(error) => match code_of(error.code()) {
                Code::ToolError => Code::ConnectorUnreachable,
                told => told,
            },
            Self::Handshake(_)
            | Self::Unprotected
            | Self::TooPowerful(_)
            | Self::NoIdentity(_)
            | Self::Shared => Code::ConnectorMisconfigured,
        };
        Fault::new(code, self.to_string())
    }
}

impl From<tokio_postgres::Error> for ConnectError {
    fn from(error: tokio_postgres::Error) -> Self {
        if let Some(refusal) = error.as_db_error() {
            return Self::Refused(Box::new(refusal.clone()));
        }
        let source = std::error::Error::source(&error);
        let broke = source.and_then(|source| source.downcast_ref::<io::Error>());
        // rustls and the guard of the log-in tell what they found wrong inside an IO error.
        let told = broke.and_then(io::Error::get_ref);
        if let Some(asked) = told.and_then(|told| told.downcast_ref::<MethodError>()) {
            return Self::Method(*asked);
        }
        match (broke, told.map(ToString::to_string)) {
            (Some(_), Some(said)) => Self::Handshake(said),
            (Some(_), None) => Self::Lost,
            (None, _) if error.is_closed() => Self::Lost,
            (None, _) => Self::Handshake(local(&error)),
        }
    }
}

/// Why something that needs a session was not done: there was none, or the database refused it.
#[derive(Debug)]
pub(super) enum SessionError {
    Connect(ConnectError),
    Database(tokio_postgres::Error),
}

impl SessionError {
    /// What a call says that needed it.
    pub(super) fn fault(&self) -> Fault {
        match self {
            Self::Connect(error) => error.fault(),
            Self::Database(error) => of_statement(error),
        }
    }
}

impl From<tokio_postgres::Error> for SessionError {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Database(error)
    }
}

/// What a statement's error means while the transaction was certainly not committed.
pub(super) fn of_statement(error: &tokio_postgres::Error) -> Fault {
    match error.as_db_error() {
        Some(said) => Fault::new(code_of(said.code()), sentence(said)),
        None if error.is_closed() => {
            Fault::new(Code::ConnectorUnreachable, "the connection was lost before COMMIT was sent")
        }
        None => Fault::new(Code::ResultInvalid, local(error)),
    }
}

/// Whether a statement that has not run is refused for how it was prepared or named, so that it may
/// run when it is prepared anew.
///
/// The server's sentences are in its own language, but for those of internal errors; the routine
/// that says one is not.
pub(super) fn is_stale(error: &tokio_postgres::Error) -> bool {
    let Some(said) = error.as_db_error() else { return false };
    match *said.code() {
        // A table was altered since.
        SqlState::FEATURE_NOT_SUPPORTED => said.routine() == Some("RevalidateCachedQuery"),
        // A type was dropped since, and perhaps made again.
        SqlState::INTERNAL_ERROR => said.message().starts_with("cache lookup failed for type "),
        // Somebody else deallocated it, or has the name.
        SqlState::INVALID_SQL_STATEMENT_NAME | SqlState::DUPLICATE_PSTATEMENT => true,
        _ => false,
    }
}

/// Whether the server said, of a COMMIT, that the transaction was rolled back. Anything
/// else leaves it open: a server that dies, or that is told to stop waiting for its standby, may
/// have committed.
pub(super) fn rolled_back(error: &tokio_postgres::Error) -> bool {
    error.as_db_error().is_some_and(|said| {
        let certain = said.parsed_severity() == Some(Severity::Error);
        let class = said.code().code().get(..2).unwrap_or_default();
        certain && *said.code() != SqlState::T_R_STATEMENT_COMPLETION_UNKNOWN && class != "08"
    })
}

/// Returns SQLSTATE and the primary message.
pub(super) fn sentence(said: &DbError) -> String {
    let message = said.message();
    let bad_data = said.code().code().starts_with("22");
    let quoteless = message.split(": \"").next().unwrap_or_default();
    format!("SQLSTATE {}: {}", said.code().code(), if bad_data { quoteless } else { message })
}

fn code_of(state: &SqlState) -> Code {
    let fits = |(start, _): &&(&str, Code)| state.code().starts_with(start);
    SQLSTATES.iter().find(fits).map_or(Code::ToolError, |(_, code)| *code)
}

/// What the client library itself found wrong: it could not read a value.
fn local(error: &tokio_postgres::Error) -> String {
    let source = std::error::Error::source(error).map(ToString::to_string);
    source.unwrap_or_else(|| error.to_string())
}
