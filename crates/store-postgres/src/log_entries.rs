//! The history of an org, one entry for each event, with the deed that says so.
//!
//! Events that are neither an action's nor a deed's are few, and an index of their own finds them.

use async_trait::async_trait;
use deed::Actor;
use ledger::StoreDown;
use model::{DeedId, EventType, OrgId, Timestamp};
use records::{By, Entry, EntryFilter, EntryStore, Subject, Window};
use serde::Deserialize;
use tokio_postgres::Row;

use crate::{
    PostgresStore,
    fault::Fault,
    ledger_store::event,
    log_search::{Calls, Search},
    rows::Cells,
};

#[async_trait]
impl EntryStore for PostgresStore {
    async fn event_place_at(&self, org: OrgId, moment: Timestamp) -> Result<u64, StoreDown> {
        self.first_at("find an event by its time", EVENT_AT, (org, moment)).await
    }

    async fn entries(
        &self,
        org: OrgId,
        filter: &EntryFilter,
        window: Window,
    ) -> Result<Vec<Entry>, StoreDown> {
        let attempt = "search the history";
        // An agent's events are those of its actions.
        let calls = if filter.calls.is_empty() && filter.agent.is_none() {
            Calls::Many
        } else {
            self.few_calls(org, filter.agent, &filter.calls).await?
        };
        let kinds = |types: &Vec<EventType>| types.iter().map(|kind| kind.as_str()).collect();
        let search = Search {
            org,
            kinds: filter.types.as_ref().map(kinds),
            agent: filter.agent,
            subject: filter.subject.as_ref(),
            mark: |id| format!("\"id\":\"{id}\""),
            calls: &filter.calls,
            window,
        };
        let call = search.call(SEARCH, &calls);
        let call = call.with(is_seldom(filter)).with(filter.actor.as_ref().map(begins));
        let rows = self.reading.ask_planned(attempt, call).await?;
        let entries = rows.iter().map(|row| entry(org, row)).collect::<Result<_, _>>();
        entries.map_err(|fault| fault.down(attempt))
    }
}

/// What the body of every administrative deed begins with that this one is the actor of: its
/// members are sorted.
fn begins(actor: &By) -> String {
    let id = match actor {
        By::Agent(id) => id.to_string(),
        By::Other(id) => id.clone(),
    };
    format!(r#"{{"actor":{{"id":"{id}","#)
}

/// Whether only events are asked for that the index `event_seldom` has.
fn is_seldom(filter: &EntryFilter) -> bool {
    let is_seldom = |kind: &EventType| {
        !matches!(kind, EventType::DeedSealed) && !kind.as_str().starts_with("action.")
    };
    let other = matches!(filter.subject, Some(Subject::Other(_)));
    other || filter.types.as_ref().is_some_and(|types| types.iter().all(is_seldom))
}

fn entry(org: OrgId, row: &Row) -> Result<Entry, Fault> {
    let cells = Cells::of("event", row);
    let said: Option<Said> = match cells.get::<Option<&str>>("said")? {
        Some(body) => Some(serde_json::from_str(body).map_err(|error| cells.fault("said", error))?),
        None => None,
    };
    Ok(Entry {
        event: event(org, row)?,
        agent_name: cells.get("agent_name")?,
        tool: cells.get("tool")?,
        deed: cells.id_if_any("deed_id", DeedId::from_uuid)?,
        actor: said.map(|said| said.actor),
    })
}

/// The part of a deed's body that says who acted.
#[derive(Deserialize)]
struct Said {
    actor: Actor,
}

// Seldom events are sorted by `seq + 0`, which no index has, so that the plan begins with the index
// that has them alone.
//
// The events are found by the inner statement, and what stands beside them is looked up for those
// alone; who acted stands in the deed, so that a search by it goes on until enough are found. An event's deed is that of its action; an event of administration is followed, in its own
// turn, by the event of the deed that seals it, which names what the event is about; a deed's own
// event has the deed's place.
const SEARCH: &str = r"
    select shown.seq, shown.id, shown.kind, shown.created_at, shown.livemode, shown.agent_id,
        shown.action_id, shown.data, acting.name as agent_name, called.tool,
        coalesce(deed.id, called.deed_id) as deed_id,
        case when shown.agent_id is null then deed.body end as said
    from (
        select seq, id, kind, created_at, livemode, agent_id, action_id, data from event
        where org_id = $1 and seq >= $2 and seq < $3
            and ($4::text[] is null or kind = any($4))
            and (not $14::boolean or kind not like 'action.%' and kind <> 'deed.sealed')
            and ($5::uuid is null or agent_id = $5)
            and ($6::uuid is null or action_id = $6)
            and ($7::text is null or strpos(data, $7) > 0)
            and ($8::uuid[] is null or action_id = any($8))
            and ($15::text is null or action_id is null and agent_id is null)
            and (not $9::boolean or exists (
                select from action
                where action.org_id = $1 and action.id = event.action_id
                    and ($10::text is null or action.tool like $10)
                    and ($11::text[] is null or action.verdict = any($11))
                    and ($12::text is null or strpos(action.tool, $12) > 0)
                offset 0))
        order by case when $14 then seq + 0 else seq end desc
        limit case when $15 is null then $13::bigint end
    ) as shown
    left join lateral (
        select name from agent where org_id = $1 and id = shown.agent_id offset 0
    ) as acting on true
    left join lateral (
        select tool, deed_id from action where org_id = $1 and id = shown.action_id offset 0
    ) as called on true
    left join lateral (
        select sealed.seq, sealed.data from event as sealed
        where sealed.org_id = $1 and sealed.kind in ('deed.sealed', 'deed.amended')
            and sealed.seq >= shown.seq and sealed.seq < shown.seq + 32
            and case when shown.kind in ('deed.sealed', 'deed.amended')
                then sealed.seq = shown.seq
                else shown.action_id is null and sealed.kind = 'deed.sealed' end
        order by strpos(sealed.data, substring(shown.data from '\x22id\x22:\x22[^\x22]*\x22')) = 0, sealed.seq
        limit 1
    ) as sealed on true
    left join lateral (
        select id, body from deed
        where org_id = $1
            and seq = substring(sealed.data from '\x22seq\x22:([0-9]+)')::bigint + (
                select count(*) << 40 from closed_log
                where org_id = $1 and event_seq < sealed.seq)
        offset 0
    ) as deed on true
    where $15 is null or starts_with(deed.body, $15)
    order by shown.seq desc limit $13";
// A place whose event is away has the time of the last event that went with its tile.
const EVENT_AT: &str = "
    with recursive search (low, high) as (
        select 1::bigint, event_seq + 1 from org_head where org_id = $1
        union all
        select case when event.created_at < $2 then middle + 1 else low end,
            case when event.created_at < $2 then high else middle end
        from search
        cross join lateral (select (low + high) / 2 as middle) as half
        cross join lateral (
            select created_at, 0 as rank from event where org_id = $1 and seq = middle
            union all
            (select event_at, 1 from past_tile where org_id = $1 and events >= middle
            order by events, index limit 1)
            order by rank limit 1
        ) as event
        where low < high
    )
    select low as place from search where low >= high";
