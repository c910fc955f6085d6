//! The published seal keys.

use std::{sync::Arc, time::Duration};

use admin::Admin;
use bytes::Bytes;
use deed::KeySet;
use http::HeaderValue;
use ledger::Ledger;
use tokio::{sync::Mutex, time::Instant};
use web::ApiError;

/// How long the set is kept before it is read again.
const CACHED_FOR: Duration = Duration::from_mins(1);

/// The set as it was last read, and the keys that were at work then: once others are, it is read
/// again, so that a change of keys is told as soon as this instance seals by it.
#[derive(Default)]
pub(crate) struct KeySetCache(Mutex<Option<Cached>>);

struct Cached {
    at: Instant,
    at_work: Arc<KeySet>,
    published: Published,
}

/// The set as it is sent.
#[derive(Clone)]
pub(crate) struct Published {
    pub(crate) body: Bytes,
    pub(crate) etag: HeaderValue,
}

impl KeySetCache {
    /// The set, read again where it may have changed.
    pub(crate) async fn published(
        &self,
        admin: &Admin,
        ledger: &Ledger,
    ) -> Result<Published, ApiError> {
        let mut last = self.0.lock().await;
        let at_work = ledger.sealer().registered();
        if let Some(cached) = &*last
            && cached.at.elapsed() < CACHED_FOR
            && Arc::ptr_eq(&cached.at_work, &at_work)
        {
            return Ok(cached.published.clone());
        }
        let set = admin.key_set().await.map_err(|error| {
            ApiError::unavailable_because("the seal keys cannot be read at the moment", &error)
        })?;
        let etag = HeaderValue::from_str(&set.etag()).map_err(|_| ApiError::internal())?;
        let published = Published { body: Bytes::from(set.to_json()), etag };
        *last = Some(Cached { at: Instant::now(), at_work, published: published.clone() });
        Ok(published)
    }
}
