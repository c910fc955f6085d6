//! Administration's stores of orgs, agents, keys, connectors and seal keys.

use std::{cmp::Reverse, collections::BTreeMap};

use admin::{
    AccountStore, AgentList, AgentPlace, ConnectorTest, KeyUse, LogBreak, LogStanding, Logged,
    Orgs, RetentionStore, SealKeyStore,
};
use async_trait::async_trait;
use evidence::{EvidenceStore as _, Of};
use ledger::{
    Place, StoreDown,
    record::{Agent, ApiKey, Connector, Holder, IntentKeys, Org},
};
use model::{AgentId, AgentStatus, ConnectorId, KeyId, OrgId, Timestamp};

use crate::{MemoryStore, evidence::Log, rows::place};

#[async_trait]
impl AccountStore for MemoryStore {
    async fn api_key(&self, id: KeyId) -> Result<Option<ApiKey>, StoreDown> {
        let kept = self.reach("read an API key")?;
        Ok(kept.orgs.values().find_map(|rows| rows.keys.get(&id)).cloned())
    }

    async fn org(&self, id: OrgId) -> Result<Option<Org>, StoreDown> {
        let kept = self.reach("read an org")?;
        Ok(kept.orgs.get(&id).and_then(|rows| rows.org.clone()))
    }

    async fn org_named(&self, name: &str) -> Result<Option<OrgId>, StoreDown> {
        let kept = self.reach("read an org by its name")?;
        let mut orgs = kept.orgs.values().filter_map(|rows| rows.org.as_ref());
        Ok(orgs.find(|org| org.name == name).map(|org| org.id))
    }

    async fn orgs(&self) -> Result<Orgs, StoreDown> {
        let kept = self.reach("read every org")?;
        let mut found: Vec<_> = kept.orgs.values().filter_map(|rows| rows.org.clone()).collect();
        found.sort_by_key(|org| (org.created_at, org.id));
        Ok(Orgs { found, unreached: Vec::new() })
    }

    async fn agent(&self, org: OrgId, id: AgentId) -> Result<Option<Agent>, StoreDown> {
        let kept = self.reach("read an agent")?;
        Ok(kept.orgs.get(&org).and_then(|rows| rows.agents.get(&id)).cloned())
    }

    async fn intent_keys(
        &self,
        org: OrgId,
        agent: AgentId,
    ) -> Result<Option<IntentKeys>, StoreDown> {
        let kept = self.reach("read an agent's intent keys")?;
        Ok(kept.orgs.get(&org).and_then(|rows| rows.intent_keys.get(&agent)).cloned())
    }

    async fn agent_named(&self, org: OrgId, name: &str) -> Result<Option<Agent>, StoreDown> {
        let kept = self.reach("read an agent by its name")?;
        let mut agents = kept.orgs.get(&org).into_iter().flat_map(|rows| rows.agents.values());
        Ok(agents.find(|agent| agent.name == name && agent.archived_at.is_none()).cloned())
    }

    async fn agents(
        &self,
        org: OrgId,
        asked: &AgentList,
        limit: usize,
    ) -> Result<Vec<Agent>, StoreDown> {
        let kept = self.reach("list agents")?;
        let now = self.clock.now();
        let rows = kept.orgs.get(&org);
        let agents = rows.iter().flat_map(|rows| rows.agents.values());
        let mut agents: Vec<_> = agents.filter(|agent| is_asked(agent, asked, now)).collect();
        match asked.named {
            Some(_) => agents.sort_by_key(|agent| (&agent.name, agent.id)),
            None => agents.sort_by_key(|agent| Reverse((agent.created_at, agent.id))),
        }
        Ok(agents.into_iter().take(limit).cloned().collect())
    }

    async fn keys_of(
        &self,
        org: OrgId,
        holder: Holder,
        after: Option<(Timestamp, KeyId)>,
        limit: usize,
    ) -> Result<Vec<ApiKey>, StoreDown> {
        let kept = self.reach("list API keys of a holder")?;
        let rows = kept.orgs.get(&org);
        let keys = rows.iter().flat_map(|rows| rows.keys.values());
        let mut keys: Vec<_> = keys
            .filter(|key| key.holder == holder)
            .filter(|key| after.is_none_or(|after| (key.created_at, key.id) < after))
            .cloned()
            .collect();
        keys.sort_by_key(|key| Reverse((key.created_at, key.id)));
        keys.truncate(limit);
        Ok(keys)
    }

    async fn valid_keys_of(&self, org: OrgId, holder: Holder) -> Result<Vec<ApiKey>, StoreDown> {
        let mut keys = self.keys_of(org, holder, None, usize::MAX).await?;
        let now = self.clock.now();
        keys.retain(|key| key.is_valid(now));
        Ok(keys)
    }

    async fn api_keys(&self, org: OrgId) -> Result<Vec<ApiKey>, StoreDown> {
        let kept = self.reach("read an org's API keys")?;
        let rows = kept.orgs.get(&org);
        let mut keys: Vec<_> = rows.iter().flat_map(|rows| rows.keys.values()).cloned().collect();
        keys.sort_by_key(|key| (key.created_at, key.id));
        Ok(keys)
    }

    async fn note_key_uses(&self, org: OrgId, uses: &[(KeyId, KeyUse)]) -> Result<(), StoreDown> {
        let mut kept = self.reach("note when keys were used")?;
        let rows = kept.orgs.entry(org).or_default();
        for (key, last) in uses {
            let known = rows.key_uses.entry(*key).or_insert(*last);
            *known = known.and(*last);
        }
        Ok(())
    }

    async fn key_uses(
        &self,
        org: OrgId,
        keys: &[KeyId],
    ) -> Result<BTreeMap<KeyId, KeyUse>, StoreDown> {
        let kept = self.reach("read when keys were used")?;
        let known = kept.orgs.get(&org).map(|rows| &rows.key_uses);
        let used = |key: &KeyId| Some((*key, *known?.get(key)?));
        Ok(keys.iter().filter_map(used).collect())
    }

    async fn connectors(&self, org: OrgId) -> Result<Vec<Connector>, StoreDown> {
        let kept = self.reach("read an org's connectors")?;
        let rows = kept.orgs.get(&org);
        let mut connectors: Vec<_> =
            rows.iter().flat_map(|rows| rows.connectors.values()).cloned().collect();
        connectors.sort_by_key(|connector| (connector.created_at, connector.id));
        Ok(connectors)
    }

    async fn connector(&self, org: OrgId, id: ConnectorId) -> Result<Option<Connector>, StoreDown> {
        let kept = self.reach("read a connector")?;
        Ok(kept.orgs.get(&org).and_then(|rows| rows.connectors.get(&id)).cloned())
    }

    async fn keep_connector_test(
        &self,
        org: OrgId,
        id: ConnectorId,
        test: &ConnectorTest,
    ) -> Result<(), StoreDown> {
        let mut kept = self.reach("keep a connector's test")?;
        kept.orgs.entry(org).or_default().connector_tests.insert(id, test.clone());
        Ok(())
    }

    async fn last_connector_test(
        &self,
        org: OrgId,
        id: ConnectorId,
    ) -> Result<Option<ConnectorTest>, StoreDown> {
        let kept = self.reach("read a connector's last test")?;
        Ok(kept.orgs.get(&org).and_then(|rows| rows.connector_tests.get(&id)).cloned())
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
        let kept = self.reach("check whether a slot may exist")?;
        Ok(kept.logs.get(&Of { org, connector }).is_some_and(Log::may_have_slot))
    }
}

fn is_asked(agent: &Agent, asked: &AgentList, now: Timestamp) -> bool {
    let status = agent.status(now);
    let stands = asked
        .status
        .map_or(asked.archived || status != AgentStatus::Archived, |wanted| status == wanted);
    let is_behind = |after: &AgentPlace| match asked.named {
        Some(_) => (&agent.name, agent.id) > (&after.name, after.id),
        None => (agent.created_at, agent.id) < (after.created_at, after.id),
    };
    stands
        && asked.named.as_ref().is_none_or(|named| agent.name.starts_with(named))
        && asked.after.as_ref().is_none_or(is_behind)
}

#[async_trait]
impl SealKeyStore for MemoryStore {
    async fn now(&self) -> Result<Timestamp, StoreDown> {
        drop(self.reach("ask for the time")?);
        Ok(self.clock.now())
    }

    async fn seal_keys(&self) -> Result<Vec<deed::SealKey>, StoreDown> {
        Ok(self.reach("read the seal keys")?.seal_keys.clone())
    }

    async fn put_seal_key(&self, key: &deed::SealKey) -> Result<(), StoreDown> {
        let mut kept = self.reach("register a seal key")?;
        let mut key = key.clone();
        let held = kept.seal_keys.iter().position(|held| held.kid() == key.kid());
        if let Some(at) = held {
            if kept.seal_keys.get(at).is_some_and(|held| held.activated_at < key.activated_at) {
                return Ok(());
            }
            let held = kept.seal_keys.remove(at);
            key.revoked_at = held.revoked_at.or(key.revoked_at);
            key.revocation_reason = held.revocation_reason.or(key.revocation_reason);
            key.compromised_since = held.compromised_since.or(key.compromised_since);
        }
        kept.seal_keys.push(key);
        kept.seal_keys.sort_by_key(|key| (key.activated_at, key.kid()));
        Ok(())
    }
}

#[async_trait]
impl RetentionStore for MemoryStore {
    async fn logged(
        &self,
        org: OrgId,
        from: Place,
        limit: usize,
    ) -> Result<Vec<Logged>, StoreDown> {
        let kept = self.reach("read a part of a log")?;
        let deeds = kept.orgs.get(&org).map(|rows| rows.deeds.as_slice()).unwrap_or_default();
        let logged = |deed: &gate::StoredDeed| Logged {
            place: place(deed),
            deed: deed.id,
            action: deed.action,
            issued_at: deed.issued_at,
        };
        Ok(deeds.iter().filter(|deed| place(deed) >= from).take(limit).map(logged).collect())
    }

    async fn sweep_out(&self, org: OrgId, limit: usize) -> Result<usize, StoreDown> {
        let mut kept = self.reach("remove rows that are no longer needed")?;
        let now = self.clock.now();
        let Some(rows) = kept.orgs.get_mut(&org) else { return Ok(0) };
        let expired = rows.idempotency_keys.iter().filter(|(_, row)| row.expires_at <= now);
        let expired: Vec<_> = expired.map(|(key, _)| key.clone()).take(limit).collect();
        let ended = rows.budgets.iter().filter(|(_, budget)| budget.window_end <= now);
        let ended: Vec<_> = ended.map(|(key, _)| key.clone()).take(limit).collect();
        for key in &expired {
            rows.idempotency_keys.remove(key);
        }
        for key in &ended {
            rows.budgets.remove(key);
        }
        Ok(expired.len().max(ended.len()))
    }
}
