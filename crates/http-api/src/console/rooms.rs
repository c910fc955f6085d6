//! The rooms of the Console in which people look: the overview, actions, agents, policies, the ledger and deeds.

use std::sync::Arc;

use serde_json::{Value, json};
use web::{Call, Param, see_other};

use super::{
    NO_QUERY, Visit,
    lists::{Found, Wanted},
    optional, text,
    views::{
        ActionPage, ActionsPage, AgentPage, AgentStopPage, AgentsPage, Begun, DeedPage, LedgerPage,
        Listed, MorePage, OverviewPage, PoliciesPage, PolicyPage, StopPage,
    },
};
use crate::{
    access::{ACTION_READERS, APPROVAL_READERS, Access, VIEWERS, Visitor},
    app::App,
    handlers::{
        actions::read, agents, approvals, connectors, deeds, figures, keys, ledger, policies,
    },
    refusal::{Answer, CallError},
    wire::{filter, ledger::ENTRIES},
};

/// The parameters of a policy's page.
pub(crate) const POLICY: &[Param] =
    &[Param::One("tab"), Param::One("version"), Param::One("against"), Param::One("cursor")];
/// The parameter of the page that leads on.
pub(crate) const GO: &[Param] = &[Param::One("q")];

/// What goes on of a call that was let run.
const UNDER_WAY: &str = "executing,witnessing";

/// `GET /app`
///
/// Before the first call of the org it tells how to send one.
pub(crate) async fn overview(app: Arc<App>, caller: Visitor, call: Call) -> Answer {
    let visit = Visit::new(app, caller, call);
    let wanted = Wanted { path: &[], takes: figures::OVERVIEW, beside: &[], anyway: "" };
    let found = visit.list((VIEWERS, figures::overview), wanted).await?;
    let window = visit.asked("window").filter(|_| !found.lacks("window")).unwrap_or("24h");
    let head = visit.read((VIEWERS, ledger::head), &[], NO_QUERY).await?;
    let checks = visit.read((VIEWERS, ledger::checks), &[], ("limit=5", ledger::CHECKS)).await?;
    let has_acted =
        found.list.get("agents").and_then(Value::as_array).is_some_and(|it| !it.is_empty());
    let begun = if has_acted { None } else { Some(begun(&visit).await?) };
    let origin = visit.app.sign_in.site.origin();
    let (it, unread) = (found.list, found.unread);
    let shown = OverviewPage { window, it, unread, head, checks, begun, origin };
    visit.page("overview", &shown).await
}

/// What there is already of what the first call takes: a connector, and an agent that may have a key,
/// as the service's own may not.
async fn begun(visit: &Visit) -> Result<Begun, CallError> {
    let newest = ("limit=1", connectors::LIST);
    let connectors = visit.read((VIEWERS, connectors::list), &[], newest).await?;
    let agents = visit.read((VIEWERS, agents::list), &[], ("limit=20", agents::LIST)).await?;
    let rows =
        |list: &Value| list.get("data").and_then(Value::as_array).cloned().unwrap_or_default();
    let is_own = |agent: &Value| agent.get("system") == Some(&Value::Bool(true));
    Ok(Begun {
        connector: rows(&connectors).first().cloned().unwrap_or_default(),
        agent: rows(&agents).iter().find(|agent| !is_own(agent)).cloned().unwrap_or_default(),
    })
}

/// `GET /app/more`
pub(crate) async fn more(app: Arc<App>, caller: Visitor, call: Call) -> Answer {
    Visit::new(app, caller, call).page("more", &MorePage {}).await
}

/// `GET /app/actions`
pub(crate) async fn actions(app: Arc<App>, caller: Visitor, call: Call) -> Answer {
    let visit = Visit::new(app, caller, call);
    let listed = listed(&visit, (ACTION_READERS, read::list), filter::LIST).await?;
    visit.page("actions", &ActionsPage { listed }).await
}

/// `GET /app/actions/{id}`
pub(crate) async fn action(app: Arc<App>, caller: Visitor, call: Call) -> Answer {
    let visit = Visit::new(app, caller, call);
    let id: String = visit.call.param("id")?;
    let whole = ("expand%5B%5D=witness.detail", read::DETAIL);
    let it = visit.read((ACTION_READERS, read::show), &[("id", &id)], whole).await?;
    let deed = match text(&it, "deed") {
        Some(deed) => {
            visit.read_if((ACTION_READERS, deeds::show), &[("id", deed)], NO_QUERY).await?
        }
        None => Value::Null,
    };
    let approval = match approval_of(&it) {
        Some(id) => {
            visit.read_if((APPROVAL_READERS, approvals::show), &[("id", id)], NO_QUERY).await?
        }
        None => Value::Null,
    };
    visit.page("actions", &ActionPage { it, deed, approval }).await
}

/// What people were asked about an action.
fn approval_of(action: &Value) -> Option<&str> {
    text(action.get("approval")?, "id")
}

/// `GET /app/agents`
pub(crate) async fn agents(app: Arc<App>, caller: Visitor, call: Call) -> Answer {
    let visit = Visit::new(app, caller, call);
    let listed = listed(&visit, (VIEWERS, agents::list), agents::LIST).await?;
    visit.page("agents", &AgentsPage { listed }).await
}

/// `GET /app/agents/{id}`
pub(crate) async fn agent(app: Arc<App>, caller: Visitor, call: Call) -> Answer {
    let visit = Visit::new(app, caller, call);
    let id: String = visit.call.param("id")?;
    let it = visit.read((VIEWERS, agents::show), &[("id", &id)], NO_QUERY).await?;
    let keys =
        visit.read_if((VIEWERS, keys::list), &[("id", &id)], ("limit=50", keys::LIST)).await?;
    let actions = calls_of(&visit, &id, "").await?;
    visit.page("agents", &AgentPage { it, keys, actions }).await
}

/// `GET /app/agents/{id}/stop`
pub(crate) async fn agent_stop(app: Arc<App>, caller: Visitor, call: Call) -> Answer {
    let visit = Visit::new(app, caller, call);
    let id: String = visit.call.param("id")?;
    let it = visit.read((VIEWERS, agents::show), &[("id", &id)], NO_QUERY).await?;
    let running = calls_of(&visit, &id, UNDER_WAY).await?;
    let pending = calls_of(&visit, &id, "pending_approval").await?;
    visit.page("agents", &AgentStopPage { it, running, pending }).await
}

/// The newest calls of an agent in these states, of which `""` is all.
async fn calls_of(visit: &Visit, agent: &str, states: &str) -> Result<Value, CallError> {
    let state = if states.is_empty() { String::new() } else { format!("&state={states}") };
    let query = format!("agent={}&limit=10{state}", pages::encoded(agent));
    visit.read((ACTION_READERS, read::list), &[], (&query, filter::LIST)).await
}

/// `GET /app/stop`
pub(crate) async fn stop(app: Arc<App>, caller: Visitor, call: Call) -> Answer {
    let visit = Visit::new(app, caller, call);
    let of = |state: &str| format!("state={state}&limit=20");
    let list = (ACTION_READERS, read::list);
    let running = visit.read(list, &[], (&of(UNDER_WAY), filter::LIST)).await?;
    let pending = visit.read(list, &[], (&of("pending_approval"), filter::LIST)).await?;
    visit.page("stop", &StopPage { running, pending }).await
}

/// `GET /app/policies`
pub(crate) async fn policies(app: Arc<App>, caller: Visitor, call: Call) -> Answer {
    let visit = Visit::new(app, caller, call);
    let listed = listed(&visit, (VIEWERS, policies::list), policies::LIST).await?;
    let active = visit.read((VIEWERS, policies::activation::active), &[], NO_QUERY).await?;
    visit.page("policies", &PoliciesPage { listed, active }).await
}

/// `GET /app/policies/{id}`
pub(crate) async fn policy(app: Arc<App>, caller: Visitor, call: Call) -> Answer {
    let visit = Visit::new(app, caller, call);
    let id: String = visit.call.param("id")?;
    let it = visit.read((VIEWERS, policies::show), &[("id", &id)], NO_QUERY).await?;
    let wanted = Wanted {
        path: &[("id", &id)],
        takes: policies::versions::PAGE,
        beside: &["tab", "version", "against"],
        anyway: "limit=20",
    };
    let found = visit.list((VIEWERS, policies::versions::list), wanted).await?;
    let Found { list: versions, unread, filters: _ } = found;
    let newest = versions.get("data").and_then(|rows| text(rows.get(0)?, "id"));
    let version = match visit.asked("version").or(newest) {
        Some(version) => {
            let show = (VIEWERS, policies::versions::show);
            visit.read(show, &[("id", version)], NO_QUERY).await?
        }
        None => Value::Null,
    };
    let lint = match text(&version, "document") {
        Some(document) => {
            let body = json!({ "document": document }).to_string();
            let call = visit.call.asking(&[], NO_QUERY)?.carrying(body);
            optional(visit.answer((VIEWERS, policies::trial::lint), call).await)?
        }
        None => Value::Null,
    };
    let compare = match (visit.asked("against"), text(&version, "id")) {
        (Some(against), Some(version)) => {
            let query = format!("against={}", pages::encoded(against));
            let against = (&*query, policies::trial::AGAINST);
            visit.read((VIEWERS, policies::trial::diff), &[("id", version)], against).await?
        }
        _ => Value::Null,
    };
    let active = visit.read((VIEWERS, policies::activation::active), &[], NO_QUERY).await?;
    let tests = visit.read((VIEWERS, policies::versions::tests), &[("id", &id)], NO_QUERY).await?;
    let tab = visit.asked("tab").unwrap_or("source");
    let shown = PolicyPage { tab, it, versions, unread, version, lint, compare, active, tests };
    visit.page("policies", &shown).await
}

/// `GET /app/ledger`
pub(crate) async fn ledger(app: Arc<App>, caller: Visitor, call: Call) -> Answer {
    let visit = Visit::new(app, caller, call);
    let listed = listed(&visit, (ACTION_READERS, ledger::search), ENTRIES).await?;
    let head = visit.read((VIEWERS, ledger::head), &[], NO_QUERY).await?;
    let newest = ("limit=5", ledger::CHECKS);
    let checks = visit.read((VIEWERS, ledger::checks), &[], newest).await?;
    visit.page("ledger", &LedgerPage { listed, head, checks }).await
}

/// `GET /app/deeds/{id}`
pub(crate) async fn deed(app: Arc<App>, caller: Visitor, call: Call) -> Answer {
    let visit = Visit::new(app, caller, call);
    let id: String = visit.call.param("id")?;
    let it = visit.read((ACTION_READERS, deeds::show), &[("id", &id)], NO_QUERY).await?;
    visit.page("ledger", &DeedPage { it }).await
}

/// `GET /app/go`
///
/// An id leads to what it names; anything else is looked for among the actions.
pub(crate) async fn go(app: Arc<App>, caller: Visitor, call: Call) -> Answer {
    let visit = Visit::new(app, caller, call);
    let asked = visit.asked("q").map(str::trim).unwrap_or_default();
    let is_id = asked.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let place = match asked.split_once('_').filter(|_| is_id) {
        Some(("act", _)) => "actions",
        Some(("apr", _)) => "approvals",
        Some(("agt", _)) => "agents",
        Some(("pol", _)) => "policies",
        Some(("con", _)) => "connectors",
        Some(("whe", _)) => "webhooks",
        Some(("deed", _)) => "deeds",
        _ if asked.is_empty() => return Ok(see_other("/app/actions")?),
        _ => return found_by_name(&visit, asked).await,
    };
    Ok(see_other(&format!("/app/{place}/{asked}"))?)
}

/// The agent with this name, or else the actions in which the text stands.
async fn found_by_name(visit: &Visit, asked: &str) -> Answer {
    let wanted = pages::encoded(asked);
    let query = format!("q={wanted}&limit=20");
    let found = visit.read((VIEWERS, agents::list), &[], (&query, agents::LIST)).await;
    let found = optional(found).unwrap_or_default();
    let rows = found.get("data").and_then(Value::as_array);
    let is_named = |row: &&Value| text(row, "name") == Some(asked);
    match rows.and_then(|rows| text(rows.iter().find(is_named)?, "id")) {
        Some(agent) => Ok(see_other(&format!("/app/agents/{agent}"))?),
        None => Ok(see_other(&format!("/app/actions?q={wanted}"))?),
    }
}

/// A list as the address asks for it, with what it asks for.
async fn listed<C, H, F>(
    visit: &Visit,
    read: (Access<C>, H),
    takes: &'static [Param],
) -> Result<Listed, CallError>
where
    H: Fn(Arc<App>, C, Call) -> F,
    F: Future<Output = Answer>,
{
    listed_with(visit, read, (takes, &[])).await
}

/// The same where the address says more than the list takes.
pub(super) async fn listed_with<C, H, F>(
    visit: &Visit,
    read: (Access<C>, H),
    (takes, more): (&'static [Param], &[&'static str]),
) -> Result<Listed, CallError>
where
    H: Fn(Arc<App>, C, Call) -> F,
    F: Future<Output = Answer>,
{
    let wanted = Wanted { path: &[], takes, beside: more, anyway: "" };
    Ok(visit.list(read, wanted).await?.listed())
}
