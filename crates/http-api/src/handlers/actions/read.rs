//! `GET /v1/actions` and `GET /v1/actions/{id}`

use std::{sync::Arc, time::Duration};

use gate::{ActionDetail, ActionPlace};
use ledger::record::Action;
use model::{ActionId, State, Timestamp};
use tokio::time::Instant;
use web::{ApiError, Call, List, ListView, Param, Query, Reply, excerpt};

use crate::{
    access::Reader,
    app::{App, Waiter},
    handlers::log::reader,
    live::wait::{Ended, Wait, WaitBounds, Waits},
    refusal::{Answer, CallError, stopped},
    wire::{
        action::ActionView, detail::DetailView, filter::action_filter, submission::wait_seconds,
    },
};

/// The parameters of one action.
pub(crate) const DETAIL: &[Param] = &[Param::One("wait"), Param::Many("expand[]")];

/// `GET /v1/actions`
pub(crate) async fn list(app: Arc<App>, caller: Reader, call: Call) -> Answer {
    let mut filter = action_filter(&call.query)?;
    let listed = List { name: "actions", org: caller.org(), agent: caller.only_agent() };
    let page = app.cursors.page::<(Timestamp, ActionId)>(listed, &call.query)?;
    if let Some(own) = caller.only_agent() {
        if filter.agent.is_some_and(|named| named != own) {
            return Ok(Reply::ok(&ListView::whole(Vec::<ActionView<'_>>::new())));
        }
        filter.agent = Some(own);
    }
    let after = page.after.map(|(created_at, id)| ActionPlace { created_at, id });
    let found = app.gate.list(caller.org(), &filter, after, page.limit).await?;
    let part = (&*found.actions, found.has_more);
    Ok(Reply::ok(&page.of_part(part, |it| (it.created_at, it.id), ActionView::from)))
}

/// `GET /v1/actions/{id}`
pub(crate) async fn show(app: Arc<App>, caller: Reader, call: Call) -> Answer {
    let id: ActionId = call.param("id")?;
    let wait = wait(&call.query)?;
    let whole = witness_detail(&call.query)?;
    if !wait.is_zero() {
        wait_for(&app, &caller, id, wait).await?;
    }
    let detail =
        app.gate.detail(caller.org(), id).await?.filter(|it| may_read(&caller, &it.action));
    let mut detail = detail.ok_or_else(ApiError::not_found)?;
    detail.disclosures = reader(&caller).opens(detail.disclosures);
    shown(&detail, whole)
}

/// Whether the witness's whole detail is asked for.
enum WitnessDetail {
    Whole,
    Digest,
}

fn shown(detail: &ActionDetail, asked: WitnessDetail) -> Answer {
    let view = DetailView::new(detail).map_err(|error| {
        tracing::error!(action = %detail.action.id, %error, "a stored deed is not what was sealed");
        ApiError::internal()
    })?;
    match asked {
        WitnessDetail::Whole => Ok(Reply::ok(&view.with_witness_detail(&detail.disclosures))),
        WitnessDetail::Digest => Ok(Reply::ok(&view)),
    }
}

fn may_read(caller: &Reader, action: &Action) -> bool {
    caller.only_agent().is_none_or(|own| action.agent.id == own)
}

fn wait(query: &Query) -> Result<Duration, ApiError> {
    wait_seconds("wait", query.number::<f64>("wait")?.unwrap_or(0.0))
}

fn witness_detail(query: &Query) -> Result<WitnessDetail, ApiError> {
    let mut asked = WitnessDetail::Digest;
    for value in query.all("expand[]") {
        match value {
            // Always shown; accepted for clients that ask for them.
            "request" | "result" | "events" => {}
            "witness.detail" => asked = WitnessDetail::Whole,
            _ => {
                let message = format!(
                    "expected `request`, `result`, `events` or `witness.detail`, got `{}`",
                    excerpt(value)
                );
                return Err(ApiError::invalid("expand[]", message));
            }
        }
    }
    Ok(asked)
}

/// Waits until the action is not as it is now, unless it has ended.
async fn wait_for(
    app: &App,
    caller: &Reader,
    id: ActionId,
    wait: Duration,
) -> Result<(), CallError> {
    let deadline = Instant::now() + wait;
    let listening = Wait::begin(&app.feeds, caller.org(), id).await?;
    let action = app.gate.action(caller.org(), id).await?.filter(|it| may_read(caller, it));
    let action = action.ok_or_else(ApiError::not_found)?;
    if matches!(action.state, State::Sealed | State::Cancelled) {
        return Ok(());
    }
    refuse_stopped(app, caller).await?;
    let waiter = caller.only_agent().map_or(Waiter::Other(caller.number()), Waiter::Agent);
    let _slot = app.waits.take(waiter).ok_or_else(|| {
        ApiError::rate_limited("20 waiting requests are open; wait until one of them has ended")
    })?;
    let lifecycle = app.lifecycle.clone();
    let waits = Waits { agent: caller.only_agent(), key: caller.key() };
    let bounds = WaitBounds { deadline, lifecycle, waits };
    match listening.change(&app.gate, &action, bounds).await? {
        Ended::Action(_) => Ok(()),
        Ended::Stopped(kind) => Err(stopped(kind).into()),
        Ended::Revoked => Err(ApiError::unauthenticated("the API key is not valid").into()),
    }
}

/// Refuses to begin a wait that a Stop would have ended. What the key was looked up with may be a
/// moment old, so the record is asked: a Stop that is not there yet is heard by the wait.
async fn refuse_stopped(app: &App, caller: &Reader) -> Result<(), CallError> {
    let Reader::Agent(key) = caller else { return Ok(()) };
    match app.admin.stop_of(key.org, key.agent).await? {
        Some(kind) => Err(stopped(kind).into()),
        None => Ok(()),
    }
}
