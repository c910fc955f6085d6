//! What a handler gives back: status, headers and a body, complete or streamed.
//!
//! The router adds what every response carries (request id, version, cache rules).

use std::fmt;

use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use http::{
    HeaderMap, HeaderName, HeaderValue, Response, StatusCode,
    header::{CACHE_CONTROL, CONTENT_TYPE, SET_COOKIE},
};
use http_body_util::{BodyExt, Either, Full, StreamBody, combinators::UnsyncBoxBody};
use hyper::body::Frame;
use serde::Serialize;

/// What nginx, and the proxies that follow it, read before they hold a response back.
const UNBUFFERED: HeaderName = HeaderName::from_static("x-accel-buffering");

/// The body of every response.
pub type ReplyBody = Either<Full<Bytes>, UnsyncBoxBody<Bytes, CutError>>;

/// A streamed answer that breaks off: its connection is closed without the end that the protocol
/// has, so that whoever reads it knows.
#[derive(Debug, thiserror::Error)]
#[error("the response could not be written completely")]
pub struct CutError;

/// A handler's answer.
pub struct Reply {
    /// The HTTP status.
    pub status: StatusCode,
    /// The headers that are the handler's own.
    pub headers: HeaderMap,
    body: ReplyBody,
}

impl Reply {
    /// An answer of these bytes.
    pub fn bytes(status: StatusCode, media_type: &'static str, body: impl Into<Bytes>) -> Self {
        let mut headers = HeaderMap::with_capacity(8);
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
        Self { status, headers, body: Either::Left(Full::new(body.into())) }
    }

    /// A JSON answer; a value that cannot be written becomes a bare 500.
    pub fn json<T: Serialize>(status: StatusCode, value: &T) -> Self {
        match serde_json::to_vec(value) {
            Ok(body) => Self::bytes(status, "application/json", body),
            Err(error) => {
                tracing::error!(%error, "could not write a response as JSON");
                Self::empty(StatusCode::INTERNAL_SERVER_ERROR)
            }
        }
    }

    /// A 200 JSON answer.
    pub fn ok<T: Serialize>(value: &T) -> Self {
        Self::json(StatusCode::OK, value)
    }

    /// An answer without a body.
    pub fn empty(status: StatusCode) -> Self {
        Self { status, headers: HeaderMap::new(), body: Either::Left(Full::default()) }
    }

    /// A 200 answer whose body is written while it is made.
    pub fn stream<S>(media_type: &'static str, chunks: S) -> Self
    where
        S: Stream<Item = Bytes> + Send + 'static,
    {
        Self::breakable(media_type, chunks.map(Ok))
    }

    /// A 200 answer whose body is written while it is made, and that may break off. A proxy in
    /// between is asked to pass each part on at once.
    pub fn breakable<S>(media_type: &'static str, chunks: S) -> Self
    where
        S: Stream<Item = Result<Bytes, CutError>> + Send + 'static,
    {
        let mut headers = HeaderMap::with_capacity(8);
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
        headers.insert(UNBUFFERED, HeaderValue::from_static("no"));
        let frames = StreamBody::new(chunks.map(|chunk| chunk.map(Frame::data)));
        let body = Either::Right(BodyExt::boxed_unsync(frames));
        Self { status: StatusCode::OK, headers, body }
    }

    /// The answer, holding this until the last of a streamed body was taken.
    pub(crate) fn holding(mut self, held: impl Send + 'static) -> Self {
        if let Either::Right(body) = self.body {
            let body = body.map_frame(move |frame| {
                let _held = &held;
                frame
            });
            self.body = Either::Right(BodyExt::boxed_unsync(body));
        }
        self
    }

    /// The JSON that it is, for a page that shows what a read answers; nothing of any other answer.
    pub async fn into_json(self) -> Option<serde_json::Value> {
        let body = self.body.collect().await.ok()?.to_bytes();
        serde_json::from_slice(&body).ok()
    }

    /// The answer with one more header.
    pub fn with(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.insert(name, value);
        self
    }

    /// The answer that gives its browser one more cookie, or takes one.
    pub fn with_cookie(mut self, cookie: HeaderValue) -> Self {
        self.headers.append(SET_COOKIE, cookie);
        self
    }

    /// The finished response; what does not say how long it may be kept is not kept.
    pub fn into_response(mut self) -> Response<ReplyBody> {
        self.headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
        self.headers
            .entry(HeaderName::from_static("x-content-type-options"))
            .or_insert(HeaderValue::from_static("nosniff"));
        let mut response = Response::new(self.body);
        *response.status_mut() = self.status;
        *response.headers_mut() = self.headers;
        response
    }
}

impl fmt::Debug for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The body may hold a tool's result, which no log may show.
        f.debug_struct("Reply").field("status", &self.status).finish_non_exhaustive()
    }
}
