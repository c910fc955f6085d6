//! Actions: sending, reading, listing, reporting, cancelling.

pub(crate) mod read;
pub(crate) mod send;

use std::sync::Arc;

use gate::{Cancellation, Ended};
use http::HeaderName;
use http::HeaderValue;
use ledger::record::Action;
use model::ActionId;
use web::{Call, Reply};

use crate::{
    access::{AgentCaller, Canceller},
    app::App,
    refusal::Answer,
    wire::{action::ActionView, report::edge_report},
};

const REPLAYED: HeaderName = HeaderName::from_static("service-idempotent-replayed");
const YES: HeaderValue = HeaderValue::from_static("true");

/// `POST /v1/actions/{id}/result`
pub(crate) async fn report(app: Arc<App>, caller: AgentCaller, call: Call) -> Answer {
    let AgentCaller(key) = caller;
    let report = edge_report(&call, &key)?;
    Ok(ended(app.gate.report(report).await?))
}

/// `POST /v1/actions/{id}/cancel`
pub(crate) async fn cancel(app: Arc<App>, caller: Canceller, call: Call) -> Answer {
    call.fields()?.finish()?;
    let (action, idempotency_key) = (call.param::<ActionId>("id")?, call.idempotency_key()?);
    let (org, by) = match caller {
        Canceller::Agent(key) => (key.org, gate::Canceller::Agent(key.agent, key.key)),
        Canceller::Org(key) => (key.org, gate::Canceller::OrgKey(key.key)),
        Canceller::Member(org, member) => (org, gate::Canceller::Member(member)),
    };
    Ok(ended(app.gate.cancel(Cancellation { org, action, by, idempotency_key }).await?))
}

fn ended(ended: Ended) -> Reply {
    match ended {
        Ended::Now(action) => shown(&action),
        Ended::Repeat(action) => shown(&action).with(REPLAYED, YES),
    }
}

fn shown(action: &Action) -> Reply {
    Reply::ok(&ActionView::from(action))
}
