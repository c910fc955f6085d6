//! The live stream of what was committed.

use std::sync::Arc;

use event::Types;
use model::{AgentId, Scope};
use web::{ApiError, Call, Param, Reply, excerpt};

use crate::{
    access::Reader,
    app::App,
    live::{
        cursor::Cursor,
        stream::{EventStream, Opening, Wanted},
    },
    refusal::Answer,
};

/// The parameters of the stream.
pub(crate) const QUERY: &[Param] =
    &[Param::One("types"), Param::One("agent"), Param::One("last_event_id")];

/// `GET /v1/events`
pub(crate) async fn stream(app: Arc<App>, caller: Reader, call: Call) -> Answer {
    let wanted = wanted(&call, &caller)?;
    let cursor = cursor(&call)?;
    let slot = app.streams.take(caller.number()).ok_or_else(|| {
        ApiError::rate_limited("8 event streams of this person or key are open; close one first")
    })?;
    let opening = Opening { caller, shown: call.shown.clone(), slot };
    let stream = EventStream::open(app, opening, wanted, cursor).await?;
    call.will_stream();
    Ok(Reply::stream("text/event-stream", stream.into_body()))
}

fn wanted(call: &Call, caller: &Reader) -> Result<Wanted, ApiError> {
    let types = match call.query.text("types") {
        None => Types::every(),
        Some(text) => {
            Types::parse(text).map_err(|error| ApiError::invalid("types", error.to_string()))?
        }
    };
    let named = call.query.parse::<AgentId>("agent")?;
    let agent = match (caller.only_agent(), named) {
        (None, named) => named,
        // Another agent's events take the org's own key.
        (Some(own), Some(named)) if own != named => {
            return Err(ApiError::insufficient_scope(Scope::Admin).on("agent"));
        }
        (Some(own), _) => Some(own),
    };
    Ok(Wanted { types, agent })
}

/// Where to resume; the header wins, and both must be well formed.
fn cursor(call: &Call) -> Result<Option<Cursor>, ApiError> {
    let queried = call.query.parse::<Cursor>("last_event_id")?;
    let Some(text) = call.header("Last-Event-ID") else { return Ok(queried) };
    text.parse().map(Some).map_err(|error| {
        ApiError::invalid("Last-Event-ID", format!("could not read `{}`: {error}", excerpt(text)))
    })
}
