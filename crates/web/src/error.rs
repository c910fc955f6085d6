//! The one error of the HTTP surface and its envelope.
//!
//! Everything that goes wrong between the first byte and the handler's answer ends as an
//! [`ApiError`]; the router alone turns it into a response.

use std::{borrow::Cow, fmt};

use http::{
    HeaderName, HeaderValue, StatusCode,
    header::{ALLOW, CONNECTION, RETRY_AFTER, WWW_AUTHENTICATE},
};
use model::{RequestId, Scope, causes};
use serde_json::{Value, json};

use crate::{code::Code, codes, reply::Reply};

/// An answer that is an error.
#[derive(Debug)]
pub struct ApiError(Box<Problem>);

#[derive(Debug)]
struct Problem {
    code: Code,
    status: StatusCode,
    message: Cow<'static, str>,
    param: Option<Cow<'static, str>>,
    /// What only some errors carry, by name.
    extras: Vec<(&'static str, Value)>,
    headers: Vec<(HeaderName, HeaderValue)>,
}

impl ApiError {
    /// The error with the code's own status and this sentence.
    pub fn new(code: Code, message: impl Into<Cow<'static, str>>) -> Self {
        let [status, ..] = code.row().statuses else {
            return Self::internal();
        };
        Self(Box::new(Problem {
            code,
            status: StatusCode::from_u16(*status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
            message: message.into(),
            param: None,
            extras: Vec::new(),
            headers: Vec::new(),
        }))
    }

    /// A 400 `validation_failed` that names the field, parameter or header at fault.
    pub fn invalid(
        param: impl Into<Cow<'static, str>>,
        message: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self::new(codes::VALIDATION_FAILED, message).on(param)
    }

    /// A 422 `validation_failed` that names a malformed `Service-` header.
    pub fn bad_service_header(name: &'static str, message: impl Into<Cow<'static, str>>) -> Self {
        let mut error = Self::invalid(name, message);
        error.0.status = StatusCode::UNPROCESSABLE_ENTITY;
        error
    }

    /// The error of a code that says of what is over that it is, 410, beside another status.
    pub fn gone(code: Code, message: impl Into<Cow<'static, str>>) -> Self {
        let mut error = Self::new(code, message);
        error.0.status = StatusCode::GONE;
        error
    }

    /// The 401 that every bad credential gets; `text` is plain ASCII without quotes.
    pub fn unauthenticated(text: &'static str) -> Self {
        let challenge = format!(
            "Bearer realm=\"service\", error=\"invalid_token\", error_description=\"{text}\""
        );
        Self::new(codes::UNAUTHENTICATED, text).with_text(WWW_AUTHENTICATE, &challenge)
    }

    /// The 403 of a key that lacks the scope.
    pub fn insufficient_scope(scope: Scope) -> Self {
        let challenge =
            format!("Bearer realm=\"service\", error=\"insufficient_scope\", scope=\"{scope}\"");
        Self::new(
            codes::INSUFFICIENT_SCOPE,
            format!("this requires a key with the scope `{scope}`"),
        )
        .with_text(WWW_AUTHENTICATE, &challenge)
    }

    /// The same error with another sentence.
    pub fn saying(mut self, message: impl Into<Cow<'static, str>>) -> Self {
        self.0.message = message.into();
        self
    }

    /// The 404 of an object that the caller's org does not have.
    pub fn not_found() -> Self {
        Self::new(codes::NOT_FOUND, "the object does not exist in this org")
    }

    /// The 405 that names what the path takes.
    pub fn method_not_allowed(allow: &str) -> Self {
        Self::new(codes::METHOD_NOT_ALLOWED, format!("this path accepts {allow}"))
            .with_text(ALLOW, allow)
    }

    /// The 429 for too much at once.
    pub fn rate_limited(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(codes::RATE_LIMITED, message).retry_after(1)
    }

    /// The 503 that says why the service cannot answer now.
    pub fn unavailable(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(codes::SERVICE_UNAVAILABLE, message).retry_after(1)
    }

    /// The same 503 and logs its cause, which callers are not told.
    pub fn unavailable_because(
        message: impl Into<Cow<'static, str>>,
        cause: &dyn std::error::Error,
    ) -> Self {
        tracing::error!(cause = causes(cause), "a request failed");
        Self::unavailable(message)
    }

    /// The 500 that tells nothing; the cause was logged where it was met.
    pub fn internal() -> Self {
        Self(Box::new(Problem {
            code: codes::INTERNAL_ERROR,
            status: StatusCode::INTERNAL_SERVER_ERROR,
            message: "the service failed; the operator can find the cause by the request id".into(),
            param: None,
            extras: Vec::new(),
            headers: Vec::new(),
        }))
    }

    /// The error with the field, parameter or header at fault.
    pub fn on(mut self, param: impl Into<Cow<'static, str>>) -> Self {
        self.0.param = Some(param.into());
        self
    }

    /// The error with one more member beside its sentence.
    pub fn with_member(mut self, name: &'static str, value: Value) -> Self {
        self.0.extras.push((name, value));
        self
    }

    /// The error with a `Retry-After` of at least one second.
    pub fn retry_after(self, seconds: u64) -> Self {
        self.with(RETRY_AFTER, HeaderValue::from(seconds.max(1)))
    }

    /// The error with one more response header, once.
    pub fn with(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.0.headers.retain(|(known, _)| *known != name);
        self.0.headers.push((name, value));
        self
    }

    /// The error as the last answer on its connection, for requests whose end nobody
    /// should trust.
    pub fn closing(self) -> Self {
        self.with(CONNECTION, HeaderValue::from_static("close"))
    }

    fn with_text(self, name: HeaderName, text: &str) -> Self {
        match HeaderValue::from_str(text) {
            Ok(value) => self.with(name, value),
            // Unreachable for the fixed texts above; the error still says what it is.
            Err(_) => self,
        }
    }

    /// The code.
    pub fn code(&self) -> Code {
        self.0.code
    }

    /// The sentence.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The field, parameter or header at fault.
    pub fn param(&self) -> Option<&str> {
        self.0.param.as_deref()
    }

    /// The HTTP status.
    pub fn status(&self) -> StatusCode {
        self.0.status
    }

    /// The envelope as a response.
    pub(crate) fn into_reply(self, request: RequestId, base_url: &str) -> Reply {
        let problem = *self.0;
        let mut error = json!({
            "type": problem.code.row().family.as_str(),
            "code": problem.code.as_str(),
            "message": problem.message,
            "param": problem.param,
            "request_id": request,
            "doc_url": format!("{base_url}/docs/errors/{}", problem.code),
        });
        if let Some(members) = error.as_object_mut() {
            members
                .extend(problem.extras.into_iter().map(|(name, value)| (name.to_owned(), value)));
        }
        let mut reply = Reply::json(problem.status, &json!({ "error": error }));
        for (name, value) in problem.headers {
            reply.headers.insert(name, value);
        }
        reply
    }
}

impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.0.code, self.0.message)
    }
}

impl std::error::Error for ApiError {}

/// Returns at most the first 64 bytes of what a caller sent, for a message.
pub fn excerpt(text: &str) -> &str {
    let mut end = text.len().min(64);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}
