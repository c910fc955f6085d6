//! What keeps a turn out of the record: a head that has moved, and rows that break a constraint.
//!
//! The constraints are those of the PostgreSQL schema, so that a request which one store refuses
//! is refused by the other.

use std::collections::{BTreeMap, BTreeSet};

use ledger::{
    AppendError, Change, Turn,
    record::{Agent, Holder, Known, Policy},
};
use model::{ActionId, AgentId, PolicyId, PolicyVersionId};

use crate::{faults::fault, rows::Rows};

/// Returns why the turn may not be appended to these rows.
pub(crate) fn check(rows: &Rows, turn: &Turn) -> Result<(), AppendError> {
    if !follows(rows, turn) {
        return Err(AppendError::Lost);
    }
    match refusal(rows, turn) {
        None => Ok(()),
        Some(why) => Err(AppendError::Refused(fault("append a turn", why))),
    }
}

/// Returns whether the turn builds on exactly these rows.
fn follows(rows: &Rows, turn: &Turn) -> bool {
    let version = rows.head.as_ref().map(|head| head.version);
    let deeds = turn.deeds.iter().map(|deed| deed.sealed.seq);
    let events = turn.events.iter().map(|event| event.seq);
    let after_event = rows.events.last().map_or(1, |event| event.seq + 1);
    version == turn.expected
        && is_of_the_open_log(rows, turn)
        && !rows.fenced.contains(&turn.id)
        && !rows.turns.contains(&turn.id)
        && deeds.eq((next_seq(rows, turn)..).take(turn.deeds.len()))
        && events.eq((after_event..).take(turn.events.len()))
        && !takes_a_live_key(rows, turn)
}

/// Returns whether the turn goes on from the log that is open.
fn is_of_the_open_log(rows: &Rows, turn: &Turn) -> bool {
    let before = turn.closes.as_ref().unwrap_or(&turn.head);
    rows.head.as_ref().is_none_or(|head| head.chain.log() == before.chain.log())
}

/// Returns the place in its log that the turn's first deed must have.
fn next_seq(rows: &Rows, turn: &Turn) -> u64 {
    match (&turn.closes, &rows.head) {
        (None, Some(head)) => head.chain.size(),
        (Some(_), _) | (_, None) => 0,
    }
}

/// Returns whether the turn gives an idempotency key that still names another action.
fn takes_a_live_key(rows: &Rows, turn: &Turn) -> bool {
    let is_taken = |known: &Known| {
        let held = rows.known.get(&(known.agent, known.key.clone()));
        held.is_some_and(|held| turn.at < held.expires_at && held.action != known.action)
    };
    turn.changes.iter().any(|change| matches!(change, Change::Known(known) if is_taken(known)))
}

/// Returns the constraint that a row of the turn breaks.
fn refusal(rows: &Rows, turn: &Turn) -> Option<String> {
    let has_org = |change: &Change| matches!(change, Change::Org(_));
    if rows.org.is_none() && !turn.changes.iter().any(has_org) {
        return Some("the org is not there".to_owned());
    }
    let mut made = Made::of(rows);
    turn.changes.iter().find_map(|change| made.refuse(change)).or_else(|| taken(rows, turn))
}

/// What is there: the rows, and what the turn has made so far.
struct Made<'a> {
    rows: &'a Rows,
    agents: BTreeSet<AgentId>,
    policies: BTreeSet<PolicyId>,
    versions: BTreeSet<PolicyVersionId>,
    actions: BTreeSet<ActionId>,
}

impl<'a> Made<'a> {
    fn of(rows: &'a Rows) -> Self {
        Self {
            rows,
            agents: BTreeSet::new(),
            policies: BTreeSet::new(),
            versions: BTreeSet::new(),
            actions: BTreeSet::new(),
        }
    }

    /// Returns why the change cannot follow on what is there.
    fn refuse(&mut self, change: &Change) -> Option<String> {
        match change {
            Change::Agent(agent) => {
                self.agents.insert(agent.id);
                None
            }
            Change::Policy(policy) => {
                self.policies.insert(policy.id);
                None
            }
            Change::ApiKey(key) => match key.holder {
                Holder::Agent(id) => {
                    (!self.has_agent(id)).then(|| format!("`{}` is a key of nobody", key.id))
                }
                Holder::Org => None,
            },
            Change::PolicyVersion(version) => {
                let is_new = !self.has_version(version.id) && self.has_policy(version.policy);
                self.versions.insert(version.id);
                (!is_new).then(|| format!("`{}` is made twice or of nothing", version.id))
            }
            Change::Activation(active) => (!self.has_version(active.version))
                .then(|| format!("`{}` becomes active and is not there", active.version)),
            Change::PolicyTests(tests) => (!self.has_policy(tests.policy))
                .then(|| format!("`{}` has tests and is not there", tests.policy)),
            Change::PolicyActivation(activation) => {
                let there = activation.active.is_none_or(|(_, version)| self.has_version(version));
                (!there).then(|| format!("`{}` activated what is not there", activation.deed))
            }
            Change::ActionBegun(action, _) => {
                let is_new = !self.has_action(action.id);
                self.actions.insert(action.id);
                (!is_new).then(|| format!("`{}` begins twice", action.id))
            }
            Change::ActionMoved(action) => (!self.has_action(action.id))
                .then(|| format!("`{}` moves and is not there", action.id)),
            Change::Org(_)
            | Change::ShadowEnded
            | Change::Connector(_)
            | Change::Known(_)
            | Change::Budget(_)
            | Change::PayloadsPruned(_) => None,
        }
    }

    fn has_agent(&self, id: AgentId) -> bool {
        self.agents.contains(&id) || self.rows.agents.contains_key(&id)
    }

    fn has_policy(&self, id: PolicyId) -> bool {
        self.policies.contains(&id) || self.rows.policies.contains_key(&id)
    }

    fn has_version(&self, id: PolicyVersionId) -> bool {
        self.versions.contains(&id) || self.rows.versions.contains_key(&id)
    }

    fn has_action(&self, id: ActionId) -> bool {
        self.actions.contains(&id) || self.rows.actions.contains_key(&id)
    }
}

/// Returns the name or number that two rows would share.
fn taken(rows: &Rows, turn: &Turn) -> Option<String> {
    let mut agents: BTreeMap<_, _> =
        rows.agents.values().map(|row| (row.id, live_name(row))).collect();
    let mut policies: BTreeMap<_, _> =
        rows.policies.values().map(|row| (row.id, live_policy(row))).collect();
    let mut connectors: BTreeMap<_, _> =
        rows.connectors.values().map(|row| (row.id, row.name.as_str())).collect();
    let mut numbers: BTreeMap<_, _> =
        rows.versions.values().map(|row| (row.id, (row.policy, row.number))).collect();
    for change in &turn.changes {
        match change {
            Change::Agent(row) => drop(agents.insert(row.id, live_name(row))),
            Change::Policy(row) => drop(policies.insert(row.id, live_policy(row))),
            Change::Connector(row) => drop(connectors.insert(row.id, row.name.as_str())),
            Change::PolicyVersion(row) => drop(numbers.insert(row.id, (row.policy, row.number))),
            Change::Org(_)
            | Change::ApiKey(_)
            | Change::PolicyTests(_)
            | Change::PolicyActivation(_)
            | Change::Activation(_)
            | Change::ShadowEnded
            | Change::ActionBegun(..)
            | Change::ActionMoved(_)
            | Change::Known(_)
            | Change::Budget(_)
            | Change::PayloadsPruned(_) => {}
        }
    }
    let clash = twice(agents.into_values().flatten())
        || twice(policies.into_values().flatten())
        || twice(connectors.into_values())
        || twice(numbers.into_values());
    clash.then(|| "a name or a number is taken".to_owned())
}

/// An archived agent's name is free again.
fn live_name(agent: &Agent) -> Option<&str> {
    agent.archived_at.is_none().then_some(agent.name.as_str())
}

/// An archived policy's name is free again.
fn live_policy(policy: &Policy) -> Option<&str> {
    policy.archived_at.is_none().then_some(policy.name.as_str())
}

fn twice<T: Ord>(mut values: impl Iterator<Item = T>) -> bool {
    let mut seen = BTreeSet::new();
    !values.all(|value| seen.insert(value))
}
