//! What clients send is held in memory within a bound.

use std::{net::SocketAddr, time::Duration};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::{
    house::House,
    one_org::{neighbour, refused},
};

const MIB: u64 = 1024 * 1024;

/// Sends all of a body but its last byte, then waits for an answer; the status, if one came.
async fn almost(address: SocketAddr, key: String, bytes: usize) -> Option<u16> {
    let mut socket = TcpStream::connect(address).await.ok()?;
    let head = format!(
        "POST /v1/actions HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {key}\r\n\
         Content-Type: application/json\r\nContent-Length: {bytes}\r\n\r\n"
    );
    socket.write_all(head.as_bytes()).await.ok()?;
    // A service that has answered already reads no more.
    let _ = socket.write_all(&vec![b' '; bytes - 1]).await;
    let mut answer = Vec::new();
    let _ = socket.read_to_end(&mut answer).await;
    String::from_utf8_lossy(&answer).split(' ').nth(1)?.parse().ok()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_bodies_that_never_end_take_a_bounded_room_and_others_are_served() {
    let Some(house) = House::new("").await else { return };
    let (_, neighbour) = neighbour(&house).await;
    let slow = house.agent("slow").await;
    let service = house.serve().await;
    refused(&service, &neighbour).await;
    let sending: Vec<_> = (0..1000)
        .map(|_| tokio::spawn(almost(service.address, slow.key.clone(), 320 * 1024)))
        .collect();
    for _ in 0..10 {
        refused(&service, &neighbour).await;
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
    let peak = service.memory("VmHWM:");
    assert!(peak < 300 * MIB, "{} MiB", peak / MIB);
    let mut answered = 0;
    for task in sending {
        if task.is_finished() {
            answered += usize::from(task.await.unwrap() == Some(429));
        } else {
            task.abort();
        }
    }
    assert!(answered > 0, "nobody was told to wait");
    let peak = service.memory("VmHWM:");
    assert!(peak < 300 * MIB, "{} MiB", peak / MIB);
}
