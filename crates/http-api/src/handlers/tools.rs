//! Which tools an agent may see.

use std::sync::Arc;

use ledger::record::PolicyMode;
use model::{PolicyVersionId, Visibility};
use serde::Serialize;
use web::{Call, ListView, Param, Reply};

use crate::{
    access::AgentCaller,
    app::App,
    refusal::Answer,
    wire::tools::{ResolveRequest, ToolView, VisibilityView},
};

/// The parameters of the list.
pub(crate) const LIST: &[Param] = &[Param::One("include_hidden")];

/// A list and the policy that it was made under.
#[derive(Serialize)]
struct Listed<T> {
    #[serde(flatten)]
    list: ListView<T>,
    policy_version: Option<PolicyVersionId>,
}

/// `GET /v1/tools`
pub(crate) async fn list(app: Arc<App>, caller: AgentCaller, call: Call) -> Answer {
    let hidden_too = call.query.flag("include_hidden")?;
    let AgentCaller(key) = caller;
    let (tools, policy_version) = app.gate.tools(key.org, key.livemode).await?;
    let shown = tools.iter().filter(|tool| hidden_too || tool.visibility == Visibility::Visible);
    let list = ListView::whole(shown.map(ToolView::from).collect());
    Ok(Reply::ok(&Listed { list, policy_version }))
}

/// `POST /v1/tools/resolve`
pub(crate) async fn resolve(app: Arc<App>, caller: AgentCaller, call: Call) -> Answer {
    let request = ResolveRequest::read(&call)?;
    let AgentCaller(key) = caller;
    let snapshot = app.gate.ledger().look(key.org).await?;
    let enforced = snapshot.policy(PolicyMode::Enforce);
    let policy = enforced.and_then(|loaded| loaded.policy.as_deref());
    let ResolveRequest { connector, tools } = &request;
    let answers = tools.iter().map(|name| VisibilityView::new(connector, name, policy));
    let list = ListView::whole(answers.collect());
    let policy_version = enforced.map(|loaded| loaded.active.version);
    Ok(Reply::ok(&Listed { list, policy_version }))
}
