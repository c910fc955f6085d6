//! What can go wrong with the database, in words that hold nothing of what is stored.

use std::{error::Error, io, time::Duration};

use deadpool_postgres::PoolError;
use ledger::StoreDown;
use model::causes;
use tokio_postgres::error::SqlState;

/// Why the database gave no answer, or not the one that was asked for.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Fault {
    /// There is no connection.
    #[error("no connection could be had: {0}")]
    Unreachable(String),
    /// The deadline passed.
    #[error("no response within {0:?}")]
    Late(Duration),
    /// The connection ended or cannot be used.
    #[error("the connection broke: {0}")]
    Broken(String),
    /// PostgreSQL answered with an error. Its detail and hint are left out: they repeat the row.
    #[error("PostgreSQL returned {}: {message}", .code.code())]
    Refused { code: SqlState, message: String },
    /// A row is not one that this build could have written.
    #[error("`{column}` of a row of `{table}` cannot be read: {why}")]
    Row { table: &'static str, column: &'static str, why: String },
    /// A row is not one that may be written.
    #[error("a row of `{table}` breaks the rule `{rule}`")]
    Unfit { table: &'static str, rule: &'static str },
}

impl Fault {
    /// Whether the transaction was rolled back so that another one, which it waited for, could go on.
    pub(crate) fn is_deadlock(&self) -> bool {
        matches!(self, Self::Refused { code, .. } if *code == SqlState::T_R_DEADLOCK_DETECTED)
    }

    /// The fault as the callers of a store know it.
    pub(crate) fn down(self, attempt: &'static str) -> StoreDown {
        StoreDown { attempt, source: Box::new(self) }
    }
}

impl From<tokio_postgres::Error> for Fault {
    fn from(error: tokio_postgres::Error) -> Self {
        match error.as_db_error() {
            Some(db) => Self::Refused { code: db.code().clone(), message: db.message().to_owned() },
            None => Self::Broken(causes(&error)),
        }
    }
}

impl From<PoolError> for Fault {
    fn from(error: PoolError) -> Self {
        match error {
            PoolError::Backend(error) if may_pass(&error) => {
                Self::Unreachable(Self::from(error).to_string())
            }
            PoolError::Backend(error) => Self::from(error),
            PoolError::Timeout(_)
            | PoolError::Closed
            | PoolError::NoRuntimeSpecified
            | PoolError::PostCreateHook(_) => Self::Unreachable(error.to_string()),
        }
    }
}

/// Whether a connection that failed so may be had a moment later: nobody answered, or the server
/// starts, stops or has too many connections. A wrong password, the name of a database that is not
/// there and a certificate that does not hold stay wrong.
fn may_pass(error: &tokio_postgres::Error) -> bool {
    const PASSING: [SqlState; 4] = [
        SqlState::CANNOT_CONNECT_NOW,
        SqlState::ADMIN_SHUTDOWN,
        SqlState::CRASH_SHUTDOWN,
        SqlState::TOO_MANY_CONNECTIONS,
    ];
    if let Some(code) = error.code() {
        return PASSING.contains(code);
    }
    let source = error.source().and_then(|source| source.downcast_ref::<io::Error>());
    // What TLS finds wrong is invalid data.
    source.map_or(error.is_closed(), |source| source.kind() != io::ErrorKind::InvalidData)
}
