//! The named points of an action's way at which a test may end, pause or fail the process.

use ledger::LedgerError;

/// Passes a point at which a test may make the record fail.
pub(crate) fn injected(point: &str) -> Result<(), LedgerError> {
    failpoint::hit(point).map_err(|_| LedgerError::Fault)
}

/// Passes a point at which a test may end or pause the process; nothing else can fail here.
pub(crate) fn pass(point: &str) {
    let _ = failpoint::hit(point);
}
