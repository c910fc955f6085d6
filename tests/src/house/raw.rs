//! Bytes on a socket, for requests that no HTTP client would send.

use std::{net::SocketAddr, time::Duration};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

/// Sends the bytes and returns everything that comes back until the service closes, or until it
/// says nothing for a while.
pub async fn exchange(address: SocketAddr, request: &[u8]) -> String {
    let mut socket = TcpStream::connect(address).await.unwrap();
    socket.write_all(request).await.unwrap();
    let mut answer = Vec::new();
    let mut part = [0; 4096];
    while let Ok(Ok(read @ 1..)) =
        tokio::time::timeout(Duration::from_secs(3), socket.read(&mut part)).await
    {
        answer.extend_from_slice(&part[..read]);
    }
    String::from_utf8_lossy(&answer).into_owned()
}
