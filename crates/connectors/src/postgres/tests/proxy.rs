//! A proxy between the connector and the server that can lose the answer to COMMIT.

use std::net::SocketAddr;

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

/// What the proxy does with COMMIT.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OnCommit {
    /// Passes it on, and cuts the connection when the answer comes.
    LoseAnswer,
    /// Cuts the connection instead of passing it on.
    LoseRequest,
    /// Passes it on, and never passes the answer on.
    HoldAnswer,
}

/// The simple query `commit` as it goes over the wire.
const COMMIT: &[u8] = b"Q\0\0\0\x0bcommit\0";

/// Starts a proxy to the server and returns its address.
pub(crate) async fn start(server: SocketAddr, on_commit: OnCommit) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            tokio::spawn(carry(client, server, on_commit));
        }
    });
    address
}

async fn carry(client: TcpStream, server: SocketAddr, on_commit: OnCommit) {
    let mut server = TcpStream::connect(server).await.unwrap();
    let mut client = client;
    let (mut from_client, mut from_server) = ([0; 8192], [0; 8192]);
    loop {
        tokio::select! {
            read = client.read(&mut from_client) => {
                let Ok(size @ 1..) = read else { return };
                let sent = &from_client[..size];
                let commits = sent.windows(COMMIT.len()).any(|window| window == COMMIT);
                if commits && on_commit == OnCommit::LoseRequest {
                    return;
                }
                server.write_all(sent).await.unwrap();
                if commits {
                    // The answer proves that the server has committed.
                    let _answer = server.read(&mut from_server).await.unwrap();
                    if on_commit == OnCommit::HoldAnswer {
                        std::future::pending::<()>().await;
                    }
                    return;
                }
            }
            read = server.read(&mut from_server) => {
                let Ok(size @ 1..) = read else { return };
                client.write_all(&from_server[..size]).await.unwrap();
            }
        }
    }
}
