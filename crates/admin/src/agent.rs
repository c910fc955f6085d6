//! Making agents.

use std::collections::BTreeMap;

use act::{ActError, Changed, Fact, Record};
use deed::Subject;
use ledger::{LedgerError, Needs, Snapshot, record::Agent};
use model::{AgentId, EventType, IntentMode};
use serde_json::json;

use crate::{ChangeError, OrgChange, input};

/// What an agent is made with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewAgent {
    /// Its name, unique in the org: 1 to 64 characters of `a-z0-9_-`.
    pub name: String,
    /// Facts about it that policies may ask for.
    pub labels: BTreeMap<String, String>,
    /// Whether its calls must be signed.
    pub intent_mode: IntentMode,
}

impl OrgChange<'_> {
    /// Makes an agent.
    pub async fn create_agent(&self, new: NewAgent) -> Result<Changed<Agent>, ChangeError> {
        let name = input::agent_name(&new.name)?;
        if self.has_agent_named(&name).await? {
            return Err(ChangeError::NameTaken(name));
        }
        let agent = Agent {
            id: self.admin.mint().id(AgentId::from_uuid),
            org: self.org,
            name: name.clone(),
            labels: input::labels(new.labels)?,
            intent_mode: new.intent_mode,
            system: false,
            stop: None,
            suspension: None,
            archived_at: None,
            created_at: model::Timestamp::EPOCH,
        };
        let made = self.turn(Needs::default(), None, move |at, record| {
            let agent = Agent { created_at: at.now(), ..agent.clone() };
            Ok(changed(record, EventType::AgentCreated, None, agent))
        });
        match made.await {
            // The store's unique key is the second guard: of two who ask at once, one is refused.
            Err(ChangeError::Act(ActError::Ledger(LedgerError::Fault)))
                if self.has_agent_named(&name).await? =>
            {
                Err(ChangeError::NameTaken(name))
            }
            outcome => outcome,
        }
    }

    async fn has_agent_named(&self, name: &str) -> Result<bool, ChangeError> {
        Ok(self.admin.parts.store.agent_named(self.org, name).await?.is_some())
    }
}

/// The agent that a turn loaded.
pub(crate) fn loaded(at: &Snapshot, id: AgentId) -> Result<&Agent, ActError> {
    at.agent(id).ok_or(ActError::NotFound("agent"))
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
