//! Deeds: lists, one deed in its API form or in its exact bytes, files of evidence, and a check of
//! what somebody was given.

use std::sync::Arc;

use deed::{
    DEED_TYPE, api_form,
    verify::{Trust, verify},
};
use http::{
    HeaderName, HeaderValue, StatusCode,
    header::{ACCEPT, VARY},
};
use model::DeedId;
use records::ReadError;
use web::{ApiError, Call, List, Param, Reply, unless_known};

use super::log::reader;
use crate::{
    access::Reader,
    app::App,
    refusal::{Answer, IntoApiError},
    wire::deeds::{DeedView, deed_filter, verification},
};

/// The parameters of a file of evidence.
pub(crate) const BUNDLE: &[Param] = &[Param::One("from")];

/// Names the amendments of a deed.
const AMENDED_BY: HeaderName = HeaderName::from_static("service-amended-by");

/// The media types that ask for the exact bytes.
const EXACT: [&str; 2] = [DEED_TYPE, "application/vnd.service.deed+json"];

/// `GET /v1/deeds`
pub(crate) async fn list(app: Arc<App>, caller: Reader, call: Call) -> Answer {
    let filter = deed_filter(&call.query)?;
    let listed = List { name: "deeds", org: caller.org(), agent: caller.only_agent() };
    let page = app.cursors.page(listed, &call.query)?;
    let rows = app.records.deeds(reader(&caller), &filter, (page.after, page.limit + 1)).await?;
    Ok(Reply::ok(&page.of(&rows, |row| row.place().as_u64(), DeedView::new)))
}

/// `GET /v1/deeds/{id}`
pub(crate) async fn show(app: Arc<App>, caller: Reader, call: Call) -> Answer {
    let id: DeedId = call.param("id")?;
    let found = app.records.deed(reader(&caller), id).await?;
    let vary = HeaderValue::from_static("accept");
    if !wants_exact_bytes(&call) {
        let form = api_form(&found.row.body, &found.row.signature, &found.disclosures);
        let form = form.map_err(|error| {
            tracing::error!(deed = %id, %error, "a stored deed is not what was sealed");
            ApiError::internal()
        })?;
        let reply = Reply::ok(&form).with(VARY, vary);
        // The form has exactly the members that it is checked by, and every one repeats what was signed.
        let amendments = app.records.amendments_of(reader(&caller), &found.row).await?;
        let named: Vec<_> = amendments.iter().map(ToString::to_string).collect();
        return match HeaderValue::from_str(&named.join(", ")) {
            Ok(named) if !named.is_empty() => Ok(reply.with(AMENDED_BY, named)),
            Ok(_) | Err(_) => Ok(reply),
        };
    }
    let tag = format!("\"{}\"", found.row.digest);
    let tag = HeaderValue::from_str(&tag).map_err(|_| ApiError::internal())?;
    let whole = Reply::bytes(StatusCode::OK, DEED_TYPE, found.row.body);
    Ok(unless_known(&call, tag, whole).with(VARY, vary))
}

/// `GET /v1/deeds/{id}/bundle`
pub(crate) async fn bundle(app: Arc<App>, caller: Reader, call: Call) -> Answer {
    let (id, known) = (call.param("id")?, call.query.number("from")?);
    let evidence = app.records.evidence(reader(&caller), id, known).await;
    let evidence = evidence.map_err(|error| match error {
        ReadError::Sizes { .. } => ApiError::invalid("from", error.to_string()),
        other => other.into_api_error(),
    })?;
    Ok(Reply::bytes(StatusCode::OK, "application/json", evidence))
}

/// `POST /v1/deeds/verify`
pub(crate) async fn check(app: Arc<App>, _: Reader, call: Call) -> Answer {
    let keys = app.admin.key_set().await.map_err(|error| {
        ApiError::unavailable_because("the seal keys cannot be read at the moment", &error)
    })?;
    let trust = Trust { keys: Some(keys), ..Trust::default() };
    Ok(Reply::ok(&verification(verify(&call.body, &trust))))
}

/// Whether the `Accept` header names the deed's own type.
fn wants_exact_bytes(call: &Call) -> bool {
    let named = call.headers.get(ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let mut types = named.split(',').filter_map(|range| range.split(';').next());
    types.any(|name| EXACT.iter().any(|exact| name.trim().eq_ignore_ascii_case(exact)))
}
