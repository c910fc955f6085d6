//! The content of an action's deed: the action as it ended, in the API's own words.
//!
//! Members stand in the order of their names, the order in which they are signed.

use model::{
    ActionId, ApprovalId, ApprovalStatus, Assurance, ConnectorId, DecisionCode, DecisionOutcome,
    DecisionSource, Digest, IntentMode, Mode, PolicyId, PolicyVersionId, SideEffect, Timestamp,
    ToolName,
};
use serde::{Deserialize, Serialize};

use super::{form::ActionForm, run::Ending};
use crate::{
    commitment::Commitment,
    text::{Amount, Ident, Unit, UserId, Word},
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
    pub by: UserId,
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
