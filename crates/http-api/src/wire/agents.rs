//! Agents as requests describe and responses show them.

use std::collections::BTreeMap;

use admin::{AgentEdit, AgentList, AgentPlace, NewAgent, Wish};
use gate::AgentFigures;
use ledger::record::{Agent, Stop, Suspension};
use model::{AgentId, AgentStatus, IntentMode, MemberId, Mode, Timestamp};
use serde::Serialize;
use serde_json::{Map, Value};
use web::{ApiError, Call, Fields, FromJson, Position, Query, Word};

use super::{overview::TodayView, policies::expected_revision};

/// An agent.
#[derive(Debug, Serialize)]
pub(crate) struct AgentView<'a> {
    object: &'static str,
    id: AgentId,
    name: &'a str,
    description: &'a str,
    status: AgentStatus,
    system: bool,
    owner: Option<MemberId>,
    intent_mode: IntentMode,
    modes: &'a [Mode],
    labels: &'a BTreeMap<String, String>,
    stop: Option<&'a Stop>,
    suspension: Option<&'a Suspension>,
    expires_at: Option<Timestamp>,
    revision: u32,
    created_at: Timestamp,
    archived_at: Option<Timestamp>,
}

impl<'a> AgentView<'a> {
    /// The agent as it stands at this moment; a suspension that has ended is not shown.
    pub(crate) fn of(agent: &'a Agent, now: Timestamp) -> Self {
        Self {
            object: "agent",
            id: agent.id,
            name: &agent.name,
            description: &agent.description,
            status: agent.status(now),
            system: agent.system,
            owner: agent.owner,
            intent_mode: agent.intent_mode,
            modes: &agent.modes,
            labels: &agent.labels,
            stop: agent.stop.as_ref(),
            suspension: agent.suspension.as_ref().filter(|held| held.holds(now)),
            expires_at: agent.expires_at,
            revision: agent.revision,
            created_at: agent.created_at,
            archived_at: agent.archived_at,
        }
    }
}

/// An agent and how it is used, as whoever reads it is shown.
#[derive(Debug, Serialize)]
pub(crate) struct AgentInUse<'a> {
    #[serde(flatten)]
    agent: AgentView<'a>,
    keys_count: u64,
    last_action_at: Option<Timestamp>,
    /// What it did since the day began where the org is; of one agent that is read, not in lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    today: Option<TodayView>,
}

impl<'a> AgentInUse<'a> {
    /// The agent with these figures.
    pub(crate) fn of(agent: AgentView<'a>, figures: AgentFigures) -> Self {
        let last_action_at = figures.last_at();
        Self { agent, keys_count: figures.keys, last_action_at, today: None }
    }

    /// The same, with what it did today.
    pub(crate) fn with(self, today: TodayView) -> Self {
        Self { today: Some(today), ..self }
    }
}

/// The position of an agent in a list, by its age or by its name.
pub(crate) struct ListPosition(pub(crate) AgentPlace);

impl Position for ListPosition {
    fn to_text(&self) -> String {
        let AgentPlace { created_at, name, id } = &self.0;
        format!("{} {name} {id}", created_at.unix_millis())
    }

    fn from_text(text: &str) -> Option<Self> {
        let (millis, rest) = text.split_once(' ')?;
        let (name, id) = rest.rsplit_once(' ')?;
        let created_at = Timestamp::from_unix_millis(millis.parse().ok()?);
        Some(Self(AgentPlace { created_at, name: name.to_owned(), id: id.parse().ok()? }))
    }
}

/// What `GET /v1/agents` is asked for.
pub(crate) fn agent_list(
    query: &Query,
    after: Option<&ListPosition>,
) -> Result<AgentList, ApiError> {
    let is_letter = |byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-');
    let fits = |text: &str| (1..=64).contains(&text.len()) && text.bytes().all(is_letter);
    let named = query.text("q");
    if !named.is_none_or(fits) {
        let message = "expected the beginning of a name, 1 to 64 characters of `a-z0-9_-`";
        return Err(ApiError::invalid("q", message));
    }
    Ok(AgentList {
        status: query.parse("status")?,
        archived: query.flag("archived")?,
        named: named.map(str::to_owned),
        after: after.map(|after| after.0.clone()),
    })
}

/// Reads the body of `POST /v1/agents`.
pub(crate) fn agent_new(call: &Call) -> Result<NewAgent, ApiError> {
    let mut fields = call.fields()?;
    let new = NewAgent {
        name: fields.required("name")?,
        description: fields.optional("description")?.unwrap_or_default(),
        labels: labels(&mut fields)?.unwrap_or_default(),
        intent_mode: intent_mode(&mut fields)?.unwrap_or(IntentMode::Off),
        modes: modes(&mut fields)?.unwrap_or_else(|| Mode::ALL.to_vec()),
        owner: fields.optional::<Word<_>>("owner")?.map(|Word(owner)| owner),
        expires_at: fields.optional("expires_at")?,
    };
    fields.finish()?;
    Ok(new)
}

/// Reads the body of `POST /v1/agents/{id}`.
pub(crate) fn agent_edit(call: &Call) -> Result<AgentEdit, ApiError> {
    let mut fields = call.fields()?;
    let edit = AgentEdit {
        name: fields.optional("name")?,
        description: fields.optional("description")?,
        labels: labels(&mut fields)?,
        intent_mode: intent_mode(&mut fields)?,
        modes: modes(&mut fields)?,
        owner: wish(&mut fields, "owner", |Word(owner): Word<MemberId>| owner)?,
        expires_at: wish(&mut fields, "expires_at", |end: Timestamp| end)?,
        expected_revision: expected_revision(&mut fields)?,
    };
    fields.finish()?;
    Ok(edit)
}

fn intent_mode(fields: &mut Fields) -> Result<Option<IntentMode>, ApiError> {
    Ok(fields.optional::<Word<IntentMode>>("intent_mode")?.map(|Word(mode)| mode))
}

fn modes(fields: &mut Fields) -> Result<Option<Vec<Mode>>, ApiError> {
    let Some(words) = fields.optional::<Vec<Value>>("modes")? else { return Ok(None) };
    let mode = |value| Word::<Mode>::from_json(value).map(|Word(mode)| mode);
    let modes: Result<Vec<_>, _> = words.into_iter().map(mode).collect();
    modes.map(Some).map_err(|problem| fields.error("modes", problem))
}

/// What a change says of something that need not be there: null takes it away.
pub(super) fn wish<W: FromJson, T>(
    fields: &mut Fields,
    name: &'static str,
    read: fn(W) -> T,
) -> Result<Wish<T>, ApiError> {
    match fields.any(name) {
        None => Ok(Wish::Stays),
        Some(Value::Null) => Ok(Wish::Goes),
        Some(value) => {
            let value = W::from_json(value).map_err(|problem| fields.error(name, problem))?;
            Ok(Wish::Becomes(read(value)))
        }
    }
}

fn labels(fields: &mut Fields) -> Result<Option<BTreeMap<String, String>>, ApiError> {
    let Some(members) = fields.optional::<Map<String, Value>>("labels")? else { return Ok(None) };
    let label = |(name, value)| match value {
        Value::String(value) => Some((name, value)),
        _ => None,
    };
    let labels: Option<BTreeMap<_, _>> = members.into_iter().map(label).collect();
    let wrong = || fields.error("labels", "expected an object whose values are strings");
    labels.ok_or_else(wrong).map(Some)
}
