//! The keys of agents and the org's own as requests describe and responses show them.

use std::time::Duration;

use admin::{KeyMode, KeyText, KeyUse, NewKey};
use ledger::record::{ApiKey, Holder};
use model::{AgentId, KeyId, Scope, Timestamp};
use serde::Serialize;
use serde_json::Value;
use web::{ApiError, Call, Fields, FromJson, Word};

/// A key of an agent or of the org's own. Its text is shown by the answer that made it, and by no
/// other.
#[derive(Debug, Serialize)]
pub(crate) struct KeyView<'a> {
    object: &'static str,
    id: KeyId,
    #[serde(flatten)]
    of_agent: Option<OfAgent>,
    name: &'a str,
    status: &'static str,
    scopes: &'a [Scope],
    hint: &'a str,
    created_at: Timestamp,
    expires_at: Option<Timestamp>,
    revoked_at: Option<Timestamp>,
    last_used_at: Option<Timestamp>,
    last_used_ip_prefix: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    secret: Option<&'a str>,
}

/// What a key of an agent has besides.
#[derive(Debug, Serialize)]
struct OfAgent {
    agent: AgentId,
    livemode: bool,
}

impl<'a> KeyView<'a> {
    /// The key as it stands at this moment.
    pub(crate) fn of(key: &'a ApiKey, now: Timestamp) -> Self {
        let (object, of_agent) = match key.holder {
            Holder::Agent(agent) => ("agent_key", Some(OfAgent { agent, livemode: key.livemode })),
            Holder::Org => ("api_key", None),
        };
        Self {
            object,
            id: key.id,
            of_agent,
            name: &key.name,
            status: key.status(now),
            scopes: &key.scopes,
            hint: &key.hint,
            created_at: key.created_at,
            expires_at: key.expires_at,
            revoked_at: key.revoked_at,
            last_used_at: None,
            last_used_ip_prefix: None,
            secret: None,
        }
    }

    /// The key as one that was last used so.
    pub(crate) fn used(self, last: Option<KeyUse>) -> Self {
        let network = last.and_then(|last| last.network);
        Self {
            last_used_at: last.map(|last| last.at),
            last_used_ip_prefix: network.map(|network| network.to_string()),
            ..self
        }
    }

    /// The key with its text, for whoever just made it.
    pub(crate) fn with_secret(self, text: &'a KeyText) -> Self {
        Self { secret: Some(text.secret().expose()), ..self }
    }
}

/// Reads the body of `POST /v1/agents/{id}/keys`.
pub(crate) fn key_new(call: &Call) -> Result<NewKey, ApiError> {
    let mut fields = call.fields()?;
    let live = fields.optional::<bool>("livemode")?.unwrap_or(true);
    let mode = if live { KeyMode::Live } else { KeyMode::Test };
    with_mode(mode, fields)
}

/// Reads the body of `POST /v1/api_keys`.
pub(crate) fn org_key_new(call: &Call) -> Result<NewKey, ApiError> {
    with_mode(KeyMode::Live, call.fields()?)
}

fn with_mode(mode: KeyMode, mut fields: Fields) -> Result<NewKey, ApiError> {
    let name = fields.required("name")?;
    let scopes: Vec<Value> = fields.required("scopes")?;
    let scope = |value| Word::<Scope>::from_json(value).map(|Word(scope)| scope);
    let scopes: Result<Vec<_>, _> = scopes.into_iter().map(scope).collect();
    let scopes = scopes.map_err(|problem| fields.error("scopes", problem))?;
    let expires_at = fields.optional("expires_at")?;
    fields.finish()?;
    Ok(NewKey { name, scopes, mode, expires_at })
}

/// Reads the body by which a key is replaced: for how long the old one lives on.
pub(crate) fn roll_overlap(call: &Call) -> Result<Duration, ApiError> {
    let mut fields = call.fields()?;
    let seconds: u32 = fields.required("expires_in")?;
    fields.finish()?;
    Ok(Duration::from_secs(seconds.into()))
}
