//! What a turn knows of its org when it decides.

use std::sync::Arc;

use model::{
    ActionId, AgentId, ConnectorId, InviteId, KeyId, MemberId, OrgId, ProposalId, Timestamp,
};

use crate::{
    data::{Base, Entry, Head, LoadedPolicy},
    families::{Changes, Loaded, Needs, Shelves},
    record::{
        AcceptedTool, Action, Agent, ApiKey, Connector, IdempotencyKey, IntentKeys, Invite, Member,
        Org, OrgSettings, OrgWebhooks, PolicyMode, Proposal,
    },
};

/// What a turn knows. What was asked for and is not there is known too.
#[derive(Debug, Clone)]
pub struct Snapshot {
    id: OrgId,
    now: Timestamp,
    // Invariant: absent only for an org that does not exist.
    base: Option<Base>,
    policies: Vec<LoadedPolicy>,
    asked: Shelves,
}

/// More loaded rows than this and the memory of the last turn is not kept.
const MEMORY_ROWS: usize = 20_000;

impl Snapshot {
    /// The snapshot that knows the base and nothing else.
    pub(crate) fn new(
        id: OrgId,
        now: Timestamp,
        base: Option<Base>,
        policies: Vec<LoadedPolicy>,
    ) -> Self {
        Self { id, now, base, policies, asked: Shelves::default() }
    }

    /// The org's id.
    pub fn org_id(&self) -> OrgId {
        self.id
    }

    /// The moment of this turn, by the database's clock.
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// Where the org stands; nothing for an org that does not exist.
    pub fn base(&self) -> Option<&Base> {
        self.base.as_ref()
    }

    /// The org; nothing for an org that does not exist.
    pub fn org(&self) -> Option<&Org> {
        self.base.as_ref().map(|base| &base.org)
    }

    /// The org's settings if they were needed; nothing where it made none.
    pub fn settings(&self) -> Option<&OrgSettings> {
        self.asked.settings.get(&self.id)
    }

    /// Whether somebody needed the org's settings, so that nothing found means that it made none.
    pub fn knows_settings(&self) -> bool {
        self.asked.settings.knows(&self.id)
    }

    /// The org's webhook endpoints if they were needed and it has any.
    pub fn webhooks(&self) -> Option<&OrgWebhooks> {
        self.asked.webhooks.get(&self.id)
    }

    /// The policy that is active in this mode.
    pub fn policy(&self, mode: PolicyMode) -> Option<&LoadedPolicy> {
        self.policies.iter().find(|loaded| loaded.active.mode == mode)
    }

    /// A connector.
    pub fn connector(&self, id: ConnectorId) -> Option<&Connector> {
        self.base.as_ref()?.connectors.get(&id)
    }

    /// Every connector of the org.
    pub fn connectors(&self) -> impl Iterator<Item = &Connector> {
        self.base.iter().flat_map(|base| base.connectors.values())
    }

    /// An agent that was needed.
    pub fn agent(&self, id: AgentId) -> Option<&Agent> {
        self.asked.agents.get(&id)
    }

    /// An API key that was needed.
    pub fn key(&self, id: KeyId) -> Option<&ApiKey> {
        self.asked.keys.get(&id)
    }

    /// An action that was needed.
    pub fn action(&self, id: ActionId) -> Option<&Arc<Action>> {
        self.asked.actions.get(&id)
    }

    /// The row of an idempotency key that was needed and names an action at this moment.
    pub fn idempotency_key(&self, agent: AgentId, key: &str) -> Option<&IdempotencyKey> {
        let row = self.asked.idempotency_keys.get(&(agent, key.to_owned()))?;
        (self.now < row.expires_at).then_some(row)
    }

    /// The definition that the agent's edge was last let run under the tool's name, if it was
    /// needed.
    pub fn accepted_tool(&self, agent: AgentId, tool: &str) -> Option<&AcceptedTool> {
        self.asked.accepted_tools.get(&(agent, tool.to_owned()))
    }

    /// The keys that an agent signs intents with, if they were needed and there are any.
    pub fn intent_keys(&self, agent: AgentId) -> Option<&IntentKeys> {
        self.asked.intent_keys.get(&agent)
    }

    /// A member that was needed, one who left too.
    pub fn member(&self, id: MemberId) -> Option<&Member> {
        self.asked.members.get(&id)
    }

    /// An invitation that was needed.
    pub fn invite(&self, id: InviteId) -> Option<&Invite> {
        self.asked.invites.get(&id)
    }

    /// A proposed activation that was needed.
    pub fn proposal(&self, id: ProposalId) -> Option<&Proposal> {
        self.asked.proposals.get(&id)
    }

    /// How much of a budget that was needed is used in the window that begins at this moment.
    pub fn used(&self, key: &str, window_start: Timestamp) -> policy::Decimal {
        let counter = self.asked.budgets.get(&(key.to_owned(), window_start));
        counter.map_or(policy::Decimal::ZERO, |counter| counter.used)
    }

    /// The part of the needs that is not loaded.
    pub(crate) fn missing(&self, needs: Needs) -> Needs {
        self.asked.missing(needs)
    }

    /// Adds what a store found of these needs; what it did not find is known to be absent.
    pub(crate) fn learn(&mut self, needs: Needs, found: Loaded) {
        self.asked.learn(needs, found);
    }

    /// Makes the next entry of the turn see this one. What becomes active it does not see: a turn
    /// ends where that changes.
    pub(crate) fn apply(&mut self, entry: &Entry) {
        let changes = &entry.changes;
        self.asked.apply(changes);
        let Some(base) = &mut self.base else { return };
        if let Some(org) = changes.orgs.last() {
            base.org = org.clone();
        }
        let connectors = changes.connectors.iter().cloned();
        base.connectors.extend(connectors.map(|connector| (connector.id, connector)));
        for policy in &changes.policies {
            match policy.archived_at {
                Some(_) => drop(base.policies.remove(&policy.id)),
                None => drop(base.policies.insert(policy.id, policy.clone())),
            }
        }
    }

    /// Moves the turn's moment; time never runs behind the last deed.
    pub(crate) fn set_now(&mut self, now: Timestamp) {
        let last = self.base.as_ref().map(|base| base.head.chain.issued_at());
        self.now = last.map_or(now, |last| last.max(now));
    }

    pub(crate) fn set_head(&mut self, head: Head) {
        if let Some(base) = &mut self.base {
            base.head = head;
        }
    }

    /// Evicts the rows that no later turn needs, and all rows if there are too many, except the rows of
    /// these changes: they may not be durable yet, so that reading one again would return its old version.
    pub(crate) fn evict_settled_except(&mut self, changes: &Changes) {
        self.asked.forget_settled(self.now, MEMORY_ROWS);
        self.asked.apply(changes);
    }
}
