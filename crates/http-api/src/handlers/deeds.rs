//! Deeds: lists, one deed in its API form or in its exact bytes, files of evidence, and a check of
//! what somebody was given.

use std::sync::Arc;

use deed::{
    DEED_TYPE, api_form,
    verify::{Trust, verify},
};
use http::{
    HeaderValue, StatusCode,
    header::{ACCEPT, VARY},
};
use model::DeedId;
use records::ReadError;

use super::{log::reader, unchanged::unless_known};
use crate::{
    access::Reader,
    app::App,
    call::Call,
    cursor::List,
    error::ApiError,
    query::Param,
    reply::Reply,
    wire::{DeedView, ListView, deed_filter, page_limit, verification},
};

/// The parameters of a file of evidence.
pub(crate) const BUNDLE: &[Param] = &[Param::One("from")];

/// The media types that ask for the exact bytes.
const EXACT: [&str; 2] = [DEED_TYPE, "application/vnd.service.deed+json"];

/// `GET /v1/deeds`
pub(crate) async fn list(app: Arc<App>, caller: Reader, call: Call) -> Result<Reply, ApiError> {
    let (filter, limit) = (deed_filter(&call.query)?, page_limit(&call.query)?);
    let listed = List { name: "deeds", org: caller.org(), agent: caller.only_agent() };
    let before: Option<u64> = app.cursors.read(listed, &call.query)?;
    let rows = app.records.deeds(reader(&caller), &filter, (before, limit + 1)).await?;
    let shown: Vec<_> = rows.iter().take(limit).collect();
    let last = shown.last().filter(|_| rows.len() > limit);
    let cursor = last.map(|row| app.cursors.write(&row.place().as_u64(), listed, &call.query));
    Reply::ok(&ListView::page(shown.into_iter().map(DeedView::new).collect(), cursor))
}

/// `GET /v1/deeds/{id}`
pub(crate) async fn show(app: Arc<App>, caller: Reader, call: Call) -> Result<Reply, ApiError> {
    let id: DeedId = call.param("id")?;
    let found = app.records.deed(reader(&caller), id).await?;
    let vary = HeaderValue::from_static("accept");
    if !wants_exact_bytes(&call) {
        let form = api_form(&found.row.body, &found.row.signature, &found.disclosures);
        let form = form.map_err(|error| {
            tracing::error!(deed = %id, %error, "a stored deed is not what was sealed");
            ApiError::internal()
        })?;
        return Ok(Reply::ok(&form)?.with(VARY, vary));
    }
    let tag = format!("\"{}\"", found.row.digest);
    let tag = HeaderValue::from_str(&tag).map_err(|_| ApiError::internal())?;
    let whole = Reply::bytes(StatusCode::OK, DEED_TYPE, found.row.body);
    Ok(unless_known(&call, tag, whole).with(VARY, vary))
}

/// `GET /v1/deeds/{id}/bundle`
pub(crate) async fn bundle(app: Arc<App>, caller: Reader, call: Call) -> Result<Reply, ApiError> {
    let (id, known) = (call.param("id")?, call.query.parse("from")?);
    let evidence = app.records.evidence(reader(&caller), id, known).await;
    let evidence = evidence.map_err(|error| match error {
        ReadError::Sizes { .. } => ApiError::invalid("from", error.to_string()),
        other => other.into(),
    })?;
    Ok(Reply::bytes(StatusCode::OK, "application/json", evidence))
}

/// `POST /v1/deeds/verify`
pub(crate) async fn check(app: Arc<App>, _: Reader, call: Call) -> Result<Reply, ApiError> {
    let keys = app.admin.key_set().await.map_err(|error| {
        ApiError::unavailable_because("the seal keys cannot be read now", &error)
    })?;
    let trust = Trust { keys: Some(keys), ..Trust::default() };
    Reply::ok(&verification(verify(&call.body, &trust)))
}

/// Returns whether the `Accept` header names the deed's own type.
fn wants_exact_bytes(call: &Call) -> bool {
    let named = call.headers.get(ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let mut types = named.split(',').filter_map(|range| range.split(';').next());
    types.any(|name| EXACT.iter().any(|exact| name.trim().eq_ignore_ascii_case(exact)))
}
