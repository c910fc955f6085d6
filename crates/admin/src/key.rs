//! Making, replacing and revoking API keys.

use std::{collections::BTreeSet, time::Duration};

use act::{ActError, By, Changed, Fact, Record};
use deed::Subject;
use ledger::{
    Needs, Snapshot,
    record::{Agent, ApiKey, Holder},
};
use model::{AgentId, EventType, KeyId, Scope, Timestamp};
use serde_json::{Value, json};

use crate::{ChangeError, KeyMode, KeyText, OrgChange, OrgView, Page, agent, input};

/// What a key is made with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewKey {
    /// Its name.
    pub name: String,
    /// What it may do: `actions:read` and `actions:execute` for an agent's, `admin` or
    /// `admin:read` for the org's own.
    pub scopes: Vec<Scope>,
    /// Whether its actions are tests.
    pub mode: KeyMode,
    /// When it ends by itself; within a year for the org's own.
    pub expires_at: Option<Timestamp>,
}

/// A key that was just made, with its text.
#[derive(Debug, Clone)]
pub struct ShownKey {
    /// The key and the deed that it was made.
    pub key: Changed<ApiKey>,
    /// The key's text, which is shown this once and kept nowhere.
    pub text: KeyText,
}

/// The most keys of one agent that open something at a time.
const MOST: usize = 8;
/// How often a change is decided anew because another key was made meanwhile.
const TRIES: usize = 3 * MOST;
/// The longest that a key lives on beside the one that replaces it.
const LONGEST_OVERLAP: Duration = Duration::from_hours(7 * 24);

impl OrgView<'_> {
    /// Returns keys of an agent behind this place, newest first; those that were revoked too.
    pub async fn agent_keys(
        &self,
        agent: AgentId,
        after: Option<(Timestamp, KeyId)>,
        limit: usize,
    ) -> Result<Page<ApiKey>, ChangeError> {
        self.agent(agent).await?;
        let store = &self.admin.parts.store;
        let more = limit.saturating_add(1);
        Ok(Page::of(store.agent_keys(self.org, agent, after, more).await?, limit))
    }
}

impl OrgChange<'_> {
    /// Makes a key for an agent.
    pub async fn create_agent_key(
        &self,
        agent: AgentId,
        new: NewKey,
    ) -> Result<ShownKey, ChangeError> {
        let (key, text) = self.drafted(Holder::Agent(agent), new)?;
        let key = self.add_agent_key(agent, key, None).await?;
        Ok(ShownKey { key, text })
    }

    /// Makes a key with what another one of the agent was made with; the other one ends after this
    /// time, if it does not end before.
    pub async fn roll_agent_key(
        &self,
        agent: AgentId,
        id: KeyId,
        lives: Duration,
    ) -> Result<ShownKey, ChangeError> {
        if lives > LONGEST_OVERLAP {
            return Err(ActError::bad_input("expires_in", "0 to 604800 seconds").into());
        }
        let found = self.admin.parts.store.api_key(id).await?;
        let of_agent = |key: &ApiKey| key.org == self.org && key.holder == Holder::Agent(agent);
        let old = found.filter(of_agent).ok_or(ActError::NotFound("API key"))?;
        let new = NewKey {
            name: old.name.clone(),
            scopes: old.scopes.clone(),
            mode: if old.livemode { KeyMode::Live } else { KeyMode::Test },
            expires_at: old.expires_at,
        };
        let (key, text) = self.drafted(old.holder, new)?;
        let key = self.add_agent_key(agent, key, Some((id, lives))).await?;
        self.admin.keys.forget(&id);
        Ok(ShownKey { key, text })
    }

    /// Makes a key of the org's own; no key may make one.
    pub async fn create_org_key(&self, new: NewKey) -> Result<ShownKey, ChangeError> {
        self.by_a_person()?;
        let (key, text) = self.drafted(Holder::Org, new)?;
        let made = self.turn(Needs::default(), None, move |at, record| {
            let expires_at = input::expiry(key.holder, key.expires_at, at.now())?;
            let key = ApiKey { created_at: at.now(), expires_at, ..key.clone() };
            Ok::<_, ChangeError>(changed(record, KeyEvent::Created, None, key))
        });
        Ok(ShownKey { key: made.await?, text })
    }

    /// Revokes a key for good; nothing starts with it once this has answered.
    pub async fn revoke_key(&self, id: KeyId) -> Result<Changed<ApiKey>, ChangeError> {
        self.revoke(id, None).await
    }

    /// Revokes a key of this agent for good.
    pub async fn revoke_agent_key(
        &self,
        agent: AgentId,
        id: KeyId,
    ) -> Result<Changed<ApiKey>, ChangeError> {
        self.revoke(id, Some(agent)).await
    }

    async fn revoke(&self, id: KeyId, of: Option<AgentId>) -> Result<Changed<ApiKey>, ChangeError> {
        let needs = Needs { keys: [id].into(), ..Needs::default() };
        let revoked = self.turn(needs, None, move |at, record| {
            let is_meant = |key: &&ApiKey| of.is_none_or(|of| key.holder == Holder::Agent(of));
            let before = at.key(id).filter(is_meant).ok_or(ActError::NotFound("API key"))?;
            match (before.holder, record.by()) {
                (Holder::Org, By::OrgKey(_) | By::Person(_) | By::Service) => {
                    return Err(ChangeError::PersonRequired);
                }
                (Holder::Agent(_), _) | (Holder::Org, By::Operator | By::Member { .. }) => {}
            }
            if before.revoked_at.is_some() {
                return Err(ActError::Conflict("the API key is already revoked").into());
            }
            let after = ApiKey { revoked_at: Some(at.now()), ..before.clone() };
            Ok(changed(record, KeyEvent::Revoked, Some(before), after))
        });
        let revoked = revoked.await?;
        self.admin.keys.forget(&id);
        Ok(revoked)
    }

    /// A key that is not there yet, and its text.
    fn drafted(&self, holder: Holder, new: NewKey) -> Result<(ApiKey, KeyText), ChangeError> {
        let mint = self.admin.mint();
        let id = mint.id(KeyId::from_uuid);
        let text = KeyText::generate(&mint, id, new.mode);
        let key = ApiKey {
            id,
            org: self.org,
            holder,
            name: input::title(&new.name)?,
            scopes: input::scopes(holder, &new.scopes)?,
            livemode: new.mode.is_live(),
            mac: text.mac(&self.admin.parts.pepper),
            hint: text.hint(),
            created_at: Timestamp::EPOCH,
            expires_at: new.expires_at,
            revoked_at: None,
        };
        Ok((key, text))
    }

    /// Adds a key to those of an agent, of which there may be so many; it may replace one.
    ///
    /// Which keys the agent has is read before the turn. The agent's row counts them, so that a turn
    /// that knows of another count decides nothing, and is asked again.
    async fn add_agent_key(
        &self,
        agent: AgentId,
        key: ApiKey,
        replaces: Option<(KeyId, Duration)>,
    ) -> Result<Changed<ApiKey>, ChangeError> {
        let store = &self.admin.parts.store;
        for _ in 0..TRIES {
            let counted = store.agent(self.org, agent).await?.map_or(0, |agent| agent.keys_made);
            let valid = store.valid_agent_keys(self.org, agent).await?;
            let mut needs = agent::needed(agent);
            needs.keys = valid.iter().map(|key| key.id).collect();
            needs.keys.extend(replaces.map(|(old, _)| old));
            let (key, ids) = (key.clone(), needs.keys.clone());
            let made = self.turn(needs, None, move |at, record| {
                let adding = Adding { agent, counted, ids: &ids, replaces };
                adding.decide(key.clone(), at, record)
            });
            if let Some(made) = made.await? {
                return Ok(made);
            }
        }
        Err(ActError::Conflict("other keys of the agent are being made; ask again").into())
    }

    /// Refuses keys: what they make must not outlive them unseen.
    pub(crate) fn by_a_person(&self) -> Result<(), ChangeError> {
        match self.by {
            By::Operator | By::Member { .. } => Ok(()),
            By::OrgKey(_) | By::Person(_) | By::Service => Err(ChangeError::PersonRequired),
        }
    }
}

/// A key that is added to those of an agent.
struct Adding<'a> {
    agent: AgentId,
    /// How many keys had been made when the ids were read.
    counted: u32,
    ids: &'a BTreeSet<KeyId>,
    replaces: Option<(KeyId, Duration)>,
}

impl Adding<'_> {
    /// The key as it was added; nothing where other keys were made since its kin were read.
    fn decide(
        &self,
        key: ApiKey,
        at: &Snapshot,
        record: &mut Record<'_>,
    ) -> Result<Option<Changed<ApiKey>>, ChangeError> {
        let agent = agent::live(at, self.agent)?;
        if agent.system {
            return Err(ActError::Conflict("this agent has no keys").into());
        }
        if agent.keys_made != self.counted {
            return Ok(None);
        }
        let ended = self.replaces.map(|replaced| self.ended(replaced, at)).transpose()?;
        let expires_at = input::expiry(key.holder, key.expires_at, at.now())?;
        let key = ApiKey { created_at: at.now(), expires_at, ..key };
        let stays = |id: &&KeyId| match &ended {
            Some((before, after)) if before.id == **id => after.is_valid(at.now()),
            _ => at.key(**id).is_some_and(|key| key.is_valid(at.now())),
        };
        if self.ids.iter().filter(stays).count() >= MOST {
            return Err(ChangeError::LimitReached("the agent has 8 keys, the most there may be"));
        }
        record.write(Agent { keys_made: agent.keys_made.saturating_add(1), ..agent.clone() });
        let Some((before, after)) = ended else {
            return Ok(Some(changed(record, KeyEvent::Created, None, key)));
        };
        let made = changed(record, KeyEvent::Rolled(before.id), Some(before), key);
        if after.revoked_at.is_some() {
            changed(record, KeyEvent::Revoked, Some(before), after);
        } else {
            record.write(after);
        }
        Ok(Some(made))
    }

    /// The key that is replaced, and the form in which it ends.
    fn ended<'s>(
        &self,
        (id, lives): (KeyId, Duration),
        at: &'s Snapshot,
    ) -> Result<(&'s ApiKey, ApiKey), ChangeError> {
        let of_agent = |key: &&ApiKey| key.holder == Holder::Agent(self.agent);
        let before = at.key(id).filter(of_agent).ok_or(ActError::NotFound("API key"))?;
        if !before.is_valid(at.now()) {
            return Err(ActError::Conflict("the API key opens nothing any more").into());
        }
        if lives.is_zero() {
            return Ok((before, ApiKey { revoked_at: Some(at.now()), ..before.clone() }));
        }
        let end = at.now() + lives;
        let end = before.expires_at.map_or(end, |earlier| earlier.min(end));
        Ok((before, ApiKey { expires_at: Some(end), ..before.clone() }))
    }
}

/// Adds an API key in its new form.
pub(crate) fn changed(
    record: &mut Record<'_>,
    event: KeyEvent,
    before: Option<&ApiKey>,
    after: ApiKey,
) -> Changed<ApiKey> {
    let (word, subject, noun) = match (after.holder, event) {
        (Holder::Agent(_), KeyEvent::Created) => {
            (EventType::AgentKeyCreated, Subject::agent_key(after.id), "agent_key")
        }
        (Holder::Agent(_), KeyEvent::Rolled(_)) => {
            (EventType::AgentKeyRolled, Subject::agent_key(after.id), "agent_key")
        }
        (Holder::Agent(_), KeyEvent::Revoked) => {
            (EventType::AgentKeyRevoked, Subject::agent_key(after.id), "agent_key")
        }
        // No key of the org's own is rolled; its successor would be one that was made.
        (Holder::Org, KeyEvent::Created | KeyEvent::Rolled(_)) => {
            (EventType::ApiKeyCreated, Subject::api_key(after.id), "api_key")
        }
        (Holder::Org, KeyEvent::Revoked) => {
            (EventType::ApiKeyRevoked, Subject::api_key(after.id), "api_key")
        }
    };
    let mut data = vec![
        ("scopes", json!(after.scopes)),
        ("livemode", json!(after.livemode)),
        ("expires_at", json!(after.expires_at)),
    ];
    if let Holder::Agent(agent) = after.holder {
        data.push(("agent", json!(agent)));
    }
    if let KeyEvent::Rolled(replaced) = event {
        data.push(("replaces", json!(replaced)));
    }
    let status = after.status(record.now());
    let deed = record.seal(Fact {
        event: word,
        subject,
        before: before.map(without_mac),
        after: Some(without_mac(&after)),
        data,
        object: json!({ "object": noun, "id": after.id, "status": status }),
    });
    record.write(after.clone());
    Changed { object: after, deed }
}

/// What happened to an API key; the event is named by its holder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyEvent {
    Created,
    /// It takes the place of this one.
    Rolled(KeyId),
    Revoked,
}

fn without_mac(key: &ApiKey) -> Value {
    let mut value = json!(key);
    if let Some(members) = value.as_object_mut() {
        members.remove("mac");
    }
    value
}
