//! The log as auditors and witnesses read it: checkpoints and proofs over its tree.

use std::sync::Arc;

use deed::LogOrigin;
use http::StatusCode;
use model::DeedId;
use records::ReadError;
use web::{ApiError, Call, Param, Reply};

use crate::{
    access::Reader,
    app::App,
    refusal::{Answer, IntoApiError},
    wire::deeds::growth,
};

/// The parameters of a checkpoint.
pub(crate) const CHECKPOINT: &[Param] = &[Param::One("log")];
/// The parameters of an inclusion proof.
pub(crate) const PROOF: &[Param] = &[Param::One("deed")];
/// The parameters of a consistency proof.
pub(crate) const CONSISTENCY: &[Param] = &[Param::One("log"), Param::One("from"), Param::One("to")];

/// Signed notes and proofs are texts.
pub(super) const TEXT: &str = "text/plain; charset=utf-8";

/// `GET /v1/log/checkpoint`
pub(crate) async fn checkpoint(app: Arc<App>, caller: Reader, call: Call) -> Answer {
    let log: Option<LogOrigin> = call.query.parse("log")?;
    let checkpoint = app.records.checkpoint(caller.org(), log.as_ref()).await?;
    Ok(Reply::bytes(StatusCode::OK, TEXT, checkpoint.note))
}

/// `GET /v1/log/proof`
pub(crate) async fn proof(app: Arc<App>, caller: Reader, call: Call) -> Answer {
    let deed: Option<DeedId> = call.query.parse("deed")?;
    let deed = deed.ok_or_else(|| required("deed", "the id of a deed"))?;
    let proof = app.records.proof(reader(&caller), deed).await?;
    Ok(Reply::bytes(StatusCode::OK, TEXT, proof.to_text()))
}

/// `GET /v1/log/consistency`
pub(crate) async fn consistency(app: Arc<App>, caller: Reader, call: Call) -> Answer {
    let from: Option<u64> = call.query.number("from")?;
    let from = from.ok_or_else(|| required("from", "the size of a log that was kept"))?;
    let (log, to): (Option<LogOrigin>, _) = (call.query.parse("log")?, call.query.number("to")?);
    let grew =
        app.records.growth(caller.org(), log.as_ref(), (from, to)).await.map_err(|error| {
            match error {
                ReadError::Sizes { .. } => ApiError::invalid("from", error.to_string()),
                other => other.into_api_error(),
            }
        })?;
    Ok(Reply::ok(&growth(&grew)))
}

fn required(name: &'static str, expected: &str) -> ApiError {
    ApiError::invalid(name, format!("this parameter is required: {expected}"))
}

/// How much of the log the caller may read.
pub(super) fn reader(caller: &Reader) -> records::Reader {
    records::Reader { org: caller.org(), agent: caller.only_agent() }
}
