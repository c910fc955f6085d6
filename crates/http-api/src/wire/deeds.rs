//! Deeds in lists, what a list of them is asked for, and what a check of one came to.

use deed::verify::{CheckStatus, Report, Verified};
use model::{ActionId, AgentId, Digest, Timestamp};
use records::{CallFilter, DeedFilter, DeedRow, Growth, Subject};
use serde::Serialize;
use serde_json::{Value, json};
use web::{ApiError, Param, Query};

use super::filter::{Moment, tool};
/// The parameters of the list of deeds.
pub(crate) const DEEDS: &[Param] = &[
    Param::One("kind"),
    Param::One("subject"),
    Param::One("agent"),
    Param::One("tool"),
    Param::One("verdict"),
    Param::One("issued_at[gte]"),
    Param::One("issued_at[lt]"),
    Param::One("log"),
    Param::One("seq[gte]"),
    Param::One("seq[lt]"),
    Param::One("limit"),
    Param::One("cursor"),
];

/// What the list is asked for, its page aside.
pub(crate) fn deed_filter(query: &Query) -> Result<DeedFilter, ApiError> {
    Ok(DeedFilter {
        kinds: query.list("kind")?,
        subject: subject(query)?,
        agent: query.parse::<AgentId>("agent")?,
        calls: CallFilter { tool: tool(query)?, verdicts: query.list("verdict")?, text: None },
        from: moment(query, "issued_at[gte]")?,
        to: moment(query, "issued_at[lt]")?,
        log: query.parse("log")?,
        from_seq: query.number("seq[gte]")?,
        end_seq: query.number("seq[lt]")?,
    })
}

/// The id of what deeds or events are asked for.
pub(super) fn subject(query: &Query) -> Result<Option<Subject>, ApiError> {
    let Some(text) = query.text("subject") else { return Ok(None) };
    if let Ok(action) = text.parse::<ActionId>() {
        return Ok(Some(Subject::Action(action)));
    }
    if is_id(text) {
        return Ok(Some(Subject::Other(text.to_owned())));
    }
    Err(ApiError::invalid("subject", "expected the id of an action or of what was changed"))
}

/// Whether the text may be the id of anything.
pub(super) fn is_id(text: &str) -> bool {
    let may_stand = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    (1..=64).contains(&text.len()) && text.bytes().all(may_stand)
}

pub(super) fn moment(query: &Query, name: &'static str) -> Result<Option<Timestamp>, ApiError> {
    Ok(query.parse::<Moment>(name)?.map(|Moment(time)| time))
}

/// A deed in a list; the event of its sealing carries the same when it is hydrated.
#[derive(Debug, Serialize)]
pub(crate) struct DeedView {
    object: &'static str,
    id: String,
    seq: u64,
    kind: String,
    subject: Value,
    digest: Digest,
    issued_at: Timestamp,
    action: Option<ActionId>,
}

impl DeedView {
    /// The view; of a row that nobody can read any more the subject is not told.
    pub(crate) fn new(row: &DeedRow) -> Self {
        let body = deed::Body::read(row.body.as_bytes()).ok();
        Self {
            object: "deed",
            id: row.id.to_string(),
            seq: row.seq,
            kind: row.kind.clone(),
            subject: body.map_or(Value::Null, |body| json!(body.subject)),
            digest: row.digest,
            issued_at: row.issued_at,
            action: row.action,
        }
    }
}

/// What a check of a deed or a file of evidence came to.
pub(crate) fn verification(found: Result<Verified, Box<Report>>) -> Value {
    let valid = found.is_ok();
    let report = found.map_or_else(|report| *report, Verified::into_report);
    let checks: Vec<Value> = report
        .checks
        .iter()
        .map(|check| {
            let ok = match check.status {
                CheckStatus::Passed => Value::Bool(true),
                CheckStatus::Failed => Value::Bool(false),
                CheckStatus::Undecided => Value::Null,
            };
            json!({ "name": check.id.as_str(), "ok": ok, "detail": check.detail })
        })
        .collect();
    json!({
        "object": "verification",
        "valid": valid,
        "verdict": report.verdict,
        "grade": report.grade,
        "checks": checks,
        "deeds": report.deeds,
        "archived": report.archived,
    })
}

/// A proof that a log grew.
pub(crate) fn growth(growth: &Growth) -> Value {
    let Growth { log, from, to, path } = growth;
    json!({ "object": "consistency_proof", "log": log, "from": from, "to": to, "path": path })
}
