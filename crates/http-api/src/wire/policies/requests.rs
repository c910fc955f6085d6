//! What callers send about policies.

use admin::{Counters, DryCall, Expected, ExpectedVersion, NewPolicy, PolicyEdit, Text};
use ledger::record::PolicyMode;
use model::{AgentId, Mode, PolicyId, PolicyVersionId, Timestamp, ToolName};
use policy::{Agent, CallFacts};
use serde_json::{Map, Value};
use web::{ApiError, Call, Fields, FromJson, Word};

/// The most bytes of a tool's name.
const MAX_TOOL: usize = 200;
/// The most characters of what a call says of itself.
const MAX_REFERENCE: usize = 256;

/// Reads the body of `POST /v1/policies`.
pub(crate) fn policy_new(call: &Call) -> Result<NewPolicy, ApiError> {
    let mut fields = call.fields()?;
    let name = fields.required("name")?;
    let description = fields.optional("description")?.unwrap_or_default();
    fields.finish()?;
    Ok(NewPolicy { name, description })
}

/// Reads the body of `POST /v1/policies/{id}`.
pub(crate) fn policy_edit(call: &Call) -> Result<PolicyEdit, ApiError> {
    let mut fields = call.fields()?;
    let edit = PolicyEdit {
        name: fields.optional("name")?,
        description: fields.optional("description")?,
        expected_revision: expected_revision(&mut fields)?,
    };
    fields.finish()?;
    Ok(edit)
}

/// A version as `POST /v1/policies/{id}/versions` wants it made.
#[derive(Debug)]
pub(crate) struct MakeVersion {
    pub(crate) policy: PolicyId,
    pub(crate) document: String,
    pub(crate) note: Option<String>,
    pub(crate) expected_parent: ExpectedVersion,
}

/// Reads the request of a new version.
pub(crate) fn policy_version_new(call: &Call) -> Result<MakeVersion, ApiError> {
    let policy = call.param("id")?;
    let mut fields = call.fields()?;
    let made = MakeVersion {
        policy,
        document: fields.required("document")?,
        note: fields.optional("note")?,
        expected_parent: expected_version(&mut fields, "expected_parent")?,
    };
    fields.finish()?;
    Ok(made)
}

/// Reads a body that is a document and nothing else.
pub(crate) fn document_alone(call: &Call) -> Result<String, ApiError> {
    let mut fields = call.fields()?;
    let document = fields.required("document")?;
    fields.finish()?;
    Ok(document)
}

/// Reads the body of `PUT /v1/policies/{id}/tests`.
pub(crate) fn policy_tests(call: &Call) -> Result<(String, Expected<u32>), ApiError> {
    let mut fields = call.fields()?;
    let suite = fields.required("suite")?;
    let expected = expected_revision(&mut fields)?;
    fields.finish()?;
    Ok((suite, expected))
}

/// Reads the body of `POST /v1/policies/test`.
pub(crate) fn policy_trial(call: &Call) -> Result<(Text, Option<String>), ApiError> {
    let mut fields = call.fields()?;
    let text = text(&mut fields)?;
    let text = text.ok_or_else(|| fields.error("version", "expected `version` or `document`"))?;
    let suite = fields.optional("suite")?;
    fields.finish()?;
    Ok((text, suite))
}

/// An activation as `POST /v1/policies/{id}/activate` wants it.
#[derive(Debug)]
pub(crate) struct Activate {
    pub(crate) policy: PolicyId,
    pub(crate) version: PolicyVersionId,
    pub(crate) mode: PolicyMode,
    pub(crate) reason: String,
    pub(crate) expected_active: ExpectedVersion,
    /// Whether tests that fail are overruled.
    pub(crate) force: bool,
}

/// Reads the request of an activation.
pub(crate) fn policy_activation(call: &Call) -> Result<Activate, ApiError> {
    let policy = call.param("id")?;
    let mut fields = call.fields()?;
    let Word(version) = fields.required::<Word<PolicyVersionId>>("version")?;
    let mode: String = fields.required("mode")?;
    let mode = PolicyMode::ALL
        .into_iter()
        .find(|known| known.as_str() == mode)
        .ok_or_else(|| fields.error("mode", "expected `enforce` or `shadow`"))?;
    let activate = Activate {
        policy,
        version,
        mode,
        reason: fields.required("reason")?,
        expected_active: expected_version(&mut fields, "expected_active")?,
        force: fields.optional("force")?.unwrap_or_default(),
    };
    fields.finish()?;
    Ok(activate)
}

/// Reads a body that may have a reason, and nothing else.
pub(crate) fn reason_if_any(call: &Call) -> Result<Option<String>, ApiError> {
    let mut fields = call.fields()?;
    let reason = fields.optional("reason")?;
    fields.finish()?;
    Ok(reason)
}

/// Reads a body that is a reason and nothing else.
pub(crate) fn reason_alone(call: &Call) -> Result<String, ApiError> {
    let mut fields = call.fields()?;
    let reason = fields.required("reason")?;
    fields.finish()?;
    Ok(reason)
}

/// Reads the body of `POST /v1/policies/dry_run`. What the tool does is not for callers to say.
pub(crate) fn dry_call(call: &Call) -> Result<DryCall, ApiError> {
    let mut fields = call.fields()?;
    let Word(agent) = fields.required::<Word<AgentId>>("agent")?;
    let tool: String = fields.required("tool")?;
    if tool.is_empty() || tool.len() > MAX_TOOL {
        return Err(fields.error("tool", "expected 1 to 200 bytes, as `<connector>.<tool>`"));
    }
    let args: Map<String, Value> = fields.required("args")?;
    let mode = fields.optional::<Word<Mode>>("mode")?.map_or(Mode::Gateway, |Word(mode)| mode);
    let counters = match fields.optional::<String>("budgets")?.as_deref() {
        None | Some("live") => Counters::Live,
        Some("empty") => Counters::Empty,
        Some(_) => return Err(fields.error("budgets", "expected `live` or `empty`")),
    };
    let facts = CallFacts {
        connector: connector_of(&tool),
        mode,
        transport: reference(&mut fields, "transport")?,
        session: reference(&mut fields, "session")?,
        on_behalf_of: reference(&mut fields, "on_behalf_of")?,
        livemode: fields.optional("livemode")?.unwrap_or(true),
        side_effect: None,
        intent: None,
        tool_changed: fields.optional("tool_changed")?.unwrap_or(false),
    };
    let at = fields.optional::<Timestamp>("at")?;
    let args = Value::Object(args);
    let call =
        policy::Call { facts, ..policy::Call::new(tool, Agent::new(agent), Timestamp::EPOCH) };
    let dry = DryCall { call: call.with_args(args), at, text: text(&mut fields)?, counters };
    fields.finish()?;
    Ok(dry)
}

/// The connector that the tool's name says, where it is a tool's name at all.
fn connector_of(tool: &str) -> Option<String> {
    tool.parse::<ToolName>().ok().map(|name| name.connector().to_owned())
}

/// Takes `version` or `document`, of which there may be one.
fn text(fields: &mut Fields) -> Result<Option<Text>, ApiError> {
    let version = fields.optional::<Word<PolicyVersionId>>("version")?;
    match (version, fields.optional::<String>("document")?) {
        (Some(Word(version)), None) => Ok(Some(Text::Version(version))),
        (None, Some(document)) => Ok(Some(Text::Draft(document))),
        (None, None) => Ok(None),
        (Some(_), Some(_)) => {
            Err(fields.error("document", "expected either `version` or `document`"))
        }
    }
}

fn reference(fields: &mut Fields, name: &'static str) -> Result<Option<String>, ApiError> {
    let text = fields.optional::<String>(name)?;
    let fits = |text: &String| (1..=MAX_REFERENCE).contains(&text.chars().count());
    if text.as_ref().is_none_or(fits) {
        return Ok(text);
    }
    Err(fields.error(name, "expected 1 to 256 characters"))
}

/// Takes the revision that a change is made on.
pub(crate) fn expected_revision(fields: &mut Fields) -> Result<Expected<u32>, ApiError> {
    let expected = fields.optional::<u32>("expected_revision")?;
    Ok(expected.map_or(Expected::Anything, Expected::Exactly))
}

/// Takes the id of a version; null is the belief that there is none.
fn expected_version(fields: &mut Fields, name: &'static str) -> Result<ExpectedVersion, ApiError> {
    match fields.any(name) {
        None => Ok(Expected::Anything),
        Some(Value::Null) => Ok(Expected::Exactly(None)),
        Some(value) => {
            let read = Word::<PolicyVersionId>::from_json(value);
            let Word(version) = read.map_err(|problem| fields.error(name, problem))?;
            Ok(Expected::Exactly(Some(version)))
        }
    }
}
