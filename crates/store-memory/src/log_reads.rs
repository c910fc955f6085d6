//! Deeds, the history and checks of logs, found in memory.

use async_trait::async_trait;
use deed::{Actor, Body};
use event::Event;
use gate::StoredDeed;
use ledger::{
    LogNo, Place, StoreDown,
    record::{Action, SignedIntent},
};
use model::{ActionId, AgentId, CheckId, DeedId, DeedKind, EventType, OrgId, Timestamp};
use records::{
    By, CallFilter, ChainCheck, CheckRequest, CheckStatus, CheckStore, DeedFilter, DeedRow,
    DeedStore, Entry, EntryFilter, EntryStore, OpenDeed, Subject, Window,
};

use crate::{
    MemoryStore,
    log::row,
    rows::{Rows, place},
};

#[async_trait]
impl DeedStore for MemoryStore {
    async fn place_at(&self, org: OrgId, moment: Timestamp) -> Result<Place, StoreDown> {
        let kept = self.reach("find a deed by its time")?;
        let Some(rows) = kept.orgs.get(&org) else { return Ok(Place::of(LogNo::FIRST, 0)) };
        let before = rows.deeds.partition_point(|deed| deed.issued_at < moment);
        let end = rows.head.as_ref().map(|head| Place::of(head.log_no, head.chain.size()));
        let first = rows.deeds.get(before).map(place).or(end);
        Ok(first.unwrap_or(Place::of(LogNo::FIRST, 0)))
    }

    async fn deeds(
        &self,
        org: OrgId,
        filter: &DeedFilter,
        window: Window,
    ) -> Result<Vec<DeedRow>, StoreDown> {
        let kept = self.reach("list deeds")?;
        let Some(rows) = kept.orgs.get(&org) else { return Ok(Vec::new()) };
        let shown = |deed: &&StoredDeed| {
            window.range().contains(&place(deed).as_u64()) && deed_passes(rows, filter, deed)
        };
        let newest = rows.deeds.iter().rev().filter(shown).take(window.limit);
        Ok(newest.map(|deed| row(rows, deed)).collect())
    }

    async fn deed(&self, org: OrgId, id: DeedId) -> Result<Option<OpenDeed>, StoreDown> {
        let kept = self.reach("read a deed")?;
        let rows = kept.orgs.get(&org);
        Ok(rows.and_then(|rows| {
            let deed = rows.deeds.iter().find(|deed| deed.id == id)?;
            Some(open(rows, deed))
        }))
    }

    async fn opened(&self, org: OrgId, rows: Vec<DeedRow>) -> Result<Vec<OpenDeed>, StoreDown> {
        let kept = self.reach("read what opens a deed")?;
        let found = kept.orgs.get(&org);
        let disclosures = |row: &DeedRow| {
            let deed = found?.deeds.iter().find(|deed| deed.id == row.id)?;
            Some(open(found?, deed).disclosures)
        };
        let open = |row| OpenDeed { disclosures: disclosures(&row).unwrap_or_default(), row };
        Ok(rows.into_iter().map(open).collect())
    }

    async fn deeds_about(&self, org: OrgId, action: ActionId) -> Result<Vec<OpenDeed>, StoreDown> {
        let kept = self.reach("read the deeds about an action")?;
        let Some(rows) = kept.orgs.get(&org) else { return Ok(Vec::new()) };
        let about = rows.deeds.iter().filter(|deed| deed.action == Some(action));
        Ok(about.map(|deed| open(rows, deed)).collect())
    }

    async fn signed_intent(
        &self,
        org: OrgId,
        action: ActionId,
    ) -> Result<Option<SignedIntent>, StoreDown> {
        let kept = self.reach("read what an agent signed")?;
        let found = kept.orgs.get(&org).and_then(|rows| rows.actions.get(&action));
        Ok(found.and_then(|kept| kept.action.signed.as_deref().cloned()))
    }
}

#[async_trait]
impl EntryStore for MemoryStore {
    async fn event_place_at(&self, org: OrgId, moment: Timestamp) -> Result<u64, StoreDown> {
        let kept = self.reach("find an event by its time")?;
        let events = kept.orgs.get(&org).map(|rows| rows.events.as_slice()).unwrap_or_default();
        let before = events.partition_point(|event| event.created_at < moment);
        Ok(events.first().map_or(1, |first| first.seq) + before as u64)
    }

    async fn entries(
        &self,
        org: OrgId,
        filter: &EntryFilter,
        window: Window,
    ) -> Result<Vec<Entry>, StoreDown> {
        let kept = self.reach("search the history")?;
        let Some(rows) = kept.orgs.get(&org) else { return Ok(Vec::new()) };
        let shown = |event: &&Event| {
            window.range().contains(&event.seq) && entry_passes(rows, filter, event)
        };
        let newest = rows.events.iter().rev().filter(shown).take(window.limit);
        Ok(newest.map(|event| entry(rows, event)).collect())
    }
}

#[async_trait]
impl CheckStore for MemoryStore {
    async fn ask_check(&self, check: &ChainCheck) -> Result<CheckRequest, StoreDown> {
        let mut kept = self.reach("ask for a check of a log")?;
        let rows = kept.orgs.entry(check.org).or_default();
        if rows.checks.iter().any(is_open) {
            return Ok(CheckRequest::Busy);
        }
        rows.checks.push(check.clone());
        Ok(CheckRequest::Queued)
    }

    async fn put_check(&self, check: &ChainCheck) -> Result<(), StoreDown> {
        let mut kept = self.reach("store the status of a check of a log")?;
        let rows = kept.orgs.entry(check.org).or_default();
        let row = rows.checks.iter_mut().find(|row| row.id == check.id);
        if let Some(row) = row {
            row.clone_from(check);
        }
        Ok(())
    }

    async fn take_check(&self) -> Result<Option<ChainCheck>, StoreDown> {
        // Whoever works on a check goes with this store, so that none is ever left alone.
        let mut kept = self.reach("look for a check to be done")?;
        let mut checks = kept.orgs.values_mut().flat_map(|rows| rows.checks.iter_mut());
        let queued = checks.find(|check| check.status == CheckStatus::Queued);
        Ok(queued.map(|check| {
            check.status = CheckStatus::Running;
            check.clone()
        }))
    }

    async fn chain_check(&self, org: OrgId, id: CheckId) -> Result<Option<ChainCheck>, StoreDown> {
        let kept = self.reach("read a check of a log")?;
        let rows = kept.orgs.get(&org);
        Ok(rows.and_then(|rows| rows.checks.iter().find(|check| check.id == id).cloned()))
    }

    async fn chain_checks(
        &self,
        org: OrgId,
        after: Option<(Timestamp, CheckId)>,
        limit: usize,
    ) -> Result<Vec<ChainCheck>, StoreDown> {
        let kept = self.reach("list the checks of a log")?;
        let Some(rows) = kept.orgs.get(&org) else { return Ok(Vec::new()) };
        let place = |check: &ChainCheck| (check.created_at, check.id);
        let mut checks: Vec<_> = rows
            .checks
            .iter()
            .filter(|check| after.is_none_or(|after| place(check) < after))
            .cloned()
            .collect();
        checks.sort_by_key(|check| std::cmp::Reverse(place(check)));
        checks.truncate(limit);
        Ok(checks)
    }
}

fn is_open(check: &ChainCheck) -> bool {
    matches!(check.status, CheckStatus::Queued | CheckStatus::Running)
}

fn open(rows: &Rows, deed: &StoredDeed) -> OpenDeed {
    let of_action = deed.action.filter(|_| deed.kind == DeedKind::Action);
    let of_action = of_action.and_then(|action| rows.actions.get(&action));
    let own = rows.opens.get(&deed.id).into_iter().flatten();
    let disclosures = of_action.iter().flat_map(|kept| &kept.disclosures).chain(own);
    OpenDeed { row: row(rows, deed), disclosures: disclosures.cloned().collect() }
}

fn deed_passes(rows: &Rows, filter: &DeedFilter, deed: &StoredDeed) -> bool {
    let subject = filter.subject.as_ref();
    (filter.kinds.is_empty() || filter.kinds.contains(&deed.kind))
        && filter.agent.is_none_or(|agent| deed.agent == Some(agent))
        && subject.is_none_or(|subject| match subject {
            Subject::Action(action) => deed.action == Some(*action),
            Subject::Other(id) => deed.action.is_none() && subject_of(deed).as_deref() == Some(id),
        })
        && call_passes(rows, &filter.calls, deed.action)
}

fn subject_of(deed: &StoredDeed) -> Option<String> {
    Some(Body::read(deed.body.as_bytes()).ok()?.subject.id.to_string())
}

fn entry_passes(rows: &Rows, filter: &EntryFilter, event: &Event) -> bool {
    let names = |id: &str| event.object.to_string().contains(&format!("\"id\":\"{id}\""));
    let is_seldom =
        event.kind != EventType::DeedSealed && !event.kind.as_str().starts_with("action.");
    filter.types.as_ref().is_none_or(|types| types.contains(&event.kind))
        && filter.agent.is_none_or(|agent| event.agent == Some(agent))
        && filter.subject.as_ref().is_none_or(|subject| match subject {
            Subject::Action(action) => event.action == Some(*action),
            Subject::Other(id) => is_seldom && names(id),
        })
        && call_passes(rows, &filter.calls, event.action)
        && filter.actor.as_ref().is_none_or(|by| acted(rows, event, by))
}

fn acted(rows: &Rows, event: &Event, by: &By) -> bool {
    match by {
        By::Agent(id) => event.agent == Some(*id),
        By::Other(id) => entry(rows, event).actor.is_some_and(|actor| match actor {
            Actor::Agent(_) => false,
            Actor::ApiKey(key) => key.to_string() == *id,
            Actor::User(user) => user.to_string() == *id,
            Actor::System(word) => word.to_string() == *id,
        }),
    }
}

fn call_passes(rows: &Rows, calls: &CallFilter, action: Option<ActionId>) -> bool {
    let passes = |action: &Action| {
        let verdict = action.witness.as_ref().map(|witness| witness.verdict);
        calls.tool.as_ref().is_none_or(|glob| glob.is_match(&action.tool))
            && calls.text.as_ref().is_none_or(|text| action.tool.contains(text))
            && (calls.verdicts.is_empty()
                || verdict.is_some_and(|verdict| calls.verdicts.contains(&verdict)))
    };
    let kept = action.and_then(|action| rows.actions.get(&action));
    calls.is_empty() || kept.is_some_and(|kept| passes(&kept.action))
}

fn entry(rows: &Rows, event: &Event) -> Entry {
    let action = event.action.and_then(|action| rows.actions.get(&action)).map(|kept| &kept.action);
    let own = sealed_by(rows, event);
    let agent_name =
        event.agent.and_then(|agent: AgentId| rows.agents.get(&agent)).map(|agent| &agent.name);
    let actor = own.filter(|_| event.agent.is_none()).and_then(actor);
    Entry {
        agent_name: agent_name.cloned(),
        tool: action.map(|action| action.tool.clone()),
        deed: own.map(|deed| deed.id).or_else(|| action.and_then(|action| action.deed)),
        actor,
        event: event.clone(),
    }
}

/// The deed whose own event this is, or the one that seals what administration did: its
/// event follows in the same turn and names what this one is about.
fn sealed_by<'a>(rows: &'a Rows, event: &Event) -> Option<&'a StoredDeed> {
    let sealed = if matches!(event.kind, EventType::DeedSealed | EventType::DeedAmended) {
        event
    } else if event.action.is_none() {
        let near = event.seq..event.seq + 32;
        let sealed = || {
            rows.events
                .iter()
                .filter(|it| near.contains(&it.seq) && it.kind == EventType::DeedSealed)
        };
        let id = event.object.get("id").and_then(|id| id.as_str()).unwrap_or_default();
        let names = |it: &&Event| it.object.to_string().contains(&format!("\"id\":\"{id}\""));
        sealed().find(names).or_else(|| sealed().next())?
    } else {
        return None;
    };
    let seq = sealed.object.get("seq").and_then(serde_json::Value::as_u64)?;
    let before = rows.closed.iter().filter(|(head, _)| head.event_seq < sealed.seq).count();
    let log = LogNo::new(u32::try_from(before).unwrap_or(u32::MAX));
    rows.deeds.iter().find(|deed| place(deed) == Place::of(log, seq))
}

fn actor(deed: &StoredDeed) -> Option<Actor> {
    Some(Body::read(deed.body.as_bytes()).ok()?.actor)
}
