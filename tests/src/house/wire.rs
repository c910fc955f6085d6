//! A wire in front of a PostgreSQL cluster that a test can cut, or make swallow the answer to a
//! COMMIT.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream, tcp},
    sync::watch,
};

use super::cluster::Cluster;

/// What the server says when a transaction was committed.
const COMMITTED: &[u8] = b"COMMIT\0";

/// A wire in front of a cluster.
#[derive(Debug)]
pub struct Wire {
    /// The cluster as it is reached through the wire.
    pub cluster: Cluster,
    state: Arc<State>,
}

#[derive(Debug)]
struct State {
    unanswered: AtomicUsize,
    cuts: watch::Sender<u64>,
    to_swallow: AtomicUsize,
    swallowed: AtomicUsize,
}

impl Wire {
    /// Lays a wire in front of this cluster.
    pub async fn before(cluster: &Cluster) -> Self {
        Self::dead_for(cluster, 0).await
    }

    /// Lays a wire that is dead for so many connections: each of them is closed at once.
    pub async fn dead_for(cluster: &Cluster, connections: usize) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (to_swallow, swallowed) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let (unanswered, cuts) = (AtomicUsize::new(connections), watch::Sender::new(0));
        let state = Arc::new(State { unanswered, cuts, to_swallow, swallowed });
        let server = (cluster.host.clone(), cluster.port);
        tokio::spawn(accept(listener, server, Arc::clone(&state)));
        let host = "127.0.0.1".to_owned();
        Self { cluster: Cluster { host, port, ..cluster.clone() }, state }
    }

    /// Cuts every connection; new ones go through.
    pub fn cut(&self) {
        self.state.cuts.send_modify(|cuts| *cuts += 1);
    }

    /// Swallows the answer to the next COMMIT, and cuts the connection that it was for.
    pub fn swallow_a_commit(&self) {
        self.state.to_swallow.fetch_add(1, Ordering::SeqCst);
    }

    /// For how many connections it is dead still.
    pub fn unanswered(&self) -> usize {
        self.state.unanswered.load(Ordering::SeqCst)
    }

    /// How many answers were swallowed.
    pub fn swallowed(&self) -> usize {
        self.state.swallowed.load(Ordering::SeqCst)
    }
}

impl State {
    /// Whether this connection is one of those that are not answered.
    fn is_dead(&self) -> bool {
        let take = |left: usize| left.checked_sub(1);
        self.unanswered.fetch_update(Ordering::SeqCst, Ordering::SeqCst, take).is_ok()
    }

    /// Whether this part of an answer goes no further.
    fn swallows(&self, part: &[u8]) -> bool {
        let has_commit = part.windows(COMMITTED.len()).any(|window| window == COMMITTED);
        let take = |left: usize| left.checked_sub(1);
        let swallows = has_commit
            && self.to_swallow.fetch_update(Ordering::SeqCst, Ordering::SeqCst, take).is_ok();
        self.swallowed.fetch_add(usize::from(swallows), Ordering::SeqCst);
        swallows
    }
}

async fn accept(listener: TcpListener, server: (String, u16), state: Arc<State>) {
    while let Ok((client, _)) = listener.accept().await {
        if state.is_dead() {
            continue;
        }
        // Nobody behind the wire: the connection ends at once.
        let Ok(server) = TcpStream::connect((server.0.as_str(), server.1)).await else { continue };
        let _ = (client.set_nodelay(true), server.set_nodelay(true));
        let state = Arc::clone(&state);
        tokio::spawn(async move {
            let mut cuts = state.cuts.subscribe();
            let (client_in, client_out) = client.into_split();
            let (server_in, server_out) = server.into_split();
            // The end of one direction is the end of both.
            tokio::select! {
                _ = cuts.changed() => {}
                () = questions(client_in, server_out) => {}
                () = answers(server_in, client_out, &state) => {}
            }
        });
    }
}

async fn questions(mut from: tcp::OwnedReadHalf, mut to: tcp::OwnedWriteHalf) {
    let mut part = vec![0; 65_536];
    while let Ok(length @ 1..) = from.read(&mut part).await {
        if to.write_all(&part[..length]).await.is_err() {
            return;
        }
    }
}

async fn answers(mut from: tcp::OwnedReadHalf, mut to: tcp::OwnedWriteHalf, state: &State) {
    let mut part = vec![0; 65_536];
    while let Ok(length @ 1..) = from.read(&mut part).await {
        if state.swallows(&part[..length]) || to.write_all(&part[..length]).await.is_err() {
            return;
        }
    }
}
