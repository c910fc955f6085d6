//! A TCP connection that gives up on a client which stops reading, and that can be told to keep
//! little unsent data in the kernel.

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

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
    time::{Instant, Sleep, sleep},
};

use super::heads::{Ambiguous, Heads};

/// Unsent bytes that the kernel may hold on a stream before it reports the socket as full, so
/// that a slow reader is noticed after kilobytes and not after megabytes.
const STREAM_UNSENT: u32 = 16 * 1024;

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
    // Invariant: present exactly while the last write or flush could not go on.
    stalled: Option<Pin<Box<Sleep>>>,
}

impl Socket {
    pub(super) fn new(stream: TcpStream, patience: Duration) -> Self {
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "could not set TCP_NODELAY");
        }
        let (switch, heads) = (StreamSwitch::default(), Heads::new());
        Self { stream, switch, patience, heads, stalled: None }
    }

    pub(super) fn switch(&self) -> StreamSwitch {
        self.switch.clone()
    }

    pub(super) fn ambiguous(&self) -> Ambiguous {
        self.heads.found()
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
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        self.heads.see(buffer.filled().get(before..).unwrap_or_default());
        read
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
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
