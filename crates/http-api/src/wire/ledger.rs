//! The history of an org and the checks of its log, as they are asked for and shown.

use std::time::Duration;

use deed::{Actor, LogOrigin};
use model::{AgentId, EventType, Timestamp};
use records::{By, CallFilter, ChainCheck, Entry, EntryFilter, EntryKind, LogHead, Part, Standing};
use serde_json::{Value, json};
use web::{ApiError, Call, FromJson, Param, Query};

use super::{
    deeds::{is_id, moment, subject},
    export::ExportForm,
    filter::{tool, within},
};
/// The parameters of the search.
pub(crate) const ENTRIES: &[Param] = &[
    Param::One("kind"),
    Param::One("agent"),
    Param::One("actor"),
    Param::One("tool"),
    Param::One("subject"),
    Param::One("verdict"),
    Param::One("created_at[gte]"),
    Param::One("created_at[lt]"),
    Param::One("q"),
    Param::One("limit"),
    Param::One("cursor"),
];

/// The parameters of the export.
pub(crate) const EXPORT: &[Param] = &[
    Param::One("format"),
    Param::One("kind"),
    Param::One("agent"),
    Param::One("actor"),
    Param::One("tool"),
    Param::One("subject"),
    Param::One("verdict"),
    Param::One("created_at[gte]"),
    Param::One("created_at[lt]"),
    Param::One("q"),
];

/// The longest time that one export covers.
const LONGEST: Duration = Duration::from_hours(31 * 24);
/// The largest checkpoint that a check takes.
const MAX_CHECKPOINT: usize = 4096;

/// What the search is for, its page aside.
pub(crate) fn entry_filter(query: &Query) -> Result<EntryFilter, ApiError> {
    let mut types: Vec<EventType> = Vec::new();
    for word in query.list::<String>("kind")? {
        let kind = EntryKind::ALL.into_iter().find(|kind| kind.as_str() == word);
        types.extend(kind.ok_or_else(unknown_kind)?.types());
    }
    Ok(EntryFilter {
        types: query.text("kind").map(|_| types),
        agent: query.parse::<AgentId>("agent")?,
        actor: by(query)?,
        subject: subject(query)?,
        calls: CallFilter {
            tool: tool(query)?,
            verdicts: query.list("verdict")?,
            text: within(query, "q", 2..=64)?,
        },
        from: moment(query, "created_at[gte]")?,
        to: moment(query, "created_at[lt]")?,
    })
}

/// Who must have acted.
fn by(query: &Query) -> Result<Option<By>, ApiError> {
    let Some(text) = query.text("actor") else { return Ok(None) };
    if let Ok(agent) = text.parse::<AgentId>() {
        return Ok(Some(By::Agent(agent)));
    }
    if is_id(text) {
        return Ok(Some(By::Other(text.to_owned())));
    }
    Err(ApiError::invalid("actor", "expected the id of the actor"))
}

fn unknown_kind() -> ApiError {
    let words: Vec<String> =
        EntryKind::ALL.iter().map(|kind| format!("`{}`", kind.as_str())).collect();
    ApiError::invalid("kind", format!("expected one of {}", words.join(", ")))
}

/// The form that an export is asked for in.
pub(crate) fn export_form(query: &Query) -> Result<ExportForm, ApiError> {
    match query.text("format") {
        None | Some("ndjson") => Ok(ExportForm::Ndjson),
        Some("csv") => Ok(ExportForm::Csv),
        Some(_) => Err(ApiError::invalid("format", "expected `ndjson` or `csv`")),
    }
}

/// What an export is asked for, which is bounded in time.
pub(crate) fn export_filter(query: &Query, now: Timestamp) -> Result<EntryFilter, ApiError> {
    let mut filter = entry_filter(query)?;
    let Some(from) = filter.from else {
        return Err(ApiError::invalid("created_at[gte]", "this parameter is required: a time"));
    };
    let to = filter.to.unwrap_or(now).min(now);
    if to.since(from) > LONGEST {
        return Err(ApiError::invalid("created_at[lt]", "expected at most 31 days in one export"));
    }
    filter.to = Some(to.max(from));
    Ok(filter)
}

/// An entry of the history.
pub(crate) fn entry(entry: &Entry) -> Value {
    let event = &entry.event;
    let object = &event.object;
    let member = |name: &str| object.get(name).cloned().unwrap_or(Value::Null);
    let subject = match event.action {
        Some(action) => json!({ "kind": "action", "id": action }),
        None => json!({ "kind": member("object"), "id": member("id") }),
    };
    json!({
        "object": "ledger_entry",
        "id": event.id,
        "seq": event.seq,
        "at": event.created_at,
        "livemode": event.livemode,
        "kind": EntryKind::of(event.kind).as_str(),
        "type": event.kind,
        "actor": actor(entry),
        "subject": subject,
        "tool": entry.tool,
        "summary": summary(entry),
        "deed": entry.deed,
    })
}

fn actor(entry: &Entry) -> Value {
    // An approval that a Stop made void is of an agent, and taken away by whoever stopped it.
    let voided_by = entry.event.object.get("voided_by").cloned().map(serde_json::from_value);
    if let Some(Ok(by)) = voided_by {
        return actor_of(&by);
    }
    if let Some(agent) = entry.event.agent {
        return json!({ "kind": "agent", "id": agent, "name": entry.agent_name });
    }
    entry.actor.as_ref().map_or(Value::Null, actor_of)
}

fn actor_of(actor: &Actor) -> Value {
    let named = |kind: &str, id: String| json!({ "kind": kind, "id": id, "name": null });
    match actor {
        Actor::Agent(id) => named("agent", id.to_string()),
        Actor::ApiKey(id) => named("api_key", id.to_string()),
        Actor::User(id) => named("user", id.to_string()),
        Actor::System(word) => named("system", word.to_string()),
    }
}

/// The entry as a person reads it in a list: what, of what, how it stands.
fn summary(entry: &Entry) -> String {
    let object = &entry.event.object;
    let word = |name: &str| object.get(name).and_then(Value::as_str);
    let subject = entry.tool.as_deref().or(word("name")).or(word("id")).unwrap_or_default();
    let stands = word("status").or(word("mode")).or(word("problem")).unwrap_or_default();
    let why = word("void_reason").unwrap_or_default();
    [entry.event.kind.as_str(), subject, stands, why].join(" ").trim().replace("  ", " ")
}

/// Where the open log stands, what has not been sealed in it yet, and the logs before it.
pub(crate) fn chain_head(
    head: &LogHead,
    closed: &[LogHead],
    (unsealed, oldest): (u64, Option<Timestamp>),
) -> Value {
    let last = head.chain.size().checked_sub(1);
    json!({
        "object": "chain_head",
        "log": head.chain.log(),
        "size": head.chain.size(),
        "seq": last,
        "digest": last.map(|_| *head.chain.last()),
        "root": head.chain.root(),
        "at": last.map(|_| head.chain.issued_at()),
        "unsealed_count": unsealed,
        "oldest_unsealed_at": oldest,
        "closed_logs": closed.iter().map(closed_log).collect::<Vec<_>>(),
    })
}

fn closed_log(head: &LogHead) -> Value {
    let (log, size, root) = (head.chain.log(), head.chain.size(), head.chain.root());
    let closed_at = match head.standing {
        Standing::Open => None,
        Standing::Closed { at } => Some(at),
    };
    json!({ "log": log, "size": size, "root": root, "closed_at": closed_at })
}

/// Reads the body of `POST /v1/ledger/chain_checks`.
pub(crate) fn chain_part(call: &Call) -> Result<Part, ApiError> {
    let mut fields = call.fields()?;
    let part = Part {
        log: fields.optional("log")?.map(|LogName(log)| log),
        from_seq: fields.optional("from_seq")?,
        to_seq: fields.optional("to_seq")?,
        checkpoint: fields.optional("checkpoint")?,
    };
    fields.finish()?;
    if part.checkpoint.as_ref().is_some_and(|note| note.len() > MAX_CHECKPOINT) {
        return Err(ApiError::invalid("checkpoint", "expected a signed note of at most 4 KiB"));
    }
    Ok(part)
}

/// The name of a log.
struct LogName(LogOrigin);

impl FromJson for LogName {
    const EXPECTED: &'static str = "expected a log's name such as `chancery.example/logs/log_…`";

    fn from_json(value: Value) -> Result<Self, String> {
        let name = value.as_str().and_then(|text| text.parse().ok());
        name.map(Self).ok_or_else(|| Self::EXPECTED.to_owned())
    }
}

/// A check of a log.
pub(crate) fn chain_check(check: &ChainCheck) -> Value {
    let result = match check.status {
        records::CheckStatus::Queued | records::CheckStatus::Running => None,
        records::CheckStatus::Passed => Some("passed"),
        records::CheckStatus::Failed => Some("failed"),
    };
    json!({
        "object": "chain_check",
        "id": check.id,
        "created_at": check.created_at,
        "status": check.status,
        "log": check.log,
        "from_seq": check.from_seq,
        "to_seq": check.end_seq.checked_sub(1),
        "checked": check.checked,
        "archived": check.archived,
        "finished_at": check.finished_at,
        "result": result,
        "first_bad": check.first_bad,
    })
}
