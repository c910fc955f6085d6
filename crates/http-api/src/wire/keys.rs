//! The keys of agents as requests describe and responses show them.

use std::time::Duration;

use admin::{KeyMode, KeyText, NewKey};
use ledger::record::ApiKey;
use model::{AgentId, KeyId, Scope, Timestamp};
use serde::Serialize;
use serde_json::Value;
use web::{ApiError, Call, FromJson, Word};

/// A key of an agent. Its text is shown by the answer that made it, and by no other.
#[derive(Debug, Serialize)]
pub(crate) struct KeyView<'a> {
    object: &'static str,
    id: KeyId,
    agent: AgentId,
    name: &'a str,
    status: &'static str,
    scopes: &'a [Scope],
    livemode: bool,
    hint: &'a str,
    created_at: Timestamp,
    expires_at: Option<Timestamp>,
    revoked_at: Option<Timestamp>,
    last_used_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    secret: Option<&'a str>,
}

impl<'a> KeyView<'a> {
    /// The key as it stands at this moment.
    pub(crate) fn of(agent: AgentId, key: &'a ApiKey, now: Timestamp) -> Self {
        Self {
            object: "agent_key",
            id: key.id,
            agent,
            name: &key.name,
            status: key.status(now),
            scopes: &key.scopes,
            livemode: key.livemode,
            hint: &key.hint,
            created_at: key.created_at,
            expires_at: key.expires_at,
            revoked_at: key.revoked_at,
            last_used_at: None,
            secret: None,
        }
    }

    /// The key as one that was last used then.
    pub(crate) fn used(self, last_used_at: Option<Timestamp>) -> Self {
        Self { last_used_at, ..self }
    }

    /// The key with its text, for whoever just made it.
    pub(crate) fn with_secret(self, text: &'a KeyText) -> Self {
        Self { secret: Some(text.secret().expose()), ..self }
    }
}

/// Reads the body of `POST /v1/agents/{id}/keys`.
pub(crate) fn key_new(call: &Call) -> Result<NewKey, ApiError> {
    let mut fields = call.fields()?;
    let name = fields.required("name")?;
    let scopes: Vec<Value> = fields.required("scopes")?;
    let scope = |value| Word::<Scope>::from_json(value).map(|Word(scope)| scope);
    let scopes: Result<Vec<_>, _> = scopes.into_iter().map(scope).collect();
    let scopes = scopes.map_err(|problem| fields.error("scopes", problem))?;
    let live = fields.optional::<bool>("livemode")?.unwrap_or(true);
    let mode = if live { KeyMode::Live } else { KeyMode::Test };
    let expires_at = fields.optional("expires_at")?;
    fields.finish()?;
    Ok(NewKey { name, scopes, mode, expires_at })
}

/// Reads the body of `POST /v1/agents/{id}/keys/{key}/roll`: for how long the old key lives on.
pub(crate) fn roll_overlap(call: &Call) -> Result<Duration, ApiError> {
    let mut fields = call.fields()?;
    let seconds: u32 = fields.required("expires_in")?;
    fields.finish()?;
    Ok(Duration::from_secs(seconds.into()))
}
