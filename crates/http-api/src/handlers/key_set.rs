//! The published seal keys.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use deed::KeySet;
use http::{
    HeaderName, HeaderValue, StatusCode,
    header::{ACCESS_CONTROL_ALLOW_ORIGIN, CACHE_CONTROL},
};
use tokio::{sync::Mutex, time::Instant};

use super::unchanged::unless_known;
use crate::{access::Anyone, app::App, call::Call, error::ApiError, reply::Reply};

/// How long the set is kept before it is read again.
const CACHED_FOR: Duration = Duration::from_mins(1);

const HEADERS: [(HeaderName, HeaderValue); 2] = [
    (CACHE_CONTROL, HeaderValue::from_static("public, max-age=300")),
    (ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*")),
];

/// The set as it was last read, and the keys that were at work then: once others are, it is read
/// again, so that a change of keys is told as soon as this instance seals by it.
#[derive(Default)]
pub(crate) struct KeySetCache(Mutex<Option<Cached>>);

struct Cached {
    at: Instant,
    at_work: Arc<KeySet>,
    published: Published,
}

#[derive(Clone)]
struct Published {
    body: Bytes,
    etag: HeaderValue,
}

impl KeySetCache {
    async fn published(&self, app: &App) -> Result<Published, ApiError> {
        let mut last = self.0.lock().await;
        let at_work = app.gate.ledger().sealer().registered();
        if let Some(cached) = &*last
            && cached.at.elapsed() < CACHED_FOR
            && Arc::ptr_eq(&cached.at_work, &at_work)
        {
            return Ok(cached.published.clone());
        }
        let set = app.admin.key_set().await.map_err(|error| {
            ApiError::unavailable_because("the seal keys cannot be read now", &error)
        })?;
        let etag = HeaderValue::from_str(&set.etag()).map_err(|_| ApiError::internal())?;
        let published = Published { body: Bytes::from(set.to_json()), etag };
        *last = Some(Cached { at: Instant::now(), at_work, published: published.clone() });
        Ok(published)
    }
}

/// `GET /.well-known/service/keys.json`
pub(crate) async fn keys(app: Arc<App>, _: Anyone, call: Call) -> Result<Reply, ApiError> {
    let Published { body, etag } = app.key_set.published(&app).await?;
    let reply = unless_known(&call, etag, Reply::bytes(StatusCode::OK, "application/json", body));
    Ok(HEADERS.into_iter().fold(reply, |reply, (name, value)| reply.with(name, value)))
}
