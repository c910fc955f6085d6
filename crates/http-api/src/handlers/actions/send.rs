//! `POST /v1/actions`

use std::sync::Arc;

use gate::{Running, Submitted};
use http::StatusCode;
use ledger::record::Action;
use model::{State, Status};
use tokio::time::Instant;
use web::{ApiError, Call, Reply};

use super::{REPLAYED, YES};
use crate::{
    access::AgentCaller,
    app::App,
    handlers::detached::detached,
    live::wait::{Ended, Wait, WaitBounds, Waits},
    refusal::{Answer, CallError, Sent, refusal},
    wire::{action::ActionView, submission::SendRequest},
};

/// Sends an action and answers with how it stands.
pub(crate) async fn send(app: Arc<App>, caller: AgentCaller, call: Call) -> Answer {
    let AgentCaller(key) = caller;
    let SendRequest { submission, wait } = SendRequest::read(&call, &key)?;
    let deadline = Instant::now() + wait.unwrap_or(app.wait_timeout);
    let gate = app.gate.clone();
    match detached(async move { gate.submit(submission).await }).await? {
        Submitted::Decided(action) => Ok(answer(&app, &action, Sent::First)?),
        Submitted::Running(running) => finished(&app, running, deadline).await,
        Submitted::Replayed(action) => replayed(&app, action, deadline).await,
    }
}

/// Waits for the end of a run as long as its sender wants to.
async fn finished(app: &App, running: Running, deadline: Instant) -> Answer {
    let Running { action, done } = running;
    let mut lifecycle = app.lifecycle.clone();
    let done = tokio::select! {
        done = done => done.ok(),
        () = tokio::time::sleep_until(deadline) => None,
        () = lifecycle.closing() => None,
    };
    match done {
        Some(end) if end.action.state == State::Sealed => {
            Ok(Reply::ok(&ActionView::from(&*end.action).with_result(end.result.as_deref())))
        }
        Some(end) => Ok(answer(app, &end.action, Sent::First)?),
        None => Ok(answer(app, &action, Sent::First)?),
    }
}

/// Answers with the action that the idempotency key names; one that still runs is waited for.
async fn replayed(app: &Arc<App>, action: Arc<Action>, deadline: Instant) -> Answer {
    let action = match action.status {
        Status::Processing => settled(app, action, deadline).await?,
        Status::Executed
        | Status::Failed
        | Status::Authorized
        | Status::PendingApproval
        | Status::Denied
        | Status::Cancelled => action,
    };
    match answer(app, &action, Sent::Again) {
        Ok(reply) => Ok(reply.with(REPLAYED, YES)),
        Err(error) => Err(error.with(REPLAYED, YES).into()),
    }
}

async fn settled(
    app: &App,
    action: Arc<Action>,
    deadline: Instant,
) -> Result<Arc<Action>, CallError> {
    let wait = Wait::begin(&app.feeds, action.org, action.id).await?;
    let bounds = WaitBounds { deadline, lifecycle: app.lifecycle.clone(), waits: Waits::default() };
    match wait.change(&app.gate, &action, bounds).await? {
        Ended::Action(now) => Ok(now.unwrap_or(action)),
        Ended::Stopped(_) | Ended::Revoked => Ok(action),
    }
}

/// The answer to an action as it stands, without its result.
fn answer(app: &App, action: &Action, sent: Sent) -> Result<Reply, ApiError> {
    if let Some(refusal) = refusal(action, sent, app.clock.now()) {
        return Err(refusal);
    }
    let status = match action.status {
        Status::Processing | Status::PendingApproval => StatusCode::ACCEPTED,
        Status::Executed
        | Status::Failed
        | Status::Authorized
        | Status::Denied
        | Status::Cancelled => StatusCode::OK,
    };
    Ok(Reply::json(status, &ActionView::from(action)))
}
