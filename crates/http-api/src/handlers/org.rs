//! The org itself, and how it is run.

use std::sync::Arc;

use web::{Call, Reply};

use crate::{
    access::{Owner, Viewer},
    app::App,
    refusal::Answer,
    wire::{
        org::{OrgDetail, org_edit},
        policies::WithDeed,
    },
};

/// `GET /v1/org`
pub(crate) async fn show(app: Arc<App>, caller: Viewer, _: Call) -> Answer {
    let found = app.admin.view(&caller).org().await?;
    Ok(Reply::ok(&OrgDetail::of(&found, app.sign_in.signup)))
}

/// `POST /v1/org`
pub(crate) async fn update(app: Arc<App>, caller: Owner, call: Call) -> Answer {
    let made = app.admin.own(&caller).update_org(org_edit(&call)?).await?;
    let view = OrgDetail::of(&made.object, app.sign_in.signup);
    Ok(Reply::ok(&WithDeed::of(view, made.deed)))
}
