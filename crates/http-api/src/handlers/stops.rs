//! Stopping, suspending and archiving agents, and stopping the whole org.

use std::sync::Arc;

use act::{Changed, MayView};
use gate::Voiding;
use ledger::record::{Agent, Org};
use model::{AgentId, OrgId, PendingApprovals};
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
    end_void(&app, voided_of(&made.object, waiting));
    let under_way = under_way(&app, caller.org(), Some(id), SHOWN).await;
    Ok(Reply::ok(&StoppedAgent::of((changed(&app, &made), waiting), under_way)))
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
    end_void(&app, voided_of(&made.object, PendingApprovals::Void));
    Ok(Reply::ok(&changed(&app, &made)))
}

/// `POST /v1/org/stop`
pub(crate) async fn stop_org(app: Arc<App>, caller: Admin, call: Call) -> Answer {
    let (reason, waiting) = stop_wish(&call)?;
    let made = app.admin.change(&caller).stop_org(&reason, waiting).await?;
    let Org { id, voids, .. } = made.object;
    let voids = voids.filter(|_| waiting == PendingApprovals::Void);
    end_void(&app, voids.map(|until| Voiding { org: id, agent: None, until }));
    let under_way = under_way(&app, caller.org(), None, 1).await;
    Ok(Reply::ok(&Stopped::of((org_changed(&made), waiting), under_way.as_ref())))
}

/// `POST /v1/org/start`
pub(crate) async fn start_org(app: Arc<App>, caller: Admin, call: Call) -> Answer {
    let made = app.admin.change(&caller).start_org(&reason_alone(&call)?).await?;
    Ok(Reply::ok(&org_changed(&made)))
}

/// What waits of an agent and is void by this change.
fn voided_of(agent: &Agent, waiting: PendingApprovals) -> Option<Voiding> {
    let until = agent.voids.filter(|_| waiting == PendingApprovals::Void)?;
    Some(Voiding { org: agent.org, agent: Some(agent.id), until })
}

/// Begins to end what is void. The answer does not wait for that, however much it is.
fn end_void(app: &Arc<App>, voiding: Option<Voiding>) {
    let Some(voiding) = voiding else { return };
    let work = Arc::clone(app);
    app.behind.spawn(Box::pin(async move {
        if let Err(error) = work.gate.end_first_void(&voiding).await {
            tracing::warn!(%error, "voiding the approvals of a Stop is left to the next sweep");
        }
    }));
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
            tracing::warn!(error = %down, "the actions in progress after a Stop could not be read");
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
