//! Agents as an org's administration reads and changes them.

use std::sync::Arc;

use act::{Changed, MayView};
use admin::AgentPlace;
use http::StatusCode;
use ledger::record::Agent;
use model::AgentId;
use web::{Call, List, Param, Reply};

use crate::{
    access::{Admin, Viewer},
    app::App,
    refusal::Answer,
    wire::{
        agents::{AgentInUse, AgentView, ListPosition, agent_edit, agent_list, agent_new},
        policies::WithDeed,
    },
};

/// The parameters of the list of agents.
pub(crate) const LIST: &[Param] = &[
    Param::One("status"),
    Param::One("q"),
    Param::One("archived"),
    Param::One("limit"),
    Param::One("cursor"),
];

/// `GET /v1/agents`
pub(crate) async fn list(app: Arc<App>, caller: Viewer, call: Call) -> Answer {
    let listed = List { name: "agents", org: caller.org(), agent: None };
    let page = app.cursors.page::<ListPosition>(listed, &call.query)?;
    let asked = agent_list(&call.query, page.after.as_ref())?;
    let found = app.admin.view(&caller).agents(&asked, page.limit).await?;
    let now = app.clock.now();
    let ids: Vec<AgentId> = found.items.iter().map(|agent| agent.id).collect();
    let figures = app.gate.of_agents(caller.org(), &ids, now).await?;
    let part = (&*found.items, found.has_more);
    let position = |agent: &Agent| ListPosition(AgentPlace::from(agent));
    Ok(Reply::ok(&page.of_part(part, position, |agent| {
        let figures = figures.get(&agent.id).copied().unwrap_or_default();
        AgentInUse::of(AgentView::of(agent, now), figures)
    })))
}

/// `POST /v1/agents`
pub(crate) async fn create(app: Arc<App>, caller: Admin, call: Call) -> Answer {
    let made = app.admin.change(&caller).create_agent(agent_new(&call)?).await?;
    Ok(Reply::json(StatusCode::CREATED, &changed(&app, &made)))
}

/// `GET /v1/agents/{id}`
pub(crate) async fn show(app: Arc<App>, caller: Viewer, call: Call) -> Answer {
    let agent = app.admin.view(&caller).agent(call.param("id")?).await?;
    let (org, now) = (caller.org(), app.clock.now());
    let figures = app.gate.of_agents(org, &[agent.id], now).await?;
    let figures = figures.get(&agent.id).copied().unwrap_or_default();
    let today = app.today_of(org, agent.id).await?;
    Ok(Reply::ok(&AgentInUse::of(AgentView::of(&agent, now), figures).with(today)))
}

/// `POST /v1/agents/{id}`
pub(crate) async fn update(app: Arc<App>, caller: Admin, call: Call) -> Answer {
    let id = call.param("id")?;
    let made = app.admin.change(&caller).update_agent(id, agent_edit(&call)?).await?;
    Ok(Reply::ok(&changed(&app, &made)))
}

fn changed<'a>(app: &App, made: &'a Changed<Agent>) -> WithDeed<AgentView<'a>> {
    WithDeed::of(AgentView::of(&made.object, app.clock.now()), made.deed)
}
