//! How often large arguments are held between the socket and the Gate: counted by an allocator.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
};

use allocation_counter::measure;
use serde_json::json;
use tokio::{
    net::TcpListener,
    runtime::{Builder, Runtime},
    sync::oneshot,
};
use web::{Bounds, Door, serve};

use super::house::House;

const LARGE: usize = 200 * 1024;

/// Sends a call whose arguments have so many bytes, which the Gate of the tests refuses once it has
/// measured them; answers with what came back.
fn send(address: SocketAddr, key: &str, size: usize) -> String {
    let args = json!({ "amount": 1, "note": "x".repeat(size) });
    let body = json!({ "tool": "shop.refund", "args": args }).to_string();
    let head = format!(
        "POST /v1/actions HTTP/1.1\r\nHost: a\r\nConnection: close\r\nAuthorization: Bearer {key}\
         \r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(body.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// The bytes that the service allocates for such a call.
fn allocated(runtime: &Runtime, address: SocketAddr, key: &str, size: usize) -> u64 {
    let (tell, told) = oneshot::channel();
    let key = key.to_owned();
    // Allocations are counted for a thread, so the client has one of its own.
    let client = std::thread::spawn(move || tell.send(send(address, &key, size)));
    let counted = measure(|| {
        let answer = runtime.block_on(told).unwrap();
        assert!(answer.contains("expected at most 1000 bytes"), "{answer}");
    });
    client.join().unwrap().unwrap();
    counted.bytes_total
}

#[test]
fn large_arguments_are_held_so_often_until_the_gate_has_measured_them() {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let house = runtime.block_on(House::new());
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
    let address = listener.local_addr().unwrap();
    let (router, lifecycle) = (house.router.clone(), house.lifecycle.clone());
    runtime.spawn(serve(Door::new(listener), router, lifecycle, Bounds::default()));
    let small = allocated(&runtime, address, &house.support.key, 1_000);
    let large = allocated(&runtime, address, &house.support.key, 1_000 + LARGE);
    // One is the socket's, one the body, one what is parsed, one its canonical form.
    let copies = (large - small) * 100 / u64::try_from(LARGE).unwrap();
    assert!(copies <= 450, "{copies} hundredths");
}
