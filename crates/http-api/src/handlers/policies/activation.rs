//! Which version decides, which is asked beside it, and which did before.

use std::sync::Arc;

use act::{Changed, MayView};
use admin::{Activated, Activation, Failing, ProposalStanding};
use http::StatusCode;
use ledger::record::ProposalStatus;
use web::{Call, List, Reply};

use crate::{
    access::{Admin, Viewer},
    app::App,
    refusal::Answer,
    wire::policies::{
        Activate, ActivationView, ActiveView, ProposalView, WithDeed, policy_activation,
        reason_alone, reason_if_any,
    },
};

/// `POST /v1/policies/{id}/activate`
pub(crate) async fn activate(app: Arc<App>, caller: Admin, call: Call) -> Answer {
    let wanted = policy_activation(&call)?;
    let Activate { policy, version, mode, reason, expected_active, force } = wanted;
    let editor = app.admin.change(&caller);
    let untested = editor.view().untested(policy, version).await?;
    let failing = if force { Failing::Overruled } else { Failing::Refused };
    let tested = app.trials.run(caller.org(), move |effort| untested.run(failing, effort));
    let activation = Activation { version: tested.await??, mode, reason, expected_active };
    match editor.activate_policy(activation).await? {
        Activated::Now(active) => Ok(Reply::ok(&ActivationView::from(&active.object))),
        Activated::Proposed(Changed { object: proposal, deed }) => {
            let status = ProposalStatus::PendingSecondPerson;
            let standing = ProposalStanding { proposal, status };
            let view = WithDeed::of(ProposalView::of(&standing), deed);
            Ok(Reply::json(StatusCode::ACCEPTED, &view))
        }
    }
}

/// `GET /v1/policies/activations/{id}`
pub(crate) async fn proposal(app: Arc<App>, caller: Viewer, call: Call) -> Answer {
    let found = app.admin.view(&caller).policy_proposal(call.param("id")?).await?;
    Ok(Reply::ok(&ProposalView::of(&found)))
}

/// `POST /v1/policies/activations/{id}/confirm`
pub(crate) async fn confirm(app: Arc<App>, caller: Admin, call: Call) -> Answer {
    let (id, reason) = (call.param("id")?, reason_if_any(&call)?);
    let confirmed = app.admin.change(&caller).confirm_activation(id, reason.as_deref()).await?;
    Ok(Reply::ok(&ActivationView::from(&confirmed.object)))
}

/// `POST /v1/policies/activations/{id}/reject`
pub(crate) async fn reject(app: Arc<App>, caller: Admin, call: Call) -> Answer {
    let (id, reason) = (call.param("id")?, reason_alone(&call)?);
    let rejected = app.admin.change(&caller).reject_activation(id, &reason).await?;
    let Changed { object: proposal, deed } = rejected;
    let standing = ProposalStanding { proposal, status: ProposalStatus::Rejected };
    Ok(Reply::ok(&WithDeed::of(ProposalView::of(&standing), deed)))
}

/// `POST /v1/policies/shadow/deactivate`
pub(crate) async fn end_shadow(app: Arc<App>, caller: Admin, call: Call) -> Answer {
    let ended = app.admin.change(&caller).end_shadow(&reason_alone(&call)?).await?;
    Ok(Reply::ok(&ActivationView::from(&ended.object)))
}

/// `GET /v1/policies/active`
pub(crate) async fn active(app: Arc<App>, caller: Viewer, _: Call) -> Answer {
    let view = app.admin.view(&caller);
    let (active, waiting) = (view.active_policies().await?, view.waiting_proposals().await?);
    Ok(Reply::ok(&ActiveView::of(&active, &waiting)))
}

/// `GET /v1/policies/activations`
pub(crate) async fn history(app: Arc<App>, caller: Viewer, call: Call) -> Answer {
    let listed = List { name: "policy_activations", org: caller.org(), agent: None };
    let page = app.cursors.page(listed, &call.query)?;
    let found = app.admin.view(&caller).policy_activations(page.after, page.limit).await?;
    let part = (&*found.items, found.has_more);
    Ok(Reply::ok(&page.of_part(part, |it| it.turn, ActivationView::from)))
}
