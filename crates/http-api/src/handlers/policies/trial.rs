//! What is only asked of documents and versions; nothing of it is recorded.

use std::sync::Arc;

use act::MayView;
use admin::OrgView;
use model::PolicyVersionId;
use web::{ApiError, Call, Param, Reply};

use crate::{
    access::Viewer,
    app::App,
    refusal::{Answer, CallError},
    wire::policies::{
        DiffView, DryRunView, LintView, TestRunView, document_alone, dry_call, policy_trial,
    },
};

/// The parameter of a comparison.
pub(crate) const AGAINST: &[Param] = &[Param::One("against")];

/// `GET /v1/policy_versions/{id}/diff`
pub(crate) async fn diff(app: Arc<App>, caller: Viewer, call: Call) -> Answer {
    let id: PolicyVersionId = call.param("id")?;
    let against = call.query.parse::<PolicyVersionId>("against")?;
    let reader = app.admin.view(&caller);
    let after = reader.policy_version(id).await?;
    let against = match against {
        Some(against) => against,
        None => enforced(&reader).await?,
    };
    let before = reader.policy_version(against).await?;
    let tools = app.gate.known_tools(caller.org()).await?;
    let compare = move |effort: &_| admin::diff(&before.document, &after.document, &tools, effort);
    let diff = app.trials.run(caller.org(), compare).await??;
    Ok(Reply::ok(&DiffView::of(id, against, &diff)))
}

async fn enforced(reader: &OrgView<'_>) -> Result<PolicyVersionId, CallError> {
    let enforced = reader.active_policies().await?.enforce;
    Ok(enforced.map(|(active, _)| active.version).ok_or_else(ApiError::not_found)?)
}

/// `POST /v1/policies/lint`
pub(crate) async fn lint(app: Arc<App>, caller: Viewer, call: Call) -> Answer {
    let document = document_alone(&call)?;
    let tools = app.gate.known_tools(caller.org()).await?;
    let known = app.admin.view(&caller).known(tools).await?;
    let judge = move |effort: &_| admin::lint(document, &known, effort);
    let linted = app.trials.run(caller.org(), judge).await??;
    Ok(Reply::ok(&LintView::from(&linted)))
}

/// `POST /v1/policies/test`
pub(crate) async fn test(app: Arc<App>, caller: Viewer, call: Call) -> Answer {
    let (text, suite) = policy_trial(&call)?;
    let trial = app.admin.view(&caller).policy_trial(text, suite).await?;
    let report = app.trials.run(caller.org(), move |effort| trial.run(effort)).await??;
    Ok(Reply::ok(&TestRunView::from(report)))
}

/// `POST /v1/policies/dry_run`
pub(crate) async fn dry_run(app: Arc<App>, caller: Viewer, call: Call) -> Answer {
    let mut dry = dry_call(&call)?;
    let tools = app.gate.known_tools(caller.org()).await?;
    let served = tools.iter().find(|tool| tool.name == dry.call.tool);
    dry.call.facts.side_effect = served.and_then(|tool| tool.side_effect);
    Ok(Reply::ok(&DryRunView::from(&app.admin.view(&caller).dry_run(dry).await?)))
}
