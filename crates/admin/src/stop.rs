//! Stopping and starting one agent or the whole org, and suspending an agent for a time.
//!
//! Every start of a tool is a turn of the same head, so nothing starts once a Stop has answered.
//! Approvals that a Stop makes void are not ended in its own turn, however many they are: the turn
//! notes the moment up to which they are void, and whatever ends one looks at that.

use act::{ActError, By, Changed, Reason, Record};
use ledger::{
    Needs, Snapshot, StoreDown,
    record::{Agent, Org, Stop, Suspension, Voided},
};
use model::{AgentId, EventType, OrgId, PendingApprovals, SuspensionCause, Timestamp};

use crate::{Admin, ChangeError, OrgChange, agent, member, org};

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
        waiting: PendingApprovals,
    ) -> Result<Changed<Agent>, ChangeError> {
        let reason = Reason::parse(reason)?;
        let stopped = self.turn(agent::needed(id), Some(reason), move |at, record| {
            let before = agent::held_alone(at, id)?;
            if before.stop.is_some() {
                return Err(ActError::Conflict("the agent is already stopped"));
            }
            let stop = Some(stop(record));
            let after = match waiting {
                PendingApprovals::Keep => Agent { stop, ..before.clone() },
                PendingApprovals::Void => {
                    let (voids, voided) = (Some(record.now()), Some(voided(record)));
                    Agent { stop, voids, voided, ..before.clone() }
                }
            };
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
            let before = agent::live(at, id)?;
            if before.stop.is_none() {
                return Err(ActError::Conflict("the agent is not stopped"));
            }
            let after = Agent { stop: None, ..before.clone() };
            Ok(agent::changed(record, EventType::AgentStarted, Some(before), after))
        });
        Ok(started.await?)
    }

    /// Suspends an agent until this moment, or until it is resumed. Approvals go on waiting.
    pub async fn suspend_agent(
        &self,
        id: AgentId,
        reason: &str,
        until: Option<Timestamp>,
    ) -> Result<Changed<Agent>, ChangeError> {
        let reason = Reason::parse(reason)?;
        let suspended = self.turn(agent::needed(id), Some(reason), move |at, record| {
            let before = agent::held_alone(at, id)?;
            if before.suspension.as_ref().is_some_and(|held| held.holds(at.now())) {
                return Err(ActError::Conflict("the agent is already suspended"));
            }
            if until.is_some_and(|until| until <= at.now()) {
                return Err(ActError::bad_input("until", "a time in the future"));
            }
            let suspension = Suspension {
                suspended_at: at.now(),
                by: record.by().to_string(),
                cause: SuspensionCause::Person,
                reason: record.reason().to_owned(),
                until,
            };
            let after = Agent { suspension: Some(suspension), ..before.clone() };
            Ok(agent::changed(record, EventType::AgentSuspended, Some(before), after))
        });
        Ok(suspended.await?)
    }

    /// Lifts a suspension; a Stop stays.
    pub async fn resume_agent(
        &self,
        id: AgentId,
        reason: &str,
    ) -> Result<Changed<Agent>, ChangeError> {
        let reason = Reason::parse(reason)?;
        let resumed = self.turn(agent::needed(id), Some(reason), move |at, record| {
            let before = agent::live(at, id)?;
            if !before.suspension.as_ref().is_some_and(|held| held.holds(at.now())) {
                return Err(ActError::Conflict(if before.has_expired(at.now()) {
                    "the agent has expired; set a later `expires_at`, or none, instead"
                } else {
                    "the agent is not suspended"
                }));
            }
            let after = Agent { suspension: None, ..before.clone() };
            Ok(agent::changed(record, EventType::AgentResumed, Some(before), after))
        });
        Ok(resumed.await?)
    }

    /// Stops every agent of the org, the service's own included.
    pub async fn stop_org(
        &self,
        reason: &str,
        waiting: PendingApprovals,
    ) -> Result<Changed<Org>, ChangeError> {
        let reason = Reason::parse(reason)?;
        let stopped = self.turn(Needs::default(), Some(reason), move |at, record| {
            let before = loaded(at)?;
            if before.stop.is_some() {
                return Err(ActError::Conflict("the org is already stopped"));
            }
            let stop = Some(stop(record));
            let after = match waiting {
                PendingApprovals::Keep => Org { stop, ..before.clone() },
                PendingApprovals::Void => {
                    let (voids, voided) = (Some(record.now()), Some(voided(record)));
                    Org { stop, voids, voided, ..before.clone() }
                }
            };
            Ok(org::changed(record, EventType::OrgStopped, Some(before), after))
        });
        Ok(stopped.await?)
    }

    /// Lifts the Stop of the org, which of its members an owner alone does: an admin against whom
    /// everything was stopped does not start it again. Agents that were stopped one by one stay stopped.
    pub async fn start_org(&self, reason: &str) -> Result<Changed<Org>, ChangeError> {
        let reason = Reason::parse(reason)?;
        let started = self.turn(Needs::default(), Some(reason), |at, record| {
            let by = record.by();
            if matches!(by, By::Member { .. }) && !member::is_owner(by, at) {
                return Err(ActError::RoleRequired);
            }
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

/// This change, as what makes approvals void.
pub(crate) fn voided(record: &Record<'_>) -> Voided {
    Voided { by: record.by().actor(), reason: record.reason().to_owned() }
}
