//! Bytes on a socket, for requests that no HTTP client would send.

use std::{net::SocketAddr, time::Duration};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

/// How long an answer may take to begin, and how long nothing is said behind one that is whole.
const BEGINS_WITHIN: Duration = Duration::from_secs(30);
const SILENCE: Duration = Duration::from_secs(3);

/// Sends the bytes and returns everything that comes back until the service closes, or until it
/// says nothing more.
pub async fn exchange(address: SocketAddr, request: &[u8]) -> String {
    let mut socket = TcpStream::connect(address).await.unwrap();
    socket.write_all(request).await.unwrap();
    let mut answer = Vec::new();
    let mut part = [0; 4096];
    let mut patience = BEGINS_WITHIN;
    while let Ok(Ok(read @ 1..)) = tokio::time::timeout(patience, socket.read(&mut part)).await {
        answer.extend_from_slice(&part[..read]);
        patience = SILENCE;
    }
    String::from_utf8_lossy(&answer).into_owned()
}
