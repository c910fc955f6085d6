//! The accept loop: HTTP/1.1 over TCP with bounds on everything a client can hold open.
//!
//! It knows no route. hyper's own HTTP/1.1 builder is used because the version-detecting one
//! leaves a silent connection open for ever.

mod socket;

use std::{convert::Infallible, sync::Arc, time::Duration};

use http::{Request, Response};
use hyper::{body::Incoming, server::conn::http1};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::graceful::GracefulShutdown,
    service::TowerToHyperService,
};
use tokio::{net::TcpListener, sync::Semaphore};
use tower::Service;

use crate::{lifecycle::Lifecycle, reply::ReplyBody};
use socket::Socket;
pub use socket::StreamSwitch;

/// The bounds of the accept loop.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Connections open at once; more wait in the kernel's backlog.
    pub connections: usize,
    /// The longest a connection may take to send a request head, idle time included.
    pub header_time: Duration,
    /// The longest a client may leave what was sent to it unread.
    pub write_stall: Duration,
    /// The longest that open requests may take once the listener is closed.
    pub drain_time: Duration,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            connections: 8192,
            header_time: Duration::from_secs(10),
            write_stall: Duration::from_secs(30),
            drain_time: Duration::from_secs(30),
        }
    }
}

/// hyper's read buffer, and so the hard end of a request head.
const MAX_BUFFER: usize = 64 * 1024;
/// The pause after a failed accept, so that a full file table is not a busy loop.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Serves until the lifecycle closes and open requests are answered or out of time; returns how
/// many connections were cut off.
pub async fn serve<S>(
    listener: TcpListener,
    service: S,
    mut lifecycle: Lifecycle,
    bounds: Bounds,
) -> usize
where
    S: Service<Request<Incoming>, Response = Response<ReplyBody>, Error = Infallible>,
    S: Clone + Send + 'static,
    S::Future: Send,
{
    let slots = Arc::new(Semaphore::new(bounds.connections));
    let graceful = GracefulShutdown::new();
    loop {
        let accepted = tokio::select! {
            () = lifecycle.closing() => break,
            accepted = accept(&listener, &slots) => accepted,
        };
        let Some((stream, slot)) = accepted else {
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let connection = connection(Socket::new(stream, bounds.write_stall), &service, bounds);
        let watched = graceful.watch(connection);
        tokio::spawn(async move {
            // A broken connection is the client's affair; its requests log themselves.
            let _ = watched.await;
            drop(slot);
        });
    }
    drop(listener);
    let open = bounds.connections.saturating_sub(slots.available_permits());
    tracing::info!(open, "the listener is closed");
    match tokio::time::timeout(bounds.drain_time, graceful.shutdown()).await {
        Ok(()) => 0,
        Err(_) => bounds.connections.saturating_sub(slots.available_permits()),
    }
}

/// Waits for a free slot, then for a connection; `None` when the system could not give one.
async fn accept(
    listener: &TcpListener,
    slots: &Arc<Semaphore>,
) -> Option<(tokio::net::TcpStream, tokio::sync::OwnedSemaphorePermit)> {
    let slot = Arc::clone(slots).acquire_owned().await.ok()?;
    match listener.accept().await {
        Ok((stream, _)) => Some((stream, slot)),
        Err(error) => {
            tracing::warn!(%error, "could not accept a connection");
            None
        }
    }
}

fn connection<S>(
    socket: Socket,
    service: &S,
    bounds: Bounds,
) -> http1::Connection<TokioIo<Socket>, TowerToHyperService<WithSwitch<S>>>
where
    S: Service<Request<Incoming>, Response = Response<ReplyBody>, Error = Infallible> + Clone,
{
    let service = WithSwitch { inner: service.clone(), switch: socket.switch() };
    // `pipeline_flush` stays off: with it hyper's write buffer has no bound.
    http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(bounds.header_time)
        .max_buf_size(MAX_BUFFER)
        .serve_connection(TokioIo::new(socket), TowerToHyperService::new(service))
}

/// Gives each request the switch of its connection.
#[derive(Clone)]
struct WithSwitch<S> {
    inner: S,
    switch: StreamSwitch,
}

impl<S: Service<Request<Incoming>>> Service<Request<Incoming>> for WithSwitch<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(
        &mut self,
        context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, mut request: Request<Incoming>) -> S::Future {
        request.extensions_mut().insert(self.switch.clone());
        self.inner.call(request)
    }
}
