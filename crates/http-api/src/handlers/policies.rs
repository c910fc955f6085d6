//! Policies as an org's administration reads and changes them.
//!
//! Here is what concerns a policy as a whole; `versions` has documents and tests, `activation`
//! what decides, and `trial` what is only asked.

pub(crate) mod activation;
pub(crate) mod trial;
pub(crate) mod versions;

use std::sync::Arc;

use act::MayView;
use http::StatusCode;
use model::{PolicyId, Timestamp};

use crate::{
    access::{Admin, Viewer},
    app::App,
    call::Call,
    cursor::List,
    error::ApiError,
    query::Param,
    reply::Reply,
    wire::{ListView, PolicyView, WithDeed, page_limit, policy_edit, policy_new},
};

/// The parameters of the list of policies.
pub(crate) const LIST: &[Param] =
    &[Param::One("archived"), Param::One("limit"), Param::One("cursor")];

/// `GET /v1/policies`
pub(crate) async fn list(app: Arc<App>, caller: Viewer, call: Call) -> Result<Reply, ApiError> {
    let archived_too = match call.query.text("archived") {
        None | Some("false") => false,
        Some("true") => true,
        Some(_) => return Err(ApiError::invalid("archived", "expected `true` or `false`")),
    };
    let limit = page_limit(&call.query)?;
    let listed = List { name: "policies", org: caller.org(), agent: None };
    let after: Option<(Timestamp, PolicyId)> = app.cursors.read(listed, &call.query)?;
    let policies = app.admin.view(&caller).policies().await?;
    let mut shown = policies
        .iter()
        .filter(|policy| archived_too || policy.archived_at.is_none())
        .filter(|policy| after.is_none_or(|after| (policy.created_at, policy.id) < after));
    let page: Vec<_> = shown.by_ref().take(limit).collect();
    let last = page.last().filter(|_| shown.next().is_some());
    let cursor =
        last.map(|policy| app.cursors.write(&(policy.created_at, policy.id), listed, &call.query));
    Reply::ok(&ListView::page(page.into_iter().map(PolicyView::from).collect(), cursor))
}

/// `POST /v1/policies`
pub(crate) async fn create(app: Arc<App>, caller: Admin, call: Call) -> Result<Reply, ApiError> {
    let made = app.admin.change(&caller).create_policy(policy_new(&call)?).await?;
    let view = WithDeed::of(PolicyView::from(&made.object), made.deed);
    Ok(Reply::json(StatusCode::CREATED, &view))
}

/// `GET /v1/policies/{id}`
pub(crate) async fn show(app: Arc<App>, caller: Viewer, call: Call) -> Result<Reply, ApiError> {
    Reply::ok(&PolicyView::from(&app.admin.view(&caller).policy(call.param("id")?).await?))
}

/// `POST /v1/policies/{id}`
pub(crate) async fn update(app: Arc<App>, caller: Admin, call: Call) -> Result<Reply, ApiError> {
    let id = call.param("id")?;
    let changed = app.admin.change(&caller).update_policy(id, policy_edit(&call)?).await?;
    Reply::ok(&WithDeed::of(PolicyView::from(&changed.object), changed.deed))
}

/// `DELETE /v1/policies/{id}`
pub(crate) async fn archive(app: Arc<App>, caller: Admin, call: Call) -> Result<Reply, ApiError> {
    let changed = app.admin.change(&caller).archive_policy(call.param("id")?).await?;
    Reply::ok(&WithDeed::of(PolicyView::from(&changed.object), changed.deed))
}

/// Returns what comes of work that takes its time; other requests go on meanwhile.
async fn apart<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ApiError> {
    tokio::task::spawn_blocking(work).await.map_err(|error| {
        tracing::error!(%error, "work on a policy was not done");
        ApiError::internal()
    })
}
