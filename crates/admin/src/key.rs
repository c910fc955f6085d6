//! Making and revoking API keys.

use act::{ActError, By, Changed, Fact, Record};
use deed::Subject;
use ledger::{
    Needs,
    record::{ApiKey, Holder},
};
use model::{AgentId, EventType, KeyId, Scope, Timestamp};
use serde_json::{Value, json};

use crate::{ChangeError, KeyMode, KeyText, OrgChange, agent, input};

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

impl OrgChange<'_> {
    /// Makes a key for an agent.
    pub async fn create_agent_key(
        &self,
        agent: AgentId,
        new: NewKey,
    ) -> Result<ShownKey, ChangeError> {
        self.create_key(Holder::Agent(agent), new).await
    }

    /// Makes a key of the org's own; no key may make one.
    pub async fn create_org_key(&self, new: NewKey) -> Result<ShownKey, ChangeError> {
        self.by_a_person()?;
        self.create_key(Holder::Org, new).await
    }

    /// Revokes a key for good; nothing starts with it once this has answered.
    pub async fn revoke_key(&self, id: KeyId) -> Result<Changed<ApiKey>, ChangeError> {
        let needs = Needs { keys: [id].into(), ..Needs::default() };
        let revoked = self.turn(needs, None, move |at, record| {
            let before = at.key(id).ok_or(ActError::NotFound("API key"))?;
            match (before.holder, record.by()) {
                (Holder::Org, By::OrgKey(_) | By::Service) => {
                    return Err(ChangeError::PersonRequired);
                }
                (Holder::Agent(_), _) | (Holder::Org, By::Operator) => {}
            }
            if before.revoked_at.is_some() {
                return Err(ActError::Conflict("the API key is already revoked").into());
            }
            let after = ApiKey { revoked_at: Some(at.now()), ..before.clone() };
            Ok(changed(record, KeyEvent::Revoked, Some(before), after))
        });
        let revoked = revoked.await?;
        self.admin.keys.forget(id);
        Ok(revoked)
    }

    async fn create_key(&self, holder: Holder, new: NewKey) -> Result<ShownKey, ChangeError> {
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
        let needs = match holder {
            Holder::Agent(agent) => agent::needed(agent),
            Holder::Org => Needs::default(),
        };
        let made = self.turn(needs, None, move |at, record| {
            if let Holder::Agent(agent) = holder {
                let agent = agent::loaded(at, agent)?;
                if agent.system || agent.archived_at.is_some() {
                    return Err(ActError::Conflict("this agent has no keys"));
                }
            }
            let expires_at = input::expiry(holder, key.expires_at, at.now())?;
            let key = ApiKey { created_at: at.now(), expires_at, ..key.clone() };
            Ok(changed(record, KeyEvent::Created, None, key))
        });
        Ok(ShownKey { key: made.await?, text })
    }

    fn by_a_person(&self) -> Result<(), ChangeError> {
        match self.by {
            By::Operator => Ok(()),
            By::OrgKey(_) | By::Service => Err(ChangeError::PersonRequired),
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
    let (event, subject, noun) = match (after.holder, event) {
        (Holder::Agent(_), KeyEvent::Created) => {
            (EventType::AgentKeyCreated, Subject::agent_key(after.id), "agent_key")
        }
        (Holder::Agent(_), KeyEvent::Revoked) => {
            (EventType::AgentKeyRevoked, Subject::agent_key(after.id), "agent_key")
        }
        (Holder::Org, KeyEvent::Created) => {
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
    let status = after.status(record.now());
    let deed = record.seal(Fact {
        event,
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
    Revoked,
}

fn without_mac(key: &ApiKey) -> Value {
    let mut value = json!(key);
    if let Some(members) = value.as_object_mut() {
        members.remove("mac");
    }
    value
}
