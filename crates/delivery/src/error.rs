//! Why an org's webhooks are not as somebody wants them.

use act::ActError;
use crypto::vault::VaultError;
use ledger::StoreDown;

use crate::UrlError;

/// Why something was not done for a webhook endpoint.
#[derive(Debug, thiserror::Error)]
pub enum WebhookError {
    /// As with every change to an org.
    #[error(transparent)]
    Act(#[from] ActError),
    /// Nothing can be posted to the address.
    #[error("`url`: {0}")]
    Url(#[from] UrlError),
    /// The org has as many endpoints as it may have.
    #[error("the org has {0} webhook endpoints, the maximum; delete one first")]
    LimitReached(usize),
    /// The endpoint was tried too often.
    #[error("the endpoint was pinged {0} times within a minute; try again later")]
    TooOften(usize),
    /// The secret cannot be kept or read.
    #[error("the endpoint's secret cannot be kept or read")]
    Vault(#[from] VaultError),
    /// What must be known could not be read.
    #[error(transparent)]
    Store(#[from] StoreDown),
}
