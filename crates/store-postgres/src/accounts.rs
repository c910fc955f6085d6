//! Administration's store of orgs, agents, keys and connectors.

mod agents;
mod connector_tests;

pub(crate) use agents::END;

use std::collections::BTreeMap;

use admin::{AccountStore, AgentList, ConnectorTest, KeyUse, LogBreak, LogStanding, Orgs};
use async_trait::async_trait;
use evidence::{EvidenceStore as _, Of};
use ledger::{
    StoreDown,
    record::{Agent, ApiKey, Connector, Holder, IntentKeys, Org},
};
use model::{AgentId, ConnectorId, KeyId, OrgId, Timestamp};
use serde::de::DeserializeOwned;
use uuid::Uuid;

use crate::{
    PostgresStore,
    database::Call,
    fault::Fault,
    rows::{Cells, system_time},
};

/// How many uses of keys one statement notes.
const USES_AT_ONCE: usize = 1_000;

const KEYS_OF_AGENT: &str = "
    select record from api_key
    where org_id = $1 and (created_at, id) < ($2, $3) and agent_id = $5
    order by created_at desc, id desc limit $4";
const KEYS_OF_ORG: &str = "
    select record from api_key
    where org_id = $1 and (created_at, id) < ($2, $3) and agent_id is null
    order by created_at desc, id desc limit $4";
const VALID_KEYS_OF_AGENT: &str = "
    select record from api_key
    where org_id = $1 and agent_id = $2 and record::json ->> 'revoked_at' is null
      and coalesce((record::json ->> 'expires_at')::timestamptz > now(), true)";
const VALID_KEYS_OF_ORG: &str = "
    select record from api_key
    where org_id = $1 and agent_id is null and record::json ->> 'revoked_at' is null
      and coalesce((record::json ->> 'expires_at')::timestamptz > now(), true)";

/// The call with the agent whose keys are asked for; keys of the org's own have none.
fn of_agent(call: Call<'_>, agent: Option<AgentId>) -> Call<'_> {
    match agent {
        Some(agent) => call.with(*agent.as_uuid()),
        None => call,
    }
}

#[async_trait]
impl AccountStore for PostgresStore {
    async fn api_key(&self, id: KeyId) -> Result<Option<ApiKey>, StoreDown> {
        let attempt = "read an API key";
        let sql = "select org_id from api_key_org where key_id = $1";
        let rows = self.database.ask_one(attempt, Call::new(sql).with(*id.as_uuid())).await?;
        let Some(row) = rows.first() else { return Ok(None) };
        let org = Cells::of("api_key_org", row).id("org_id", OrgId::from_uuid);
        let org = org.map_err(|fault| fault.down(attempt))?;
        let sql = "select record from api_key where org_id = $1 and id = $2";
        self.record(attempt, Call::new(sql).with(*org.as_uuid()).with(*id.as_uuid())).await
    }

    async fn org(&self, id: OrgId) -> Result<Option<Org>, StoreDown> {
        let sql = "select record from org where org_id = $1";
        self.record("read an org", Call::new(sql).with(*id.as_uuid())).await
    }

    async fn org_named(&self, name: &str) -> Result<Option<OrgId>, StoreDown> {
        let attempt = "read an org by its name";
        let sql = "select org_id from org_name where name = $1";
        let rows = self.database.ask_one(attempt, Call::new(sql).with(name)).await?;
        let org = rows.first().map(|row| Cells::of("org_name", row).id("org_id", OrgId::from_uuid));
        org.transpose().map_err(|fault| fault.down(attempt))
    }

    async fn orgs(&self) -> Result<Orgs, StoreDown> {
        let attempt = "read every org";
        let sql = "select record from org where ($1::uuid[] is null or org_id = any($1))";
        let question = |orgs| Call::new(sql).with(orgs);
        let reached = self.database.ask_every_org(attempt, question).await?;
        let org = |row| Cells::of("org", row).json::<Org>("record");
        let found = reached.rows.iter().map(org).collect::<Result<Vec<_>, _>>();
        let mut found = found.map_err(|fault| fault.down(attempt))?;
        found.sort_by_key(|org| (org.created_at, org.id));
        Ok(Orgs { found, unreached: reached.unreached })
    }

    async fn agent(&self, org: OrgId, id: AgentId) -> Result<Option<Agent>, StoreDown> {
        let sql = "select record from agent where org_id = $1 and id = $2";
        let call = Call::new(sql).with(*org.as_uuid()).with(*id.as_uuid());
        self.record("read an agent", call).await
    }

    async fn intent_keys(
        &self,
        org: OrgId,
        agent: AgentId,
    ) -> Result<Option<IntentKeys>, StoreDown> {
        let sql = "select record from intent_key_set where org_id = $1 and agent_id = $2";
        let call = Call::new(sql).with(*org.as_uuid()).with(*agent.as_uuid());
        self.record("read an agent's intent keys", call).await
    }

    async fn agent_named(&self, org: OrgId, name: &str) -> Result<Option<Agent>, StoreDown> {
        let sql = "
            select record from agent
            where org_id = $1 and name = $2 and archived_at is null";
        let call = Call::new(sql).with(*org.as_uuid()).with(name);
        self.record("read an agent by its name", call).await
    }

    async fn agents(
        &self,
        org: OrgId,
        asked: &AgentList,
        limit: usize,
    ) -> Result<Vec<Agent>, StoreDown> {
        self.records("list agents", agents::call(org, asked, limit)).await
    }

    async fn keys_of(
        &self,
        org: OrgId,
        holder: Holder,
        after: Option<(Timestamp, KeyId)>,
        limit: usize,
    ) -> Result<Vec<ApiKey>, StoreDown> {
        let (sql, agent) = match holder {
            Holder::Agent(agent) => (KEYS_OF_AGENT, Some(agent)),
            Holder::Org => (KEYS_OF_ORG, None),
        };
        let call = Call::new(sql)
            .with(*org.as_uuid())
            .with(system_time(after.map_or(END, |(at, _)| at)))
            .with(after.map_or(Uuid::max(), |(_, id)| *id.as_uuid()))
            .with(i64::try_from(limit).unwrap_or(i64::MAX));
        self.records("list API keys of a holder", of_agent(call, agent)).await
    }

    async fn valid_keys_of(&self, org: OrgId, holder: Holder) -> Result<Vec<ApiKey>, StoreDown> {
        let (sql, agent) = match holder {
            Holder::Agent(agent) => (VALID_KEYS_OF_AGENT, Some(agent)),
            Holder::Org => (VALID_KEYS_OF_ORG, None),
        };
        let call = of_agent(Call::new(sql).with(*org.as_uuid()), agent);
        self.records("read the valid API keys of a holder", call).await
    }

    async fn api_keys(&self, org: OrgId) -> Result<Vec<ApiKey>, StoreDown> {
        let sql = "select record from api_key where org_id = $1 order by created_at, id";
        self.records("read an org's API keys", Call::new(sql).with(*org.as_uuid())).await
    }

    async fn note_key_uses(&self, org: OrgId, uses: &[(KeyId, KeyUse)]) -> Result<(), StoreDown> {
        // In the order of the keys, so that two instances that write the same keys wait for each other
        // in one direction alone.
        let sql = "
            insert into api_key_use (org_id, key_id, used_at, network)
            select $1, used.key_id, used.used_at, used.network
            from unnest($2::uuid[], $3::timestamptz[], $4::text[]) as used (key_id, used_at, network)
            order by used.key_id
            on conflict (org_id, key_id)
            do update set used_at = excluded.used_at,
                network = coalesce(excluded.network, api_key_use.network)
            where api_key_use.used_at < excluded.used_at";
        for some in uses.chunks(USES_AT_ONCE) {
            let keys: Vec<Uuid> = some.iter().map(|(key, _)| *key.as_uuid()).collect();
            let moments: Vec<_> = some.iter().map(|(_, last)| system_time(last.at)).collect();
            let networks: Vec<_> = some
                .iter()
                .map(|(_, last)| last.network.map(|network| network.to_string()))
                .collect();
            let call = Call::new(sql).with(*org.as_uuid()).with(keys).with(moments).with(networks);
            self.database.ask_one("note when keys were used", call).await?;
        }
        Ok(())
    }

    async fn key_uses(
        &self,
        org: OrgId,
        keys: &[KeyId],
    ) -> Result<BTreeMap<KeyId, KeyUse>, StoreDown> {
        let attempt = "read when keys were used";
        let sql = "
            select key_id, used_at, network from api_key_use where org_id = $1 and key_id = any($2::uuid[])";
        let keys: Vec<Uuid> = keys.iter().map(|key| *key.as_uuid()).collect();
        let call = Call::new(sql).with(*org.as_uuid()).with(keys);
        let rows = self.database.ask_one(attempt, call).await?;
        let used = rows.iter().map(|row| {
            let cells = Cells::of("api_key_use", row);
            let network = cells
                .get::<Option<String>>("network")?
                .map(|text| text.parse().map_err(|error| cells.fault("network", error)))
                .transpose()?;
            let last = KeyUse { at: cells.moment("used_at")?, network };
            Ok((cells.id("key_id", KeyId::from_uuid)?, last))
        });
        used.collect::<Result<_, Fault>>().map_err(|fault| fault.down(attempt))
    }

    async fn connectors(&self, org: OrgId) -> Result<Vec<Connector>, StoreDown> {
        let sql = "select record from connector where org_id = $1 order by created_at, id";
        self.records("read an org's connectors", Call::new(sql).with(*org.as_uuid())).await
    }

    async fn connector(&self, org: OrgId, id: ConnectorId) -> Result<Option<Connector>, StoreDown> {
        let sql = "select record from connector where org_id = $1 and id = $2";
        let call = Call::new(sql).with(*org.as_uuid()).with(*id.as_uuid());
        self.record("read a connector", call).await
    }

    async fn keep_connector_test(
        &self,
        org: OrgId,
        id: ConnectorId,
        test: &ConnectorTest,
    ) -> Result<(), StoreDown> {
        let attempt = "keep a connector's test";
        let call = connector_tests::keep((org, id), test).map_err(|fault| fault.down(attempt))?;
        self.database.ask_one(attempt, call).await.map(drop)
    }

    async fn last_connector_test(
        &self,
        org: OrgId,
        id: ConnectorId,
    ) -> Result<Option<ConnectorTest>, StoreDown> {
        let attempt = "read a connector's last test";
        let rows = self.database.ask_one(attempt, connector_tests::last((org, id))).await?;
        let test = rows.first().map(connector_tests::read).transpose();
        test.map_err(|fault| fault.down(attempt))
    }

    async fn log_standing(
        &self,
        org: OrgId,
        id: ConnectorId,
        breaks: usize,
    ) -> Result<Option<LogStanding>, StoreDown> {
        let of = Of { org, connector: id };
        let Some(following) = self.following(of).await? else { return Ok(None) };
        let gaps = self.gaps(of, breaks).await?;
        Ok(Some(LogStanding {
            stretch: following.began.epoch,
            broken: following.broken,
            beat_at: following.beat_at,
            read_at: following.at,
            breaks: gaps.iter().map(|gap| LogBreak { cause: gap.cause, at: gap.at }).collect(),
        }))
    }

    async fn slot_may_stand(&self, org: OrgId, connector: ConnectorId) -> Result<bool, StoreDown> {
        let held = self.held_log(Of { org, connector }).await?;
        // One that was held and never read may have a slot all the same.
        Ok(held.is_some_and(|read| read.is_none_or(|following| !following.is_given_up())))
    }
}

impl PostgresStore {
    async fn record<T: DeserializeOwned>(
        &self,
        attempt: &'static str,
        call: Call<'_>,
    ) -> Result<Option<T>, StoreDown> {
        Ok(self.records(attempt, call).await?.into_iter().next())
    }

    async fn records<T: DeserializeOwned>(
        &self,
        attempt: &'static str,
        call: Call<'_>,
    ) -> Result<Vec<T>, StoreDown> {
        let rows = self.database.ask_one(attempt, call).await?;
        let records = rows.iter().map(|row| Cells::of("account", row).json("record"));
        records.collect::<Result<_, _>>().map_err(|fault| fault.down(attempt))
    }
}
