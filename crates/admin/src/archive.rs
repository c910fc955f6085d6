//! Archiving an agent: it is gone for good, its keys with it.

use std::collections::BTreeSet;

use act::{ActError, Changed, Reason, Record};
use ledger::{
    Snapshot,
    record::{Agent, ApiKey, Holder},
};
use model::{AgentId, EventType, KeyId};

use crate::{
    ChangeError, OrgChange, agent,
    key::{self, KeyEvent},
    stop,
};

/// How often the change is decided anew because a key was made meanwhile.
const TRIES: usize = 24;

impl OrgChange<'_> {
    /// Archives an agent for good: its keys are revoked, approvals that its calls wait for are void,
    /// and its name is free again.
    ///
    /// Which keys the agent has is read before the turn, as where one is added to them.
    pub async fn archive_agent(
        &self,
        id: AgentId,
        reason: &str,
    ) -> Result<Changed<Agent>, ChangeError> {
        let reason = Reason::parse(reason)?;
        let store = &self.admin.parts.store;
        for _ in 0..TRIES {
            let counted = store.agent(self.org, id).await?.map_or(0, |agent| agent.keys_made);
            let valid = store.valid_keys_of(self.org, Holder::Agent(id)).await?;
            let mut needs = agent::needed(id);
            needs.keys = valid.iter().map(|key| key.id).collect();
            let keys = needs.keys.clone();
            let archived = self.turn(needs, Some(reason.clone()), move |at, record| {
                archived(at, record, (id, counted, &keys))
            });
            if let Some(archived) = archived.await? {
                for key in valid {
                    self.admin.keys.forget(&key.id);
                }
                return Ok(archived);
            }
        }
        Err(ActError::Conflict("keys of the agent are being created; try again").into())
    }
}

/// The agent as it was archived; nothing where keys were made since they were counted.
fn archived(
    at: &Snapshot,
    record: &mut Record<'_>,
    (id, counted, keys): (AgentId, u32, &BTreeSet<KeyId>),
) -> Result<Option<Changed<Agent>>, ActError> {
    let before = agent::live(at, id)?;
    if before.system {
        return Err(ActError::Conflict("the service's own agent cannot be archived"));
    }
    if before.keys_made != counted {
        return Ok(None);
    }
    let now = Some(at.now());
    for before in keys.iter().filter_map(|key| at.key(*key)) {
        if before.is_valid(at.now()) {
            let after = ApiKey { revoked_at: now, ..before.clone() };
            key::changed(record, KeyEvent::Revoked, Some(before), after);
        }
    }
    let voided = Some(stop::voided(record));
    let after = Agent { archived_at: now, voids: now, voided, ..before.clone() };
    Ok(Some(agent::changed(record, EventType::AgentArchived, Some(before), after)))
}
