//! The org itself, and how it is run.

use std::sync::Arc;

use admin::OrgAsRun;
use web::{Call, Reply};

use crate::{
    access::{Owner, Viewer},
    app::App,
    refusal::Answer,
    wire::{
        org::{OrgDetail, retention},
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
    let days = retention(&call)?;
    let change = app.admin.change(&caller);
    let made = change.keep_payloads_for(days).await?;
    let OrgAsRun { org, .. } = change.view().org().await?;
    let found = OrgAsRun { org, retention_days: made.object.retention_days };
    Ok(Reply::ok(&WithDeed::of(OrgDetail::of(&found, app.sign_in.signup), made.deed)))
}
