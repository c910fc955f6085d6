//! The keys of agents as an org's administration makes, lists and ends them.

use std::sync::Arc;

use act::MayView;
use http::StatusCode;
use ledger::record::ApiKey;
use model::{AgentId, KeyId, Timestamp};
use web::{Call, List, Param, Reply};

use crate::{
    access::{Admin, Viewer},
    app::App,
    refusal::Answer,
    wire::{
        keys::{KeyView, key_new, roll_overlap},
        policies::WithDeed,
    },
};

/// The parameters of the list of an agent's keys.
pub(crate) const LIST: &[Param] = &[Param::One("limit"), Param::One("cursor")];

/// `GET /v1/agents/{id}/keys`
pub(crate) async fn list(app: Arc<App>, caller: Viewer, call: Call) -> Answer {
    let agent: AgentId = call.param("id")?;
    let listed = List { name: "agent_keys", org: caller.org(), agent: Some(agent) };
    let page = app.cursors.page::<(Timestamp, KeyId)>(listed, &call.query)?;
    let found = app.admin.view(&caller).agent_keys(agent, page.after, page.limit).await?;
    let now = app.clock.now();
    let ids: Vec<_> = found.items.iter().map(|key| key.id).collect();
    let uses = app.admin.view(&caller).key_uses(&ids).await?;
    let part = (&*found.items, found.has_more);
    let position = |key: &ApiKey| (key.created_at, key.id);
    let view = |key| KeyView::of(key, now).used(uses.get(&key.id).copied());
    Ok(Reply::ok(&page.of_part(part, position, view)))
}

/// `POST /v1/agents/{id}/keys`
pub(crate) async fn create(app: Arc<App>, caller: Admin, call: Call) -> Answer {
    let agent: AgentId = call.param("id")?;
    let made = app.admin.change(&caller).create_agent_key(agent, key_new(&call)?).await?;
    let view = KeyView::of(&made.key.object, app.clock.now()).with_secret(&made.text);
    Ok(Reply::json(StatusCode::CREATED, &WithDeed::of(view, made.key.deed)))
}

/// `POST /v1/agents/{id}/keys/{key}/roll`
pub(crate) async fn roll(app: Arc<App>, caller: Admin, call: Call) -> Answer {
    let (agent, key): (AgentId, KeyId) = (call.param("id")?, call.param("key")?);
    let lives = roll_overlap(&call)?;
    let made = app.admin.change(&caller).roll_agent_key(agent, key, lives).await?;
    let view = KeyView::of(&made.key.object, app.clock.now()).with_secret(&made.text);
    Ok(Reply::json(StatusCode::CREATED, &WithDeed::of(view, made.key.deed)))
}

/// `DELETE /v1/agents/{id}/keys/{key}`
pub(crate) async fn revoke(app: Arc<App>, caller: Admin, call: Call) -> Answer {
    let (agent, key): (AgentId, KeyId) = (call.param("id")?, call.param("key")?);
    let ended = app.admin.change(&caller).revoke_agent_key(agent, key).await?;
    let uses = app.admin.view(&caller).key_uses(&[key]).await?;
    let view = KeyView::of(&ended.object, app.clock.now()).used(uses.get(&key).copied());
    Ok(Reply::ok(&WithDeed::of(view, ended.deed)))
}
