//! The files that pages load.

use std::sync::Arc;

use http::{
    HeaderValue, StatusCode,
    header::{ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, VARY},
};
use pages::assets;
use web::{ApiError, Call, Reply};

use crate::{access::Anyone, app::App};

/// `GET /app/assets/{file}`, and below `/auth` and `/approve`
///
/// The name changes with what is in the file, so a browser keeps it for good.
pub(crate) async fn file(_: Arc<App>, _: Anyone, call: Call) -> Result<Reply, ApiError> {
    let name: String = call.param("file")?;
    let found = assets::find(&name).ok_or_else(ApiError::not_found)?;
    let reply = if takes_gzip(&call) && !found.gzip.is_empty() {
        Reply::bytes(StatusCode::OK, found.media_type, &*found.gzip)
            .with(CONTENT_ENCODING, HeaderValue::from_static("gzip"))
    } else {
        Reply::bytes(StatusCode::OK, found.media_type, found.bytes)
    };
    let for_good = HeaderValue::from_static("public, max-age=31536000, immutable");
    Ok(reply.with(CACHE_CONTROL, for_good).with(VARY, HeaderValue::from_static("accept-encoding")))
}

/// Whether the browser reads `gzip`; where it gives it no weight at all it does not (RFC 9110, 12.5.3).
fn takes_gzip(call: &Call) -> bool {
    let codings = call.header(ACCEPT_ENCODING.as_str()).unwrap_or_default().split(',');
    let mut named = codings.map(|coding| coding.split_once(';').unwrap_or((coding, "")));
    named.any(|(coding, weight)| {
        let weight = weight.trim().strip_prefix("q=").map(str::parse::<f32>);
        let is_refused = weight.is_some_and(|weight| !weight.is_ok_and(|weight| weight > 0.0));
        coding.trim().eq_ignore_ascii_case("gzip") && !is_refused
    })
}
