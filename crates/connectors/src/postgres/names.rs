//! A stream on which no other process gives the same names to prepared statements.
//!
//! The client library counts: its statements are `s0`, `s1` and so on in every process. Where a
//! pooler gives two processes the same server session, one of them would run what the other one
//! prepared under that name. So each name gets a random prefix on its way to the server, also those
//! of the library's own statements, by which it looks types up.
//!
//! Only the four messages that name a statement are changed: Parse, Bind, Describe and Close
//! (PostgreSQL, "Message Formats"). The unnamed statement stays unnamed, since it lives no longer
//! than until the next one.

use std::{
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use bytes::{Buf, BufMut, BytesMut};
use model::Entropy;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::tls::{ChannelBinding, TlsStream};

/// Bytes that hold the length of a message, which counts itself and what follows.
const LENGTH: usize = 4;

/// What the names on one connector's connections begin with.
#[derive(Debug, Clone)]
pub(super) struct Prefix(Arc<str>);

impl Prefix {
    /// A prefix that nobody else draws.
    pub(super) fn draw(entropy: &dyn Entropy) -> Self {
        let mut bytes = [0; 16];
        entropy.fill(&mut bytes);
        // PostgreSQL keeps 63 bytes of a name: these 37, and a number of at most 21.
        Self(format!("svc_{}_", super::hex(&bytes)).into())
    }

    /// Its text.
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

/// A stream on which the names of prepared statements begin with a prefix.
#[derive(Debug)]
pub(super) struct PrefixedNames<S> {
    inner: S,
    writer: Writer,
}

/// What the client has sent and the server has not been sent yet.
#[derive(Debug)]
struct Writer {
    prefix: Prefix,
    // The message that is not whole yet.
    part: BytesMut,
    ready: BytesMut,
    // The first message of a connection has no type, and names no statement.
    is_started: bool,
}

impl<S> PrefixedNames<S> {
    /// The stream, to which nothing was written yet.
    pub(super) fn new(inner: S, prefix: Prefix) -> Self {
        let (part, ready) = (BytesMut::new(), BytesMut::new());
        Self { inner, writer: Writer { prefix, part, ready, is_started: false } }
    }
}

impl Writer {
    /// Takes what the client sends, and makes ready what of it is whole messages.
    fn take(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.part.extend_from_slice(bytes);
        while let Some(size) = self.size()?.filter(|size| *size <= self.part.len()) {
            let message = self.part.split_to(size);
            self.is_started = true;
            self.make_ready(&message)?;
        }
        Ok(())
    }

    /// The bytes of the next message; nothing while too little of it is there to tell.
    fn size(&self) -> io::Result<Option<usize>> {
        let kind = usize::from(self.is_started);
        let Some(length) = self.part.get(kind..).and_then(|rest| rest.first_chunk()) else {
            return Ok(None);
        };
        let length = usize::try_from(u32::from_be_bytes(*length)).ok();
        let size = length.filter(|length| *length >= LENGTH).and_then(|it| it.checked_add(kind));
        size.map(Some).ok_or_else(|| io::ErrorKind::InvalidInput.into())
    }

    fn make_ready(&mut self, message: &[u8]) -> io::Result<()> {
        let Some((kind, before, named)) = split_at_name(message) else {
            self.ready.extend_from_slice(message);
            return Ok(());
        };
        let prefix = self.prefix.as_str().as_bytes();
        let length = LENGTH + before.len() + prefix.len() + named.len();
        self.ready.put_u8(kind);
        self.ready.put_u32(length.try_into().map_err(|_| io::ErrorKind::InvalidInput)?);
        for part in [before, prefix, named] {
            self.ready.extend_from_slice(part);
        }
        Ok(())
    }
}

/// A message that names a statement: its type, and its body before and from the name.
fn split_at_name(message: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (kind, rest) = message.split_first()?;
    let body = rest.get(LENGTH..)?;
    let at = match (kind, body) {
        (b'P', _) => 0,
        // The name of the portal comes first.
        (b'B', _) => body.iter().position(|byte| *byte == 0)? + 1,
        (b'D' | b'C', [b'S', ..]) => 1,
        _ => return None,
    };
    let (before, named) = body.split_at_checked(at)?;
    (*named.first()? != 0).then_some((*kind, before, named))
}

impl<S: AsyncWrite + Unpin> PrefixedNames<S> {
    /// Hands on what is ready.
    fn poll_hand_on(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.writer.ready.has_remaining() {
            let sent = ready!(Pin::new(&mut self.inner).poll_write(cx, &self.writer.ready))?;
            if sent == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.writer.ready.advance(sent);
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for PrefixedNames<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        // No more than one write is held, however slowly the server takes it.
        ready!(self.poll_hand_on(cx))?;
        self.writer.take(bytes)?;
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_hand_on(cx))?;
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_hand_on(cx))?;
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for PrefixedNames<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(cx, buffer)
    }
}

impl<S: TlsStream + Unpin> TlsStream for PrefixedNames<S> {
    fn channel_binding(&self) -> ChannelBinding {
        self.inner.channel_binding()
    }
}
