//! An org's agents.

use std::collections::BTreeMap;

use model::{AgentId, AgentStatus, IntentMode, MemberId, Mode, OrgId, SuspensionCause, Timestamp};
use serde::{Deserialize, Serialize};

use super::{Row, Stop, Voided};

/// A suspension of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Suspension {
    /// Since when.
    pub suspended_at: Timestamp,
    /// Who did it.
    pub by: String,
    /// What led to it.
    #[serde(default = "by_a_person")]
    pub cause: SuspensionCause,
    /// Why.
    pub reason: String,
    /// Until when; absent means until it is lifted.
    pub until: Option<Timestamp>,
}

fn by_a_person() -> SuspensionCause {
    SuspensionCause::Person
}

impl Suspension {
    /// Whether it still holds at this moment.
    pub fn holds(&self, now: Timestamp) -> bool {
        self.until.is_none_or(|until| now < until)
    }
}

/// An agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Agent {
    /// The agent's id.
    pub id: AgentId,
    /// The org that it belongs to.
    pub org: OrgId,
    /// Its name, unique in the org.
    pub name: String,
    /// What it is for, in the words of whoever made it; may be empty.
    #[serde(default)]
    pub description: String,
    /// Facts about it that policies may ask for.
    pub labels: BTreeMap<String, String>,
    /// Whether its calls must be signed.
    pub intent_mode: IntentMode,
    /// In which ways its calls may be run; each stands here once.
    #[serde(default = "every_mode")]
    pub modes: Vec<Mode>,
    /// The member who answers for it. They were one when they were named; the name stays when they go.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<MemberId>,
    /// When its time is over: it counts as suspended from then on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// Whether the service itself is this agent.
    pub system: bool,
    /// Set while it is stopped.
    pub stop: Option<Stop>,
    /// Approvals that its calls asked for until this moment are void; absent once none of them
    /// waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub voids: Option<Timestamp>,
    /// The Stop or the archiving that made them void.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub voided: Option<Voided>,
    /// Set while it is suspended.
    pub suspension: Option<Suspension>,
    /// Counts the changes of what it was made with.
    #[serde(default = "first")]
    pub revision: u32,
    /// How many keys were made for it, so that two that are made at once count each other.
    #[serde(default)]
    pub keys_made: u32,
    /// When it was archived.
    pub archived_at: Option<Timestamp>,
    /// When it was made.
    pub created_at: Timestamp,
}

fn first() -> u32 {
    1
}

fn every_mode() -> Vec<Mode> {
    Mode::ALL.to_vec()
}

impl Agent {
    /// How the agent stands at this moment; the highest that holds wins.
    pub fn status(&self, now: Timestamp) -> AgentStatus {
        let suspended = self.suspension.as_ref().is_some_and(|held| held.holds(now));
        let suspended = suspended || self.has_expired(now);
        if self.archived_at.is_some() {
            AgentStatus::Archived
        } else if self.stop.is_some() {
            AgentStatus::Stopped
        } else if suspended {
            AgentStatus::Suspended
        } else {
            AgentStatus::Active
        }
    }

    /// Whether its time is over at this moment.
    pub fn has_expired(&self, now: Timestamp) -> bool {
        self.expires_at.is_some_and(|end| end <= now)
    }
}

impl Row for Agent {
    type Key = AgentId;

    fn key(&self) -> AgentId {
        self.id
    }
}
