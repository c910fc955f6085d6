//! What a face of the service brings to the kit: the state that its handlers share, which knows
//! who holds a credential.

use async_trait::async_trait;
use crypto::Secret;

/// The state that the handlers of one table share.
#[async_trait]
pub trait State: Send + Sync + 'static {
    /// Who a credential stands for.
    type Holder: Send;

    /// Who holds the key, or `None` for one that is wrong, revoked or expired.
    async fn holder(&self, key: &Secret<String>) -> Result<Option<Self::Holder>, LookupError>;
}

/// The keys could not be looked up.
#[derive(Debug, thiserror::Error)]
#[error("could not look the key up")]
pub struct LookupError(#[source] pub Box<dyn std::error::Error + Send + Sync>);
