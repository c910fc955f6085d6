//! Where the checks that somebody asked for are kept until they are done, and after.

use async_trait::async_trait;
use ledger::StoreDown;
use model::{CheckId, OrgId, Timestamp};

use crate::check::ChainCheck;

/// The result of a request for a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckRequest {
    /// The check is queued.
    Queued,
    /// Another check of the org has not finished.
    Busy,
}

/// Where checks of logs are kept.
#[async_trait]
pub trait CheckStore: Send + Sync {
    /// Keeps a new check, unless another one of the org has not ended.
    async fn ask_check(&self, check: &ChainCheck) -> Result<CheckRequest, StoreDown>;

    /// Keeps how a check stands now.
    async fn put_check(&self, check: &ChainCheck) -> Result<(), StoreDown>;

    /// A check of any org that nobody works on, as one that runs from now on.
    async fn take_check(&self) -> Result<Option<ChainCheck>, StoreDown>;

    /// A check.
    async fn chain_check(&self, org: OrgId, id: CheckId) -> Result<Option<ChainCheck>, StoreDown>;

    /// Returns up to `limit` checks behind this place, newest first.
    async fn chain_checks(
        &self,
        org: OrgId,
        after: Option<(Timestamp, CheckId)>,
        limit: usize,
    ) -> Result<Vec<ChainCheck>, StoreDown>;
}
