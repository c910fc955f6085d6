//! What a turn knows of its org when it decides.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use model::{ActionId, AgentId, ConnectorId, KeyId, OrgId, PolicyId, Timestamp};

use crate::{
    Change, Entry, LogNo,
    record::{Action, ActivePolicy, Agent, ApiKey, Connector, Known, Org, Policy, PolicyMode},
};

/// Where an org's truth stands.
#[derive(Debug, Clone)]
pub struct Head {
    /// Counts the turns; the compare-and-set is on this.
    pub version: u64,
    /// Which of the org's logs is open.
    pub log_no: LogNo,
    /// The chain and tree of its deeds.
    pub chain: deed::ChainHead,
    /// The place of the last event.
    pub event_seq: u64,
}

/// What every turn needs to know.
#[derive(Debug, Clone)]
pub struct Base {
    /// The head.
    pub head: Head,
    /// The org.
    pub org: Org,
    /// The active policies, at most one for each mode.
    pub active: Vec<ActivePolicy>,
    /// The org's policies that are not archived.
    pub policies: BTreeMap<PolicyId, Policy>,
    /// The org's connectors that are not archived.
    pub connectors: BTreeMap<ConnectorId, Connector>,
}

/// An active policy as a turn uses it.
#[derive(Debug, Clone)]
pub struct LoadedPolicy {
    /// Which one it is.
    pub active: ActivePolicy,
    /// The policy itself; absent when its document cannot be read, which refuses every call.
    pub policy: Option<Arc<policy::Policy>>,
}

/// What requests need to have loaded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Needs {
    /// Agents by id.
    pub agents: BTreeSet<AgentId>,
    /// API keys by id.
    pub keys: BTreeSet<KeyId>,
    /// Actions by id.
    pub actions: BTreeSet<ActionId>,
    /// Idempotency keys of agents.
    pub known: BTreeSet<(AgentId, String)>,
    /// Budget counters by key and window start.
    pub budgets: BTreeSet<(String, Timestamp)>,
}

impl Needs {
    /// Adds the needs of another request.
    pub fn extend(&mut self, other: Self) {
        self.agents.extend(other.agents);
        self.keys.extend(other.keys);
        self.actions.extend(other.actions);
        self.known.extend(other.known);
        self.budgets.extend(other.budgets);
    }

    /// Returns whether nothing is needed.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// What a turn knows. What was looked for and is not there is known too, as `None`.
#[derive(Debug, Clone)]
pub struct Snapshot {
    id: OrgId,
    now: Timestamp,
    // Invariant: absent only for an org that does not exist.
    base: Option<Base>,
    policies: Vec<LoadedPolicy>,
    agents: BTreeMap<AgentId, Option<Agent>>,
    keys: BTreeMap<KeyId, Option<ApiKey>>,
    actions: BTreeMap<ActionId, Option<Action>>,
    known: BTreeMap<(AgentId, String), Option<Known>>,
    budgets: BTreeMap<(String, Timestamp), policy::Decimal>,
}

/// More loaded rows than this and the memory of the last turn is not kept.
const MEMORY_ROWS: usize = 20_000;

impl Snapshot {
    /// Returns the snapshot that knows the base and nothing else.
    pub(crate) fn new(
        id: OrgId,
        now: Timestamp,
        base: Option<Base>,
        policies: Vec<LoadedPolicy>,
    ) -> Self {
        Self {
            id,
            now,
            base,
            policies,
            agents: BTreeMap::new(),
            keys: BTreeMap::new(),
            actions: BTreeMap::new(),
            known: BTreeMap::new(),
            budgets: BTreeMap::new(),
        }
    }

    /// Returns the org's id.
    pub fn org_id(&self) -> OrgId {
        self.id
    }

    /// Returns the moment of this turn, by the database's clock.
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// Returns where the org stands; nothing for an org that does not exist.
    pub fn base(&self) -> Option<&Base> {
        self.base.as_ref()
    }

    /// Returns the org; nothing for an org that does not exist.
    pub fn org(&self) -> Option<&Org> {
        self.base.as_ref().map(|base| &base.org)
    }

    /// Returns the policy that is active in this mode.
    pub fn policy(&self, mode: PolicyMode) -> Option<&LoadedPolicy> {
        self.policies.iter().find(|loaded| loaded.active.mode == mode)
    }

    /// Returns a connector.
    pub fn connector(&self, id: ConnectorId) -> Option<&Connector> {
        self.base.as_ref()?.connectors.get(&id)
    }

    /// Returns every connector of the org.
    pub fn connectors(&self) -> impl Iterator<Item = &Connector> {
        self.base.iter().flat_map(|base| base.connectors.values())
    }

    /// Returns an agent that was needed.
    pub fn agent(&self, id: AgentId) -> Option<&Agent> {
        self.agents.get(&id)?.as_ref()
    }

    /// Returns an API key that was needed.
    pub fn key(&self, id: KeyId) -> Option<&ApiKey> {
        self.keys.get(&id)?.as_ref()
    }

    /// Returns an action that was needed.
    pub fn action(&self, id: ActionId) -> Option<&Action> {
        self.actions.get(&id)?.as_ref()
    }

    /// Returns the action that an idempotency key names at this moment.
    pub fn known(&self, agent: AgentId, key: &str) -> Option<&Known> {
        let known = self.known.get(&(agent, key.to_owned()))?.as_ref()?;
        (self.now < known.expires_at).then_some(known)
    }

    /// Returns how much of a budget is used in the window that begins at this moment.
    pub fn used(&self, key: &str, window_start: Timestamp) -> policy::Decimal {
        let used = self.budgets.get(&(key.to_owned(), window_start)).copied();
        used.unwrap_or(policy::Decimal::ZERO)
    }

    /// Returns the part of the needs that is not loaded.
    pub(crate) fn missing(&self, needs: Needs) -> Needs {
        let Needs { mut agents, mut keys, mut actions, mut known, mut budgets } = needs;
        agents.retain(|id| !self.agents.contains_key(id));
        keys.retain(|id| !self.keys.contains_key(id));
        actions.retain(|id| !self.actions.contains_key(id));
        known.retain(|key| !self.known.contains_key(key));
        budgets.retain(|key| !self.budgets.contains_key(key));
        Needs { agents, keys, actions, known, budgets }
    }

    /// Adds what a store found of these needs; what it did not find is known to be absent.
    pub(crate) fn learn(&mut self, needs: Needs, found: crate::Loaded) {
        self.agents.extend(needs.agents.into_iter().map(|id| (id, None)));
        self.keys.extend(needs.keys.into_iter().map(|id| (id, None)));
        self.actions.extend(needs.actions.into_iter().map(|id| (id, None)));
        self.known.extend(needs.known.into_iter().map(|key| (key, None)));
        self.budgets.extend(needs.budgets.into_iter().map(|key| (key, policy::Decimal::ZERO)));
        self.agents.extend(found.agents.into_iter().map(|row| (row.id, Some(row))));
        self.keys.extend(found.keys.into_iter().map(|row| (row.id, Some(row))));
        self.actions.extend(found.actions.into_iter().map(|row| (row.id, Some(row))));
        for known in found.known {
            self.known.insert((known.agent, known.key.clone()), Some(known));
        }
        for budget in found.budgets {
            self.budgets.insert((budget.key, budget.window_start), budget.used);
        }
    }

    /// Makes the next entry of the turn see this one.
    pub(crate) fn apply(&mut self, entry: &Entry) {
        entry.changes.iter().for_each(|change| self.change(change));
    }

    fn change(&mut self, change: &Change) {
        match change {
            Change::Agent(agent) => {
                self.agents.insert(agent.id, Some(agent.clone()));
            }
            Change::ApiKey(key) => {
                self.keys.insert(key.id, Some(key.clone()));
            }
            Change::ActionBegun(action, _) | Change::ActionMoved(action) => {
                self.actions.insert(action.id, Some(Action::clone(action)));
            }
            Change::Known(known) => {
                self.known.insert((known.agent, known.key.clone()), Some(known.clone()));
            }
            Change::Budget(budget) => {
                self.budgets.insert((budget.key.clone(), budget.window_start), budget.used);
            }
            Change::Org(org) => {
                if let Some(base) = &mut self.base {
                    base.org = org.clone();
                }
            }
            Change::Connector(connector) => {
                if let Some(base) = &mut self.base {
                    base.connectors.insert(connector.id, connector.clone());
                }
            }
            Change::Policy(policy) => {
                if let Some(base) = &mut self.base {
                    base.policies.retain(|id, _| *id != policy.id);
                    if policy.archived_at.is_none() {
                        base.policies.insert(policy.id, policy.clone());
                    }
                }
            }
            Change::PolicyVersion(_)
            | Change::PolicyTests(_)
            | Change::PayloadsPruned(_)
            | Change::PolicyActivation(_)
            | Change::Activation(_)
            | Change::ShadowEnded => {}
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

    /// Lets go of what no later turn will ask for, and of everything when it is too much.
    pub(crate) fn forget_settled(&mut self) {
        self.actions
            .retain(|_, action| action.as_ref().is_some_and(|action| action.deed.is_none()));
        let now = self.now;
        self.known.retain(|_, known| known.as_ref().is_some_and(|known| now < known.expires_at));
        let rows = self.actions.len() + self.known.len() + self.budgets.len();
        if rows + self.agents.len() + self.keys.len() > MEMORY_ROWS {
            self.actions.clear();
            self.known.clear();
            self.budgets.clear();
            self.agents.clear();
            self.keys.clear();
        }
    }
}
