//! A TCP connection that shows no head that cannot be read, gives up on a client which stops
//! reading, closes so that its last answer is seen, and can be told to keep little unsent data in
//! the kernel.

use std::{
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::BytesMut;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
    time::{Instant, Sleep, sleep},
};

use super::heads::{Heads, Refused};

/// Unsent bytes that the kernel may hold on a stream before it reports the socket as full, so
/// that a slow reader is noticed after kilobytes and not after megabytes.
const STREAM_UNSENT: u32 = 16 * 1024;
/// What is shown in place of a head that cannot be read; it asks for what no table has.
const STAND_IN: &[u8] = b"OPTIONS * HTTP/1.1\r\nHost: unreadable\r\n\r\n";
/// How much of what nobody reads is let pass by when a connection closes, and for how long. A socket
/// that is closed with something unread takes the answer away that its client has not read yet.
const PASSED_BYTES: usize = 8 * 1024 * 1024;
const PASSED_FOR: Duration = Duration::from_secs(1);
/// From here on the beginning of a head is looked at whatever is added, so that it has an end.
const LONG_HEAD: usize = 32 * 1024;
/// How much of it is taken at once.
const PASSED_AT_ONCE: usize = 4 * 1024;

/// Tells a connection that it now carries a live stream.
#[derive(Debug, Clone, Default)]
pub struct StreamSwitch(Arc<AtomicBool>);

impl StreamSwitch {
    /// Turns the connection into one for a live stream, from its next write on.
    pub fn turn_on(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

pub(super) struct Socket {
    stream: TcpStream,
    switch: StreamSwitch,
    patience: Duration,
    heads: Heads,
    // The beginning of a head that has not come whole.
    held: BytesMut,
    // What was judged and not read on yet.
    judged: BytesMut,
    passing: Option<Passing>,
    // Invariant: present exactly while the last write or flush could not go on.
    stalled: Option<Pin<Box<Sleep>>>,
}

/// What is let pass by at the end.
struct Passing {
    left: usize,
    until: Pin<Box<Sleep>>,
}

impl Socket {
    pub(super) fn new(stream: TcpStream, patience: Duration) -> Self {
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "could not set TCP_NODELAY");
        }
        Self {
            stream,
            switch: StreamSwitch::default(),
            patience,
            heads: Heads::new(),
            held: BytesMut::new(),
            judged: BytesMut::new(),
            passing: None,
            stalled: None,
        }
    }

    pub(super) fn switch(&self) -> StreamSwitch {
        self.switch.clone()
    }

    pub(super) fn refused(&self) -> Refused {
        self.heads.refused().clone()
    }

    /// Judges the bytes of the buffer behind this place, and leaves those in it that may be read.
    fn judge(&mut self, buffer: &mut ReadBuf<'_>, before: usize) {
        let new = buffer.filled().get(before..).unwrap_or_default();
        let passed = if self.held.is_empty() {
            let passed = self.heads.pass(new);
            self.held.extend_from_slice(new.get(passed..).unwrap_or_default());
            passed
        } else {
            // A head ends in a line feed, so without one nothing is decided.
            let may_end = new.contains(&b'\n') || self.held.len() > LONG_HEAD;
            self.held.extend_from_slice(new);
            let passed = if may_end { self.heads.pass(&self.held) } else { 0 };
            self.judged = self.held.split_to(passed);
            0
        };
        buffer.set_filled(before + passed);
        if self.heads.refused().why().is_some() {
            self.held.clear();
            self.judged.extend_from_slice(STAND_IN);
        }
    }

    /// Takes what the client still sends to nobody, until it has seen that nobody reads it.
    fn pass_by(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let Self { stream, passing, .. } = self;
        let passing = passing.get_or_insert_with(|| Passing {
            left: PASSED_BYTES,
            until: Box::pin(sleep(PASSED_FOR)),
        });
        while passing.left > 0 && passing.until.as_mut().poll(context).is_pending() {
            let mut bytes = [0; PASSED_AT_ONCE];
            let mut buffer = ReadBuf::new(&mut bytes);
            match ready!(Pin::new(&mut *stream).poll_read(context, &mut buffer)) {
                Ok(()) if !buffer.filled().is_empty() => {
                    passing.left = passing.left.saturating_sub(buffer.filled().len());
                }
                Ok(()) | Err(_) => break,
            }
        }
        Poll::Ready(())
    }

    fn limit_unsent(&self) {
        if self.switch.0.swap(false, Ordering::Relaxed) {
            #[cfg(any(target_os = "linux", target_os = "android"))]
            if let Err(error) =
                socket2::SockRef::from(&self.stream).set_tcp_notsent_lowat(STREAM_UNSENT)
            {
                tracing::debug!(%error, "could not set TCP_NOTSENT_LOWAT");
            }
        }
    }

    /// Passes a finished write on and fails one that has been pending for too long.
    fn guard<T>(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.stalled = None;
            return written;
        }
        let patience = self.patience;
        let timer = self.stalled.get_or_insert_with(|| Box::pin(sleep(patience)));
        ready!(timer.as_mut().poll(context));
        timer.as_mut().reset(Instant::now() + patience);
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        loop {
            if !self.judged.is_empty() {
                let fits = self.judged.len().min(buffer.remaining());
                buffer.put_slice(&self.judged.split_to(fits));
                return Poll::Ready(Ok(()));
            }
            if self.heads.refused().why().is_some() {
                // The answer ends the connection; an end of what is read would end it before.
                return Poll::Pending;
            }
            ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
            if buffer.filled().len() == before {
                return Poll::Ready(Ok(()));
            }
            self.judge(buffer, before);
            if buffer.filled().len() > before {
                return Poll::Ready(Ok(()));
            }
        }
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.limit_unsent();
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.guard(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.limit_unsent();
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.guard(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        // Flushing a TCP stream does nothing, so it says nothing about the reader either.
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.passing.is_none() {
            ready!(Pin::new(&mut self.stream).poll_shutdown(context))?;
        }
        if self.heads.expect_more() {
            ready!(self.pass_by(context));
        }
        Poll::Ready(Ok(()))
    }
}
