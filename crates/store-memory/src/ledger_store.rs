//! The ledger's store: turns are appended under the lock, if the head has not moved.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use async_trait::async_trait;
use event::Event;
use ledger::{AppendError, Base, EventStore, LedgerStore, Loaded, Needs, StoreDown, Turn};
use model::{OrgId, PolicyVersionId, Timestamp};

use crate::{
    Kept, MemoryStore, check,
    faults::{Doubt, Fate, fault},
    rows::Rows,
    webhooks,
};

#[async_trait]
impl LedgerStore for MemoryStore {
    async fn base(&self, org: OrgId) -> Result<(Option<Base>, Timestamp), StoreDown> {
        let kept = self.reach("read the base of an org")?;
        Ok((kept.orgs.get(&org).and_then(base), self.clock.now()))
    }

    async fn load(&self, org: OrgId, needs: &Needs) -> Result<Loaded, StoreDown> {
        let kept = self.reach("load rows for a turn")?;
        Ok(kept.orgs.get(&org).map(|rows| load(rows, needs)).unwrap_or_default())
    }

    async fn policy_document(
        &self,
        org: OrgId,
        version: PolicyVersionId,
    ) -> Result<Option<String>, StoreDown> {
        let kept = self.reach("read a policy document")?;
        let version = kept.orgs.get(&org).and_then(|rows| rows.versions.get(&version));
        Ok(version.map(|version| version.document.clone()))
    }

    async fn append(&self, turn: &Turn) -> Result<Timestamp, AppendError> {
        let mut kept = self.reach("append a turn")?;
        let doubt = match kept.faults.next() {
            Fate::Loses => return Err(AppendError::Lost),
            Fate::Goes => None,
            Fate::AnswerLost(doubt) => Some(doubt),
        };
        if doubt != Some(Doubt::Dropped) {
            commit(&mut kept, turn, (self.lease, self.clock.now()))?;
        }
        match doubt {
            None => Ok(self.clock.now()),
            Some(_) => {
                Err(AppendError::InDoubt(fault("append a turn", "the response was dropped")))
            }
        }
    }

    async fn settle(&self, turn: &Turn) -> Result<bool, StoreDown> {
        let mut kept = self.reach("settle a turn")?;
        let rows = kept.orgs.entry(turn.org).or_default();
        if rows.turns.contains(&turn.id) {
            return Ok(true);
        }
        rows.fenced.insert(turn.id);
        Ok(false)
    }
}

#[async_trait]
impl EventStore for MemoryStore {
    async fn events_after(
        &self,
        org: OrgId,
        seq: u64,
        limit: usize,
    ) -> Result<Vec<Event>, StoreDown> {
        let kept = self.reach("read events")?;
        let events = kept.orgs.get(&org).map(|rows| rows.events.as_slice()).unwrap_or_default();
        let start = events.partition_point(|event| event.seq <= seq);
        Ok(events.iter().skip(start).take(limit).cloned().collect())
    }

    async fn events_at(&self, org: OrgId, places: &[u64]) -> Result<Vec<Event>, StoreDown> {
        let kept = self.reach("read events")?;
        let events = kept.orgs.get(&org).map(|rows| rows.events.as_slice()).unwrap_or_default();
        Ok(events.iter().filter(|event| places.contains(&event.seq)).cloned().collect())
    }

    async fn last_event(&self, org: OrgId) -> Result<u64, StoreDown> {
        let kept = self.reach("read the place of the last event")?;
        let last = kept.orgs.get(&org).and_then(|rows| rows.events.last());
        Ok(last.map_or(0, |event| event.seq))
    }
}

fn commit(
    kept: &mut Kept,
    turn: &Turn,
    (lease, now): (std::time::Duration, Timestamp),
) -> Result<(), AppendError> {
    if let Some(name) = taken_name(kept, turn) {
        let why = format!("the name `{name}` belongs to another org");
        return Err(AppendError::Refused(fault("append a turn", why)));
    }
    // An org whose first turn is refused leaves an entry without a head, which is no org.
    let rows = kept.orgs.entry(turn.org).or_default();
    check::check(rows, turn, now)?;
    rows.append(turn, lease);
    Ok(())
}

/// The name that the turn gives an org, if another org goes by it.
fn taken_name<'a>(kept: &Kept, turn: &'a Turn) -> Option<&'a str> {
    let made = turn.changes.orgs.iter().filter(|_| turn.expected.is_none());
    let renamed = turn.changes.renames.iter().map(|renamed| renamed.after.as_str());
    let mut names = made.map(|org| org.name.as_str()).chain(renamed);
    names.find(|name| {
        let others = kept.orgs.values().filter_map(|rows| rows.org.as_ref());
        others.filter(|org| org.id != turn.org).any(|org| org.name == *name)
    })
}

fn base(rows: &Rows) -> Option<Base> {
    Some(Base {
        head: rows.head.clone()?,
        org: rows.org.clone()?,
        active: rows.active.values().copied().collect(),
        policies: rows
            .policies
            .values()
            .filter(|policy| policy.archived_at.is_none())
            .map(|policy| (policy.id, policy.clone()))
            .collect(),
        connectors: rows.connectors.clone(),
    })
}

fn load(rows: &Rows, needs: &Needs) -> Loaded {
    Loaded {
        agents: held(&rows.agents, &needs.agents),
        keys: held(&rows.keys, &needs.keys),
        actions: needs
            .actions
            .iter()
            .filter_map(|id| rows.actions.get(id))
            .map(|kept| Arc::clone(&kept.action))
            .collect(),
        idempotency_keys: held(&rows.idempotency_keys, &needs.idempotency_keys),
        budgets: held(&rows.budgets, &needs.budgets),
        settings: held(&rows.settings, &needs.settings),
        accepted_tools: held(&rows.accepted_tools, &needs.accepted_tools),
        intent_keys: held(&rows.intent_keys, &needs.intent_keys),
        members: held(&rows.members, &needs.members),
        invites: held(&rows.invites, &needs.invites),
        proposals: held(&rows.proposals, &needs.proposals),
        webhooks: needs.webhooks.iter().filter_map(|org| webhooks::of_org(rows, *org)).collect(),
    }
}

/// The rows that are there of those that are wanted.
fn held<K: Ord, V: Clone>(rows: &BTreeMap<K, V>, wanted: &BTreeSet<K>) -> Vec<V> {
    wanted.iter().filter_map(|key| rows.get(key)).cloned().collect()
}
