//! Numbers of actions and of budgets, for people who look.

use std::collections::BTreeMap;

use ledger::{Needs, StoreDown};
use model::{AgentId, OrgId, Timestamp};

use crate::{
    gate::Gate,
    store::{AgentFigures, Counted, Filter, Span, Waiting, recorded_at},
    withdraw::is_void,
};

impl Gate {
    /// The actions that the filter lets through and the span holds, counted.
    pub async fn counted(
        &self,
        org: OrgId,
        filter: &Filter,
        span: Span,
    ) -> Result<Counted, StoreDown> {
        self.parts.store.counted(org, filter, span).await
    }

    /// Brings the counts that are kept of every org further, by up to `deeds` deeds of each and with
    /// `orgs` orgs in a step, and says whether there may be more to count. Each org has its turn,
    /// however many deeds others have meanwhile and whether or not they can be counted.
    pub async fn count_up(&self, orgs: usize, deeds: usize) -> Result<bool, StoreDown> {
        let (mut after, mut has_more, mut failed) = (None, false, None);
        loop {
            let step = self.parts.store.count_up(after, orgs, deeds).await?;
            has_more |= step.has_more;
            failed = failed.or(step.failed);
            after = step.last;
            if after.is_none() {
                return failed.map_or(Ok(has_more), Err);
            }
        }
    }

    /// The agents that acted last, the latest first, each with when it did.
    pub async fn last_to_act(
        &self,
        org: OrgId,
        limit: usize,
    ) -> Result<Vec<(AgentId, Timestamp)>, StoreDown> {
        let found = self.parts.store.last_to_act(org, limit).await?;
        Ok(found.into_iter().map(|(agent, action)| (agent, recorded_at(action))).collect())
    }

    /// What is to be told of these agents of the org beside their records, at this moment.
    pub async fn of_agents(
        &self,
        org: OrgId,
        agents: &[AgentId],
        now: Timestamp,
    ) -> Result<BTreeMap<AgentId, AgentFigures>, StoreDown> {
        self.parts.store.of_agents(org, agents, now).await
    }

    /// The calls that wait for people now: how many there are, and up to `limit` that expire first. Of
    /// these, what is void already is left out; the count has what is void until the sweep ended it.
    pub async fn waiting(&self, org: OrgId, limit: usize) -> Result<Waiting, StoreDown> {
        let mut waiting = self.parts.store.waiting(org, limit).await?;
        let agents = waiting.first.iter().map(|action| action.agent.id).collect();
        let needs = Needs { agents, ..Needs::default() };
        let snapshot = self.parts.ledger.look_at(org, needs).await?;
        waiting.first.retain(|action| !is_void(action, &snapshot));
        Ok(waiting)
    }
}
