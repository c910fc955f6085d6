//! A wire between store and server that a test can cut, stop up, or make deaf in one direction.

use std::sync::{
    Arc,
    atomic::{AtomicU8, Ordering},
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream, tcp},
    sync::Notify,
};

/// What the wire does with what it is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Wire {
    Through = 0,
    /// Questions arrive and answers are swallowed.
    Deaf = 1,
    /// Questions are held back until the wire is through again; answers too.
    Stopped = 2,
}

/// A proxy before a PostgreSQL server.
pub(crate) struct Proxy {
    url: String,
    state: Arc<State>,
}

struct State {
    wire: AtomicU8,
    changed: Notify,
}

impl Proxy {
    /// A proxy before the server that this address names.
    pub(crate) async fn before(url: &str) -> Self {
        let (head, rest) = url.split_once('@').unwrap();
        let (server, tail) = rest.split_once('/').unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let own = listener.local_addr().unwrap();
        let state = Arc::new(State { wire: AtomicU8::new(0), changed: Notify::new() });
        let (shared, server) = (Arc::clone(&state), server.to_owned());
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let Ok(server) = TcpStream::connect(&server).await else { return };
                let ((client_in, client_out), (server_in, server_out)) =
                    (client.into_split(), server.into_split());
                tokio::spawn(questions(client_in, server_out, Arc::clone(&shared)));
                tokio::spawn(answers(server_in, client_out, Arc::clone(&shared)));
            }
        });
        Self { url: format!("{head}@{own}/{tail}"), state }
    }

    /// The address through the proxy.
    pub(crate) fn url(&self) -> String {
        self.url.clone()
    }

    /// Changes what the wire does from now on.
    pub(crate) fn set(&self, wire: Wire) {
        self.state.wire.store(wire as u8, Ordering::SeqCst);
        self.state.changed.notify_waiters();
    }
}

impl State {
    fn is(&self, wire: Wire) -> bool {
        self.wire.load(Ordering::SeqCst) == wire as u8
    }

    async fn through(&self) {
        loop {
            let changed = self.changed.notified();
            if !self.is(Wire::Stopped) {
                return;
            }
            changed.await;
        }
    }
}

async fn questions(mut from: tcp::OwnedReadHalf, mut to: tcp::OwnedWriteHalf, state: Arc<State>) {
    let mut buffer = vec![0; 65_536];
    while let Ok(length @ 1..) = from.read(&mut buffer).await {
        state.through().await;
        if to.write_all(&buffer[..length]).await.is_err() {
            return;
        }
    }
}

async fn answers(mut from: tcp::OwnedReadHalf, mut to: tcp::OwnedWriteHalf, state: Arc<State>) {
    let mut buffer = vec![0; 65_536];
    while let Ok(length @ 1..) = from.read(&mut buffer).await {
        state.through().await;
        if !state.is(Wire::Deaf) && to.write_all(&buffer[..length]).await.is_err() {
            return;
        }
    }
}
