//! What clients send is held in memory within a bound, and given back.

use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::{
    edge::edge_call,
    house::{Caller, House, Request, Service},
    upkeep::{neighbour, refused},
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

/// Sends calls with large arguments, one after the other, until each is recorded.
async fn send_large(caller: Caller, calls: usize) {
    let body = edge_call(&json!({ "text": "x".repeat(250_000) }));
    for _ in 0..calls {
        let deadline = Instant::now() + Duration::from_mins(1);
        loop {
            // Who is sent away before the body was read may find the connection closed.
            let answer = caller.try_send(Request::post("/v1/actions", &body)).await;
            match answer.map_or(503, |answer| answer.status.as_u16()) {
                200 => break,
                429 | 503 if Instant::now() < deadline => {
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
                other => panic!("{other}"),
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_192_mb_of_calls_the_memory_comes_back() {
    let Some(house) = House::new("").await else { return };
    let mut keys = Vec::new();
    for number in 0..8 {
        keys.push(house.agent(&format!("large-{number}")).await.key);
    }
    let service = house.serve().await;
    for key in &keys {
        send_large(service.caller(key), 1).await;
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    let before = service.memory("VmRSS:");
    for _ in 0..3 {
        send_64_mb(&service, &keys).await;
    }
    // The allocator keeps part of what it gave out at once; memory that calls hold would be added
    // each time.
    let most = before * 2;
    let deadline = Instant::now() + Duration::from_mins(1);
    let mut after = service.memory("VmRSS:");
    println!("{} MiB before, {} MiB right after", before / MIB, after / MIB);
    while after > most {
        assert!(Instant::now() < deadline, "{} MiB, {} before", after / MIB, before / MIB);
        tokio::time::sleep(Duration::from_millis(200)).await;
        after = service.memory("VmRSS:");
    }
    println!("{} MiB in the end", after / MIB);
}

/// Sends 256 calls of 250 kB at once, an eighth of them with each of eight keys.
async fn send_64_mb(service: &Service, keys: &[String]) {
    let callers = keys.iter().flat_map(|key| (0..32).map(|_| service.caller(key)));
    let sending: Vec<_> = callers.map(|caller| tokio::spawn(send_large(caller, 1))).collect();
    for task in sending {
        task.await.unwrap();
    }
}
