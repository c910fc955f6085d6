//! What can go wrong with the database, in words that hold nothing of what is stored.

use std::time::Duration;

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
    #[error("no answer within {0:?}")]
    Late(Duration),
    /// The connection ended or cannot be used.
    #[error("the connection broke: {0}")]
    Broken(String),
    /// PostgreSQL answered with an error. Its detail and hint are left out: they repeat the row.
    #[error("PostgreSQL answered {}: {message}", .code.code())]
    Refused { code: SqlState, message: String },
    /// A row is not one that this build could have written.
    #[error("`{column}` of a row of `{table}` cannot be read: {why}")]
    Row { table: &'static str, column: &'static str, why: String },
    /// A row is not one that may be written.
    #[error("a row of `{table}` breaks the rule `{rule}`")]
    Unfit { table: &'static str, rule: &'static str },
}

impl Fault {
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
            PoolError::Backend(error) => Self::Unreachable(Self::from(error).to_string()),
            PoolError::Timeout(_)
            | PoolError::Closed
            | PoolError::NoRuntimeSpecified
            | PoolError::PostCreateHook(_) => Self::Unreachable(error.to_string()),
        }
    }
}
