//! Stopping and starting one agent or the whole org.
//!
//! Every start of a tool is a turn of the same head, so nothing starts once a Stop has answered.

use act::{ActError, Changed, Reason, Record};
use ledger::{
    Needs, Snapshot, StoreDown,
    record::{Agent, Org, Stop},
};
use model::{AgentId, EventType, OrgId};

use crate::{Admin, ChangeError, OrgChange, agent, org};

impl Admin {
    /// The Stop that holds the agent at this moment, by the word of its event. Only the two rows
    /// that say so are read: whoever waits for an action asks this.
    pub async fn stop_of(
        &self,
        org: OrgId,
        agent: AgentId,
    ) -> Result<Option<EventType>, StoreDown> {
        let store = &self.parts.store;
        if store.org(org).await?.is_some_and(|org| org.stop.is_some()) {
            return Ok(Some(EventType::OrgStopped));
        }
        let found = store.agent(org, agent).await?;
        Ok(found.and_then(|agent| agent.stop).map(|_| EventType::AgentStopped))
    }
}

impl OrgChange<'_> {
    /// Stops an agent.
    pub async fn stop_agent(
        &self,
        id: AgentId,
        reason: &str,
    ) -> Result<Changed<Agent>, ChangeError> {
        let reason = Reason::parse(reason)?;
        let stopped = self.turn(agent::needed(id), Some(reason), move |at, record| {
            let before = agent::loaded(at, id)?;
            if before.stop.is_some() {
                return Err(ActError::Conflict("the agent is already stopped"));
            }
            let after = Agent { stop: Some(stop(record)), ..before.clone() };
            Ok(agent::changed(record, EventType::AgentStopped, Some(before), after))
        });
        Ok(stopped.await?)
    }

    /// Starts a stopped agent again; a suspension stays.
    pub async fn start_agent(
        &self,
        id: AgentId,
        reason: &str,
    ) -> Result<Changed<Agent>, ChangeError> {
        let reason = Reason::parse(reason)?;
        let started = self.turn(agent::needed(id), Some(reason), move |at, record| {
            let before = agent::loaded(at, id)?;
            if before.stop.is_none() {
                return Err(ActError::Conflict("the agent is not stopped"));
            }
            let after = Agent { stop: None, ..before.clone() };
            Ok(agent::changed(record, EventType::AgentStarted, Some(before), after))
        });
        Ok(started.await?)
    }

    /// Stops every agent of the org.
    pub async fn stop_org(&self, reason: &str) -> Result<Changed<Org>, ChangeError> {
        let reason = Reason::parse(reason)?;
        let stopped = self.turn(Needs::default(), Some(reason), |at, record| {
            let before = loaded(at)?;
            if before.stop.is_some() {
                return Err(ActError::Conflict("the org is already stopped"));
            }
            let after = Org { stop: Some(stop(record)), ..before.clone() };
            Ok(org::changed(record, EventType::OrgStopped, Some(before), after))
        });
        Ok(stopped.await?)
    }

    /// Lifts the Stop of the org; agents that were stopped one by one stay stopped.
    pub async fn start_org(&self, reason: &str) -> Result<Changed<Org>, ChangeError> {
        let reason = Reason::parse(reason)?;
        let started = self.turn(Needs::default(), Some(reason), |at, record| {
            let before = loaded(at)?;
            if before.stop.is_none() {
                return Err(ActError::Conflict("the org is not stopped"));
            }
            let after = Org { stop: None, ..before.clone() };
            Ok(org::changed(record, EventType::OrgStarted, Some(before), after))
        });
        Ok(started.await?)
    }
}

fn loaded(at: &Snapshot) -> Result<&Org, ActError> {
    at.org().ok_or(ActError::NotFound("org"))
}

fn stop(record: &Record<'_>) -> Stop {
    Stop {
        stopped_at: record.now(),
        by: record.by().to_string(),
        reason: record.reason().to_owned(),
    }
}
