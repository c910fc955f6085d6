//! What is only asked of documents and versions; nothing of it is recorded.

use std::sync::Arc;

use super::{apart, reader};
use crate::{
    access::Viewer,
    app::App,
    call::Call,
    error::ApiError,
    reply::Reply,
    wire::{DryRunView, LintView, TestRunView, document_alone, dry_call, policy_trial},
};

/// `POST /v1/policies/lint`
pub(crate) async fn lint(app: Arc<App>, caller: Viewer, call: Call) -> Result<Reply, ApiError> {
    let document = document_alone(&call)?;
    let tools = app.gate.known_tools(caller.0.org).await?;
    let linted = apart(move || admin::lint(document, &tools)).await?;
    Reply::ok(&LintView::from(&linted))
}

/// `POST /v1/policies/test`
pub(crate) async fn test(app: Arc<App>, caller: Viewer, call: Call) -> Result<Reply, ApiError> {
    let (text, suite) = policy_trial(&call)?;
    let trial = reader(&app, &caller).policy_trial(text, suite).await?;
    let report = apart(move || trial.run()).await??;
    Reply::ok(&TestRunView::from(report))
}

/// `POST /v1/policies/dry_run`
pub(crate) async fn dry_run(app: Arc<App>, caller: Viewer, call: Call) -> Result<Reply, ApiError> {
    let mut dry = dry_call(&call)?;
    let tools = app.gate.known_tools(caller.0.org).await?;
    let served = tools.iter().find(|tool| tool.name == dry.tool);
    dry.side_effect = served.and_then(|tool| tool.side_effect);
    Reply::ok(&DryRunView::from(&reader(&app, &caller).dry_run(dry).await?))
}
