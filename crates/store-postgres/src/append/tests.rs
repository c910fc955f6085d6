//! What an error inside the transaction means for the turn.

use ledger::AppendError;
use tokio_postgres::error::SqlState;

use super::{Guards, refused};
use crate::fault::Fault;

fn meaning(guards: Guards, code: &SqlState) -> &'static str {
    let fault = Fault::Refused { code: code.clone(), message: "made up".to_owned() };
    match refused(guards, code, fault) {
        AppendError::Lost => "lost",
        AppendError::InDoubt(_) => "in doubt",
        AppendError::Down(_) => "down",
        AppendError::Refused(_) => "refused",
    }
}

#[test]
fn an_error_means_what_its_statement_and_its_class_say() {
    #[rustfmt::skip]
    let table = [
        (SqlState::DIVISION_BY_ZERO,            "lost",    "refused"),
        (SqlState::UNIQUE_VIOLATION,            "lost",    "refused"),
        (SqlState::CHECK_VIOLATION,             "refused", "refused"),
        (SqlState::FOREIGN_KEY_VIOLATION,       "refused", "refused"),
        (SqlState::CHARACTER_NOT_IN_REPERTOIRE, "refused", "refused"),
        (SqlState::PROGRAM_LIMIT_EXCEEDED,      "refused", "refused"),
        (SqlState::T_R_DEADLOCK_DETECTED,       "lost",    "lost"),
        (SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT, "lost", "lost"),
        (SqlState::QUERY_CANCELED,              "down",    "down"),
        (SqlState::LOCK_NOT_AVAILABLE,          "down",    "down"),
        (SqlState::DISK_FULL,                   "down",    "down"),
        (SqlState::READ_ONLY_SQL_TRANSACTION,   "down",    "down"),
        (SqlState::ADMIN_SHUTDOWN,              "down",    "down"),
        (SqlState::INSUFFICIENT_PRIVILEGE,      "down",    "down"),
    ];
    for (code, race, rows) in table {
        assert_eq!(meaning(Guards::Race, &code), race, "{code:?} on the head");
        assert_eq!(meaning(Guards::Rows, &code), rows, "{code:?} on a row");
        assert_eq!(meaning(Guards::Commit, &code), "in doubt", "{code:?} on the commit");
    }
}
