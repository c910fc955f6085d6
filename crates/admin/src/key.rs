//! Making, replacing and revoking API keys.

mod adding;

use std::time::Duration;

use act::{ActError, By, Changed, Fact, Record};
use deed::Subject;
use ledger::{
    Needs,
    record::{ApiKey, Holder},
};
use model::{AgentId, EventType, KeyId, Scope, Timestamp};
use serde_json::{Value, json};

use self::adding::{Adding, owns};
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

/// How often a change is decided anew because another key was made meanwhile.
const TRIES: usize = 24;
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
        self.keys_of(Holder::Agent(agent), after, limit).await
    }

    /// Returns the org's own keys behind this place, newest first; those that were revoked too.
    pub async fn org_keys(
        &self,
        after: Option<(Timestamp, KeyId)>,
        limit: usize,
    ) -> Result<Page<ApiKey>, ChangeError> {
        self.keys_of(Holder::Org, after, limit).await
    }

    async fn keys_of(
        &self,
        holder: Holder,
        after: Option<(Timestamp, KeyId)>,
        limit: usize,
    ) -> Result<Page<ApiKey>, ChangeError> {
        let store = &self.admin.parts.store;
        let more = limit.saturating_add(1);
        Ok(Page::of(store.keys_of(self.org, holder, after, more).await?, limit))
    }
}

impl OrgChange<'_> {
    /// Makes a key for an agent.
    pub async fn create_agent_key(
        &self,
        agent: AgentId,
        new: NewKey,
    ) -> Result<ShownKey, ChangeError> {
        self.made(Holder::Agent(agent), new, None).await
    }

    /// Makes a key with what another one of the agent was made with; the other one ends after this
    /// time, if it does not end before.
    pub async fn roll_agent_key(
        &self,
        agent: AgentId,
        id: KeyId,
        lives: Duration,
    ) -> Result<ShownKey, ChangeError> {
        self.roll(Holder::Agent(agent), id, lives).await
    }

    /// Makes a key of the org's own; no key may make one, and of the members owners alone.
    pub async fn create_org_key(&self, new: NewKey) -> Result<ShownKey, ChangeError> {
        self.by_a_person()?;
        self.made(Holder::Org, new, None).await
    }

    /// Makes a key with what another one of the org's own was made with, as
    /// [`OrgChange::roll_agent_key`] does.
    pub async fn roll_org_key(&self, id: KeyId, lives: Duration) -> Result<ShownKey, ChangeError> {
        self.by_a_person()?;
        self.roll(Holder::Org, id, lives).await
    }

    async fn roll(
        &self,
        holder: Holder,
        id: KeyId,
        lives: Duration,
    ) -> Result<ShownKey, ChangeError> {
        if lives > LONGEST_OVERLAP {
            return Err(ActError::bad_input("expires_in", "0 to 604800 seconds").into());
        }
        let found = self.admin.parts.store.api_key(id).await?;
        let is_meant = |key: &ApiKey| key.org == self.org && key.holder == holder;
        let old = found.filter(is_meant).ok_or(ActError::NotFound("API key"))?;
        let new = NewKey {
            name: old.name.clone(),
            scopes: old.scopes.clone(),
            mode: if old.livemode { KeyMode::Live } else { KeyMode::Test },
            expires_at: old.expires_at,
        };
        let made = self.made(holder, new, Some((id, lives))).await?;
        self.admin.keys.forget(&id);
        Ok(made)
    }

    async fn made(
        &self,
        holder: Holder,
        new: NewKey,
        replaces: Option<(KeyId, Duration)>,
    ) -> Result<ShownKey, ChangeError> {
        let (key, text) = self.drafted(holder, new)?;
        Ok(ShownKey { key: self.add_key(key, replaces).await?, text })
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
        self.revoke(id, Some(Holder::Agent(agent))).await
    }

    /// Revokes a key of the org's own for good.
    pub async fn revoke_org_key(&self, id: KeyId) -> Result<Changed<ApiKey>, ChangeError> {
        self.revoke(id, Some(Holder::Org)).await
    }

    async fn revoke(&self, id: KeyId, of: Option<Holder>) -> Result<Changed<ApiKey>, ChangeError> {
        let needs = Needs { keys: [id].into(), ..Needs::default() };
        let revoked = self.turn(needs, None, move |at, record| {
            let is_meant = |key: &&ApiKey| of.is_none_or(|of| key.holder == of);
            let before = at.key(id).filter(is_meant).ok_or(ActError::NotFound("API key"))?;
            if before.holder == Holder::Org {
                owns(record.by(), at)?;
            }
            if before.revoked_at.is_some() {
                return Err(ActError::Conflict("the API key is already revoked").into());
            }
            let after = ApiKey { revoked_at: Some(at.now()), ..before.clone() };
            Ok::<_, ChangeError>(changed(record, KeyEvent::Revoked, Some(before), after))
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
            made_by: match self.by {
                By::Member { user, .. } => Some(user),
                By::Operator | By::OrgKey(_) | By::Person(_) | By::Service => None,
            },
            rolled_to: None,
        };
        Ok((key, text))
    }

    /// Adds a key to those of its holder, of which there may be so many; it may replace one.
    ///
    /// Which keys there are is read before the turn. The holder's row counts them, so that a turn
    /// that knows of another count decides nothing, and is asked again.
    async fn add_key(
        &self,
        key: ApiKey,
        replaces: Option<(KeyId, Duration)>,
    ) -> Result<Changed<ApiKey>, ChangeError> {
        for _ in 0..TRIES {
            let counted = self.keys_made(key.holder).await?;
            let valid = self.admin.parts.store.valid_keys_of(self.org, key.holder).await?;
            let mut needs = match key.holder {
                Holder::Agent(agent) => agent::needed(agent),
                Holder::Org => Needs::default(),
            };
            needs.keys = valid.iter().map(|key| key.id).collect();
            needs.keys.extend(replaces.map(|(old, _)| old));
            let (key, ids) = (key.clone(), needs.keys.clone());
            let made = self.turn(needs, None, move |at, record| {
                Adding { counted, ids: &ids, replaces }.decide(key.clone(), at, record)
            });
            if let Some(made) = made.await? {
                return Ok(made);
            }
        }
        Err(ActError::Conflict("other keys are being created at the same time; try again").into())
    }

    async fn keys_made(&self, holder: Holder) -> Result<u32, ChangeError> {
        let store = &self.admin.parts.store;
        Ok(match holder {
            Holder::Agent(agent) => {
                store.agent(self.org, agent).await?.map_or(0, |agent| agent.keys_made)
            }
            Holder::Org => store.org(self.org).await?.map_or(0, |org| org.keys_made),
        })
    }

    /// Refuses keys: what they make must not outlive them unseen.
    pub(crate) fn by_a_person(&self) -> Result<(), ChangeError> {
        match self.by {
            By::Operator | By::Member { .. } => Ok(()),
            By::OrgKey(_) | By::Person(_) | By::Service => Err(ChangeError::PersonRequired),
        }
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
        (Holder::Org, KeyEvent::Created) => {
            (EventType::ApiKeyCreated, Subject::api_key(after.id), "api_key")
        }
        (Holder::Org, KeyEvent::Rolled(_)) => {
            (EventType::ApiKeyRolled, Subject::api_key(after.id), "api_key")
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
