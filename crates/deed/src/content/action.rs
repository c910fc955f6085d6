//! The content of an action's deed: the action as it ended, in the API's own words.
//!
//! Members stand in the order of their names, the order in which they are signed.

use std::fmt;

use model::{
    ActionId, ApprovalId, ApprovalStatus, Assurance, ConnectorId, DecisionCode, DecisionOutcome,
    DecisionSource, Digest, IntentMode, Mode, PolicyId, PolicyVersionId, SideEffect, Status,
    Timestamp, ToolName,
};
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{self, value::MapAccessDeserializer},
    ser::SerializeStruct,
};

use super::run::{Ending, Execution, Witness};
use crate::{
    commitment::Commitment,
    text::{Amount, Ident, PersonId, Unit, Word},
};

/// The end of one action.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "ActionForm")]
pub struct ActionContent {
    /// The action.
    pub id: ActionId,
    /// Who ran the tool, or would have.
    pub mode: Mode,
    /// The tool that was called.
    pub tool: Tool,
    /// The digest of the tool's definition, where one was known.
    pub tool_digest: Option<Digest>,
    /// The connector that serves the tool, where one does.
    pub connector: Option<Connector>,
    /// What the tool does to the world, where that was declared.
    pub side_effect: Option<SideEffect>,
    /// When the call came in.
    pub received_at: Timestamp,
    /// How the call came in, where the client said so.
    pub transport: Option<Word>,
    /// The client's own name and version.
    pub client: Option<Commitment>,
    /// The arguments.
    pub request: Commitment,
    /// On whose behalf the agent acted, in its own words.
    pub on_behalf_of: Option<Commitment>,
    /// The session, in the agent's own words.
    pub session: Option<Commitment>,
    /// Whether the call was signed.
    pub intent: Intent,
    /// What was decided.
    pub decision: Decision,
    /// The question to a person, if there was one.
    pub approval: Option<Approval>,
    /// How it ended.
    pub ending: Ending,
    /// What the call was charged.
    pub cost: Option<Cost>,
    /// What the action undid, if it was an undo.
    pub undo: Option<Undo>,
}

/// The tool as it may stand in a deed: by name when it has the form of one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Tool {
    /// A tool name.
    Named(ToolName),
    /// What was sent where a tool name should have been.
    NoName(Commitment),
}

/// The connector that serves the tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Connector {
    /// The connector's id; the edge's own connectors have none.
    pub id: Option<ConnectorId>,
    /// Its type.
    #[serde(rename = "type")]
    pub kind: Word,
}

/// Whether the call was signed by the agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Intent {
    /// The signature that was verified.
    pub jws: Option<Jws>,
    /// What the agent's mode asked for.
    pub mode: IntentMode,
    /// What was found.
    pub status: IntentStatus,
}

/// What was found of a signed intent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IntentStatus {
    /// None was sent.
    Absent,
    /// One was sent and not looked at, because the mode is off.
    Ignored,
    /// One was sent and holds.
    Verified,
}

/// A verified intent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Jws {
    /// The signature algorithm.
    pub alg: Ident,
    /// SHA-256 of the whole compact JWS, whose nonce makes it unguessable.
    pub digest: Digest,
    /// The agent's key that signed it.
    pub key_id: Ident,
}

/// What was decided when the call came in; it never changes afterwards.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Decision {
    /// Why it is not a plain allow.
    pub code: Option<DecisionCode>,
    /// What it came to.
    pub outcome: DecisionOutcome,
    /// The policy in force.
    pub policy: PolicyId,
    /// The digest of that version's document.
    pub policy_digest: Digest,
    /// The version in force.
    pub policy_version: PolicyVersionId,
    /// The sentence that the caller was given.
    pub reason: Option<Commitment>,
    /// The rule that decided.
    pub rule_id: Option<Ident>,
    /// What the shadow version would have decided.
    pub shadow: Option<Shadow>,
    /// What decided.
    pub source: DecisionSource,
}

/// What the shadow version would have decided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shadow {
    /// What it came to.
    pub outcome: DecisionOutcome,
    /// The shadow version.
    pub policy_version: PolicyVersionId,
    /// The rule that decided.
    pub rule_id: Option<Ident>,
}

/// The question to a person and how it was answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Approval {
    /// What the person was shown.
    pub context: Commitment,
    /// Who said what, in order.
    pub decisions: Vec<ApprovalVote>,
    /// The approval.
    pub id: ApprovalId,
    /// How it ended.
    pub status: ApprovalStatus,
}

/// One person's answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApprovalVote {
    /// How the person showed who they are.
    pub assurance: Assurance,
    /// When.
    pub at: Timestamp,
    /// The person.
    pub by: PersonId,
    /// Yes or no.
    pub decision: Vote,
}

/// Yes or no.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Vote {
    /// The call may run.
    Approve,
    /// The call must not run.
    Deny,
}

/// What a call was charged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cost {
    /// How much.
    pub amount: Amount,
    /// Of what.
    pub currency: Unit,
}

/// What an undo undid.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Undo {
    /// The plan that was countersigned.
    pub plan: Commitment,
    /// The action that was undone.
    pub undoes: ActionId,
}

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
struct ActionForm {
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
