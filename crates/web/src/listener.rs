//! The accept loop: HTTP/1.1 over TCP with bounds on everything a client can hold open.
//!
//! It knows no route. hyper's own HTTP/1.1 builder is used because the version-detecting one
//! leaves a silent connection open for ever.

mod heads;
mod socket;

use std::{
    convert::Infallible,
    net::{IpAddr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use http::{Request, Response};
use hyper::{body::Incoming, server::conn::http1};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::graceful::GracefulShutdown,
    service::TowerToHyperService,
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore},
};
use tower::Service;

use crate::{
    client::{Peer, TrustedProxies, counted},
    lifecycle::Lifecycle,
    reply::ReplyBody,
    slots::{Slot, Slots},
    traffic::Open,
};
pub(crate) use heads::{Refused, Unreadable};
use socket::Socket;
pub use socket::StreamSwitch;

/// The bounds of the accept loop.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Connections open at once; more wait in the kernel's backlog.
    pub connections: usize,
    /// Connections open at once from one address that is no trusted proxy's; one more is closed.
    pub connections_of_one: usize,
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
            connections_of_one: 2048,
            header_time: Duration::from_secs(10),
            write_stall: Duration::from_secs(30),
            drain_time: Duration::from_secs(30),
        }
    }
}

/// Where connections come in.
#[derive(Debug)]
pub struct Door {
    /// The listener.
    pub listener: TcpListener,
    /// The proxies that connections of many clients come through.
    pub proxies: TrustedProxies,
    /// How many connections are open.
    pub open: Arc<Open>,
}

impl Door {
    /// The door at this listener, with no proxy before it.
    pub fn new(listener: TcpListener) -> Self {
        Self { listener, proxies: TrustedProxies::default(), open: Arc::default() }
    }
}

/// hyper's read buffer, and so the hard end of a request head.
const MAX_BUFFER: usize = 64 * 1024;
/// The pause after a failed accept, so that a full file table is not a busy loop.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Serves until the lifecycle closes and open requests are answered or out of time; returns how
/// many connections were cut off.
pub async fn serve<S>(door: Door, service: S, mut lifecycle: Lifecycle, bounds: Bounds) -> usize
where
    S: Service<Request<Incoming>, Response = Response<ReplyBody>, Error = Infallible>,
    S: Clone + Send + 'static,
    S::Future: Send,
{
    let Door { listener, proxies, open } = door;
    let slots = Arc::new(Semaphore::new(bounds.connections));
    let by_address = Slots::new(bounds.connections_of_one);
    let graceful = GracefulShutdown::new();
    loop {
        let accepted = tokio::select! {
            () = lifecycle.closing() => break,
            accepted = accept(&listener, &slots) => accepted,
        };
        let Some((stream, peer, slot)) = accepted else {
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let place = match place(peer.ip(), &proxies, &by_address) {
            Ok(place) => place,
            Err(Crowded) => continue,
        };
        let socket = Socket::new(stream, bounds.write_stall);
        let watched = graceful.watch(connection(socket, Peer(peer.ip()), &service, bounds));
        let held = open.hold();
        tokio::spawn(async move {
            // A broken connection is the client's affair; its requests log themselves.
            let _ = watched.await;
            drop((slot, place, held));
        });
    }
    drop(listener);
    tracing::info!(open = open.get(), "the listener is closed");
    match tokio::time::timeout(bounds.drain_time, graceful.shutdown()).await {
        Ok(()) => 0,
        Err(_) => bounds.connections.saturating_sub(slots.available_permits()),
    }
}

/// Waits for a free slot, then for a connection; `None` when the system could not give one.
async fn accept(
    listener: &TcpListener,
    slots: &Arc<Semaphore>,
) -> Option<(TcpStream, SocketAddr, OwnedSemaphorePermit)> {
    let slot = Arc::clone(slots).acquire_owned().await.ok()?;
    match listener.accept().await {
        Ok((stream, peer)) => Some((stream, peer, slot)),
        Err(error) => {
            tracing::warn!(%error, "could not accept a connection");
            None
        }
    }
}

/// Too many connections are open from one address.
struct Crowded;

/// The place of a connection among those of its address; a proxy's are not counted.
fn place(
    peer: IpAddr,
    proxies: &TrustedProxies,
    by_address: &Slots<IpAddr>,
) -> Result<Option<Slot<IpAddr>>, Crowded> {
    if proxies.trust(peer) {
        return Ok(None);
    }
    let place = by_address.take(counted(peer));
    if place.is_none() {
        tracing::debug!(%peer, "closed a connection: too many are open from its address");
    }
    place.map(Some).ok_or(Crowded)
}

fn connection<S>(
    socket: Socket,
    peer: Peer,
    service: &S,
    bounds: Bounds,
) -> http1::Connection<TokioIo<Socket>, TowerToHyperService<OfConnection<S>>>
where
    S: Service<Request<Incoming>, Response = Response<ReplyBody>, Error = Infallible> + Clone,
{
    let (switch, refused) = (socket.switch(), socket.refused());
    let service = OfConnection { inner: service.clone(), switch, refused, peer };
    // `pipeline_flush` stays off: with it hyper's write buffer has no bound.
    http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(bounds.header_time)
        .max_buf_size(MAX_BUFFER)
        .serve_connection(TokioIo::new(socket), TowerToHyperService::new(service))
}

/// Gives each request what is known of its connection.
#[derive(Clone)]
struct OfConnection<S> {
    inner: S,
    switch: StreamSwitch,
    refused: Refused,
    peer: Peer,
}

impl<S: Service<Request<Incoming>>> Service<Request<Incoming>> for OfConnection<S> {
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
        let known = request.extensions_mut();
        known.insert(self.switch.clone());
        known.insert(self.refused.clone());
        known.insert(self.peer);
        self.inner.call(request)
    }
}
