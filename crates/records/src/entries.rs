//! The history of an org: one entry for each thing that happened, without payloads.

use async_trait::async_trait;
use deed::Actor;
use event::Event;
use ledger::StoreDown;
use model::{AgentId, DeedId, EventType, OrgId, Timestamp};

use crate::deeds::{CallFilter, Subject, Window};

/// What an entry is about, in the large.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum EntryKind {
    /// What agents did.
    Action,
    /// What stands or moves: Stops, logs, seals.
    State,
    /// What administration changed.
    Admin,
    /// What people said of waiting actions.
    Approval,
    /// What became of policies.
    Policy,
    /// What became of connectors.
    Connector,
    /// What the witness saw.
    Witness,
}

impl EntryKind {
    /// Every kind.
    pub const ALL: [Self; 7] = [
        Self::Action,
        Self::State,
        Self::Admin,
        Self::Approval,
        Self::Policy,
        Self::Connector,
        Self::Witness,
    ];

    /// The word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Action => "action",
            Self::State => "state",
            Self::Admin => "admin",
            Self::Approval => "approval",
            Self::Policy => "policy",
            Self::Connector => "connector",
            Self::Witness => "witness",
        }
    }

    /// The kind that an event's type belongs to: by its family, and for changes of agents
    /// and orgs by whether they only stop and start.
    pub fn of(event: EventType) -> Self {
        let (family, what) = event.as_str().split_once('.').unwrap_or_default();
        match (family, what) {
            ("action", _) => Self::Action,
            ("approval", _) => Self::Approval,
            ("policy", _) => Self::Policy,
            ("connector" | "tool", _) => Self::Connector,
            ("witness", _) => Self::Witness,
            ("deed" | "chain" | "log" | "seal_key" | "retention", _)
            | (_, "stopped" | "started" | "suspended" | "resumed") => Self::State,
            (_, _) => Self::Admin,
        }
    }

    /// Every type of event of this kind.
    pub fn types(self) -> Vec<EventType> {
        EventType::ALL.iter().copied().filter(|event| Self::of(*event) == self).collect()
    }
}

/// What a search of the history shows; every absent filter lets everything through.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct EntryFilter {
    /// Of one of these types.
    pub types: Option<Vec<EventType>>,
    /// On this agent's own stream.
    pub agent: Option<AgentId>,
    /// Done by this one.
    pub actor: Option<By>,
    /// About this.
    pub subject: Option<Subject>,
    /// About actions that pass this.
    pub calls: CallFilter,
    /// At or after this moment.
    pub from: Option<Timestamp>,
    /// Before this moment.
    pub to: Option<Timestamp>,
}

/// Who is asked for by what was done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum By {
    /// An agent.
    Agent(AgentId),
    /// Whoever a deed names by this id: an org key, a person, a part of the service.
    Other(String),
}

/// One entry.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// What happened.
    pub event: Event,
    /// The name of the agent on whose stream it is.
    pub agent_name: Option<String>,
    /// The tool of the action that it is about.
    pub tool: Option<String>,
    /// The deed that says so.
    pub deed: Option<DeedId>,
    /// Who did it, where a deed of its own says so.
    pub actor: Option<Actor>,
}

/// Where the history is read.
#[async_trait]
pub trait EntryStore: Send + Sync {
    /// The place of the first event at or after this moment.
    async fn event_place_at(&self, org: OrgId, moment: Timestamp) -> Result<u64, StoreDown>;

    /// Returns entries of the window that the filter lets through, newest first. The filter's own
    /// moments are not looked at: the window has them.
    async fn entries(
        &self,
        org: OrgId,
        filter: &EntryFilter,
        window: Window,
    ) -> Result<Vec<Entry>, StoreDown>;
}
