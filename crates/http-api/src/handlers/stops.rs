//! Stopping, suspending and archiving agents, and stopping the whole org.

use std::sync::Arc;

use act::{Changed, MayView};
use ledger::record::{Agent, Org};
use model::{AgentId, OrgId};
use web::{Call, Reply};

use crate::{
    access::Admin,
    app::App,
    refusal::Answer,
    wire::{
        agents::AgentView,
        policies::{WithDeed, reason_alone},
        stops::{OrgState, Stopped, StoppedAgent, stop_wish, suspension},
    },
};

/// How many calls that are under way a Stop names.
const SHOWN: usize = 100;

/// `POST /v1/agents/{id}/stop`
pub(crate) async fn stop(app: Arc<App>, caller: Admin, call: Call) -> Answer {
    let id = call.param("id")?;
    let (reason, waiting) = stop_wish(&call)?;
    let made = app.admin.change(&caller).stop_agent(id, &reason, waiting).await?;
    let under_way = under_way(&app, caller.org(), Some(id), SHOWN).await;
    Ok(Reply::ok(&StoppedAgent::of(changed(&app, &made), under_way)))
}

/// `POST /v1/agents/{id}/start`
pub(crate) async fn start(app: Arc<App>, caller: Admin, call: Call) -> Answer {
    let (id, reason) = (call.param("id")?, reason_alone(&call)?);
    let made = app.admin.change(&caller).start_agent(id, &reason).await?;
    Ok(Reply::ok(&changed(&app, &made)))
}

/// `POST /v1/agents/{id}/suspend`
pub(crate) async fn suspend(app: Arc<App>, caller: Admin, call: Call) -> Answer {
    let id = call.param("id")?;
    let (reason, until) = suspension(&call)?;
    let made = app.admin.change(&caller).suspend_agent(id, &reason, until).await?;
    Ok(Reply::ok(&changed(&app, &made)))
}

/// `POST /v1/agents/{id}/resume`
pub(crate) async fn resume(app: Arc<App>, caller: Admin, call: Call) -> Answer {
    let (id, reason) = (call.param("id")?, reason_alone(&call)?);
    let made = app.admin.change(&caller).resume_agent(id, &reason).await?;
    Ok(Reply::ok(&changed(&app, &made)))
}

/// `DELETE /v1/agents/{id}`
pub(crate) async fn archive(app: Arc<App>, caller: Admin, call: Call) -> Answer {
    let (id, reason) = (call.param("id")?, reason_alone(&call)?);
    let made = app.admin.change(&caller).archive_agent(id, &reason).await?;
    Ok(Reply::ok(&changed(&app, &made)))
}

/// `POST /v1/org/stop`
pub(crate) async fn stop_org(app: Arc<App>, caller: Admin, call: Call) -> Answer {
    let (reason, waiting) = stop_wish(&call)?;
    let made = app.admin.change(&caller).stop_org(&reason, waiting).await?;
    let under_way = under_way(&app, caller.org(), None, 1).await;
    Ok(Reply::ok(&Stopped::of(org_changed(&made), under_way.as_ref())))
}

/// `POST /v1/org/start`
pub(crate) async fn start_org(app: Arc<App>, caller: Admin, call: Call) -> Answer {
    let made = app.admin.change(&caller).start_org(&reason_alone(&call)?).await?;
    Ok(Reply::ok(&org_changed(&made)))
}

/// What is under way; nothing where that cannot be read. The Stop holds all the same, so its answer
/// must not look as if it failed.
async fn under_way(
    app: &App,
    org: OrgId,
    agent: Option<AgentId>,
    most: usize,
) -> Option<gate::UnderWay> {
    match app.gate.under_way(org, agent, most).await {
        Ok(found) => Some(found),
        Err(down) => {
            tracing::warn!(error = %down, "what is under way behind a Stop could not be read");
            None
        }
    }
}

fn changed<'a>(app: &App, made: &'a Changed<Agent>) -> WithDeed<AgentView<'a>> {
    WithDeed::of(AgentView::of(&made.object, app.clock.now()), made.deed)
}

fn org_changed(made: &Changed<Org>) -> WithDeed<OrgState<'_>> {
    WithDeed::of(OrgState::from(&made.object), made.deed)
}
