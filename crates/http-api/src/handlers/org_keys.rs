//! The org's own keys as its owners make, list and end them.

use std::sync::Arc;

use act::MayView;
use admin::ShownKey;
use http::StatusCode;
use ledger::record::ApiKey;
use model::{KeyId, Timestamp};
use web::{Call, List, Param, Reply};

use crate::{
    access::Owner,
    app::App,
    refusal::Answer,
    wire::{
        keys::{KeyView, org_key_new, roll_overlap},
        policies::WithDeed,
    },
};

/// The parameters of the list of the org's own keys.
pub(crate) const LIST: &[Param] = &[Param::One("limit"), Param::One("cursor")];

/// `GET /v1/api_keys`
pub(crate) async fn list(app: Arc<App>, caller: Owner, call: Call) -> Answer {
    let listed = List { name: "api_keys", org: caller.org(), agent: None };
    let page = app.cursors.page::<(Timestamp, KeyId)>(listed, &call.query)?;
    let found = app.admin.view(&caller).org_keys(page.after, page.limit).await?;
    let now = app.clock.now();
    let ids: Vec<_> = found.items.iter().map(|key| key.id).collect();
    let uses = app.admin.view(&caller).key_uses(&ids).await?;
    let part = (&*found.items, found.has_more);
    let position = |key: &ApiKey| (key.created_at, key.id);
    let view = |key| KeyView::of(key, now).used(uses.get(&key.id).copied());
    Ok(Reply::ok(&page.of_part(part, position, view)))
}

/// `POST /v1/api_keys`
pub(crate) async fn create(app: Arc<App>, caller: Owner, call: Call) -> Answer {
    let made = app.admin.change(&caller).create_org_key(org_key_new(&call)?).await?;
    Ok(shown(&app, &made))
}

/// `POST /v1/api_keys/{id}/roll`
pub(crate) async fn roll(app: Arc<App>, caller: Owner, call: Call) -> Answer {
    let (id, lives) = (call.param("id")?, roll_overlap(&call)?);
    Ok(shown(&app, &app.admin.change(&caller).roll_org_key(id, lives).await?))
}

/// `DELETE /v1/api_keys/{id}`
pub(crate) async fn revoke(app: Arc<App>, caller: Owner, call: Call) -> Answer {
    let id: KeyId = call.param("id")?;
    let ended = app.admin.change(&caller).revoke_org_key(id).await?;
    let uses = app.admin.view(&caller).key_uses(&[id]).await?;
    let view = KeyView::of(&ended.object, app.clock.now()).used(uses.get(&id).copied());
    Ok(Reply::ok(&WithDeed::of(view, ended.deed)))
}

/// The key with its text, for whoever just made it.
fn shown(app: &App, made: &ShownKey) -> Reply {
    let view = KeyView::of(&made.key.object, app.clock.now()).with_secret(&made.text);
    Reply::json(StatusCode::CREATED, &WithDeed::of(view, made.key.deed))
}
