//! Why a change did not happen, as far as every kind of change can fail. What else a use case
//! refuses, it says in an error of its own that wraps this one.

use ledger::LedgerError;

/// Why an org was not changed.
#[derive(Debug, thiserror::Error)]
pub enum ActError {
    /// A field holds what it may not.
    #[error("`{param}`: expected {expected}")]
    BadInput {
        /// The field's name as callers know it.
        param: &'static str,
        /// What would have been accepted.
        expected: String,
    },
    /// What is to be changed is not there.
    #[error("there is no such {0}")]
    NotFound(&'static str),
    /// What is to be changed stands otherwise.
    #[error("{0}")]
    Conflict(&'static str),
    /// It was asked for on top of what is no more so.
    #[error("{sentence}")]
    Stale {
        /// What names the state that the change was asked for on.
        param: &'static str,
        /// What is so instead.
        sentence: &'static str,
    },
    /// Whoever asks may not do this, or no longer.
    #[error(
        "this requires the operator, a member whose role allows it, or a valid org key with the `admin` scope"
    )]
    NotAllowed,
    /// Whoever asks is in the org, and their role does not let them do this.
    #[error("your role in the org does not allow this")]
    RoleRequired,
    /// The change could not be made durable, or nobody knows whether it is.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

impl ActError {
    /// The error of a field that holds what it may not.
    pub fn bad_input(param: &'static str, expected: impl Into<String>) -> Self {
        Self::BadInput { param, expected: expected.into() }
    }
}
