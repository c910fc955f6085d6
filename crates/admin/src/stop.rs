//! Stopping and starting one agent or the whole org.
//!
//! Every start of a tool is a turn of the same head, so nothing starts once a Stop has answered.

use ledger::{
    Needs, Snapshot,
    record::{Agent, Org, Stop},
};
use model::{AgentId, EventType};

use crate::{ChangeError, Changed, InOrg, agent, by::Reason, change::Record};

impl InOrg<'_> {
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
                return Err(ChangeError::Conflict("the agent is already stopped"));
            }
            let after = Agent { stop: Some(stop(record)), ..before.clone() };
            Ok(record.agent(EventType::AgentStopped, Some(before), after))
        });
        stopped.await
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
                return Err(ChangeError::Conflict("the agent is not stopped"));
            }
            let after = Agent { stop: None, ..before.clone() };
            Ok(record.agent(EventType::AgentStarted, Some(before), after))
        });
        started.await
    }

    /// Stops every agent of the org.
    pub async fn stop_org(&self, reason: &str) -> Result<Changed<Org>, ChangeError> {
        let reason = Reason::parse(reason)?;
        let stopped = self.turn(Needs::default(), Some(reason), |at, record| {
            let before = loaded(at)?;
            if before.stop.is_some() {
                return Err(ChangeError::Conflict("the org is already stopped"));
            }
            let after = Org { stop: Some(stop(record)), ..before.clone() };
            Ok(record.org(EventType::OrgStopped, Some(before), after))
        });
        stopped.await
    }

    /// Lifts the Stop of the org; agents that were stopped one by one stay stopped.
    pub async fn start_org(&self, reason: &str) -> Result<Changed<Org>, ChangeError> {
        let reason = Reason::parse(reason)?;
        let started = self.turn(Needs::default(), Some(reason), |at, record| {
            let before = loaded(at)?;
            if before.stop.is_none() {
                return Err(ChangeError::Conflict("the org is not stopped"));
            }
            let after = Org { stop: None, ..before.clone() };
            Ok(record.org(EventType::OrgStarted, Some(before), after))
        });
        started.await
    }
}

fn loaded(at: &Snapshot) -> Result<&Org, ChangeError> {
    at.org().ok_or(ChangeError::NotFound("org"))
}

fn stop(record: &Record<'_>) -> Stop {
    Stop {
        stopped_at: record.now(),
        by: record.by().to_string(),
        reason: record.reason().to_owned(),
    }
}
