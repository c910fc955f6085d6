//! What came back.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, Response, StatusCode};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use tokio::time::timeout;

use crate::{Limits, UpstreamError};

/// What came back.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Body,
}

/// A body as it came, packed or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body {
    /// All of it.
    Whole(Bytes),
    /// Its first bytes: it has more than were to be read.
    Cut(Bytes),
}

/// What comes back over a long time.
#[derive(Debug)]
pub struct Open {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    incoming: Incoming,
}

impl Open {
    pub(crate) fn of(answer: Response<Incoming>) -> Self {
        let (parts, incoming) = answer.into_parts();
        Self { status: parts.status, headers: parts.headers, incoming }
    }

    /// The next piece of the body, which may take as long as `idle`; nothing at its end.
    pub async fn next(&mut self, idle: Duration) -> Result<Option<Bytes>, UpstreamError> {
        piece(&mut self.incoming, idle).await
    }
}

async fn piece(incoming: &mut Incoming, idle: Duration) -> Result<Option<Bytes>, UpstreamError> {
    loop {
        let frame = timeout(idle, incoming.frame()).await;
        let Some(frame) = frame.map_err(|_| UpstreamError::idle())? else { return Ok(None) };
        if let Ok(data) = frame.map_err(UpstreamError::broken)?.into_data() {
            return Ok(Some(data));
        }
    }
}

/// The body, as far as it is to be read.
pub(crate) async fn body(mut incoming: Incoming, limits: &Limits) -> Result<Body, UpstreamError> {
    let mut read = BytesMut::new();
    loop {
        let Some(data) = piece(&mut incoming, limits.idle).await? else {
            return Ok(Body::Whole(read.freeze()));
        };
        let room = limits.answer_bytes - read.len();
        if data.len() > room {
            read.extend_from_slice(&data.slice(..room));
            return Ok(Body::Cut(read.freeze()));
        }
        read.extend_from_slice(&data);
    }
}
