//! One action and what belongs to it.

use std::{collections::BTreeMap, sync::Arc};

use model::{
    ActionId, AgentId, Attestation, Conclusion, ConnectorId, DecisionCode, DecisionOutcome,
    DecisionSource, DeedId, Digest, ErrorCode, ExecutionStatus, IntentMode, KeyId, Level, Mode,
    OrgId, PolicyId, PolicyVersionId, SideEffect, State, Status, Timestamp, Verdict, WitnessMethod,
};
use policy::{Agent, Call, CallFacts};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Approval, Row, SignedIntent};

/// What policies are told of a signed intent that holds.
pub const VERIFIED: &str = "verified";

/// One action.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Action {
    /// The action's id.
    pub id: ActionId,
    /// The org that it belongs to.
    pub org: OrgId,
    /// The agent that sent it.
    pub agent: AgentRef,
    /// The key that it was sent with.
    pub key: KeyId,
    /// Whether it is no test.
    pub livemode: bool,
    /// When it was recorded.
    pub created_at: Timestamp,
    /// The tool's name as sent.
    pub tool: String,
    /// The digest of the tool's definition, where one is known.
    pub tool_digest: Option<Digest>,
    /// What the tool does to the world, where it is known.
    pub side_effect: Option<SideEffect>,
    /// The connector that serves the tool.
    pub connector: Option<ConnectorRef>,
    /// Who runs the tool.
    pub mode: Mode,
    /// Where it stands in its life.
    pub state: State,
    /// What an agent needs to know of that.
    pub status: Status,
    /// On whose behalf the agent acts, in its own words.
    pub on_behalf_of: Option<String>,
    /// The session, in the agent's own words.
    pub session: Option<String>,
    /// The client's name and version.
    pub client: Option<Client>,
    /// How the call came in.
    pub transport: Option<String>,
    /// What the agent's intent mode was.
    pub intent_mode: IntentMode,
    /// What was found of a signed intent.
    pub intent: deed::IntentStatus,
    /// The signed intent, where one was looked at and holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signed: Option<Box<SignedIntent>>,
    /// What was decided; it never changes.
    pub decision: Decision,
    /// What the decision was made from, so that it can be made again.
    pub inputs: DecisionInputs,
    /// The question to a person.
    pub approval: Option<Approval>,
    /// The run.
    pub execution: Option<Execution>,
    /// What the witness found.
    pub witness: Option<Witness>,
    /// The evidence that the call needs.
    pub required_level: Level,
    /// What the call was charged.
    pub cost: Option<Cost>,
    /// The budget counters that the call is counted in.
    pub charged: Vec<BudgetUse>,
    /// SHA-256 of the canonical form of `{args, tool}`.
    pub request_digest: Digest,
    /// The commitment to the arguments that the deed will hold.
    pub request: deed::Commitment,
    /// SHA-256 of the canonical form of the result.
    pub result_digest: Option<Digest>,
    /// When retention removed the payloads.
    pub payload_pruned_at: Option<Timestamp>,
    /// By when the edge must report.
    pub deadline: Option<Timestamp>,
    /// The deed, once sealed.
    pub deed: Option<DeedId>,
    /// Who carries it out.
    pub lease: Option<Lease>,
    /// The place that the tool named as the one where its run leaves traces, before it ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// What became known of it once it was sealed. Everything else stays as it was sealed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub amendment: Option<Box<Amendment>>,
}

impl Action {
    /// The parts of budget counters that the action still takes. One that certainly did
    /// not run although it was let through, or waited for a person in vain, takes none.
    pub fn taken(&self) -> &[BudgetUse] {
        let given_back = match self.status {
            Status::Failed | Status::Cancelled => true,
            Status::Denied => self.approval.is_some(),
            Status::Executed
            | Status::Authorized
            | Status::Processing
            | Status::PendingApproval => false,
        };
        if given_back { &[] } else { &self.charged }
    }

    /// What people are told of the run.
    pub fn conclusion(&self) -> Option<Conclusion> {
        let (witness, run) = self.witness.as_ref().zip(self.execution.as_ref())?;
        Conclusion::of(run.status, run.rows_changed, (witness.verdict, witness.level))
    }

    /// The call as the policy saw it, made again from what was recorded of it and its arguments.
    pub fn call(&self, args: Arc<Value>, zone: &str) -> Call {
        Call {
            tool: self.tool.clone(),
            args,
            agent: Agent {
                id: self.agent.id,
                name: self.agent.name.clone(),
                labels: self.inputs.agent_labels.clone(),
            },
            facts: CallFacts {
                connector: self.connector.as_ref().map(|connector| connector.name.clone()),
                mode: self.mode,
                transport: self.transport.clone(),
                session: self.session.clone(),
                on_behalf_of: self.on_behalf_of.clone(),
                livemode: self.livemode,
                side_effect: self.side_effect,
                intent: self.signed.as_ref().map(|_| VERIFIED.to_owned()),
                tool_changed: self.inputs.tool_changed,
            },
            now: self.inputs.now,
            zone: zone.to_owned(),
        }
    }
}

impl Row for Arc<Action> {
    type Key = ActionId;

    fn key(&self) -> ActionId {
        self.id
    }

    fn is_worth_keeping(row: Option<&Self>, _: Timestamp) -> bool {
        // Hardly any sealed action is written again, and one that is absent may begin elsewhere.
        row.is_some_and(|action| action.deed.is_none())
    }
}

/// An action that begins, and what opens the commitments that it holds already.
#[derive(Debug, Clone)]
pub struct NewAction {
    /// The action.
    pub action: Arc<Action>,
    /// What opens its commitments.
    pub disclosures: Vec<deed::Disclosure>,
}

/// The agent as an action names it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentRef {
    /// The agent's id.
    pub id: AgentId,
    /// Its name as of then.
    pub name: String,
}

/// The connector as an action names it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectorRef {
    /// The connector's id; the service's own and an edge's connectors have none.
    pub id: Option<ConnectorId>,
    /// Its name.
    pub name: String,
    /// Its type.
    pub kind: String,
}

/// The client's own name and version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Client {
    /// The name.
    pub name: String,
    /// The version.
    pub version: String,
}

/// What was decided when the call came in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// What it came to.
    pub outcome: DecisionOutcome,
    /// Why it is not a plain allow.
    pub code: Option<DecisionCode>,
    /// What decided.
    pub source: DecisionSource,
    /// The rule that decided.
    pub rule_id: Option<String>,
    /// The rule's own sentence.
    pub reason: Option<String>,
    /// The sentence that a refusal gives verbatim.
    pub message: Option<String>,
    /// The policy in force.
    pub policy: PolicyId,
    /// The version in force.
    pub policy_version: PolicyVersionId,
    /// The digest of that version's document.
    pub policy_digest: Digest,
    /// When the budget that refused will admit again.
    pub retry_at: Option<Timestamp>,
    /// The budget that refused.
    #[serde(default)]
    pub budget: Option<Box<SpentBudget>>,
    /// What the shadow version would have decided.
    pub shadow: Option<Shadow>,
}

/// A budget that did not admit a call; of several, the one that resets last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpentBudget {
    /// The budget's id in the policy.
    pub id: String,
    /// What all calls of a window may take together, as a decimal number.
    pub limit: String,
    /// What costs are counted in; nothing for a budget that counts calls.
    pub unit: Option<String>,
    /// How long it adds up: `minute`, `hour`, `day`, `week` or `month`.
    pub window: String,
    /// When its next window begins.
    pub resets_at: Timestamp,
}

/// What the shadow version would have decided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shadow {
    /// What it came to.
    pub outcome: DecisionOutcome,
    /// Why it is not a plain allow.
    pub code: Option<DecisionCode>,
    /// The rule that decided.
    pub rule_id: Option<String>,
    /// The shadow policy.
    pub policy: PolicyId,
    /// The shadow version.
    pub policy_version: PolicyVersionId,
}

/// What a decision was made from beside the arguments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DecisionInputs {
    /// The moment that `now` meant.
    pub now: Timestamp,
    /// The agent's labels as of then.
    pub agent_labels: BTreeMap<String, String>,
    /// The digest of the tool's argument schema as of then.
    pub schema_digest: Option<Digest>,
    /// Whether the tool's definition differed from the last one seen.
    pub tool_changed: bool,
}

/// A tool's run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Execution {
    /// How it went.
    pub status: ExecutionStatus,
    /// Who says so; null when nobody reported.
    pub attestation: Option<Attestation>,
    /// When it began.
    pub started_at: Option<Timestamp>,
    /// When it ended.
    pub finished_at: Option<Timestamp>,
    /// What went wrong, as a code.
    pub error_code: Option<ErrorCode>,
    /// What went wrong, as a sentence.
    pub error_message: Option<String>,
    /// Whether a number of the result that JSON would round stands in it as its digits, or the whole
    /// of a result that is no strict JSON as its text.
    pub lossy_numbers: bool,
    /// How many rows a write reports to have changed; nothing for reads, and for tools that count none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows_changed: Option<u64>,
}

/// What the witness made of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Witness {
    /// How much evidence the verdict rests on.
    pub level: Level,
    /// How much was asked for.
    pub required_level: Level,
    /// What was found.
    pub verdict: Verdict,
    /// Where the evidence came from.
    pub method: WitnessMethod,
    /// The finding as one sentence.
    pub summary: String,
    /// Why it is no better.
    pub reasons: Vec<String>,
    /// When.
    pub witnessed_at: Timestamp,
    /// SHA-256 of the canonical form of the whole detail.
    pub detail_digest: Digest,
}

/// What became known of an action once it was sealed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Amendment {
    /// The deed that says so.
    pub deed: DeedId,
    /// When it was sealed.
    pub amended_at: Timestamp,
    /// The run as it is known now, where that is otherwise than it was sealed.
    pub execution: Option<Execution>,
    /// What the witness makes of the run now.
    pub witness: Witness,
}

/// What a call was charged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cost {
    /// How much, as a decimal number.
    pub amount: String,
    /// Of what.
    pub currency: String,
}

/// Who carries an action out. The moment it ends is a column that only the store moves, so that
/// renewing it is no turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    /// The instance.
    pub holder: String,
    /// Counts the holders; a write with an older token is refused.
    pub token: u64,
}

/// An idempotency key and the action that it names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdempotencyKey {
    /// The agent whose key it is.
    pub agent: AgentId,
    /// The key as it was sent.
    pub key: String,
    /// The action.
    pub action: ActionId,
    /// What a repeat must be equal in: request digest, on-behalf-of and session.
    pub fingerprint: Digest,
    /// When the key is free again.
    pub expires_at: Timestamp,
}

impl Row for IdempotencyKey {
    type Key = (AgentId, String);

    fn key(&self) -> Self::Key {
        (self.agent, self.key.clone())
    }

    fn is_worth_keeping(row: Option<&Self>, now: Timestamp) -> bool {
        row.is_some_and(|row| now < row.expires_at)
    }
}

/// Payloads that retention removes: of these actions, and of these deeds about them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Pruned {
    /// The actions.
    pub actions: Vec<ActionId>,
    /// The deeds.
    pub deeds: Vec<DeedId>,
}

/// One counter of one budget in one window.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BudgetUse {
    /// Policy, budget and the values that it counts per, as one text.
    pub key: String,
    /// When the window began.
    pub window_start: Timestamp,
    /// When it ends.
    pub window_end: Timestamp,
    /// How much is used: of a counter all of it, of an action its own part.
    #[serde(with = "decimal")]
    pub used: policy::Decimal,
}

impl BudgetUse {
    /// Whether it is of this counter in the window that begins at this moment.
    pub fn is_of(&self, key: &str, window_start: Timestamp) -> bool {
        self.key == key && self.window_start == window_start
    }
}

impl Row for BudgetUse {
    type Key = (String, Timestamp);

    fn key(&self) -> Self::Key {
        (self.key.clone(), self.window_start)
    }
}

/// Decimal numbers as text, so that no double comes in between.
mod decimal {
    use policy::Decimal;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(used: &Decimal, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(used)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Decimal, D::Error> {
        String::deserialize(from)?.parse().map_err(D::Error::custom)
    }
}
