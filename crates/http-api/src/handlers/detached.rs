//! Work that goes on when its client goes away.

use ledger::LedgerError;

/// Runs the work in a task of its own: a client that closes its connection must not take a permitted
/// action with it between its turn and its run.
pub(crate) async fn detached<T, E>(
    work: impl Future<Output = Result<T, E>> + Send + 'static,
) -> Result<T, E>
where
    T: Send + 'static,
    E: From<LedgerError> + Send + 'static,
{
    match tokio::spawn(work).await {
        Ok(ended) => ended,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // Tasks are cancelled only when the whole process ends.
            Err(_) => Err(LedgerError::InDoubt.into()),
        },
    }
}
