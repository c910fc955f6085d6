//! Which version decides, which is asked beside it, and which did before.

use std::sync::Arc;

use act::MayView;
use admin::Activation;

use super::apart;
use crate::{
    access::{Admin, Viewer},
    app::App,
    call::Call,
    cursor::List,
    error::ApiError,
    reply::Reply,
    wire::{
        Activate, ActivationView, ActiveView, ListView, page_limit, policy_activation, reason_alone,
    },
};

/// `POST /v1/policies/{id}/activate`
pub(crate) async fn activate(app: Arc<App>, caller: Admin, call: Call) -> Result<Reply, ApiError> {
    let Activate { policy, version, mode, reason, expected_active } = policy_activation(&call)?;
    let editor = app.admin.change(&caller);
    let untested = editor.view().untested(policy, version).await?;
    let version = apart(move || untested.pass()).await??;
    let activation = Activation { version, mode, reason, expected_active };
    let activated = editor.activate_policy(activation).await?;
    Reply::ok(&ActivationView::from(&activated.object))
}

/// `POST /v1/policies/shadow/deactivate`
pub(crate) async fn end_shadow(
    app: Arc<App>,
    caller: Admin,
    call: Call,
) -> Result<Reply, ApiError> {
    let ended = app.admin.change(&caller).end_shadow(&reason_alone(&call)?).await?;
    Reply::ok(&ActivationView::from(&ended.object))
}

/// `GET /v1/policies/active`
pub(crate) async fn active(app: Arc<App>, caller: Viewer, _: Call) -> Result<Reply, ApiError> {
    Reply::ok(&ActiveView::from(&app.admin.view(&caller).active_policies().await?))
}

/// `GET /v1/policies/activations`
pub(crate) async fn history(app: Arc<App>, caller: Viewer, call: Call) -> Result<Reply, ApiError> {
    let limit = page_limit(&call.query)?;
    let listed = List { name: "policy_activations", org: caller.org(), agent: None };
    let below: Option<u64> = app.cursors.read(listed, &call.query)?;
    let page = app.admin.view(&caller).policy_activations(below, limit).await?;
    let last = page.items.last().filter(|_| page.has_more);
    let cursor = last.map(|it| app.cursors.write(&it.turn, listed, &call.query));
    Reply::ok(&ListView::page(page.items.iter().map(ActivationView::from).collect(), cursor))
}
