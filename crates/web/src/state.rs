//! What a face of the service brings to the kit: the state that its handlers share, which knows
//! who holds a credential.

use async_trait::async_trait;
use crypto::Secret;

use crate::{error::ApiError, table::Patience};

/// The state that the handlers of one table share.
#[async_trait]
pub trait State: Send + Sync + 'static {
    /// Who a credential stands for.
    type Holder: Send;

    /// Who holds the key, or `None` for one that is wrong, revoked or expired.
    async fn holder(&self, key: &Secret<String>) -> Result<Option<Self::Holder>, LookupError>;

    /// The place of this holder's request among those of its kind, or why there is none for it now.
    fn place(&self, _: &Self::Holder, _: Patience) -> Result<Place, ApiError> {
        Ok(Place::unbounded())
    }
}

/// What a request holds from its admission to its answer; dropping it lets the next one in.
pub struct Place(Option<Box<dyn Send>>);

impl Place {
    /// A place of which there are as many as are asked for.
    pub const fn unbounded() -> Self {
        Self(None)
    }

    /// A place that is free again when this is dropped.
    pub fn of(held: impl Send + 'static) -> Self {
        Self(Some(Box::new(held)))
    }
}

impl std::fmt::Debug for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Place").field("is_bounded", &self.0.is_some()).finish()
    }
}

/// The keys could not be looked up.
#[derive(Debug, thiserror::Error)]
#[error("could not look the key up")]
pub struct LookupError(#[source] pub Box<dyn std::error::Error + Send + Sync>);
