//! The log as auditors and witnesses read it: checkpoints and proofs over its tree.

use std::sync::Arc;

use act::MayView;
use bytes::Bytes;
use deed::{BodyError, LogOrigin, api_form};
use futures_util::{StreamExt, stream};
use http::{HeaderName, HeaderValue, StatusCode};
use model::DeedId;
use records::{LogLine, ReadError, ReadOut, ReadRange};
use web::{ApiError, Call, Credential, CutError, Param, Reply};

use crate::{
    access::{Reader, Viewer},
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

/// The parameters of a log that is read out.
pub(crate) const DEEDS: &[Param] =
    &[Param::One("log"), Param::One("from"), Param::One("to"), Param::One("known_size")];

/// Tells the places that are read out and the size of the log, as `0-42/45`.
const RANGE: HeaderName = HeaderName::from_static("service-log-range");

/// Signed notes and proofs are texts.
pub(super) const TEXT: &str = "text/plain; charset=utf-8";
/// Deeds are JSON, one a line.
const NDJSON: &str = "application/x-ndjson";

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

/// `GET /v1/log/deeds`
///
/// It has deeds and lines that stand for archived ones, so that what was saved is what a verifier
/// reads. How many deeds the lines are of is said before the first; where one cannot be read, or the
/// key is not valid any more, the connection breaks.
pub(crate) async fn deeds(app: Arc<App>, caller: Viewer, call: Call) -> Answer {
    let log: Option<LogOrigin> = call.query.parse("log")?;
    let from: Option<u64> = call.query.number("from")?;
    let (to, known_size) = (call.query.number("to")?, call.query.number("known_size")?);
    let range = ReadRange { from: from.unwrap_or(0), to, known_size };
    let mut out = app.records.read_out(caller.org(), log.as_ref(), range).await?;
    let ((from, to), size) = (out.places(), out.size());
    // What cannot be read at all is an answer of its own.
    let first = lines(&out.step(&app.records).await?).map_err(|error| {
        tracing::error!(%error, "a stored deed is not what was sealed");
        ApiError::internal()
    })?;
    let reading = Reading { app: Arc::clone(&app), caller, shown: call.shown, out };
    let rest = stream::unfold(Some(reading), |reading| async {
        let mut reading = reading?;
        let next = reading.next().await.transpose()?;
        let goes_on = next.is_ok();
        Some((next, goes_on.then_some(reading)))
    });
    let reply = Reply::breakable(NDJSON, stream::iter([Ok(first)]).chain(rest));
    let range = HeaderValue::try_from(format!("{from}-{to}/{size}"));
    Ok(reply.with(RANGE, range.map_err(|_| ApiError::internal())?))
}

/// A log that is being read out, and by whom.
struct Reading {
    app: Arc<App>,
    caller: Viewer,
    // The credential as it was sent, to be looked up again before each step.
    shown: Option<Credential>,
    out: ReadOut,
}

impl Reading {
    /// The next deeds; nothing behind the last.
    async fn next(&mut self) -> Result<Option<Bytes>, CutError> {
        let broken = |error: &dyn std::error::Error| {
            tracing::error!(%error, "a log could not be read completely");
            CutError
        };
        if !self.app.still_lets_in(&self.caller, self.shown.as_ref()).await {
            tracing::info!("a log is not sent further: its reader no longer has access");
            return Err(CutError);
        }
        let step = self.out.step(&self.app.records).await.map_err(|error| broken(&error))?;
        let text = lines(&step).map_err(|error| broken(&error))?;
        Ok((!text.is_empty()).then_some(text))
    }
}

/// The lines: deeds in their API form, and what stands for archived ones.
fn lines(step: &[LogLine]) -> Result<Bytes, BodyError> {
    let mut text = String::new();
    for line in step {
        text.push_str(&match line {
            LogLine::Deed(deed) => {
                api_form(&deed.row.body, &deed.row.signature, &deed.disclosures)?.to_string()
            }
            LogLine::Archived(archived) => archived.to_line()?,
        });
        text.push('\n');
    }
    Ok(text.into())
}

fn required(name: &'static str, expected: &str) -> ApiError {
    ApiError::invalid(name, format!("this parameter is required: {expected}"))
}

/// How much of the log the caller may read.
pub(in crate::handlers) fn reader(caller: &Reader) -> records::Reader {
    records::Reader { org: caller.org(), agent: caller.only_agent() }
}
