//! A connection that is read line by line.
//!
//! What a server, or somebody between, sends behind its yes to STARTTLS must not be taken for an
//! answer that came under TLS. Since no read gets more than one line, none of it lies in a buffer
//! when the connection is handed to TLS, which refuses it.

use std::{
    fmt, io,
    net::SocketAddr,
    pin::Pin,
    task::{Context, Poll, ready},
};

use lettre::transport::smtp::client::AsyncTokioStream;
use tokio::io::{AsyncBufRead, AsyncRead, AsyncWrite, BufReader, ReadBuf};

/// A stream from which each read takes at most one line.
#[derive(Debug)]
pub(super) struct Lines<S> {
    inner: BufReader<S>,
    peer: SocketAddr,
}

impl<S: AsyncRead> Lines<S> {
    pub(super) fn new(stream: S, peer: SocketAddr) -> Self {
        Self { inner: BufReader::new(stream), peer }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Lines<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let held = ready!(Pin::new(&mut self.inner).poll_fill_buf(context))?;
        let line = held.split_inclusive(|byte| *byte == b'\n').next().unwrap_or_default();
        let taken = line.get(..buffer.remaining()).unwrap_or(line);
        buffer.put_slice(taken);
        let taken = taken.len();
        Pin::new(&mut self.inner).consume(taken);
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Lines<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}

impl<S> AsyncTokioStream for Lines<S>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + Sync + fmt::Debug,
{
    fn peer_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.peer)
    }
}
