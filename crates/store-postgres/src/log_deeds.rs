//! Deeds found by what they are about.

use async_trait::async_trait;
use deed::Disclosure;
use ledger::{
    Place, StoreDown,
    record::{Action, SignedIntent},
};
use model::{ActionId, DeedId, DeedKind, OrgId, Timestamp};
use records::{DeedFilter, DeedRow, DeedStore, OpenDeed, Window};
use tokio_postgres::Row;
use uuid::Uuid;

use crate::{
    PostgresStore,
    actions::ACTION,
    database::Call,
    fault::Fault,
    list::words,
    log::deed_row,
    log_search::{Calls, Search},
    rows::Cells,
};

#[async_trait]
impl DeedStore for PostgresStore {
    async fn place_at(&self, org: OrgId, moment: Timestamp) -> Result<Place, StoreDown> {
        let place = self.first_at("find a deed by its time", DEED_AT, (org, moment)).await?;
        Ok(Place::from_u64(place))
    }

    async fn deeds(
        &self,
        org: OrgId,
        filter: &DeedFilter,
        window: Window,
    ) -> Result<Vec<DeedRow>, StoreDown> {
        let attempt = "list deeds";
        let calls = if filter.calls.is_empty() {
            Calls::Many
        } else {
            self.few_calls(org, filter.agent, &filter.calls).await?
        };
        let search = Search {
            org,
            kinds: words(&filter.kinds, DeedKind::as_str),
            agent: filter.agent,
            subject: filter.subject.as_ref(),
            mark: str::to_owned,
            calls: &filter.calls,
            window,
        };
        let call = search.call(LIST, &calls);
        let rows = self.reading.ask_planned(attempt, call).await?;
        rows.iter().map(deed_row).collect::<Result<_, _>>().map_err(|fault| fault.down(attempt))
    }

    async fn deed(&self, org: OrgId, id: DeedId) -> Result<Option<OpenDeed>, StoreDown> {
        let attempt = "read a deed";
        let deed = Call::new(DEED).with(*org.as_uuid()).with(*id.as_uuid());
        let rows = self.reading.ask_one(attempt, deed).await?;
        let row = rows.first().map(deed_row).transpose().map_err(|fault| fault.down(attempt))?;
        let Some(row) = row else { return Ok(None) };
        let mut open = self.opened(org, vec![row]).await?;
        Ok(open.pop())
    }

    async fn opened(&self, org: OrgId, rows: Vec<DeedRow>) -> Result<Vec<OpenDeed>, StoreDown> {
        let attempt = "read what opens a deed";
        // What was disclosed when an action began is kept under the action, and opens its deed.
        let all: Vec<Uuid> = rows.iter().flat_map(owners).collect();
        let call = Call::new(OPENS).with(*org.as_uuid()).with(all);
        let found = self.reading.ask_one(attempt, call).await?;
        let opens: Result<Vec<(Uuid, Disclosure)>, Fault> = found.iter().map(disclosure).collect();
        let opens = opens.map_err(|fault| fault.down(attempt))?;
        let open = |row: DeedRow| {
            let mine: Vec<Uuid> = owners(&row).collect();
            let texts = opens.iter().filter(|(owner, _)| mine.contains(owner));
            OpenDeed { disclosures: texts.map(|(_, text)| text.clone()).collect(), row }
        };
        Ok(rows.into_iter().map(open).collect())
    }

    async fn deeds_about(&self, org: OrgId, action: ActionId) -> Result<Vec<OpenDeed>, StoreDown> {
        let attempt = "read the deeds about an action";
        let call = Call::new(ABOUT).with(*org.as_uuid()).with(*action.as_uuid());
        let rows = self.reading.ask_one(attempt, call).await?;
        let rows: Result<_, _> = rows.iter().map(deed_row).collect();
        self.opened(org, rows.map_err(|fault| fault.down(attempt))?).await
    }

    async fn signed_intent(
        &self,
        org: OrgId,
        action: ActionId,
    ) -> Result<Option<SignedIntent>, StoreDown> {
        let attempt = "read what an agent signed";
        let call = Call::new(ACTION).with(*org.as_uuid()).with(*action.as_uuid());
        let rows = self.reading.ask_one(attempt, call).await?;
        let action = rows.first().map(|row| Cells::of("action", row).json::<Action>("record"));
        let action = action.transpose().map_err(|fault| fault.down(attempt))?;
        Ok(action.and_then(|action| action.signed).map(|signed| *signed))
    }
}

fn owners(row: &DeedRow) -> impl Iterator<Item = Uuid> + use<> {
    let is_action = row.kind == DeedKind::Action.as_str();
    let action = row.action.filter(|_| is_action).map(|action| *action.as_uuid());
    action.into_iter().chain([*row.id.as_uuid()])
}

fn disclosure(row: &Row) -> Result<(Uuid, Disclosure), Fault> {
    let cells = Cells::of("disclosure", row);
    let text = Disclosure::from_text(cells.get("text")?);
    Ok((cells.get("owner_id")?, text.map_err(|error| cells.fault("text", error))?))
}

// A filter that is not asked for is null, and folded away before the plan is made. `offset 0` keeps
// the question about the action one of each deed, in the order of the list. The expression on the body is that of the index `deed_about_other`.
const LIST: &str = r"
    select deed.seq, deed.id, deed.kind, deed.agent_id, deed.action_id, null::uuid as acting_id,
        deed.issued_at, deed.body, deed.digest, deed.signature, deed.key_id
    from deed
    where deed.org_id = $1 and deed.seq >= $2 and deed.seq < $3
        and ($4::text[] is null or deed.kind = any($4))
        and ($5::uuid is null or deed.agent_id = $5)
        and ($6::uuid is null or deed.action_id = $6)
        and ($7::text is null or deed.action_id is null
            and substring(deed.body from '\x22subject\x22:\{\x22id\x22:\x22([^\x22]*)\x22,\x22type\x22:\x22[a-z_]*\x22\}\}$') = $7)
        and ($8::uuid[] is null or deed.action_id = any($8))
        and (not $9::boolean or exists (
            select from action
            where action.org_id = $1 and action.id = deed.action_id
                and ($10::text is null or action.tool like $10)
                and ($11::text[] is null or action.verdict = any($11))
                and ($12::text is null or strpos(action.tool, $12) > 0)
            offset 0))
    order by deed.seq desc limit $13";

const DEED: &str = "
    select deed.seq, deed.id, deed.kind, deed.agent_id, deed.action_id, null::uuid as acting_id,
        deed.issued_at, deed.body, deed.digest, deed.signature, deed.key_id
    from deed where org_id = $1 and id = $2";
const ABOUT: &str = "
    select deed.seq, deed.id, deed.kind, deed.agent_id, deed.action_id, null::uuid as acting_id,
        deed.issued_at, deed.body, deed.digest, deed.signature, deed.key_id
    from deed where org_id = $1 and action_id = $2
    order by seq";
const OPENS: &str = "
    select opens.owner_id, opens.text from unnest($2::uuid[]) as owner (id)
    cross join lateral (
        select owner_id, path, text from disclosure
        where org_id = $1 and owner_id = owner.id
        offset 0
    ) as opens
    order by opens.owner_id, opens.path";

// The log is the first that is open or has its last deed at that time or later.
//
// A place whose deed is away has the time of the last deed of its tile: deeds that are here are
// found right all the same, since times follow places.
const DEED_AT: &str = "
    with recursive log as (
        select no::bigint as no, size, issued_at as last from closed_log where org_id = $1
        union all
        select (select count(*) from closed_log where org_id = $1), size, 'infinity'
        from org_head where org_id = $1
    ), search (low, high) as (
        (select no << 40, (no << 40) + size from log where last >= $2 order by no limit 1)
        union all
        select case when deed.issued_at < $2 then middle + 1 else low end,
            case when deed.issued_at < $2 then high else middle end
        from search
        cross join lateral (select (low + high) / 2 as middle) as half
        cross join lateral (
            select issued_at, 0 as rank from deed where org_id = $1 and seq = middle
            union all
            select issued_at, 1 from past_tile where org_id = $1 and index = middle >> 8
            order by rank limit 1
        ) as deed
        where low < high
    )
    select low as place from search where low >= high";
