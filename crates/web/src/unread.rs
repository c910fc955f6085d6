//! What is left of a body once its request is refused.
//!
//! An HTTP/1.1 connection carries no further request before the body of the last one is read. hyper
//! closes a connection whose body is let go of, and the client meets that with its next request. So
//! a small rest is read and thrown away, and the client of any other is told of the close.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, header::EXPECT};
use http_body_util::{BodyExt, combinators::UnsyncBoxBody};
use hyper::body::{Body, Frame};
use tokio::{sync::oneshot, time::timeout};

/// The most bytes that are thrown away.
const MAX_BYTES: u64 = 256 * 1024;

/// The body's bytes stopped coming before its end.
#[derive(Debug)]
pub(crate) struct BrokenOff;

type Frames = UnsyncBoxBody<Bytes, BrokenOff>;

/// The body of a request, whatever carried it here. What nobody read of it is handed to [`Unread`].
pub(crate) struct RequestBody {
    frames: Option<Frames>,
    rest: Option<oneshot::Sender<Frames>>,
}

impl RequestBody {
    /// The next part of the body; none after the last one or after a failure.
    pub(crate) async fn frame(&mut self) -> Option<Result<Frame<Bytes>, BrokenOff>> {
        let frame = self.frames.as_mut()?.frame().await;
        if !matches!(frame, Some(Ok(_))) {
            self.frames = None;
        }
        frame
    }
}

impl Drop for RequestBody {
    fn drop(&mut self) {
        if let (Some(frames), Some(rest)) = (self.frames.take(), self.rest.take()) {
            // Nobody takes it where the request was given up as a whole.
            let _ = rest.send(frames);
        }
    }
}

/// The rest of a body that somebody else reads.
pub(crate) struct Unread {
    rest: oneshot::Receiver<Frames>,
    // The client sends nothing before it is told to go on.
    waits: bool,
}

/// A body, and what will be left of it.
pub(crate) fn split(headers: &HeaderMap, frames: Frames) -> (RequestBody, Unread) {
    let (sender, rest) = oneshot::channel();
    let body = RequestBody { frames: Some(frames), rest: Some(sender) };
    (body, Unread { rest, waits: headers.contains_key(EXPECT) })
}

impl Unread {
    /// Throws the rest away, if it comes within this time; whether the connection may carry another
    /// request then.
    pub(crate) async fn throw_away(mut self, within: Duration) -> bool {
        let Ok(mut rest) = self.rest.try_recv() else { return true };
        if rest.is_end_stream() {
            return true;
        }
        if self.waits || rest.size_hint().lower() > MAX_BYTES {
            return false;
        }
        let thrown = async {
            let mut bytes = 0;
            while let Some(frame) = rest.frame().await {
                let Ok(frame) = frame else { return false };
                bytes += frame.data_ref().map_or(0, |data| data.len() as u64);
                if bytes > MAX_BYTES {
                    return false;
                }
            }
            true
        };
        timeout(within, thrown).await.unwrap_or(false)
    }
}
