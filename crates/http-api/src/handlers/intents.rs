//! The keys of agents' signed intents, the intents that were used, and what a signer is checked by.

use std::sync::Arc;

use act::MayView;
use http::{HeaderValue, StatusCode, header::CACHE_CONTROL};
use ledger::record::UsedIntent;
use model::{ActionId, AgentId, Timestamp};
use web::{ApiError, Call, List, Reply};

use crate::{
    access::{Admin, Anyone, IntentChecker, Viewer},
    app::App,
    refusal::Answer,
    wire::{
        intents::{
            CheckView, IntentKeyView, UsedIntentView, intent_filter, intent_key_new,
            intent_to_check,
        },
        policies::WithDeed,
    },
};

/// `GET /v1/agents/{id}/intent_keys`
pub(crate) async fn keys(app: Arc<App>, caller: Viewer, call: Call) -> Answer {
    let agent: AgentId = call.param("id")?;
    let (keys, now) = (app.admin.view(&caller).intent_keys(agent).await?, app.clock.now());
    let shown: Vec<_> = keys.iter().map(|key| IntentKeyView::of(agent, key, now)).collect();
    Ok(Reply::ok(&serde_json::json!({
        "object": "list", "data": shown, "has_more": false, "next_cursor": null,
    })))
}

/// `POST /v1/agents/{id}/intent_keys`
pub(crate) async fn add(app: Arc<App>, caller: Admin, call: Call) -> Answer {
    let agent = call.param("id")?;
    let added = app.admin.change(&caller).add_intent_key(agent, intent_key_new(&call)?).await?;
    let view = IntentKeyView::of(agent, &added.object, app.clock.now());
    Ok(Reply::json(StatusCode::CREATED, &WithDeed::of(view, added.deed)))
}

/// `DELETE /v1/agents/{id}/intent_keys/{key}`
pub(crate) async fn revoke(app: Arc<App>, caller: Admin, call: Call) -> Answer {
    let (agent, key) = (call.param("id")?, call.param("key")?);
    let revoked = app.admin.change(&caller).revoke_intent_key(agent, key).await?;
    let view = IntentKeyView::of(agent, &revoked.object, app.clock.now());
    Ok(Reply::ok(&WithDeed::of(view, revoked.deed)))
}

/// `GET /v1/intents`
pub(crate) async fn list(app: Arc<App>, caller: Viewer, call: Call) -> Answer {
    let filter = intent_filter(&call.query)?;
    let org = caller.org();
    let listed = List { name: "intents", org, agent: None };
    let page = app.cursors.page::<(Timestamp, ActionId)>(listed, &call.query)?;
    let after = page.after.map(|(_, action)| action);
    let used = app.gate.used_intents(org, &filter, after, page.limit + 1).await?;
    let position = |used: &UsedIntent| (used.used_at, used.action);
    Ok(Reply::ok(&page.of(&used, position, UsedIntentView::from)))
}

/// `POST /v1/intents/check`
pub(crate) async fn check(app: Arc<App>, caller: IntentChecker, call: Call) -> Answer {
    let asked = intent_to_check(&call, &caller)?;
    if let IntentChecker::Admin(admin) = &caller {
        app.admin.view(admin).agent(asked.call.agent.id).await?;
    }
    let checked = app.gate.check_intent(asked).await?;
    Ok(Reply::ok(&CheckView::of(&checked)))
}

/// `GET /v1/intents/vectors`
pub(crate) async fn vectors(_: Arc<App>, _: Anyone, _: Call) -> Result<Reply, ApiError> {
    let reply = Reply::bytes(StatusCode::OK, "application/json", intent::VECTORS);
    Ok(reply.with(CACHE_CONTROL, HeaderValue::from_static("public, max-age=300")))
}
