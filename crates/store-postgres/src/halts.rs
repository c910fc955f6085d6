//! What the Gate reads when calls are stopped: what is under way, and what waits in vain.

use gate::{UnderWay, Voiding};
use ledger::StoreDown;
use model::{ActionId, AgentId, OrgId};

use crate::{
    PostgresStore,
    database::Call,
    rows::{Cells, bigint, system_time},
};

// Each half has an index of its own, which holds the few rows that say so.
const VOIDING: &str = "
    select org_id, null::uuid as agent_id, (record::json ->> 'voids')::timestamptz as until
    from org
    where ($1::uuid[] is null or org_id = any($1)) and record::json ->> 'voids' is not null
    union all
    select org_id, id, (record::json ->> 'voids')::timestamptz
    from agent
    where ($1::uuid[] is null or org_id = any($1)) and record::json ->> 'voids' is not null
    limit $2";

// The index of what is not sealed leads to both, and has it in the order of ids, which is the order in
// which actions were recorded.
const VOID: &str = "
    select id from only action
    where org_id = $1 and state = 'pending_approval' and state <> 'sealed'
        and id > coalesce($4, '00000000-0000-0000-0000-000000000000'::uuid)
        and ($2::uuid is null or agent_id = $2) and created_at <= $3
    order by id limit $5";

const UNDER_WAY: &str = "
    select id, count(*) over () as count from only action
    where org_id = $1 and state = any(array['executing', 'witnessing']) and state <> 'sealed'
        and ($2::uuid is null or agent_id = $2)
    order by id limit $3";

impl PostgresStore {
    pub(crate) async fn void_notes(&self, limit: usize) -> Result<Vec<Voiding>, StoreDown> {
        let question = |orgs| Call::new(VOIDING).with(orgs).with(bigint(limit as u64));
        let found = self.all_orgs("look for approvals that are void", question, |row| {
            let cells = Cells::of("agent", row);
            Ok(Voiding {
                org: cells.id("org_id", OrgId::from_uuid)?,
                agent: cells.id_if_any("agent_id", AgentId::from_uuid)?,
                until: cells.moment("until")?,
            })
        });
        let mut found = found.await?;
        found.truncate(limit);
        Ok(found)
    }

    pub(crate) async fn waiting_in_vain(
        &self,
        voiding: &Voiding,
        after: Option<ActionId>,
        limit: usize,
    ) -> Result<Vec<ActionId>, StoreDown> {
        let call = Call::new(VOID)
            .with(*voiding.org.as_uuid())
            .with(voiding.agent.map(|agent| *agent.as_uuid()))
            .with(system_time(voiding.until))
            .with(after.map(|after| *after.as_uuid()))
            .with(bigint(limit as u64));
        let id = |row: &_| Cells::of("action", row).id("id", ActionId::from_uuid);
        self.all("look for what waits for an approval that is void", call, id).await
    }

    pub(crate) async fn in_flight(
        &self,
        org: OrgId,
        agent: Option<AgentId>,
        limit: usize,
    ) -> Result<UnderWay, StoreDown> {
        let call = Call::new(UNDER_WAY)
            .with(*org.as_uuid())
            .with(agent.map(|agent| *agent.as_uuid()))
            .with(bigint(limit as u64));
        let found = self.all("look for what is under way", call, |row| {
            let cells = Cells::of("action", row);
            Ok((cells.id("id", ActionId::from_uuid)?, cells.count("count")?))
        });
        let found = found.await?;
        let count =
            found.first().map_or(0, |(_, count)| usize::try_from(*count).unwrap_or_default());
        Ok(UnderWay { actions: found.into_iter().map(|(id, _)| id).collect(), count })
    }
}
