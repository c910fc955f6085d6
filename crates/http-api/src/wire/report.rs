//! The body of `POST /v1/actions/{id}/result`.

use crypto::json::Exact;
use gate::{EdgeReport, EdgeResult};
use model::{ActionId, Digest, ErrorCode, ExecutionStatus, Timestamp};
use web::{ApiError, Call, Fields, Word};

use crate::access::AgentKey;

/// The most characters of an edge's error message.
const MAX_MESSAGE: usize = 2000;

/// Reads the report of this agent's edge.
pub(crate) fn edge_report(call: &Call, caller: &AgentKey) -> Result<EdgeReport, ApiError> {
    let action = call.param::<ActionId>("id")?;
    let (mut fields, result) = call.fields_beside("result")?;
    let Word(status) = fields.required::<Word<ExecutionStatus>>("status")?;
    let started_at = time(&mut fields, "started_at")?;
    let finished_at = time(&mut fields, "finished_at")?;
    let result = result.map(Exact::parse).transpose();
    let result = result.map_err(|error| fields.error("result", error.to_string()))?;
    let digest = fields.optional::<Word<Digest>>("result_digest")?.map(|Word(digest)| digest);
    let error_code = fields.optional::<Word<ErrorCode>>("error_code")?.map(|Word(code)| code);
    let error_message = fields.optional::<String>("error_message")?;
    if error_message.as_ref().is_some_and(|text| text.chars().count() > MAX_MESSAGE) {
        return Err(fields.error("error_message", "expected at most 2000 characters"));
    }
    fields.finish()?;
    let result = match (result, digest) {
        (Some(value), digest) => EdgeResult::Whole(value, digest),
        (None, Some(digest)) => EdgeResult::Digest(digest),
        (None, None) => EdgeResult::Nothing,
    };
    Ok(EdgeReport {
        org: caller.org,
        agent: caller.agent,
        key: caller.key,
        action,
        status,
        started_at,
        finished_at,
        result,
        error_code,
        error_message,
        idempotency_key: call.idempotency_key()?,
    })
}

fn time(fields: &mut Fields, name: &'static str) -> Result<Timestamp, ApiError> {
    let text: String = fields.required(name)?;
    Timestamp::parse_rfc3339(&text).map_err(|error| fields.error(name, error.to_string()))
}
