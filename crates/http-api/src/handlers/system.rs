//! The server about itself: health, version, this interface's description, its pages, seal keys.

use std::sync::Arc;

use http::{
    HeaderValue, StatusCode,
    header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, X_FRAME_OPTIONS},
};
use serde_json::json;
use web::{API_VERSION, API_VERSIONS, ApiError, Call, Reply, unless_known};

pub(crate) use super::{health::health, key_set::keys};
use crate::{
    access::Anyone,
    app::App,
    catalogue,
    description::{self, Made, Published},
};

/// `GET /v1/version`
pub(crate) async fn version(app: Arc<App>, _: Anyone, _: Call) -> Result<Reply, ApiError> {
    Ok(Reply::ok(&json!({
        "object": "version",
        "build": app.build.version,
        "commit": app.build.commit,
        "api_versions": API_VERSIONS,
        "default_api_version": API_VERSION,
    })))
}

/// `GET /api/openapi.yaml`
pub(crate) async fn description(_: Arc<App>, _: Anyone, call: Call) -> Result<Reply, ApiError> {
    published(&call, &description::YAML, "application/yaml")
}

/// `GET /api/openapi.json`
pub(crate) async fn description_json(
    _: Arc<App>,
    _: Anyone,
    call: Call,
) -> Result<Reply, ApiError> {
    published(&call, &description::JSON, "application/json")
}

/// `GET /docs`
pub(crate) async fn reference(app: Arc<App>, _: Anyone, call: Call) -> Result<Reply, ApiError> {
    published(&call, &app.reference, HTML).map(as_page)
}

/// `GET /docs/errors`
pub(crate) async fn error_pages(_: Arc<App>, _: Anyone, _: Call) -> Result<Reply, ApiError> {
    Ok(as_page(Reply::bytes(StatusCode::OK, HTML, catalogue::index(catalogue::ALL))))
}

/// `GET /docs/errors/{code}`
pub(crate) async fn error_page(_: Arc<App>, _: Anyone, call: Call) -> Result<Reply, ApiError> {
    let word: String = call.param("code")?;
    let code = catalogue::from_word(&word).ok_or_else(ApiError::not_found)?;
    Ok(as_page(Reply::bytes(StatusCode::OK, HTML, catalogue::page(code))))
}

const HTML: &str = "text/html; charset=utf-8";

fn as_page(reply: Reply) -> Reply {
    let policy = HeaderValue::from_static(catalogue::content_security_policy());
    reply
        .with(CONTENT_SECURITY_POLICY, policy)
        .with(X_FRAME_OPTIONS, HeaderValue::from_static("DENY"))
        .with(CACHE_CONTROL, HeaderValue::from_static("public, max-age=300"))
}

fn published(
    call: &Call,
    made: &Made<Published>,
    media_type: &'static str,
) -> Result<Reply, ApiError> {
    let Published { body, etag } = made.as_ref().map_err(|error| {
        tracing::error!(%error, "could not show the API description");
        ApiError::internal()
    })?;
    Ok(unless_known(call, etag.clone(), Reply::bytes(StatusCode::OK, media_type, body.clone())))
}
