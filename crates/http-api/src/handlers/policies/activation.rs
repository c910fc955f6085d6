//! Which version decides, which is asked beside it, and which did before.

use std::sync::Arc;

use act::MayView;
use admin::Activation;
use web::{Call, List, Reply};

use crate::{
    access::{Admin, Viewer},
    app::App,
    refusal::Answer,
    wire::policies::{Activate, ActivationView, ActiveView, policy_activation, reason_alone},
};

/// `POST /v1/policies/{id}/activate`
pub(crate) async fn activate(app: Arc<App>, caller: Admin, call: Call) -> Answer {
    let Activate { policy, version, mode, reason, expected_active } = policy_activation(&call)?;
    let editor = app.admin.change(&caller);
    let untested = editor.view().untested(policy, version).await?;
    let version = app.trials.run(caller.org(), move |effort| untested.pass(effort)).await??;
    let activation = Activation { version, mode, reason, expected_active };
    let activated = editor.activate_policy(activation).await?;
    Ok(Reply::ok(&ActivationView::from(&activated.object)))
}

/// `POST /v1/policies/shadow/deactivate`
pub(crate) async fn end_shadow(app: Arc<App>, caller: Admin, call: Call) -> Answer {
    let ended = app.admin.change(&caller).end_shadow(&reason_alone(&call)?).await?;
    Ok(Reply::ok(&ActivationView::from(&ended.object)))
}

/// `GET /v1/policies/active`
pub(crate) async fn active(app: Arc<App>, caller: Viewer, _: Call) -> Answer {
    Ok(Reply::ok(&ActiveView::from(&app.admin.view(&caller).active_policies().await?)))
}

/// `GET /v1/policies/activations`
pub(crate) async fn history(app: Arc<App>, caller: Viewer, call: Call) -> Answer {
    let listed = List { name: "policy_activations", org: caller.org(), agent: None };
    let page = app.cursors.page(listed, &call.query)?;
    let found = app.admin.view(&caller).policy_activations(page.after, page.limit).await?;
    let part = (&*found.items, found.has_more);
    Ok(Reply::ok(&page.of_part(part, |it| it.turn, ActivationView::from)))
}
