//! The forms of an action's content that are more than a list of members: how they are written,
//! member by member in the order of their names, and read.

use std::fmt;

use model::{ActionId, AgentId, Digest, KeyId, Mode, SideEffect, Status, Timestamp};
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{self, value::MapAccessDeserializer},
    ser::SerializeStruct,
};

use super::{
    ActionContent, Actor, Approval, Connector, Cost, Decision, Ending, Execution, Intent, Tool,
    Undo, Witness,
};
use crate::{
    commitment::Commitment,
    text::{UserId, Word},
};

impl Serialize for ActionContent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let run = self.ending.run();
        let mut form = serializer.serialize_struct("ActionContent", 20)?;
        form.serialize_field("approval", &self.approval)?;
        form.serialize_field("client", &self.client)?;
        form.serialize_field("connector", &self.connector)?;
        form.serialize_field("cost", &self.cost)?;
        form.serialize_field("decision", &self.decision)?;
        form.serialize_field("execution", &run.map(|run| &run.execution))?;
        form.serialize_field("id", &self.id)?;
        form.serialize_field("intent", &self.intent)?;
        form.serialize_field("mode", &self.mode)?;
        form.serialize_field("on_behalf_of", &self.on_behalf_of)?;
        form.serialize_field("received_at", &self.received_at)?;
        form.serialize_field("request", &self.request)?;
        form.serialize_field("session", &self.session)?;
        form.serialize_field("side_effect", &self.side_effect)?;
        form.serialize_field("status", &self.ending.status())?;
        form.serialize_field("tool", &self.tool)?;
        form.serialize_field("tool_digest", &self.tool_digest)?;
        form.serialize_field("transport", &self.transport)?;
        form.serialize_field("undo", &self.undo)?;
        form.serialize_field("witness", &run.map(|run| &run.witness))?;
        form.end()
    }
}

/// The members of [`ActionContent`] as they are read.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ActionForm {
    approval: Option<Approval>,
    client: Option<Commitment>,
    connector: Option<Connector>,
    cost: Option<Cost>,
    decision: Decision,
    execution: Option<Execution>,
    id: ActionId,
    intent: Intent,
    mode: Mode,
    on_behalf_of: Option<Commitment>,
    received_at: Timestamp,
    request: Commitment,
    session: Option<Commitment>,
    side_effect: Option<SideEffect>,
    status: Status,
    tool: Tool,
    tool_digest: Option<Digest>,
    transport: Option<Word>,
    undo: Option<Undo>,
    witness: Option<Witness>,
}

impl TryFrom<ActionForm> for ActionContent {
    type Error = &'static str;

    fn try_from(form: ActionForm) -> Result<Self, Self::Error> {
        let ending = Ending::of(form.status, form.execution, form.witness)?;
        let ActionForm { approval, client, connector, cost, decision, id, intent, mode, .. } = form;
        let ActionForm { on_behalf_of, received_at, request, session, side_effect, .. } = form;
        let ActionForm { tool, tool_digest, transport, undo, .. } = form;
        Ok(Self {
            id,
            mode,
            tool,
            tool_digest,
            connector,
            side_effect,
            received_at,
            transport,
            client,
            request,
            on_behalf_of,
            session,
            intent,
            decision,
            approval,
            ending,
            cost,
            undo,
        })
    }
}

impl<'de> Deserialize<'de> for Tool {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ToolReader)
    }
}

/// Reads a tool name or what stands in its place.
struct ToolReader;

impl<'de> de::Visitor<'de> for ToolReader {
    type Value = Tool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a tool name or a commitment")
    }

    fn visit_str<E: de::Error>(self, name: &str) -> Result<Tool, E> {
        name.parse().map(Tool::Named).map_err(E::custom)
    }

    fn visit_map<A: de::MapAccess<'de>>(self, members: A) -> Result<Tool, A::Error> {
        Commitment::deserialize(MapAccessDeserializer::new(members)).map(Tool::NoName)
    }
}

/// The members of [`Actor`].
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ActorForm {
    id: Box<str>,
    #[serde(rename = "type")]
    kind: ActorKind,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ActorKind {
    Agent,
    ApiKey,
    User,
    System,
}

impl Serialize for Actor {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut form = serializer.serialize_struct("Actor", 2)?;
        let kind = match self {
            Self::Agent(id) => {
                form.serialize_field("id", id)?;
                ActorKind::Agent
            }
            Self::ApiKey(id) => {
                form.serialize_field("id", id)?;
                ActorKind::ApiKey
            }
            Self::User(id) => {
                form.serialize_field("id", id)?;
                ActorKind::User
            }
            Self::System(word) => {
                form.serialize_field("id", word)?;
                ActorKind::System
            }
        };
        form.serialize_field("type", &kind)?;
        form.end()
    }
}

impl TryFrom<ActorForm> for Actor {
    type Error = String;

    fn try_from(form: ActorForm) -> Result<Self, String> {
        fn id<T: std::str::FromStr<Err: fmt::Display>>(form: &ActorForm) -> Result<T, String> {
            form.id.parse().map_err(|error: T::Err| error.to_string())
        }
        match form.kind {
            ActorKind::Agent => id::<AgentId>(&form).map(Self::Agent),
            ActorKind::ApiKey => id::<KeyId>(&form).map(Self::ApiKey),
            ActorKind::User => id::<UserId>(&form).map(Self::User),
            ActorKind::System => id::<Word>(&form).map(Self::System),
        }
    }
}
