//! The published seal keys.

use std::sync::Arc;

use http::{
    HeaderName, HeaderValue, StatusCode,
    header::{ACCESS_CONTROL_ALLOW_ORIGIN, CACHE_CONTROL},
};
use web::{ApiError, Call, Reply, unless_known};

use crate::{access::Anyone, app::App, key_set::Published};

const HEADERS: [(HeaderName, HeaderValue); 2] = [
    (CACHE_CONTROL, HeaderValue::from_static("public, max-age=300")),
    (ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*")),
];

/// `GET /.well-known/service/keys.json`
pub(crate) async fn keys(app: Arc<App>, _: Anyone, call: Call) -> Result<Reply, ApiError> {
    let Published { body, etag } = app.key_set.published(&app.admin, app.gate.ledger()).await?;
    let reply = unless_known(&call, etag, Reply::bytes(StatusCode::OK, "application/json", body));
    Ok(HEADERS.into_iter().fold(reply, |reply, (name, value)| reply.with(name, value)))
}
