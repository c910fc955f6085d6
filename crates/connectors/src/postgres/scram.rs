//! A stream on which nobody logs in but by SCRAM.
//!
//! The server says how its client logs in, and a client that does as it is told hands the password
//! to whoever stands in the server's place: in clear, or as an MD5 digest that is as good as the
//! password. So the first message is looked at before the client library sees it, and only a
//! request for SASL, or an error, is passed on. The library then takes no other mechanism than
//! SCRAM-SHA-256 (RFC 5802, RFC 7677), in which the password is never sent, and lets nobody in
//! before the server's signature is checked, which takes the password's verifier to make.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::BytesMut;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::tls::{ChannelBinding, TlsStream};

/// Type, length and code of a message that says how to log in.
const HEAD: usize = 9;
/// Bytes that such a message counts at least: its length and its code.
const LEAST: u32 = 8;
const SASL: u32 = 10;
const OTHER: MethodError = MethodError("another method");

/// The server wants somebody to log in otherwise than by SCRAM.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the governed database requested {0}: expected SCRAM-SHA-256; set the method `scram-sha-256` for this role in `pg_hba.conf`, and set its password again if it is stored as MD5"
)]
pub(super) struct MethodError(&'static str);

/// A stream whose first message is an error or asks for SASL, or it cannot be read.
///
/// It has to see what the client library sees, so under TLS it lies above that.
#[derive(Debug)]
pub(super) struct ScramOnly<S> {
    inner: S,
    // What has come of the first message and was not passed on yet.
    held: BytesMut,
    is_checked: bool,
}

impl<S> ScramOnly<S> {
    /// The stream, of which nothing was read yet.
    pub(super) fn new(inner: S) -> Self {
        Self { inner, held: BytesMut::with_capacity(HEAD), is_checked: false }
    }
}

/// The method that a message which begins so asks for; nothing while too little of it has come.
fn check(head: &[u8]) -> Option<Result<(), MethodError>> {
    match head {
        [] => None,
        // An error may be shorter than the head, and asks for nothing.
        [b'E', ..] => Some(Ok(())),
        [b'R', rest @ ..] => {
            let (length, rest) = rest.split_first_chunk()?;
            let code = rest.first_chunk()?;
            Some(by_code(u32::from_be_bytes(*length), u32::from_be_bytes(*code)))
        }
        _ => Some(Err(OTHER)),
    }
}

fn by_code(length: u32, code: u32) -> Result<(), MethodError> {
    Err(match code {
        // The code of a message that is too short to have one belongs to the next message.
        _ if length < LEAST => OTHER,
        SASL => return Ok(()),
        0 => MethodError("no password at all"),
        3 => MethodError("a cleartext password"),
        5 => MethodError("an MD5 password"),
        7 => MethodError("GSSAPI"),
        9 => MethodError("SSPI"),
        _ => OTHER,
    })
}

impl<S: AsyncRead + Unpin> ScramOnly<S> {
    /// Whether the first message may be passed on; false where the stream ended before that.
    fn poll_check(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<bool>> {
        while !self.is_checked {
            if let Some(checked) = check(&self.held) {
                checked.map_err(|error| io::Error::new(io::ErrorKind::PermissionDenied, error))?;
                self.is_checked = true;
            } else if ready!(self.poll_more(cx))? == 0 {
                return Poll::Ready(Ok(false));
            }
        }
        Poll::Ready(Ok(true))
    }

    /// Reads more of the head, and says how much.
    fn poll_more(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let mut bytes = [0; HEAD];
        let mut head = ReadBuf::new(&mut bytes);
        let mut lacking = head.take(HEAD.saturating_sub(self.held.len()));
        ready!(Pin::new(&mut self.inner).poll_read(cx, &mut lacking))?;
        self.held.extend_from_slice(lacking.filled());
        Poll::Ready(Ok(lacking.filled().len()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for ScramOnly<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if !ready!(self.poll_check(cx))? {
            return Poll::Ready(Ok(()));
        }
        if self.held.is_empty() {
            return Pin::new(&mut self.inner).poll_read(cx, buffer);
        }
        let size = self.held.len().min(buffer.remaining());
        buffer.put_slice(&self.held.split_to(size));
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for ScramOnly<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}

impl<S: TlsStream + Unpin> TlsStream for ScramOnly<S> {
    fn channel_binding(&self) -> ChannelBinding {
        self.inner.channel_binding()
    }
}
