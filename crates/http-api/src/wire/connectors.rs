//! Connectors as requests describe and responses show them. No answer has a value of a credential.

use std::collections::BTreeMap;

use admin::{
    ConnectorEdit, ConnectorTest, ConnectorType, Credential, Looked, LookedAt, NewConnector,
    NotServed, ToolEdit, ToolStanding, ToolState, credential_key_id,
};
use crypto::Secret;
use ledger::record::{Connector, ConnectorStatus};
use model::{
    ConnectorId, ConnectorName, Digest, ErrorCode, Level, SideEffect, Timestamp, ToolName,
    Visibility,
};
use serde::Serialize;
use serde_json::{Map, Value, json};
use web::{ApiError, Call, Fields, Word};

use super::{agents::wish, policies::expected_revision};
use crate::health::OutOfReach;

/// A type of connectors.
#[derive(Debug, Serialize)]
pub(crate) struct TypeView<'a> {
    object: &'static str,
    #[serde(rename = "type")]
    kind: &'a str,
    title: &'a str,
    credential_kinds: Vec<KindView<'a>>,
    config_schema: &'a Value,
    witness_levels: &'a [Level],
    enabled: bool,
}

#[derive(Debug, Serialize)]
struct KindView<'a> {
    kind: &'a str,
    fields: Vec<FieldView<'a>>,
}

#[derive(Debug, Serialize)]
struct FieldView<'a> {
    name: &'a str,
    required: bool,
    description: &'a str,
}

impl<'a> From<&'a ConnectorType> for TypeView<'a> {
    fn from(known: &'a ConnectorType) -> Self {
        let field = |field: &'a admin::CredentialField| FieldView {
            name: field.name,
            required: field.required,
            description: field.description,
        };
        let kind = |kind: &'a admin::CredentialKind| KindView {
            kind: kind.kind,
            fields: kind.fields.iter().map(field).collect(),
        };
        Self {
            object: "connector_type",
            kind: known.name,
            title: known.title,
            credential_kinds: known.credential_kinds.iter().map(kind).collect(),
            config_schema: &known.config_schema,
            witness_levels: &known.witness_levels,
            enabled: true,
        }
    }
}

/// A connector in a list, without its config.
#[derive(Debug, Serialize)]
pub(crate) struct ListedView<'a> {
    object: &'static str,
    id: ConnectorId,
    name: &'a ConnectorName,
    title: &'a str,
    #[serde(rename = "type")]
    kind: &'a str,
    status: ConnectorStatus,
    livemode: bool,
    credential: Option<CredentialView<'a>>,
    tools: ToolCounts,
    revision: u32,
    created_at: Timestamp,
    archived_at: Option<Timestamp>,
}

/// A connector.
#[derive(Debug, Serialize)]
pub(crate) struct ConnectorView<'a> {
    #[serde(flatten)]
    listed: ListedView<'a>,
    unreachable: Option<UnreachableView>,
    config: &'a Value,
}

/// Why a connector's system could not be reached.
#[derive(Debug, Serialize)]
struct UnreachableView {
    code: ErrorCode,
    message: String,
}

/// What may be told of a credential.
#[derive(Debug, Serialize)]
struct CredentialView<'a> {
    kind: Option<&'a str>,
    fields: Vec<&'a str>,
    hint: Option<&'a str>,
    set_at: Option<Timestamp>,
    key_id: Option<String>,
}

/// How many tools stand how.
#[derive(Debug, Default, Serialize)]
struct ToolCounts {
    pinned: usize,
    new: usize,
    changed: usize,
    gone: usize,
    shown_bytes: usize,
}

impl ToolCounts {
    fn of(connector: &Connector) -> Self {
        let mut counts = Self::default();
        for standing in ToolStanding::of(connector) {
            match standing.state {
                ToolState::Pinned => {
                    counts.pinned += 1;
                    counts.shown_bytes = counts.shown_bytes.saturating_add(standing.shown_bytes());
                }
                ToolState::New => counts.new += 1,
                ToolState::Changed => counts.changed += 1,
                ToolState::Gone => counts.gone += 1,
            }
        }
        counts
    }
}

impl<'a> ListedView<'a> {
    /// The connector.
    pub(crate) fn of(connector: &'a Connector) -> Self {
        let set = connector.credential_set.as_ref();
        let credential = (!connector.credential.is_empty()).then(|| CredentialView {
            kind: set.map(|set| &*set.kind),
            fields: connector.credential.keys().map(String::as_str).collect(),
            hint: set.and_then(|set| set.hint.as_deref()),
            set_at: set.map(|set| set.at),
            key_id: credential_key_id(connector),
        });
        Self {
            object: "connector",
            id: connector.id,
            name: &connector.name,
            title: &connector.title,
            kind: &connector.kind,
            status: connector.status,
            livemode: !connector.test,
            credential,
            tools: ToolCounts::of(connector),
            revision: connector.revision,
            created_at: connector.created_at,
            archived_at: connector.archived_at,
        }
    }
}

impl<'a> ConnectorView<'a> {
    /// The connector, and why it is out of reach.
    pub(crate) fn of(connector: &'a Connector, lost: Option<OutOfReach>) -> Self {
        let unreachable =
            lost.map(|OutOfReach { code, message, .. }| UnreachableView { code, message });
        Self { listed: ListedView::of(connector), unreachable, config: &connector.config }
    }
}

/// A test of a connector.
#[derive(Debug, Serialize)]
pub(crate) struct TestView<'a> {
    object: &'static str,
    connector: ConnectorId,
    revision: u32,
    tested_at: Timestamp,
    duration_ms: u64,
    ok: bool,
    checks: Vec<CheckView<'a>>,
}

#[derive(Debug, Serialize)]
pub(crate) struct CheckView<'a> {
    name: &'a str,
    ok: bool,
    state: &'static str,
    detail: &'a str,
}

impl<'a> CheckView<'a> {
    /// One thing that was looked at.
    pub(crate) fn of(looked: &'a Looked) -> Self {
        Self {
            name: &looked.name,
            ok: looked.found != LookedAt::Fail,
            state: looked.found.as_str(),
            detail: &looked.detail,
        }
    }
}

impl<'a> TestView<'a> {
    /// The test; it is well where calls would run.
    pub(crate) fn of(connector: ConnectorId, test: &'a ConnectorTest) -> Self {
        let checks: Vec<_> = test.checks.iter().map(CheckView::of).collect();
        Self {
            object: "connector_test",
            connector,
            revision: test.revision,
            tested_at: test.tested_at,
            duration_ms: test.duration.as_millis().try_into().unwrap_or(u64::MAX),
            ok: checks.iter().all(|check| check.ok),
            checks,
        }
    }
}

/// How the owner of a governed system prepares it.
#[derive(Debug, Serialize)]
pub(crate) struct SetupView {
    pub(crate) object: &'static str,
    pub(crate) connector: ConnectorId,
    pub(crate) witness: bool,
    pub(crate) script: Option<String>,
}

/// A part of an API's description that no tool uses.
#[derive(Debug, Serialize)]
pub(crate) struct NotServedView<'a> {
    object: &'static str,
    operation: &'a str,
    reason: &'a str,
}

impl<'a> NotServedView<'a> {
    /// The part.
    pub(crate) fn of(part: &'a NotServed) -> Self {
        Self { object: "not_served", operation: &part.operation, reason: &part.reason }
    }
}

/// A tool of a connector.
#[derive(Debug, Serialize)]
pub(crate) struct ToolView<'a> {
    object: &'static str,
    connector: ConnectorId,
    name: &'a ToolName,
    title: Option<&'a str>,
    state: &'static str,
    digest: Option<Digest>,
    pinned_digest: Option<Digest>,
    target: Option<&'a Value>,
    pinned_target: Option<&'a Value>,
    definition: Option<&'a Value>,
    pinned_definition: Option<&'a Value>,
    types: Option<Value>,
    pinned_types: Option<Value>,
    input_schema: Option<&'a Value>,
    side_effect: Option<SideEffect>,
    required_level: Option<Level>,
    visibility: Visibility,
}

impl<'a> ToolView<'a> {
    /// The tool; what runs is what was accepted, and only of a new one what was found is told.
    pub(crate) fn of(connector: &Connector, standing: ToolStanding<'a>) -> Self {
        let entry = standing.pinned_definition.or(standing.definition);
        let word = |name: &str| entry.and_then(|entry| entry.get(name)?.as_str());
        let effect = word("side_effect").and_then(|word| word.parse().ok());
        // A definition that says nothing asks for no evidence beyond the report.
        let level = word("required_level").and_then(|word| word.parse().ok());
        let level = level.or_else(|| entry.map(|_| Level::L0));
        let settings = standing.settings;
        let shown = standing.definition.or(standing.pinned_definition);
        Self {
            object: "connector_tool",
            connector: connector.id,
            name: standing.name,
            title: shown.and_then(|entry| entry.get("title")?.as_str()),
            state: match standing.state {
                ToolState::Pinned => "pinned",
                ToolState::New => "new",
                ToolState::Changed => "changed",
                ToolState::Gone => "gone",
            },
            digest: standing.digest,
            pinned_digest: standing.pinned_digest,
            target: standing.target,
            pinned_target: standing.pinned_target,
            definition: standing.definition,
            pinned_definition: standing.pinned_definition,
            types: standing.types.map(types),
            pinned_types: standing.pinned_types.map(types),
            input_schema: entry.and_then(|entry| entry.get("args")),
            side_effect: settings.side_effect.max(effect),
            required_level: settings.required_level.max(level),
            visibility: if settings.hidden { Visibility::Hidden } else { Visibility::Visible },
        }
    }
}

/// The types of a statement's parameters and columns, each with its name.
fn types(kept: &Value) -> Value {
    let rows = |name: &str| kept.get(name).and_then(Value::as_array).into_iter().flatten();
    let parameter = |it: &Value| json!({ "name": it.get("name"), "type": it.get("type") });
    let column = |it: &Value| json!({ "name": it.get(0), "type": it.get(1) });
    json!({
        "parameters": rows("parameters").map(parameter).collect::<Vec<_>>(),
        "columns": rows("columns").map(column).collect::<Vec<_>>(),
    })
}

/// Reads the body of `POST /v1/connectors`.
pub(crate) fn connector_new(call: &Call) -> Result<NewConnector, ApiError> {
    let mut fields = call.fields()?;
    let credential = fields.nested("credential", credential)?;
    let (credential_kind, credential) = credential.unwrap_or_default();
    let livemode: Option<bool> = fields.optional("livemode")?;
    let new = NewConnector {
        name: fields.required("name")?,
        title: fields.optional("title")?.unwrap_or_default(),
        kind: fields.required("type")?,
        config: Value::Object(fields.required::<Map<String, Value>>("config")?),
        credential,
        credential_kind,
        test: livemode == Some(false),
    };
    fields.finish()?;
    Ok(new)
}

/// Reads the body of `POST /v1/connectors/{id}`.
pub(crate) fn connector_edit(call: &Call) -> Result<ConnectorEdit, ApiError> {
    let mut fields = call.fields()?;
    let credential = fields.nested("credential", credential)?;
    let (credential_kind, credential) = credential.unwrap_or_default();
    let edit = ConnectorEdit {
        title: fields.optional("title")?,
        config: fields.optional::<Map<String, Value>>("config")?.map(Value::Object),
        credential,
        credential_kind,
        pin_tools: fields.optional("pin_tools")?.unwrap_or(false),
        expected_revision: expected_revision(&mut fields)?,
    };
    fields.finish()?;
    Ok(edit)
}

/// Reads the body of `PUT /v1/connectors/{id}/credential`.
pub(crate) fn credential_new(call: &Call) -> Result<(Option<String>, Credential), ApiError> {
    credential(call.fields()?)
}

fn credential(mut fields: Fields) -> Result<(Option<String>, Credential), ApiError> {
    let kind = fields.optional("kind")?;
    let values: Map<String, Value> = fields.required("fields")?;
    let value = |(name, value)| match value {
        Value::String(text) => Some((name, Secret::new(text))),
        _ => None,
    };
    let values: Option<BTreeMap<_, _>> = values.into_iter().map(value).collect();
    let wrong = || fields.error("fields", "expected an object whose values are strings");
    let values = values.ok_or_else(wrong)?;
    fields.finish()?;
    Ok((kind, values))
}

/// Reads the body of `POST /v1/connectors/{id}/tools/{tool}`.
pub(crate) fn tool_edit(call: &Call) -> Result<ToolEdit, ApiError> {
    let mut fields = call.fields()?;
    let visibility = fields.optional::<Word<Visibility>>("visibility")?;
    let edit = ToolEdit {
        side_effect: wish(&mut fields, "side_effect", |Word(word): Word<SideEffect>| word)?,
        required_level: wish(&mut fields, "required_level", |Word(word): Word<Level>| word)?,
        hidden: visibility.map(|Word(word)| word == Visibility::Hidden),
    };
    fields.finish()?;
    Ok(edit)
}

/// Reads the body of `POST /v1/connectors/{id}/tools/{tool}/pin`.
pub(crate) fn pin(call: &Call) -> Result<Digest, ApiError> {
    let mut fields = call.fields()?;
    let Word(digest) = fields.required::<Word<Digest>>("digest")?;
    fields.finish()?;
    Ok(digest)
}
