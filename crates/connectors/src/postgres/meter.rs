//! A stream that stops when too much has come in: the guard against answers that would not fit
//! into memory, also when all of it is one row.

use std::{
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    task::{Context, Poll, ready},
};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// How many more bytes a connection may bring.
#[derive(Debug, Clone)]
pub(super) struct Meter(Arc<AtomicUsize>);

impl Meter {
    /// A meter that lets this many bytes pass.
    pub(super) fn new(bytes: usize) -> Self {
        Self(Arc::new(AtomicUsize::new(bytes)))
    }

    /// Lets this many bytes pass from now on.
    pub(super) fn refill(&self, bytes: usize) {
        self.0.store(bytes, Relaxed);
    }

    /// Whether the stream stopped because all was used up.
    pub(super) fn is_empty(&self) -> bool {
        self.0.load(Relaxed) == 0
    }
}

/// A stream under a meter.
#[derive(Debug)]
pub(super) struct Metered<S> {
    inner: S,
    meter: Meter,
}

impl<S> Metered<S> {
    /// The stream under the meter.
    pub(super) fn new(inner: S, meter: Meter) -> Self {
        Self { inner, meter }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Metered<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.inner).poll_read(cx, buffer))?;
        let came = buffer.filled().len() - before;
        let left = self.meter.0.load(Relaxed).saturating_sub(came);
        self.meter.0.store(left, Relaxed);
        Poll::Ready(if left == 0 { Err(io::ErrorKind::QuotaExceeded.into()) } else { Ok(()) })
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Metered<S> {
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
