//! The org, its keys, its policies and connectors.

use deed::Actor;
use model::{
    AgentId, DeedId, Digest, KeyId, OrgId, PolicyId, PolicyVersionId, ProposalId, Scope, Timestamp,
    UserId,
};
use serde::{Deserialize, Serialize};

use super::Row;

/// A tenant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Org {
    /// The org's id.
    pub id: OrgId,
    /// Its name.
    pub name: String,
    /// Its time zone, an IANA name; budget windows are cut in it.
    pub time_zone: String,
    /// Whether the Pro features are on.
    pub pro: bool,
    /// Set while every agent is stopped.
    pub stop: Option<Stop>,
    /// Approvals that were asked for until this moment are void; absent once none of them waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub voids: Option<Timestamp>,
    /// The Stop that made them void.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub voided: Option<Voided>,
    /// How many days payloads are kept after their action was sealed, unless the org's settings
    /// say otherwise.
    #[serde(default = "a_year")]
    pub retention_days: u16,
    /// The place among the org's deeds up to which payloads have been removed.
    #[serde(default)]
    pub pruned_to: u64,
    /// How many keys of its own were made, so that two that are made at once count each other.
    #[serde(default)]
    pub keys_made: u32,
    /// How many people were asked to join, so that those who are asked at once count each other.
    #[serde(default)]
    pub invites_made: u32,
    /// When it was made.
    pub created_at: Timestamp,
}

/// The definition of a tool that an agent's edge was last let run, and the one that was told of last
/// in its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AcceptedTool {
    /// The agent.
    pub agent: AgentId,
    /// The tool's name.
    pub tool: String,
    /// The digest of its definition.
    pub digest: Digest,
    /// The digest that was last told to differ from it.
    pub told: Option<Digest>,
}

impl Row for AcceptedTool {
    type Key = (AgentId, String);

    fn key(&self) -> Self::Key {
        (self.agent, self.tool.clone())
    }
}

/// How long payloads are kept unless the org says otherwise.
pub const RETENTION_DAYS: u16 = 365;

fn a_year() -> u16 {
    RETENTION_DAYS
}

/// A Stop, of an agent or of the whole org.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stop {
    /// Since when.
    pub stopped_at: Timestamp,
    /// Who did it, as text such as `key_…` or `operator`.
    pub by: String,
    /// Why.
    pub reason: String,
}

/// The change that made approvals void: a Stop, or the archiving of their agent. It is kept until none
/// of them waits, also where what was stopped is started before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Voided {
    /// Who made the change.
    pub by: Actor,
    /// Why.
    pub reason: String,
}

/// Whose an API key is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", content = "id", rename_all = "snake_case")]
pub enum Holder {
    /// An agent's.
    Agent(AgentId),
    /// The org's own.
    Org,
}

/// An API key, without its secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApiKey {
    /// The key's id, part of its text.
    pub id: KeyId,
    /// The org that it belongs to.
    pub org: OrgId,
    /// Whose it is.
    pub holder: Holder,
    /// Its name.
    pub name: String,
    /// What it may do.
    pub scopes: Vec<Scope>,
    /// Whether its actions are no tests.
    pub livemode: bool,
    /// HMAC-SHA-256 of the whole key under the pepper, in hex.
    pub mac: String,
    /// The last four characters.
    pub hint: String,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it ends by itself.
    pub expires_at: Option<Timestamp>,
    /// When it was revoked.
    pub revoked_at: Option<Timestamp>,
    /// The person who made it; not known of keys that are older than this field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made_by: Option<UserId>,
    /// The key that replaces it, once it was rolled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rolled_to: Option<KeyId>,
}

impl ApiKey {
    /// Whether the key opens anything at this moment.
    pub fn is_valid(&self, now: Timestamp) -> bool {
        self.revoked_at.is_none() && self.expires_at.is_none_or(|end| now < end)
    }

    /// How the key stands at this moment, as a word.
    pub fn status(&self, now: Timestamp) -> &'static str {
        match (self.revoked_at, self.is_valid(now)) {
            (Some(_), _) => "revoked",
            (None, true) => "active",
            (None, false) => "expired",
        }
    }
}

impl Row for ApiKey {
    type Key = KeyId;

    fn key(&self) -> KeyId {
        self.id
    }
}

/// A policy, which has versions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    /// The policy's id.
    pub id: PolicyId,
    /// The org that it belongs to.
    pub org: OrgId,
    /// Its name; that of an archived policy is free again.
    pub name: String,
    /// What it is for, in its author's words; may be empty.
    pub description: String,
    /// Counts the changes of name, description and tests.
    pub revision: u32,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was archived; it gets no versions and is never active from then on.
    pub archived_at: Option<Timestamp>,
}

/// One immutable version of a policy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicyVersion {
    /// The version's id.
    pub id: PolicyVersionId,
    /// The org that it belongs to.
    pub org: OrgId,
    /// The policy that it is a version of.
    pub policy: PolicyId,
    /// Counts the policy's versions from 1.
    pub number: u32,
    /// The document as it was sent.
    pub document: String,
    /// SHA-256 of the document's canonical form.
    pub digest: Digest,
    /// What its author says about it.
    pub note: Option<String>,
    /// Who made it; not known of versions that are older than this field.
    pub author: Option<String>,
    /// When it was made.
    pub created_at: Timestamp,
}

/// The tests that a version of a policy must pass before it may become active.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicyTests {
    /// The policy.
    pub policy: PolicyId,
    /// The file of tests as it was sent.
    pub suite: String,
    /// How many cases it has.
    pub cases: u32,
    /// The policy's revision since they were last changed.
    pub revision: u32,
    /// When they were last changed.
    pub updated_at: Timestamp,
}

/// One change of what is active in a mode.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicyActivation {
    /// The version of the org's head that it made; no turn activates twice.
    pub turn: u64,
    /// The admin deed that sealed it.
    pub deed: DeedId,
    /// When.
    pub at: Timestamp,
    /// The mode.
    pub mode: PolicyMode,
    /// The policy and its version that are active from then on; absent when nothing is.
    pub active: Option<(PolicyId, PolicyVersionId)>,
    /// The version that was active before.
    pub previous: Option<PolicyVersionId>,
    /// Who did it.
    pub by: String,
    /// Why.
    pub reason: String,
    /// The proposal that was confirmed, and who made it; nothing where one person did it alone.
    pub proposed: Option<(ProposalId, String)>,
    /// Whether tests of the policy fail under the version, which an owner overruled.
    pub forced: bool,
}

/// What an active version does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PolicyMode {
    /// It decides.
    Enforce,
    /// It is asked beside the enforced one and changes nothing.
    Shadow,
}

impl PolicyMode {
    /// The modes in order.
    pub const ALL: [Self; 2] = [Self::Enforce, Self::Shadow];

    /// The word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Enforce => "enforce",
            Self::Shadow => "shadow",
        }
    }
}

/// The version that is active in one mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActivePolicy {
    /// What it does.
    pub mode: PolicyMode,
    /// The policy.
    pub policy: PolicyId,
    /// The version.
    pub version: PolicyVersionId,
    /// The digest of its document.
    pub digest: Digest,
}

/// What is active from now on in one mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ActiveChange {
    /// The mode.
    pub mode: PolicyMode,
    /// The version that is active; absent when none is.
    pub active: Option<ActivePolicy>,
}

impl From<ActivePolicy> for ActiveChange {
    fn from(active: ActivePolicy) -> Self {
        Self { mode: active.mode, active: Some(active) }
    }
}
