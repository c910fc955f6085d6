//! What keeps a turn out of the record: a head that has moved, and rows that break a constraint.
//!
//! The constraints are those of the PostgreSQL schema, so that a request which one store refuses
//! is refused by the other.

use std::collections::{BTreeMap, BTreeSet};

use ledger::{AppendError, Change, Turn};

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
        && !rows.fenced.contains(&turn.id)
        && !rows.turns.contains(&turn.id)
        && deeds.eq((rows.deeds.len() as u64..).take(turn.deeds.len()))
        && events.eq((after_event..).take(turn.events.len()))
        && !takes_a_live_key(rows, turn)
}

/// Returns whether the turn gives an idempotency key that still names another action.
fn takes_a_live_key(rows: &Rows, turn: &Turn) -> bool {
    let known = turn.changes.iter().filter_map(|change| match change {
        Change::Known(known) => Some(known),
        _ => None,
    });
    known.into_iter().any(|known| {
        let held = rows.known.get(&(known.agent, known.key.clone()));
        held.is_some_and(|held| turn.at < held.expires_at && held.action != known.action)
    })
}

/// Returns the constraint that a row of the turn breaks.
fn refusal(rows: &Rows, turn: &Turn) -> Option<String> {
    let mut begun = BTreeSet::new();
    let mut versions = BTreeSet::new();
    for change in &turn.changes {
        match change {
            Change::ActionBegun(action, _) => {
                let is_new = !rows.actions.contains_key(&action.id) && begun.insert(action.id);
                if !is_new {
                    return Some(format!("`{}` begins twice", action.id));
                }
            }
            Change::ActionMoved(action) => {
                if !rows.actions.contains_key(&action.id) && !begun.contains(&action.id) {
                    return Some(format!("`{}` moves and is not there", action.id));
                }
            }
            Change::PolicyVersion(version) => {
                if rows.versions.contains_key(&version.id) || !versions.insert(version.id) {
                    return Some(format!("`{}` is made twice", version.id));
                }
            }
            Change::Activation(active) => {
                let id = active.version;
                if !rows.versions.contains_key(&id) && !versions.contains(&id) {
                    return Some(format!("`{id}` becomes active and is not there"));
                }
            }
            Change::Org(_)
            | Change::Agent(_)
            | Change::ApiKey(_)
            | Change::Policy(_)
            | Change::ShadowEnded
            | Change::Connector(_)
            | Change::Known(_)
            | Change::Budget(_) => {}
        }
    }
    let has_org = |change: &Change| matches!(change, Change::Org(_));
    if rows.org.is_none() && !turn.changes.iter().any(has_org) {
        return Some("the org is not there".to_owned());
    }
    taken(rows, turn)
}

/// Returns the name or number that two rows would share.
fn taken(rows: &Rows, turn: &Turn) -> Option<String> {
    let (mut agents, mut policies, mut connectors, mut numbers) =
        (BTreeMap::new(), BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    agents.extend(rows.agents.values().map(|row| (row.id, live_name(row))));
    policies.extend(rows.policies.values().map(|row| (row.id, row.name.as_str())));
    connectors.extend(rows.connectors.values().map(|row| (row.id, row.name.as_str())));
    numbers.extend(rows.versions.values().map(|row| (row.id, (row.policy, row.number))));
    for change in &turn.changes {
        match change {
            Change::Agent(row) => {
                agents.insert(row.id, live_name(row));
            }
            Change::Policy(row) => {
                policies.insert(row.id, &row.name);
            }
            Change::Connector(row) => {
                connectors.insert(row.id, row.name.as_str());
            }
            Change::PolicyVersion(row) => {
                numbers.insert(row.id, (row.policy, row.number));
            }
            Change::Org(_)
            | Change::ApiKey(_)
            | Change::Activation(_)
            | Change::ShadowEnded
            | Change::ActionBegun(..)
            | Change::ActionMoved(_)
            | Change::Known(_)
            | Change::Budget(_) => {}
        }
    }
    let clash = twice(agents.into_values().flatten())
        || twice(policies.into_values())
        || twice(connectors.into_values())
        || twice(numbers.into_values());
    clash.then(|| "a name or a number is taken".to_owned())
}

/// An archived agent's name is free again.
fn live_name(agent: &ledger::record::Agent) -> Option<&str> {
    agent.archived_at.is_none().then_some(agent.name.as_str())
}

fn twice<T: Ord>(values: impl Iterator<Item = T>) -> bool {
    let mut seen = BTreeSet::new();
    !values.into_iter().all(|value| seen.insert(value))
}
