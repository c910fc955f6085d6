//! What administration reads beside its turns.

use std::collections::BTreeMap;

use async_trait::async_trait;
use ledger::{
    Place, StoreDown,
    record::{
        Action, Agent, ApiKey, Connector, Holder, IntentKeys, Invite, Member, Org, Policy,
        PolicyActivation, PolicyMode, PolicyTests, PolicyVersion, Proposal,
    },
};
use model::{
    ActionId, AgentId, AgentStatus, ConnectorId, DeedId, Digest, EventType, InviteId, KeyId,
    LogGap, MemberId, OrgId, PolicyId, PolicyVersionId, ProposalId, Timestamp, UserId,
};

use crate::{ConnectorTest, KeyUse};

/// Every org.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Orgs {
    /// The orgs that can be reached, oldest first.
    pub found: Vec<Org>,
    /// Those that cannot: the part of the store that has them is away.
    pub unreached: Vec<OrgId>,
}

/// Where accounts are read.
#[async_trait]
pub trait AccountStore: Send + Sync {
    /// An API key of any org; the key's id is part of its text.
    async fn api_key(&self, id: KeyId) -> Result<Option<ApiKey>, StoreDown>;

    /// An org.
    async fn org(&self, id: OrgId) -> Result<Option<Org>, StoreDown>;

    /// The org that holds this name.
    async fn org_named(&self, name: &str) -> Result<Option<OrgId>, StoreDown>;

    /// Every org.
    async fn orgs(&self) -> Result<Orgs, StoreDown>;

    /// An agent of the org.
    async fn agent(&self, org: OrgId, id: AgentId) -> Result<Option<Agent>, StoreDown>;

    /// The keys that the agent signs intents with, where it ever had one.
    async fn intent_keys(
        &self,
        org: OrgId,
        agent: AgentId,
    ) -> Result<Option<IntentKeys>, StoreDown>;

    /// The agent that goes by this name in the org; an archived one has given its name up.
    async fn agent_named(&self, org: OrgId, name: &str) -> Result<Option<Agent>, StoreDown>;

    /// Returns up to `limit` agents of the org that are asked for: newest first, or in the order of
    /// names where names are asked for.
    async fn agents(
        &self,
        org: OrgId,
        asked: &AgentList,
        limit: usize,
    ) -> Result<Vec<Agent>, StoreDown>;

    /// Returns up to `limit` API keys of this holder behind this place, newest first; those that were
    /// revoked too.
    async fn keys_of(
        &self,
        org: OrgId,
        holder: Holder,
        after: Option<(Timestamp, KeyId)>,
        limit: usize,
    ) -> Result<Vec<ApiKey>, StoreDown>;

    /// The API keys of this holder that open something at this moment.
    async fn valid_keys_of(&self, org: OrgId, holder: Holder) -> Result<Vec<ApiKey>, StoreDown>;

    /// Every API key of the org and of its agents, oldest first.
    async fn api_keys(&self, org: OrgId) -> Result<Vec<ApiKey>, StoreDown>;

    /// Notes the uses of keys of the org, for those that were not used later by what is noted.
    async fn note_key_uses(&self, org: OrgId, uses: &[(KeyId, KeyUse)]) -> Result<(), StoreDown>;

    /// The last uses of these keys of the org, of those that are known to have been used.
    async fn key_uses(
        &self,
        org: OrgId,
        keys: &[KeyId],
    ) -> Result<BTreeMap<KeyId, KeyUse>, StoreDown>;

    /// Every connector of the org, oldest first.
    async fn connectors(&self, org: OrgId) -> Result<Vec<Connector>, StoreDown>;

    /// A connector of the org.
    async fn connector(&self, org: OrgId, id: ConnectorId) -> Result<Option<Connector>, StoreDown>;

    /// Keeps a test of a connector instead of the one before.
    async fn keep_connector_test(
        &self,
        org: OrgId,
        id: ConnectorId,
        test: &ConnectorTest,
    ) -> Result<(), StoreDown>;

    /// The last test of a connector that was kept.
    async fn last_connector_test(
        &self,
        org: OrgId,
        id: ConnectorId,
    ) -> Result<Option<ConnectorTest>, StoreDown>;

    /// How far the change log of a connector's database was read, with the latest so many breaks;
    /// nothing where it never was.
    async fn log_standing(
        &self,
        org: OrgId,
        id: ConnectorId,
        breaks: usize,
    ) -> Result<Option<LogStanding>, StoreDown>;

    /// Whether the slot of a connector's change log may stand: somebody was to make it, be it that the log was
    /// never read, and nobody gave it up since.
    async fn slot_may_stand(&self, org: OrgId, id: ConnectorId) -> Result<bool, StoreDown>;
}

/// How far a change log was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogStanding {
    /// The stretch that is being read without a break, counted from 1.
    pub stretch: u64,
    /// Why it cannot be read on before somebody acts; nothing where it can.
    pub broken: Option<LogGap>,
    /// When a heartbeat was last read.
    pub beat_at: Option<Timestamp>,
    /// When something more was last read.
    pub read_at: Timestamp,
    /// Where it was not read, the latest first.
    pub breaks: Vec<LogBreak>,
}

/// A place at which a change log was not read on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogBreak {
    /// Why.
    pub cause: LogGap,
    /// When that was seen.
    pub at: Timestamp,
}

/// The invitations that count where another is made, all as they stood at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Inviting {
    /// How many the org ever made.
    pub made: u32,
    /// Those that are open, and those that were made lately.
    pub invites: Vec<Invite>,
}

/// Where the people of orgs are read.
#[async_trait]
pub trait MemberStore: Send + Sync {
    /// A member of the org, one who left too.
    async fn member(&self, org: OrgId, id: MemberId) -> Result<Option<Member>, StoreDown>;

    /// The live member that this person is in the org.
    async fn member_of(&self, org: OrgId, user: UserId) -> Result<Option<Member>, StoreDown>;

    /// Every org that the person is in, by its name, with who they are there.
    async fn memberships(&self, user: UserId) -> Result<Vec<Membership>, StoreDown>;

    /// Returns up to `limit` live members of the org behind this place, newest first.
    async fn members(
        &self,
        org: OrgId,
        after: Option<(Timestamp, MemberId)>,
        limit: usize,
    ) -> Result<Vec<Member>, StoreDown>;

    /// Returns up to `limit` live owners of the org but this one.
    async fn owners_but(
        &self,
        org: OrgId,
        but: MemberId,
        limit: usize,
    ) -> Result<Vec<MemberId>, StoreDown>;

    /// An invitation of the org, however it stands.
    async fn invite(&self, org: OrgId, id: InviteId) -> Result<Option<Invite>, StoreDown>;

    /// The invitation to this person that was not closed; its time may be over.
    async fn open_invite(&self, org: OrgId, user: UserId) -> Result<Option<Invite>, StoreDown>;

    /// The invitations of the org that were made after `open_since` and are not closed, with all that
    /// were made after `all_since`.
    async fn inviting(
        &self,
        org: OrgId,
        (open_since, all_since): (Timestamp, Timestamp),
    ) -> Result<Inviting, StoreDown>;

    /// Returns up to `limit` invitations of the org behind this place, newest first.
    async fn invites(
        &self,
        org: OrgId,
        after: Option<(Timestamp, InviteId)>,
        limit: usize,
    ) -> Result<Vec<Invite>, StoreDown>;
}

/// A person in one of their orgs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Membership {
    /// Who they are there.
    pub member: Member,
    /// The name of the org.
    pub org_name: String,
}

impl Membership {
    /// Where it stands in the list of a person's orgs.
    pub fn place(&self) -> (&str, OrgId) {
        (&self.org_name, self.member.org)
    }
}

/// Which agents a list shows, and from where on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AgentList {
    /// Those that stand so at this moment; archived ones are shown where they are asked for.
    pub status: Option<AgentStatus>,
    /// Whether archived ones are shown beside the others.
    pub archived: bool,
    /// What the name begins with; the list is then in the order of names.
    pub named: Option<String>,
    /// The place that the list begins behind.
    pub after: Option<AgentPlace>,
}

impl AgentList {
    /// Every agent, archived ones too, newest first.
    pub fn all() -> Self {
        Self { archived: true, ..Self::default() }
    }
}

/// Where an agent stands in a list, whatever its order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentPlace {
    /// When it was made.
    pub created_at: Timestamp,
    /// Its name.
    pub name: String,
    /// Its id.
    pub id: AgentId,
}

impl From<&Agent> for AgentPlace {
    fn from(agent: &Agent) -> Self {
        Self { created_at: agent.created_at, name: agent.name.clone(), id: agent.id }
    }
}

/// Where policies are read.
#[async_trait]
pub trait PolicyStore: Send + Sync {
    /// Every policy of the org, archived ones too, oldest first.
    async fn policies(&self, org: OrgId) -> Result<Vec<Policy>, StoreDown>;

    /// A policy version of the org.
    async fn policy_version(
        &self,
        org: OrgId,
        id: PolicyVersionId,
    ) -> Result<Option<PolicyVersion>, StoreDown>;

    /// The version of the policy with the highest number.
    async fn latest_policy_version(
        &self,
        org: OrgId,
        policy: PolicyId,
    ) -> Result<Option<PolicyVersion>, StoreDown>;

    /// Returns up to `limit` versions of the policy with numbers below this one, newest first.
    async fn policy_versions(
        &self,
        org: OrgId,
        policy: PolicyId,
        below: Option<u32>,
        limit: usize,
    ) -> Result<Vec<VersionSummary>, StoreDown>;

    /// Returns up to `limit` changes of what is active, in one mode or in each, by turns below this
    /// one, newest first.
    async fn policy_activations(
        &self,
        org: OrgId,
        mode: Option<PolicyMode>,
        below: Option<u64>,
        limit: usize,
    ) -> Result<Vec<PolicyActivation>, StoreDown>;

    /// A proposed activation of the org, however it stands.
    async fn policy_proposal(
        &self,
        org: OrgId,
        id: ProposalId,
    ) -> Result<Option<Proposal>, StoreDown>;

    /// The proposed activations of the org that were not closed; their time may be over.
    async fn open_policy_proposals(&self, org: OrgId) -> Result<Vec<Proposal>, StoreDown>;

    /// The tests of the policy.
    async fn policy_tests(
        &self,
        org: OrgId,
        policy: PolicyId,
    ) -> Result<Option<PolicyTests>, StoreDown>;

    /// Returns up to `limit` events of [`DECISION_EVENTS`] from this moment on and behind this
    /// place, in order.
    async fn decisions(
        &self,
        org: OrgId,
        from: (Option<Timestamp>, u64),
        limit: usize,
    ) -> Result<Vec<DecisionEvent>, StoreDown>;
}

/// The events that a replay reads: decisions, and ends that may give budgets back.
pub const DECISION_EVENTS: [EventType; 5] = [
    EventType::ActionCreated,
    EventType::ActionPendingApproval,
    EventType::ActionDenied,
    EventType::ActionCancelled,
    EventType::ActionWitnessed,
];

/// Something that happened to an action's decision.
#[derive(Debug, Clone, PartialEq)]
pub struct DecisionEvent {
    /// The event's place in the org's order.
    pub seq: u64,
    /// What happened.
    pub kind: EventType,
    /// The action as it stands now.
    pub action: Action,
    /// The arguments, as far as retention left them.
    pub args: Option<serde_json::Value>,
}

/// A policy version without its document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VersionSummary {
    /// The version's id.
    pub id: PolicyVersionId,
    /// The policy.
    pub policy: PolicyId,
    /// Counts the policy's versions from 1.
    pub number: u32,
    /// SHA-256 of the document's canonical form.
    pub digest: Digest,
    /// What its author says about it.
    pub note: Option<String>,
    /// Who made it, where that is known.
    pub author: Option<String>,
    /// When it was made.
    pub created_at: Timestamp,
}

impl From<&PolicyVersion> for VersionSummary {
    fn from(version: &PolicyVersion) -> Self {
        let PolicyVersion { id, policy, number, digest, created_at, .. } = *version;
        let (note, author) = (version.note.clone(), version.author.clone());
        Self { id, policy, number, digest, note, author, created_at }
    }
}

/// Where the seal keys of this deployment are kept. They are public and belong to no org.
#[async_trait]
pub trait SealKeyStore: Send + Sync {
    /// Every seal key ever registered, oldest first.
    async fn seal_keys(&self) -> Result<Vec<deed::SealKey>, StoreDown>;

    /// Adds a key, or replaces the row of the key with this thumbprint, whose revocation stays where it
    /// was revoked. A row that counts from an earlier time stays as it is: who registers a key ahead
    /// of time may come behind who activated it at once.
    async fn put_seal_key(&self, key: &deed::SealKey) -> Result<(), StoreDown>;

    /// The store's own time, by which keys are activated and retired.
    async fn now(&self) -> Result<Timestamp, StoreDown>;
}

/// A deed as the log of its org has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Logged {
    /// Its place.
    pub place: Place,
    /// Its id.
    pub deed: DeedId,
    /// The action that it is about, where it is about one.
    pub action: Option<ActionId>,
    /// When it was sealed; never before the one that it follows.
    pub issued_at: Timestamp,
}

/// Where it is found what has been kept long enough.
#[async_trait]
pub trait RetentionStore: Send + Sync {
    /// Returns up to `limit` deeds of the org from this place on, in order.
    async fn logged(&self, org: OrgId, from: Place, limit: usize)
    -> Result<Vec<Logged>, StoreDown>;

    /// Removes up to `limit` rows of each kind that mean nothing any more by the store's own time:
    /// idempotency keys that are free again, windows of budgets that ended, names of turns that
    /// were settled long ago. Returns the most that it removed of one kind.
    async fn sweep_out(&self, org: OrgId, limit: usize) -> Result<usize, StoreDown>;
}

/// Everything that administration reads.
pub trait Store: AccountStore + MemberStore + PolicyStore + SealKeyStore + RetentionStore {}

impl<S: AccountStore + MemberStore + PolicyStore + SealKeyStore + RetentionStore> Store for S {}
