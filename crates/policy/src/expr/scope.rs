//! What expressions can read of one call.

use std::{
    cell::{Cell, OnceCell},
    fmt::Write as _,
};

use model::{AgentId, Timestamp};
use serde_json::Value as Json;

use super::{
    names::Fact,
    slots::MAX_SLOTS,
    value::{Map, Value},
};
use crate::call::Call;

/// One call as expressions see it.
pub(crate) struct Scope<'v> {
    call: &'v Call,
    agent_id: OnceCell<IdText>,
    /// What the numbered paths lead to, once looked up.
    slots: [Cell<Slot<'v>>; MAX_SLOTS],
}

/// What is known of one numbered path.
#[derive(Clone, Copy)]
enum Slot<'v> {
    Unread,
    Missing,
    Found(&'v Json),
}

impl<'v> Scope<'v> {
    pub(crate) fn new(call: &'v Call) -> Self {
        Self {
            call,
            agent_id: OnceCell::new(),
            slots: [const { Cell::new(Slot::Unread) }; MAX_SLOTS],
        }
    }

    /// The call's arguments.
    pub(crate) fn args(&self) -> Value<'v> {
        Value::of(&self.call.args)
    }

    /// What the numbered path leads to in the arguments, where it leads anywhere.
    pub(crate) fn slot(&self, slot: usize, path: &[Box<str>]) -> Option<&'v Json> {
        let Some(place) = self.slots.get(slot) else { return self.walk(path) };
        match place.get() {
            Slot::Found(found) => Some(found),
            Slot::Missing => None,
            Slot::Unread => {
                let found = self.walk(path);
                place.set(found.map_or(Slot::Missing, Slot::Found));
                found
            }
        }
    }

    fn walk(&self, path: &[Box<str>]) -> Option<&'v Json> {
        path.iter().try_fold(&*self.call.args, |of, name| of.as_object()?.get(&**name))
    }

    /// The agent's label of this name.
    pub(crate) fn label(&self, name: &str) -> Option<&'v str> {
        self.call.agent.labels.get(name).map(String::as_str)
    }

    /// The fact; one that the call does not have is null.
    pub(crate) fn fact(&'v self, fact: Fact) -> Value<'v> {
        let facts = &self.call.facts;
        let optional = |text: &'v Option<String>| text.as_deref().map_or(Value::Null, Value::text);
        match fact {
            Fact::AgentId => Value::text(self.agent_id()),
            Fact::AgentName => Value::text(&self.call.agent.name),
            Fact::AgentLabels => Value::Map(Map::Labels(&self.call.agent.labels)),
            Fact::CallTool => Value::text(&self.call.tool),
            Fact::CallConnector => optional(&facts.connector),
            Fact::CallMode => Value::text(facts.mode.as_str()),
            Fact::CallTransport => optional(&facts.transport),
            Fact::CallSession => optional(&facts.session),
            Fact::CallOnBehalfOf => optional(&facts.on_behalf_of),
            Fact::CallLivemode => Value::Bool(facts.livemode),
            Fact::CallSideEffect => {
                facts.side_effect.map_or(Value::Null, |effect| Value::text(effect.as_str()))
            }
            Fact::CallIntent => optional(&facts.intent),
            Fact::CallToolChanged => Value::Bool(facts.tool_changed),
            Fact::Now => Value::Time(instant(self.call.now)),
        }
    }

    fn agent_id(&self) -> &str {
        self.agent_id.get_or_init(|| IdText::new(self.call.agent.id)).as_str()
    }
}

/// The moment in the type that the arithmetic uses.
pub(crate) fn instant(at: Timestamp) -> jiff::Timestamp {
    // jiff ends 26 hours before the year 9999 does, so that every zone can show every moment.
    jiff::Timestamp::from_millisecond(at.unix_millis()).unwrap_or(jiff::Timestamp::MAX)
}

/// An agent id's text without an allocation.
struct IdText {
    bytes: [u8; 30],
    len: usize,
}

impl IdText {
    fn new(id: AgentId) -> Self {
        let mut text = Self { bytes: [0; 30], len: 0 };
        let _ = write!(text, "{id}");
        text
    }

    fn as_str(&self) -> &str {
        self.bytes.get(..self.len).and_then(|bytes| str::from_utf8(bytes).ok()).unwrap_or_default()
    }
}

impl std::fmt::Write for IdText {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        let end = self.len + text.len();
        let place = self.bytes.get_mut(self.len..end).ok_or(std::fmt::Error)?;
        place.copy_from_slice(text.as_bytes());
        self.len = end;
        Ok(())
    }
}
