//! Slow, silent and many clients, and the way down.

use std::time::Duration;

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::{Instant, timeout},
};

use super::support::*;
use crate::{Bounds, Phase};

async fn closes(stream: &mut TcpStream) -> bool {
    let mut rest = Vec::new();
    matches!(timeout(WITHIN, stream.read_to_end(&mut rest)).await, Ok(Ok(_)))
}

#[tokio::test]
async fn a_silent_connection_is_closed() {
    let server = start(quick()).await;
    for sent in ["", "GET /v1/pi", "PRI * HT", "GET /v1/ping HTTP/1.1\r\nHost: a\r\n\r\n"] {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        stream.write_all(sent.as_bytes()).await.unwrap();
        assert!(closes(&mut stream).await, "{sent:?}");
    }
}

#[tokio::test]
async fn a_head_that_trickles_is_cut_off() {
    let server = start(quick()).await;
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    let started = Instant::now();
    for byte in b"GET /v1/ping HTTP/1.1\r\nHost: aaaaaaaaaaaaaaaaaaaaaaaaaa".iter().cycle() {
        if stream.write_all(&[*byte]).await.is_err() || started.elapsed() > WITHIN {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(started.elapsed() < WITHIN);
}

#[tokio::test]
async fn a_body_that_trickles_is_refused() {
    let server = start(quick()).await;
    let request = format!(
        "POST /v1/echo HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {AGENT}\r\n\
         Content-Type: application/json\r\nContent-Length: 20\r\n\r\n{{"
    );
    let answer = exchange(server.address, request).await;
    assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
    assert_eq!(header(&answer, "connection"), Some("close"));
}

#[tokio::test]
async fn a_body_that_goes_on_trickling_is_refused_all_the_same() {
    let server = start(quick()).await;
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    let head = format!(
        "POST /v1/echo HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {AGENT}\r\n\
         Content-Type: application/json\r\nContent-Length: 60\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let (mut from, mut to) = stream.into_split();
    let trickle = tokio::spawn(async move {
        while to.write_all(b" ").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    let mut answer = String::new();
    timeout(WITHIN, from.read_to_string(&mut answer)).await.unwrap().unwrap();
    assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
    trickle.await.unwrap();
}

#[tokio::test]
async fn bodies_that_do_not_arrive_take_their_share_of_the_room_and_give_it_back() {
    let server = start_patient(quick()).await;
    let holds = async |bytes: usize| {
        until("the bodies are counted", async || server.router.body_bytes() == bytes).await;
    };
    let post = |key: &str, rest: &str| {
        format!(
            "POST /v1/echo HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {key}\r\n\
             Content-Type: application/json\r\nConnection: close\r\n{rest}"
        )
    };
    let mut slow = Vec::new();
    for key in [[AGENT; 8].as_slice(), &[SECOND; 2]].concat() {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        stream.write_all(post(key, "Content-Length: 64\r\n\r\n{").as_bytes()).await.unwrap();
        slow.push(stream);
    }
    holds(ROOM).await;
    for (key, rest, status) in [
        (AGENT, "Content-Length: 1\r\n\r\n{", 429),
        (SECOND, "Content-Length: 1\r\n\r\n{", 503),
        (SECOND, "Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n0\r\n\r\n", 503),
    ] {
        let answer = exchange(server.address, post(key, rest)).await;
        assert_eq!(parsed(&answer).0, status, "{answer}");
        assert_eq!(header(&answer, "retry-after"), Some("1"), "{answer}");
        assert_eq!(header(&answer, "connection"), Some("close"), "{answer}");
    }
    drop(slow);
    holds(0).await;
    let whole = post(SECOND, "Content-Length: 12\r\n\r\n{\"name\":\"a\"}");
    assert_eq!(parsed(&exchange(server.address, whole).await).0, 200);
}

#[tokio::test]
async fn a_client_that_says_it_will_send_no_more_holds_nothing_open() {
    let server = start_patient(Bounds { header_time: WITHIN * 2, ..quick() }).await;
    for sent in
        ["", "GET /v1/pi", "POST /v1/echo HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n{"]
    {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        stream.write_all(sent.as_bytes()).await.unwrap();
        stream.shutdown().await.unwrap();
        assert!(closes(&mut stream).await, "{sent:?}");
    }
}

#[tokio::test]
async fn many_silent_connections_are_all_closed_and_the_server_answers_meanwhile() {
    let bounds = Bounds { connections: 600, connections_of_one: 600, ..quick() };
    let server = start(bounds).await;
    let mut silent = Vec::new();
    for _ in 0..500 {
        silent.push(TcpStream::connect(server.address).await.unwrap());
    }
    let request = "GET /v1/ping HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    assert!(exchange(server.address, request).await.contains("pong"));
    for stream in &mut silent {
        assert!(closes(stream).await);
    }
}

#[tokio::test]
async fn a_reader_that_stops_reading_is_cut_off() {
    let server = start(quick()).await;
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream.write_all(b"GET /flood HTTP/1.1\r\nHost: a\r\n\r\n").await.unwrap();
    let mut rest = vec![0];
    stream.read_exact(&mut rest).await.unwrap();
    until("the connection is closed", async || server.open.get() == 0).await;
    // What the kernel held is still there to be read; behind it the connection is broken.
    let ended = timeout(WITHIN, stream.read_to_end(&mut rest)).await;
    assert!(ended.is_ok(), "the flood went on");
    assert!(rest.starts_with(b"HTTP/1.1 200"));
}

#[tokio::test]
async fn connections_over_the_cap_wait_for_a_free_place() {
    let server = start(Bounds { connections: 1, header_time: WITHIN * 2, ..quick() }).await;
    let first = TcpStream::connect(server.address).await.unwrap();
    let request = "GET /v1/ping HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    let mut waiting = tokio::spawn(exchange(server.address, request));
    let unanswered = timeout(Duration::from_millis(200), &mut waiting).await;
    assert!(unanswered.is_err(), "{unanswered:?}");
    drop(first);
    assert!(waiting.await.unwrap().contains("pong"));
}

#[tokio::test]
async fn draining_still_answers_and_closing_finishes_what_is_open() {
    let Server { address, control, lifecycle, done, router, .. } = start(quick()).await;
    let slow = "GET /v1/slow HTTP/1.1\r\nHost: a\r\n\r\n";
    let ping = "GET /v1/ping HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    let (hurry, hurried) = tokio::sync::oneshot::channel::<()>();
    let drain = tokio::spawn(async move {
        control.drain(WITHIN * 2, async { hurried.await.unwrap() }).await;
    });
    until("it drains", async || lifecycle.phase() == Phase::Draining).await;
    // Who keeps connections open is told to open no more on this one.
    let answer = exchange(address, ping.replace("Connection: close\r\n", "")).await;
    assert!(answer.contains("pong"), "{answer}");
    assert_eq!(header(&answer, "connection"), Some("close"));
    let mut open = TcpStream::connect(address).await.unwrap();
    open.write_all(slow.as_bytes()).await.unwrap();
    until_under_way(&router).await;
    hurry.send(()).unwrap();
    drain.await.unwrap();
    let mut answer = String::new();
    open.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert_eq!(done.await.unwrap(), 0);
    assert!(TcpStream::connect(address).await.is_err());
}

#[tokio::test]
async fn what_does_not_end_is_cut_off_at_the_hard_limit() {
    let bounds = Bounds { drain_time: Duration::from_millis(100), ..quick() };
    let server = start(bounds).await;
    let mut open = TcpStream::connect(server.address).await.unwrap();
    open.write_all(b"GET /v1/never HTTP/1.1\r\nHost: a\r\n\r\n").await.unwrap();
    until_under_way(&server.router).await;
    server.control.close();
    assert_eq!(timeout(WITHIN, server.done).await.unwrap().unwrap(), 1);
}

/// A connection on which response after response is read.
struct Client {
    stream: TcpStream,
    held: String,
}

impl Client {
    async fn to(server: &Server) -> Self {
        let stream = TcpStream::connect(server.address).await.unwrap();
        Self { stream, held: String::new() }
    }

    async fn send(&mut self, text: &str) {
        self.stream.write_all(text.as_bytes()).await.unwrap();
    }

    /// The next response, whose body has the announced length.
    async fn answer(&mut self) -> String {
        let mut part = [0; 4096];
        loop {
            let head = self.held.split_once("\r\n\r\n").map(|(head, _)| head.len() + 4);
            let length = header(&self.held, "content-length").and_then(|it| it.parse().ok());
            let end = head.zip(length).map(|(head, length): (_, usize)| head + length);
            if let Some(end) = end.filter(|end| self.held.len() >= *end) {
                let rest = self.held.split_off(end);
                return std::mem::replace(&mut self.held, rest);
            }
            let read = timeout(WITHIN, self.stream.read(&mut part)).await.unwrap().unwrap();
            assert!(read > 0, "closed within an answer: {:?}", self.held);
            self.held.push_str(std::str::from_utf8(&part[..read]).unwrap());
        }
    }
}

#[tokio::test]
async fn a_small_body_of_a_refused_request_is_thrown_away_and_the_connection_goes_on() {
    let server = start_patient(Bounds { header_time: WITHIN * 2, ..quick() }).await;
    let mut client = Client::to(&server).await;
    let refused = [
        ("POST /v1/echo HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer svc_live_nobody", 401),
        ("POST /v1/nothing HTTP/1.1\r\nHost: a", 404),
        ("PUT /v1/echo HTTP/1.1\r\nHost: a", 405),
        ("POST /v1/echo HTTP/1.1\r\nHost: a\r\nService-Version: 1", 400),
        ("POST /v1/panic HTTP/1.1\r\nHost: a", 400),
        (
            "POST /v1/settings HTTP/1.1\r\nHost: a\r\nOrigin: http://test\r\n\
             Cookie: svc_session=ann\r\nService-CSRF: wrong",
            403,
        ),
    ];
    for (head, status) in refused {
        for (length, body) in [
            ("Content-Length: 10", "0123456789".to_owned()),
            ("Transfer-Encoding: chunked", "5\r\n01234\r\n5\r\n56789\r\n0\r\n\r\n".to_owned()),
            ("Content-Length: 262144", "x".repeat(256 * 1024)),
        ] {
            // As many clients send it: the body only once the head is on its way.
            let head = format!("{head}\r\n{length}\r\n\r\n");
            client.send(&head).await;
            until_under_way(&server.router).await;
            client.send(&body).await;
            let refused = client.answer().await;
            assert_eq!(parsed(&refused).0, status, "{head}: {refused}");
            assert_eq!(header(&refused, "connection"), None, "{head}: {refused}");
        }
    }
    client.send("GET /v1/ping?n=1 HTTP/1.1\r\nHost: a\r\n\r\n").await;
    assert_eq!(parsed(&client.answer().await).1["pong"], "1");
}

#[tokio::test]
async fn what_stands_behind_a_body_that_is_thrown_away_is_the_next_request() {
    let server = start_patient(Bounds { header_time: WITHIN * 2, ..quick() }).await;
    let mut client = Client::to(&server).await;
    let ping = "GET /v1/ping?n=1 HTTP/1.1\r\nHost: a\r\n\r\n";
    for (length, body) in [
        ("Content-Length: 34", "GET /v1/ping HTTP/1.1\r\nHost: a\r\n\r\n".to_owned()),
        ("Transfer-Encoding: chunked", "3\r\nabc\r\n0\r\nX-Sum: 1\r\n\r\n".to_owned()),
        // More than the route takes, and less than what is thrown away.
        ("Content-Length: 5000", "x".repeat(5000)),
    ] {
        let sent = format!("POST /v1/nothing HTTP/1.1\r\nHost: a\r\n{length}\r\n\r\n{body}{ping}");
        client.send(&sent).await;
        assert_eq!(parsed(&client.answer().await).0, 404, "{length}");
        assert_eq!(parsed(&client.answer().await).1["pong"], "1", "{length}");
    }
    // Refused once a part of it was read.
    let chunk = format!("20\r\n{}\r\n", "a".repeat(32));
    let large = format!(
        "POST /v1/echo HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {AGENT}\r\n\
         Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n{}0\r\n\r\n{ping}",
        chunk.repeat(20)
    );
    client.send(&large).await;
    assert_eq!(parsed(&client.answer().await).0, 413);
    assert_eq!(parsed(&client.answer().await).1["pong"], "1");
}

#[tokio::test]
async fn no_more_of_a_body_is_thrown_away_than_its_bound() {
    let server = start_patient(quick()).await;
    let mut client = Client::to(&server).await;
    let head = "POST /v1/nothing HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
    // It has no end, and is not waited for.
    let body = format!("40001\r\n{}\r\n", "x".repeat(0x40001));
    client.send(&format!("{head}{body}")).await;
    let refused = client.answer().await;
    assert_eq!(parsed(&refused).0, 404, "{refused}");
    assert_eq!(header(&refused, "connection"), Some("close"), "{refused}");
}

#[tokio::test]
async fn whoever_is_refused_with_a_body_that_is_not_waited_for_is_told_of_the_close() {
    let server = start(quick()).await;
    for (length, sent) in [
        ("Content-Length: 262145", ""),
        // It never comes.
        ("Content-Length: 10", "01234"),
        ("Transfer-Encoding: chunked", "5\r\n01234\r\n"),
        ("Content-Length: 10\r\nExpect: 100-continue", ""),
        ("Transfer-Encoding: chunked", "no chunk\r\n"),
    ] {
        let mut client = Client::to(&server).await;
        let head = format!("POST /v1/nothing HTTP/1.1\r\nHost: a\r\n{length}\r\n\r\n{sent}");
        client.send(&head).await;
        let refused = client.answer().await;
        assert_eq!(parsed(&refused).0, 404, "{length} {sent}: {refused}");
        assert_eq!(header(&refused, "connection"), Some("close"), "{length} {sent}: {refused}");
        client.stream.shutdown().await.unwrap();
        assert!(closes(&mut client.stream).await, "{length} {sent}");
    }
}

#[tokio::test]
async fn whoever_is_refused_before_the_body_is_read_sends_it_and_reads_the_answer() {
    let server = start(quick()).await;
    let body = vec![b'x'; 6 * 1024 * 1024];
    let length = body.len();
    for (head, status) in [
        ("POST /v1/echo HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer svc_live_nobody", 401),
        ("POST /v1/nothing HTTP/1.1\r\nHost: a", 404),
        ("POST /v1/echo HTTP/1.1\r\nHost: a b", 400),
        ("POST /v1/echo HTTP/9.1\r\nHost: a", 400),
        ("POST /v1/panic HTTP/1.1\r\nHost: a", 400),
    ] {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        let head = format!("{head}\r\nContent-Length: {length}\r\n\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        timeout(WITHIN, stream.write_all(&body)).await.unwrap().unwrap();
        let mut answer = String::new();
        timeout(WITHIN, stream.read_to_string(&mut answer)).await.unwrap().unwrap();
        assert_eq!(parsed(&answer).0, status, "{head}: {answer}");
    }
    // Nobody is waited for who sends no end of it.
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream.write_all(b"POST /v1/echo HTTP/1.1\r\nHost: a b\r\n\r\n").await.unwrap();
    let endless = async { while stream.write_all(&body).await.is_ok() {} };
    timeout(WITHIN, endless).await.unwrap();
}
