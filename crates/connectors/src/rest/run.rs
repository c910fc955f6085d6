//! One run of a tool: one request, and what is certain afterwards.
//!
//! A request is sent once. Where it never left, or where the tool declares that an answer's status
//! says so, a write was certainly not applied; after anything else nobody knows, and it is not sent
//! again. A read that is not answered as declared has failed, whatever happened: it changes nothing.

use std::time::Duration;

use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::Bytes;
use crypto::json::Exact;
use http::{HeaderMap, HeaderValue, header};
use model::{ActionId, ExecutionErrorCode as Code, Fault, Outcome, Report, SideEffect};
use serde_json::{Value, json};
use tokio::time::Instant;
use tool::Run;
use upstream::{Answer, Body, Limits, Reuse, Sent, UpstreamError};

use super::{
    RestTool,
    auth::Proof,
    entry::Method,
    fault::{of_status, of_upstream},
    request::Rendered,
};

/// The longest silence within an answer.
const IDLE: Duration = Duration::from_secs(10);
/// The part of a call's time that is kept back, so that it can still say how it went.
const MARGIN: u32 = 20;

/// What a run has to do with what is there.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Answered {
    Success,
    NotApplied,
    Otherwise,
}

/// Why a request has no answer.
#[derive(Debug)]
pub(super) enum NoAnswer {
    /// Nobody can say who asks, so that nothing was sent, or nothing that was taken.
    Unproven(Fault),
    /// Whether it was received, the error tells.
    Upstream(UpstreamError),
}

impl From<UpstreamError> for NoAnswer {
    fn from(error: UpstreamError) -> Self {
        Self::Upstream(error)
    }
}

impl RestTool {
    /// Runs the tool once.
    pub(super) async fn run_once(&self, run: &Run<'_>) -> Outcome {
        let rendered = match self.operation.render(run.args) {
            Ok(rendered) => rendered,
            Err(sentence) => return Outcome::Failed(Fault::new(Code::ToolError, sentence)),
        };
        // What is left of the call's time has to do for the seal as well.
        let limit = run.time_limit.saturating_sub(run.time_limit / MARGIN);
        let until = Instant::now() + limit.min(Duration::from_millis(self.entry.timeout_ms));
        match self.ask(rendered, Some(run.action), until).await {
            Ok(answer) => self.outcome(&answer),
            Err(NoAnswer::Unproven(fault)) => Outcome::Failed(fault),
            Err(NoAnswer::Upstream(error)) => self.unanswered(&error),
        }
    }

    /// Sends the request, and once more where the API does not take a token that may be stale.
    pub(super) async fn ask(
        &self,
        mut rendered: Rendered,
        action: Option<ActionId>,
        until: Instant,
    ) -> Result<Answer, NoAnswer> {
        let proof = self.api.proof(until).await.map_err(NoAnswer::Unproven)?;
        self.name_the_action(action, &mut rendered.headers);
        let answered = self.send(&rendered, (&proof, until)).await;
        if let Some(status) = self.may_be_stale(&answered)
            && let Some(renewed) = self.api.renewed(&proof, until).await
        {
            let proof = renewed.map_err(|_| NoAnswer::Unproven(of_status(status)))?;
            return Ok(self.send(&rendered, (&proof, until)).await?);
        }
        Ok(answered?)
    }

    async fn send(
        &self,
        rendered: &Rendered,
        (proof, until): (&Proof, Instant),
    ) -> Result<Answer, UpstreamError> {
        let mut headers = rendered.headers.clone();
        proof.add_to(&mut headers);
        let request = |reuse| self.request(rendered, (headers.clone(), until, reuse));
        match self.definition.side_effect {
            // A kept connection may be closed at the very moment of writing, and then nobody would
            // know of a write. A read is simply asked for again.
            SideEffect::Read => match request(Reuse::Kept).await {
                Err(UpstreamError::Broken { .. }) => request(Reuse::Fresh).await,
                answered => answered,
            },
            SideEffect::Write | SideEffect::Destructive => request(Reuse::Fresh).await,
        }
    }

    async fn request(
        &self,
        rendered: &Rendered,
        (headers, until, reuse): (HeaderMap, Instant, Reuse),
    ) -> Result<Answer, UpstreamError> {
        let whole = until.saturating_duration_since(Instant::now());
        let limits = Limits { whole, idle: IDLE.min(whole), answer_bytes: self.entry.max_bytes };
        let what = (self.operation.method.http(), &*rendered.path_and_query);
        self.api.send(what, (headers, rendered.body.clone()), (&limits, reuse)).await
    }

    /// Lets the API tell a repeat of the action from another one.
    fn name_the_action(&self, action: Option<ActionId>, headers: &mut HeaderMap) {
        let name = self.entry.idempotency_header.as_ref();
        let name = name.and_then(|name| http::HeaderName::try_from(name).ok());
        let value = action.and_then(|action| HeaderValue::try_from(action.to_string()).ok());
        if let (Some(name), Some(value)) = (name, value) {
            headers.insert(name, value);
        }
    }

    /// The status of an answer that may be due to a token that lives no more, after which the request
    /// may be sent again: a write only where the status says that it was not applied.
    fn may_be_stale(&self, answered: &Result<Answer, UpstreamError>) -> Option<u16> {
        let status = answered.as_ref().ok()?.status.as_u16();
        let is_certain = match self.definition.side_effect {
            SideEffect::Read => true,
            SideEffect::Write | SideEffect::Destructive => self.entry.not_applied.contains(&status),
        };
        (status == 401 && is_certain).then_some(status)
    }

    fn outcome(&self, answer: &Answer) -> Outcome {
        let status = answer.status.as_u16();
        let is_read = match self.definition.side_effect {
            SideEffect::Read => true,
            SideEffect::Write | SideEffect::Destructive => false,
        };
        match (self.answered(status), is_read) {
            (Answered::Success, _) => match self.result(answer) {
                Ok(result) => Outcome::Succeeded { result, report: Report::default() },
                Err(fault) if is_read => Outcome::Failed(fault),
                // The API said that it did it; only what it said besides is lost.
                Err(_) => Outcome::Applied,
            },
            (Answered::NotApplied, _) | (Answered::Otherwise, true) => {
                Outcome::Failed(of_status(status))
            }
            (Answered::Otherwise, false) => Outcome::Unknown(of_status(status)),
        }
    }

    pub(super) fn answered(&self, status: u16) -> Answered {
        if self.entry.success.contains(&status) {
            Answered::Success
        } else if self.entry.not_applied.contains(&status) {
            Answered::NotApplied
        } else {
            Answered::Otherwise
        }
    }

    fn unanswered(&self, error: &UpstreamError) -> Outcome {
        let fault = of_upstream(error);
        match (self.definition.side_effect, error.sent()) {
            (SideEffect::Read, _) | (_, Sent::Never) => Outcome::Failed(fault),
            (SideEffect::Write | SideEffect::Destructive, Sent::Perhaps) => Outcome::Unknown(fault),
        }
    }

    /// The result that the answer holds.
    pub(super) fn result(&self, answer: &Answer) -> Result<Value, Fault> {
        let invalid = |message: &str| Fault::new(Code::ResultInvalid, message);
        if self.operation.method == Method::Head {
            return Ok(Value::Null);
        }
        if is_packed(&answer.headers) {
            return Err(invalid("the API compressed its response, which was not requested"));
        }
        let Body::Whole(body) = &answer.body else {
            let most = self.entry.max_bytes;
            let message = format!("expected a response of at most {most} bytes");
            return Err(Fault::new(Code::ResultTooLarge, message));
        };
        let value = match Exact::parse(body) {
            _ if body.is_empty() => Value::Null,
            Ok(exact) => (**exact.canonical().value()).clone(),
            Err(_) => other(&answer.headers, body),
        };
        let Some(pointer) = &self.entry.result else { return Ok(value) };
        let found = value.pointer(pointer).cloned();
        found.ok_or_else(|| invalid("the response has no value at the path of the result"))
    }
}

/// Whether the body is another than the one that was meant, for want of what would unpack it.
fn is_packed(headers: &HeaderMap) -> bool {
    let is_other = |name, plain: &str| {
        let mut values = headers.get_all(name).iter();
        values.any(|value| !value.as_bytes().eq_ignore_ascii_case(plain.as_bytes()))
    };
    is_other(header::CONTENT_ENCODING, "identity") || is_other(header::TRANSFER_ENCODING, "chunked")
}

/// What is no JSON, with what the API says that it is.
fn other(headers: &HeaderMap, body: &Bytes) -> Value {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    match std::str::from_utf8(body) {
        Ok(text) => json!({ "content_type": kind, "text": text }),
        Err(_) => json!({ "content_type": kind, "base64": STANDARD.encode(body) }),
    }
}
