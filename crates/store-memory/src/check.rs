//! What keeps a turn out of the record: a head that has moved, and rows that break a constraint.
//!
//! The constraints are those of the PostgreSQL schema, so that a request which one store refuses
//! is refused by the other.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use ledger::{
    AppendError, Changes, Head, Turn,
    record::{Action, Agent, ApiKey, Holder, NewAction, Policy, Row},
};
use model::{ActionId, AgentId, PolicyId, PolicyVersionId, State, Timestamp};

use crate::{faults::fault, rows::Rows};

/// How far a deed may be ahead of the store's clock, which the ledger tracks between its answers.
const MOST_AHEAD: Duration = Duration::from_secs(2);

/// Why the turn may not be appended to these rows.
pub(crate) fn check(rows: &Rows, turn: &Turn, now: Timestamp) -> Result<(), AppendError> {
    if !follows(rows, turn) || is_ahead(rows, turn, now) {
        return Err(AppendError::Lost);
    }
    match refusal(rows, turn) {
        None => Ok(()),
        Some(why) => Err(AppendError::Refused(fault("append a turn", why))),
    }
}

/// Whether the turn builds on exactly these rows.
fn follows(rows: &Rows, turn: &Turn) -> bool {
    let deeds = turn.deeds.iter().map(|deed| deed.sealed.seq);
    let events = turn.events.iter().map(|event| event.seq);
    let after_event = rows.events.last().map_or(1, |event| event.seq + 1);
    rows.head.as_ref().map(Head::mark) == turn.expected
        && is_of_the_open_log(rows, turn)
        && !rows.fenced.contains(&turn.id)
        && !rows.turns.contains(&turn.id)
        && deeds.eq((next_seq(rows, turn)..).take(turn.deeds.len()))
        && events.eq((after_event..).take(turn.events.len()))
        && !takes_a_live_key(rows, turn)
}

/// Whether the turn's last deed is of a time that has not come by the store's clock.
fn is_ahead(rows: &Rows, turn: &Turn, now: Timestamp) -> bool {
    let present = rows.head.as_ref().map(|head| head.chain.issued_at());
    present.is_some_and(|present| turn.head.chain.issued_at() > present.max(now + MOST_AHEAD))
}

/// Whether the turn goes on from the log that is open.
fn is_of_the_open_log(rows: &Rows, turn: &Turn) -> bool {
    let before = turn.closes.as_ref().unwrap_or(&turn.head);
    rows.head.as_ref().is_none_or(|head| head.chain.log() == before.chain.log())
}

/// The place in its log that the turn's first deed must have.
fn next_seq(rows: &Rows, turn: &Turn) -> u64 {
    match (&turn.closes, &rows.head) {
        (None, Some(head)) => head.chain.size(),
        (Some(_), _) | (_, None) => 0,
    }
}

/// Whether the turn gives an idempotency key that still names another action.
fn takes_a_live_key(rows: &Rows, turn: &Turn) -> bool {
    turn.changes.idempotency_keys.iter().any(|given| {
        let held = rows.idempotency_keys.get(&given.key());
        held.is_some_and(|held| turn.at < held.expires_at && held.action != given.action)
    })
}

/// The constraint that a row of the turn breaks.
fn refusal(rows: &Rows, turn: &Turn) -> Option<String> {
    let changes = &turn.changes;
    if rows.org.is_none() && changes.orgs.is_empty() {
        return Some("the org is not there".to_owned());
    }
    let mut made = Made::of(rows);
    made.refuse_accounts(changes)
        .or_else(|| twice_in(rows, changes))
        .or_else(|| twice_asked(rows, changes))
        .or_else(|| twice_proposed(rows, changes))
        .or_else(|| made.refuse_policies(changes))
        .or_else(|| made.refuse_actions(changes))
        .or_else(|| taken(rows, changes))
}

/// Why a person would be in the org twice.
fn twice_in(rows: &Rows, changes: &Changes) -> Option<String> {
    let mut members = rows.members.clone();
    members.extend(changes.members.iter().map(|member| (member.id, member.clone())));
    let mut people = BTreeSet::new();
    let mut live = members.values().filter(|member| member.is_live());
    let twice = live.find(|member| !people.insert(member.user))?;
    Some(format!("the person of `{}` is in the org already", twice.id))
}

/// Why a person would be asked to join twice at a time.
fn twice_asked(rows: &Rows, changes: &Changes) -> Option<String> {
    let mut invites = rows.invites.clone();
    invites.extend(changes.invites.iter().map(|invite| (invite.id, invite.clone())));
    let mut people = BTreeSet::new();
    let mut open = invites.values().filter(|invite| invite.closed_at.is_none());
    let twice = open.find(|invite| !people.insert(invite.user))?;
    Some(format!("the person of `{}` is asked already", twice.id))
}

/// Why two activations would wait for a second person in one mode.
fn twice_proposed(rows: &Rows, changes: &Changes) -> Option<String> {
    let mut proposals = rows.proposals.clone();
    proposals.extend(changes.proposals.iter().map(|row| (row.id, row.clone())));
    let mut modes = BTreeSet::new();
    let mut open = proposals.values().filter(|proposal| proposal.closed.is_none());
    let twice = open.find(|proposal| !modes.insert(proposal.mode))?;
    Some(format!("`{}` is not the only one that waits in its mode", twice.id))
}

/// What is there: the rows, and what the turn has made so far.
struct Made<'a> {
    rows: &'a Rows,
    agents: BTreeSet<AgentId>,
    policies: BTreeSet<PolicyId>,
    versions: BTreeSet<PolicyVersionId>,
    /// Where each action of the turn stands by now.
    actions: BTreeMap<ActionId, State>,
}

impl<'a> Made<'a> {
    fn of(rows: &'a Rows) -> Self {
        Self {
            rows,
            agents: BTreeSet::new(),
            policies: BTreeSet::new(),
            versions: BTreeSet::new(),
            actions: BTreeMap::new(),
        }
    }

    /// Why an agent or a key cannot follow on what is there.
    fn refuse_accounts(&mut self, changes: &Changes) -> Option<String> {
        self.agents.extend(changes.agents.iter().map(|agent| agent.id));
        let nobodys = |key: &&ApiKey| match key.holder {
            Holder::Agent(id) => !self.has_agent(id),
            Holder::Org => false,
        };
        let key = changes.keys.iter().find(nobodys)?;
        Some(format!("`{}` is a key of nobody", key.id))
    }

    /// Why a policy, a version of one or what is active cannot follow on what is there.
    fn refuse_policies(&mut self, changes: &Changes) -> Option<String> {
        self.policies.extend(changes.policies.iter().map(|policy| policy.id));
        for version in &changes.versions {
            let is_new = !self.has_version(version.id) && self.has_policy(version.policy);
            if !is_new {
                return Some(format!("`{}` is made twice or of nothing", version.id));
            }
            self.versions.insert(version.id);
        }
        let absent = |version: &PolicyVersionId| !self.has_version(*version);
        let active = changes.active.iter().filter_map(|change| change.active);
        if let Some(id) = active.map(|active| active.version).find(absent) {
            return Some(format!("`{id}` becomes active and is not there"));
        }
        let activated = changes.activations.iter().filter_map(|activation| activation.active);
        if let Some(id) = activated.map(|(_, version)| version).find(absent) {
            return Some(format!("`{id}` was activated and is not there"));
        }
        let tests = changes.policy_tests.iter().find(|tests| !self.has_policy(tests.policy))?;
        Some(format!("`{}` has tests and is not there", tests.policy))
    }

    /// Why an action cannot begin or move.
    fn refuse_actions(&mut self, changes: &Changes) -> Option<String> {
        for NewAction { action, .. } in &changes.new_actions {
            if self.has_action(action.id) {
                return Some(format!("`{}` begins twice", action.id));
            }
            if let Some(why) = self.refuse_move(action) {
                return Some(why);
            }
        }
        changes.actions.iter().find_map(|action| {
            let is_there = self.has_action(action.id);
            let why = (!is_there).then(|| format!("`{}` moves and is not there", action.id));
            why.or_else(|| self.refuse_move(action))
        })
    }

    /// Why an action cannot come to stand where it now does. Only here is that refused: the schema
    /// sees a row and not the one before.
    fn refuse_move(&mut self, action: &Action) -> Option<String> {
        let kept = self.rows.actions.get(&action.id).map(|row| row.action.state);
        let before = self.actions.insert(action.id, action.state).or(kept);
        let (from, to) = (before.map(State::as_str), action.state.as_str());
        let may = State::MACHINE.may_go(from, to);
        (!may).then(|| format!("`{}` cannot go from {from:?} to `{to}`", action.id))
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
        self.actions.contains_key(&id) || self.rows.actions.contains_key(&id)
    }
}

/// The name or number that two rows would share.
fn taken(rows: &Rows, changes: &Changes) -> Option<String> {
    let mut agents: BTreeMap<_, _> =
        rows.agents.values().map(|row| (row.id, live_name(row))).collect();
    let mut policies: BTreeMap<_, _> =
        rows.policies.values().map(|row| (row.id, live_policy(row))).collect();
    let mut connectors: BTreeMap<_, _> =
        rows.connectors.values().map(|row| (row.id, row.name.as_str())).collect();
    let mut numbers: BTreeMap<_, _> =
        rows.versions.values().map(|row| (row.id, (row.policy, row.number))).collect();
    agents.extend(changes.agents.iter().map(|row| (row.id, live_name(row))));
    policies.extend(changes.policies.iter().map(|row| (row.id, live_policy(row))));
    connectors.extend(changes.connectors.iter().map(|row| (row.id, row.name.as_str())));
    numbers.extend(changes.versions.iter().map(|row| (row.id, (row.policy, row.number))));
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
