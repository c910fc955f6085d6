//! The messages of a stream in the form of Server-Sent Events, and the full objects that their
//! events carry.

use std::{collections::HashMap, time::Duration};

use bytes::Bytes;
use event::Event;
use model::{ActionId, EventType};
use serde_json::{Value, json};
use web::ApiError;

use crate::{
    app::App,
    live::{cursor::Resume, feed::Batch},
    wire::{action::ActionView, detail::deed_summary},
};

/// A comment is sent when nothing else was for this long.
pub(super) const HEARTBEAT: Duration = Duration::from_secs(15);
/// How long a client waits before it connects again, in milliseconds.
const RETRY: u32 = 3000;

/// The beginning of every stream. It has the place that the stream begins behind as its id, so that
/// a client to which nothing happened goes on from there.
pub(super) fn hello(app: &App, resume: Resume, place: u64) -> Bytes {
    let data = json!({
        "object": "stream",
        "instance": app.instance,
        "resumed": matches!(resume, Resume::Behind(_)),
        "heartbeat_s": HEARTBEAT.as_secs(),
        "server_time": app.clock.now(),
    });
    let instance = &app.instance;
    let message = format!("id: {instance}.{place}\nevent: hello\ndata: {data}");
    Bytes::from(format!("retry: {RETRY}\n\n{message}\n\n"))
}

/// The message that lists must be fetched again.
pub(super) fn resync(reason: &str) -> Bytes {
    named("resync", &json!({ "object": "resync", "reason": reason }))
}

/// The last message to a credential that is no longer valid.
pub(super) fn session_ended(error: &ApiError) -> Bytes {
    named("session_ended", &json!({ "code": error.code().as_str(), "message": error.message() }))
}

/// The comment that keeps the connection open.
pub(super) fn ping() -> Bytes {
    Bytes::from_static(b": ping\n\n")
}

/// An event with its full object, or with the thin one where there is none.
pub(super) fn event(app: &App, event: &Event, object: Option<&Value>) -> Bytes {
    let mut data = object.map_or_else(|| event.envelope(), |full| event.envelope_with(full));
    if let Some(members) = data.as_object_mut() {
        members.insert("hydrated".to_owned(), Value::Bool(object.is_some()));
    }
    let (instance, seq, kind) = (&app.instance, event.seq, event.kind);
    Bytes::from(format!("id: {instance}.{seq}\nevent: {kind}\ndata: {data}\n\n"))
}

fn named(name: &str, data: &Value) -> Bytes {
    Bytes::from(format!("event: {name}\ndata: {data}\n\n"))
}

/// The full object of each event of a batch: the action as it stands now, or a summary of
/// the deed; nothing for what has no list of its own or cannot be read.
pub(super) async fn objects(app: &App, batch: &Batch) -> Vec<Option<Value>> {
    let mut actions: HashMap<ActionId, Option<Value>> = HashMap::new();
    let mut objects = Vec::with_capacity(batch.events.len());
    for event in &batch.events {
        let object = match (event.kind, event.action) {
            (EventType::DeedSealed | EventType::DeedAmended, _) => Some(deed_summary(event)),
            // It tells of a tool, whatever action met it.
            (EventType::ToolChanged, _) | (_, None) => None,
            (_, Some(id)) if !actions.contains_key(&id) => {
                let object = action(app, event, id).await;
                actions.insert(id, object.clone());
                object
            }
            (_, Some(id)) => actions.get(&id).cloned().flatten(),
        };
        objects.push(object);
    }
    objects
}

async fn action(app: &App, event: &Event, id: ActionId) -> Option<Value> {
    match app.gate.action(event.org, id).await {
        Ok(action) => {
            let action = action?;
            serde_json::to_value(ActionView::from(&action).without_addresses()).ok()
        }
        Err(error) => {
            tracing::warn!(%error, "an event is sent without its full object");
            None
        }
    }
}
