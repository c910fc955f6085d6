//! Making, describing and listing agents.

use std::collections::BTreeMap;

use act::{ActError, Changed, Fact, Record};
use deed::Subject;
use ledger::{
    LedgerError, Needs, Snapshot,
    record::{Agent, Member},
};
use model::{AgentId, EventType, IntentMode, MemberId, Mode, Timestamp};
use serde_json::json;

use crate::{AgentList, ChangeError, Expected, OrgChange, OrgView, Page, input};

/// What an agent is made with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewAgent {
    /// Its name, unique in the org: 1 to 64 characters of `a-z0-9_-`.
    pub name: String,
    /// What it is for; may be empty.
    pub description: String,
    /// Facts about it that policies may ask for.
    pub labels: BTreeMap<String, String>,
    /// Whether its calls must be signed.
    pub intent_mode: IntentMode,
    /// In which ways its calls may be run.
    pub modes: Vec<Mode>,
    /// The member who answers for it.
    pub owner: Option<MemberId>,
    /// When its time is over.
    pub expires_at: Option<Timestamp>,
}

impl NewAgent {
    /// An agent of this name whose calls need no signature and may be run in every way, and about which
    /// nothing else is said.
    pub fn named(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            description: String::new(),
            labels: BTreeMap::new(),
            intent_mode: IntentMode::Off,
            modes: Mode::ALL.to_vec(),
            owner: None,
            expires_at: None,
        }
    }
}

/// What becomes of something that need not be there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Wish<T> {
    /// It stays as it is.
    #[default]
    Stays,
    /// It is taken away.
    Goes,
    /// It becomes this.
    Becomes(T),
}

impl<T: Copy> Wish<T> {
    pub(crate) fn over(self, before: Option<T>) -> Option<T> {
        match self {
            Self::Stays => before,
            Self::Goes => None,
            Self::Becomes(value) => Some(value),
        }
    }

    fn named(self) -> Option<T> {
        self.over(None)
    }
}

/// What is to be changed of an agent; what is absent stays.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AgentEdit {
    /// The name.
    pub name: Option<String>,
    /// What it is for.
    pub description: Option<String>,
    /// All of its labels.
    pub labels: Option<BTreeMap<String, String>>,
    /// Whether its calls must be signed.
    pub intent_mode: Option<IntentMode>,
    /// In which ways its calls may be run.
    pub modes: Option<Vec<Mode>>,
    /// The member who answers for it.
    pub owner: Wish<MemberId>,
    /// When its time is over.
    pub expires_at: Wish<Timestamp>,
    /// The revision that the change is made on.
    pub expected_revision: Expected<u32>,
}

impl OrgView<'_> {
    /// An agent of the org; one that is archived too.
    pub async fn agent(&self, id: AgentId) -> Result<Agent, ChangeError> {
        let found = self.admin.parts.store.agent(self.org, id).await?;
        found.ok_or_else(|| ActError::NotFound("agent").into())
    }

    /// Returns agents that are asked for, in the order of the list.
    pub async fn agents(
        &self,
        asked: &AgentList,
        limit: usize,
    ) -> Result<Page<Agent>, ChangeError> {
        let store = &self.admin.parts.store;
        Ok(Page::of(store.agents(self.org, asked, limit.saturating_add(1)).await?, limit))
    }
}

impl OrgChange<'_> {
    /// Makes an agent.
    pub async fn create_agent(&self, new: NewAgent) -> Result<Changed<Agent>, ChangeError> {
        let name = input::agent_name(&new.name)?;
        let agent = Agent {
            id: self.admin.mint().id(AgentId::from_uuid),
            org: self.org,
            name: name.clone(),
            description: input::description(&new.description)?,
            labels: input::labels(new.labels)?,
            intent_mode: new.intent_mode,
            modes: input::modes(&new.modes)?,
            owner: new.owner,
            expires_at: new.expires_at,
            system: false,
            stop: None,
            voids: None,
            voided: None,
            suspension: None,
            revision: 1,
            keys_made: 0,
            archived_at: None,
            created_at: model::Timestamp::EPOCH,
        };
        self.name_is_free(agent.id, &name).await?;
        let id = agent.id;
        let needs = Needs { members: new.owner.into_iter().collect(), ..Needs::default() };
        let made = self.turn(needs, None, move |at, record| {
            stands_for((agent.owner, agent.expires_at), at)?;
            let agent = Agent { created_at: at.now(), ..agent.clone() };
            Ok(changed(record, EventType::AgentCreated, None, agent))
        });
        self.unless_taken(id, Some(name), made.await).await
    }

    /// Changes what an agent is called, what is said of it and how its calls are looked at.
    pub async fn update_agent(
        &self,
        id: AgentId,
        edit: AgentEdit,
    ) -> Result<Changed<Agent>, ChangeError> {
        let name = edit.name.as_deref().map(input::agent_name).transpose()?;
        let description = edit.description.as_deref().map(input::description).transpose()?;
        let labels = edit.labels.clone().map(input::labels).transpose()?;
        let modes = edit.modes.as_deref().map(input::modes).transpose()?;
        let expected_revision = edit.expected_revision;
        if (AgentEdit { expected_revision, ..AgentEdit::default() }) == edit {
            let expected = "this field or another field of the agent; at least one is required";
            return Err(ActError::bad_input("name", expected).into());
        }
        if let Some(name) = &name {
            self.view().agent(id).await?;
            self.name_is_free(id, name).await?;
        }
        let new_name = name.clone();
        let (owner, expires_at) = (edit.owner, edit.expires_at);
        let needs = Needs { members: owner.named().into_iter().collect(), ..needed(id) };
        let changed = self.turn(needs, None, move |at, record| {
            let before = live(at, id)?;
            if edit.expected_revision.is_not(&before.revision) {
                let sentence = "`expected_revision` is not the current revision of the agent";
                return Err(ActError::Stale { param: "expected_revision", sentence });
            }
            if before.system {
                return Err(ActError::Conflict("the service's own agent cannot be changed"));
            }
            stands_for((owner.named(), expires_at.named()), at)?;
            let after = Agent {
                name: name.clone().unwrap_or_else(|| before.name.clone()),
                description: description.clone().unwrap_or_else(|| before.description.clone()),
                labels: labels.clone().unwrap_or_else(|| before.labels.clone()),
                intent_mode: edit.intent_mode.unwrap_or(before.intent_mode),
                modes: modes.clone().unwrap_or_else(|| before.modes.clone()),
                owner: owner.over(before.owner),
                expires_at: expires_at.over(before.expires_at),
                revision: before.revision.saturating_add(1),
                ..before.clone()
            };
            Ok(changed(record, EventType::AgentUpdated, Some(before), after))
        });
        self.unless_taken(id, new_name, changed.await).await
    }

    /// The store's unique key is the second guard of a name: of two who ask at once, one is refused.
    async fn unless_taken(
        &self,
        id: AgentId,
        name: Option<String>,
        outcome: Result<Changed<Agent>, ActError>,
    ) -> Result<Changed<Agent>, ChangeError> {
        if let (Err(ActError::Ledger(LedgerError::Fault)), Some(name)) = (&outcome, name) {
            self.name_is_free(id, &name).await?;
        }
        Ok(outcome?)
    }

    async fn name_is_free(&self, id: AgentId, name: &str) -> Result<(), ChangeError> {
        let holder = self.admin.parts.store.agent_named(self.org, name).await?;
        match holder.filter(|agent| agent.id != id) {
            Some(_) => Err(ChangeError::NameTaken(name.to_owned())),
            None => Ok(()),
        }
    }
}

/// Looks at whoever shall answer for an agent, and at its end, where they are named.
fn stands_for(
    (owner, expires_at): (Option<MemberId>, Option<Timestamp>),
    at: &Snapshot,
) -> Result<(), ActError> {
    let is_member = |id| at.member(id).is_some_and(Member::is_live);
    if !owner.is_none_or(is_member) {
        return Err(ActError::bad_input("owner", "the id of a member of the org"));
    }
    if expires_at.is_some_and(|end| end <= at.now()) {
        return Err(ActError::bad_input("expires_at", "a time in the future"));
    }
    Ok(())
}

/// The agent that a turn loaded.
pub(crate) fn loaded(at: &Snapshot, id: AgentId) -> Result<&Agent, ActError> {
    at.agent(id).ok_or(ActError::NotFound("agent"))
}

/// The agent that a turn loaded, unless it is archived.
pub(crate) fn live(at: &Snapshot, id: AgentId) -> Result<&Agent, ActError> {
    let agent = loaded(at, id)?;
    if agent.archived_at.is_some() {
        return Err(ActError::Conflict("the agent is archived"));
    }
    Ok(agent)
}

/// The agent that a turn loaded, which is to be held by itself. The service's own is not: what it
/// does, such as undoing a call, is wanted most when something went wrong.
pub(crate) fn held_alone(at: &Snapshot, id: AgentId) -> Result<&Agent, ActError> {
    let agent = live(at, id)?;
    if agent.system {
        return Err(ActError::Conflict(
            "the service's own agent cannot be stopped or suspended individually; a Stop of the \
             whole org stops it too",
        ));
    }
    Ok(agent)
}

/// What a turn needs that changes this agent.
pub(crate) fn needed(id: AgentId) -> Needs {
    Needs { agents: [id].into(), ..Needs::default() }
}

/// Adds an agent in its new form.
pub(crate) fn changed(
    record: &mut Record<'_>,
    event: EventType,
    before: Option<&Agent>,
    after: Agent,
) -> Changed<Agent> {
    let status = after.status(record.now());
    let deed = record.seal(Fact {
        event,
        subject: Subject::agent(after.id),
        before: before.map(|agent| json!(agent)),
        after: Some(json!(after)),
        data: vec![("intent_mode", json!(after.intent_mode)), ("status", json!(status))],
        object: json!({ "object": "agent", "id": after.id, "status": status }),
    });
    record.write(after.clone());
    Changed { object: after, deed }
}
