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
use web::{Call, List, Param, Reply};

use crate::{
    access::{Admin, Viewer},
    app::App,
    refusal::Answer,
    wire::policies::{PolicyView, WithDeed, policy_edit, policy_new},
};

/// The parameters of the list of policies.
pub(crate) const LIST: &[Param] =
    &[Param::One("archived"), Param::One("limit"), Param::One("cursor")];

/// `GET /v1/policies`
pub(crate) async fn list(app: Arc<App>, caller: Viewer, call: Call) -> Answer {
    let archived_too = call.query.flag("archived")?;
    let listed = List { name: "policies", org: caller.org(), agent: None };
    let page = app.cursors.page(listed, &call.query)?;
    let mut policies = app.admin.view(&caller).policies().await?;
    policies.retain(|policy| {
        let shown = archived_too || policy.archived_at.is_none();
        shown && page.after.is_none_or(|after| (policy.created_at, policy.id) < after)
    });
    Ok(Reply::ok(&page.of(&policies, |it| (it.created_at, it.id), PolicyView::from)))
}

/// `POST /v1/policies`
pub(crate) async fn create(app: Arc<App>, caller: Admin, call: Call) -> Answer {
    let made = app.admin.change(&caller).create_policy(policy_new(&call)?).await?;
    let view = WithDeed::of(PolicyView::from(&made.object), made.deed);
    Ok(Reply::json(StatusCode::CREATED, &view))
}

/// `GET /v1/policies/{id}`
pub(crate) async fn show(app: Arc<App>, caller: Viewer, call: Call) -> Answer {
    Ok(Reply::ok(&PolicyView::from(&app.admin.view(&caller).policy(call.param("id")?).await?)))
}

/// `POST /v1/policies/{id}`
pub(crate) async fn update(app: Arc<App>, caller: Admin, call: Call) -> Answer {
    let id = call.param("id")?;
    let changed = app.admin.change(&caller).update_policy(id, policy_edit(&call)?).await?;
    Ok(Reply::ok(&WithDeed::of(PolicyView::from(&changed.object), changed.deed)))
}

/// `DELETE /v1/policies/{id}`
pub(crate) async fn archive(app: Arc<App>, caller: Admin, call: Call) -> Answer {
    let changed = app.admin.change(&caller).archive_policy(call.param("id")?).await?;
    Ok(Reply::ok(&WithDeed::of(PolicyView::from(&changed.object), changed.deed)))
}
