//! The live stream.

use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Full};
use model::{PendingApprovals, Role};
use serde_json::{Value, json};
use testkit::eventually::{WITHIN, until};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use web::{Bounds, Door, ReplyBody, serve};

use super::house::{House, request};

/// Bounds that a reader which stops reading soon meets.
fn quick() -> Bounds {
    Bounds { write_stall: Duration::from_millis(300), ..Bounds::default() }
}

/// One message of a stream.
#[derive(Debug, Default)]
struct Message {
    id: Option<String>,
    event: String,
    data: Value,
}

struct Open {
    body: ReplyBody,
    text: String,
}

impl Open {
    async fn at(house: &House, path: &str, key: &str, headers: &[(&str, &str)]) -> Self {
        Self::with(house, request("GET", path, key, headers, None)).await
    }

    async fn with(house: &House, request: Request<Full<Bytes>>) -> Self {
        let response = house.router.answer(request).await;
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        assert_eq!(response.headers()["x-accel-buffering"], "no");
        let mut open = Self { body: response.into_body(), text: String::new() };
        assert_eq!(open.block().await.unwrap(), "retry: 3000");
        open
    }

    /// The next block, nothing at the end of the stream.
    async fn block(&mut self) -> Option<String> {
        loop {
            if let Some((block, rest)) = self.text.split_once("\n\n") {
                let block = block.to_owned();
                self.text = rest.to_owned();
                return Some(block);
            }
            let frame = self.body.frame().await?.unwrap();
            self.text.push_str(std::str::from_utf8(&frame.into_data().unwrap()).unwrap());
        }
    }

    async fn message(&mut self) -> Option<Message> {
        let block = self.block().await?;
        let mut message = Message::default();
        for line in block.lines() {
            match line.split_once(": ").unwrap() {
                ("id", id) => message.id = Some(id.to_owned()),
                ("event", event) => message.event = event.to_owned(),
                ("data", data) => message.data = serde_json::from_str(data).unwrap(),
                ("", comment) => message.event = format!(": {comment}"),
                (other, _) => panic!("a line `{other}`"),
            }
        }
        Some(message)
    }

    async fn events(&mut self, count: usize) -> Vec<Message> {
        let mut events = Vec::new();
        for _ in 0..count {
            events.push(self.message().await.unwrap());
        }
        events
    }
}

fn kinds(messages: &[Message]) -> Vec<&str> {
    messages.iter().map(|message| message.event.as_str()).collect()
}

const REFUND: [&str; 3] = ["action.created", "action.witnessed", "deed.sealed"];

#[tokio::test(start_paused = true)]
async fn a_stream_begins_with_hello_and_tells_what_is_committed() {
    let house = House::new().await;
    let mut stream = Open::at(&house, "/v1/events", &house.support.key, &[]).await;
    let hello = stream.message().await.unwrap();
    assert_eq!(hello.event, "hello");
    let instance = hello.data["instance"].as_str().unwrap().to_owned();
    assert!(hello.id.unwrap().starts_with(&format!("{instance}.")));
    assert_eq!(
        hello.data,
        json!({
            "object": "stream", "instance": instance, "resumed": false, "heartbeat_s": 15,
            "server_time": "2026-10-01T12:00:00.000Z",
        })
    );
    let action = house.refund(1).await;
    let events = stream.events(3).await;
    assert_eq!(kinds(&events), REFUND);
    for event in &events {
        let (of, seq) = event.id.as_deref().unwrap().split_once('.').unwrap();
        assert_eq!(of, instance);
        assert!(seq.parse::<u64>().is_ok());
        assert_eq!(event.data["object"], "event");
        assert_eq!(event.data["type"], event.event.as_str());
        assert_eq!(event.data["hydrated"], true);
    }
    let witnessed = &events[1].data["data"]["object"];
    assert_eq!((&witnessed["id"], &witnessed["status"]), (&action.body["id"], &json!("executed")));
    assert!(witnessed["execution"].get("result").is_none());
    assert_eq!(events[2].data["data"]["object"]["id"], action.body["deed"]);
}

#[tokio::test(start_paused = true)]
async fn an_agents_stream_shows_its_own_and_an_org_key_may_choose() {
    let house = House::new().await;
    let mut other = Open::at(&house, "/v1/events", &house.other.key, &[]).await;
    let path = format!("/v1/events?agent={}&types=deed.*", house.support.agent);
    let mut org = Open::at(&house, &path, &house.org_key, &[]).await;
    other.message().await.unwrap();
    org.message().await.unwrap();
    house.refund(1).await;
    let body = json!({ "tool": "shop.refund", "args": { "amount": 1 } });
    house.send(request("POST", "/v1/actions", &house.other.key, &[], Some(body))).await;
    assert_eq!(kinds(&other.events(3).await), REFUND);
    assert_eq!(kinds(&org.events(1).await), ["deed.sealed"]);
    house.refund(1).await;
    assert_eq!(kinds(&org.events(1).await), ["deed.sealed"]);
    assert_eq!(other.message().await.unwrap().event, ": ping");
}

#[tokio::test(start_paused = true)]
async fn references_that_read_like_addresses_are_not_streamed() {
    let house = House::new().await;
    let mut stream = Open::at(&house, "/v1/events", &house.support.key, &[]).await;
    stream.message().await.unwrap();
    for (reference, shown) in [("a@example.org", Value::Null), ("user-7", json!("user-7"))] {
        let body = Some(json!({ "tool": "shop.refund", "args": { "amount": 1 } }));
        let headers = [("Service-On-Behalf-Of", reference)];
        house.send(request("POST", "/v1/actions", &house.support.key, &headers, body)).await;
        for event in stream.events(3).await.iter().take(2) {
            assert_eq!(event.data["data"]["object"]["on_behalf_of"], shown);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn bad_filters_and_cursors_are_refused_before_the_first_byte() {
    let house = House::new().await;
    let long = format!("types={}", "a".repeat(1201));
    #[rustfmt::skip]
    let cases = [
        ("types=action", "types"), ("types=", "types"), ("types=action.*,", "types"), (long.as_str(), "types"),
        ("agent=me", "agent"), ("last_event_id=1", "last_event_id"), ("last_event_id=A.1", "last_event_id"),
        ("last_event_id=a.12345678901234567890", "last_event_id"), ("since=1", "since"),
    ];
    for (query, param) in cases {
        let answer = house.get(&format!("/v1/events?{query}"), &house.support.key).await;
        assert_eq!((answer.code(), answer.param()), ((400, "validation_failed"), Some(param)));
    }
    let headers = [("Last-Event-ID", "x")];
    let bad = request("GET", "/v1/events", &house.support.key, &headers, None);
    let answer = house.send(bad).await;
    assert_eq!(
        (answer.code(), answer.param()),
        ((400, "validation_failed"), Some("Last-Event-ID"))
    );
    let path = format!("/v1/events?agent={}", house.other.agent);
    assert_eq!(house.get(&path, &house.support.key).await.code(), (403, "insufficient_scope"));
}

#[tokio::test(start_paused = true)]
async fn a_cursor_resumes_where_it_was_and_the_header_wins() {
    let house = House::new().await;
    let mut first = Open::at(&house, "/v1/events", &house.support.key, &[]).await;
    first.message().await.unwrap();
    house.refund(1).await;
    let seen = first.events(1).await;
    drop(first);
    house.refund(1).await;
    let cursor = seen[0].id.clone().unwrap();
    let headers = [("Last-Event-ID", cursor.as_str())];
    let path = "/v1/events?last_event_id=zz.1";
    let mut again = Open::at(&house, path, &house.support.key, &headers).await;
    assert_eq!(again.message().await.unwrap().data["resumed"], true);
    let missed = again.events(5).await;
    let expected =
        ["action.witnessed", "deed.sealed", "action.created", "action.witnessed", "deed.sealed"];
    assert_eq!(kinds(&missed), expected);
    house.refund(1).await;
    assert_eq!(kinds(&again.events(3).await), REFUND);
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_told_nothing_yet_resumes_where_it_began() {
    let house = House::new().await;
    house.refund(1).await;
    let mut first = Open::at(&house, "/v1/events", &house.support.key, &[]).await;
    let began = first.message().await.unwrap().id.unwrap();
    drop(first);
    house.refund(1).await;
    let headers = [("Last-Event-ID", began.as_str())];
    let mut again = Open::at(&house, "/v1/events", &house.support.key, &headers).await;
    let hello = again.message().await.unwrap();
    assert_eq!((&hello.data["resumed"], hello.id), (&json!(true), Some(began)));
    assert_eq!(kinds(&again.events(3).await), REFUND);
}

#[tokio::test(start_paused = true)]
async fn a_cursor_that_cannot_be_served_asks_for_a_resync() {
    let house = House::new().await;
    let mut stream = Open::at(&house, "/v1/events", &house.support.key, &[]).await;
    let instance = stream.message().await.unwrap().data["instance"].as_str().unwrap().to_owned();
    house.refund(1).await;
    let cursor = stream.events(1).await[0].id.clone().unwrap();
    house.clock.pass(Duration::from_mins(6));
    let future = format!("{instance}.999999");
    for unserved in ["zz.1", &future, &cursor] {
        let path = format!("/v1/events?last_event_id={unserved}");
        let mut stream = Open::at(&house, &path, &house.support.key, &[]).await;
        assert_eq!(stream.message().await.unwrap().data["resumed"], false, "{unserved}");
        let resync = stream.message().await.unwrap();
        assert_eq!(resync.event, "resync");
        assert_eq!(resync.data, json!({ "object": "resync", "reason": "cursor_expired" }));
    }
}

#[tokio::test(start_paused = true)]
async fn a_silent_stream_pings_and_ends_after_half_an_hour() {
    let house = House::new().await;
    let mut stream = Open::at(&house, "/v1/events", &house.support.key, &[]).await;
    let started = tokio::time::Instant::now();
    stream.message().await.unwrap();
    let mut pings = 0;
    while let Some(message) = stream.message().await {
        assert_eq!(message.event, ": ping");
        pings += 1;
        assert_eq!(started.elapsed().as_secs(), pings * 15);
    }
    assert_eq!(started.elapsed().as_secs(), 30 * 60);
    assert_eq!(pings, 119);
}

#[tokio::test(start_paused = true)]
async fn a_revoked_key_ends_its_stream_within_a_minute() {
    let house = House::new().await;
    let mut stream = Open::at(&house, "/v1/events", &house.support.key, &[]).await;
    stream.message().await.unwrap();
    house.operator().revoke_key(house.support.id).await.unwrap();
    let mut last = stream.message().await.unwrap();
    while last.event == ": ping" {
        last = stream.message().await.unwrap();
    }
    assert_eq!(last.event, "session_ended");
    assert_eq!(
        last.data,
        json!({ "code": "unauthenticated", "message": "the API key is not valid" })
    );
    assert!(stream.message().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_revoked_key_ends_its_stream_at_the_revocations_own_event() {
    let house = House::new().await;
    let mut stream = Open::at(&house, "/v1/events", &house.support.key, &[]).await;
    stream.message().await.unwrap();
    house.operator().revoke_key(house.support.id).await.unwrap();
    let revoked = tokio::time::Instant::now();
    assert_eq!(stream.message().await.unwrap().event, "session_ended");
    assert!(stream.message().await.is_none());
    assert!(revoked.elapsed() < Duration::from_secs(1), "{:?}", revoked.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_is_never_silent_is_still_checked() {
    let house = House::new().await;
    let mut stream = Open::at(&house, "/v1/events", &house.other.key, &[]).await;
    stream.message().await.unwrap();
    house.operator().revoke_key(house.other.id).await.unwrap();
    let started = tokio::time::Instant::now();
    // Events of its agent keep coming, by the org's own doing.
    let operator = house.operator();
    loop {
        tokio::time::sleep(Duration::from_secs(1)).await;
        operator.stop_agent(house.support.agent, "a drill", PendingApprovals::Void).await.unwrap();
        operator.start_agent(house.support.agent, "a drill").await.unwrap();
        let next = tokio::time::timeout(Duration::from_millis(1), stream.message()).await;
        if let Ok(Some(message)) = next
            && message.event == "session_ended"
        {
            assert_eq!(message.data["message"], "the API key is not valid");
            break;
        }
        assert!(started.elapsed() < Duration::from_secs(70), "it was not checked");
    }
    assert!(stream.message().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_ping_is_sent_only_when_nothing_else_was_for_fifteen_seconds() {
    let house = House::new().await;
    let mut stream = Open::at(&house, "/v1/events", &house.support.key, &[]).await;
    stream.message().await.unwrap();
    tokio::time::sleep(Duration::from_secs(10)).await;
    house.refund(1).await;
    stream.events(3).await;
    let started = tokio::time::Instant::now();
    assert_eq!(stream.message().await.unwrap().event, ": ping");
    assert_eq!(started.elapsed(), Duration::from_secs(15));
}

#[tokio::test(start_paused = true)]
async fn every_type_and_every_family_is_a_filter_and_nothing_else_is() {
    let house = House::new().await;
    let mut filters: Vec<String> = Vec::new();
    for kind in model::EventType::WORDS.iter().chain(model::COMING_EVENT_TYPES) {
        let (family, _) = kind.split_once('.').unwrap();
        filters.extend([kind.to_string(), format!("{family}.*"), format!("deed.sealed,{kind}")]);
    }
    for filter in filters {
        Open::at(&house, &format!("/v1/events?types={filter}"), &house.support.key, &[]).await;
    }
    for filter in
        ["*", "action.*.*", "action.created.*", "Action.*", "action.", ".*", "action.nothing"]
    {
        let answer = house.get(&format!("/v1/events?types={filter}"), &house.support.key).await;
        assert_eq!((answer.code(), answer.param()), ((400, "validation_failed"), Some("types")));
    }
    // The bound is on the whole text, whatever stands in it.
    let item = "action.created,";
    let long = format!("{}{}", item.repeat(79), "deed.sealed,deed");
    assert!(long.len() <= 1_201);
    let fits = format!("{}{}", item.repeat(79), "action.created");
    assert_eq!(fits.len(), 1_199);
    Open::at(&house, &format!("/v1/events?types={fits}"), &house.support.key, &[]).await;
    let over = format!("{}{}", item.repeat(79), "action.cancelled");
    assert_eq!(over.len(), 1_201);
    let answer = house.get(&format!("/v1/events?types={over}"), &house.support.key).await;
    assert_eq!((answer.code(), answer.param()), ((400, "validation_failed"), Some("types")));
}

#[tokio::test(start_paused = true)]
async fn what_was_missed_and_cannot_be_read_asks_for_a_resync() {
    let house = House::new().await;
    let mut first = Open::at(&house, "/v1/events", &house.support.key, &[]).await;
    first.message().await.unwrap();
    house.refund(1).await;
    let cursor = first.events(1).await[0].id.clone().unwrap();
    let path = format!("/v1/events?last_event_id={cursor}");
    let mut again = Open::at(&house, &path, &house.support.key, &[]).await;
    assert_eq!(again.message().await.unwrap().data["resumed"], true);
    house.store.go_down();
    let resync = again.message().await.unwrap();
    assert_eq!(resync.data, json!({ "object": "resync", "reason": "events_unavailable" }));
}

#[tokio::test]
async fn a_reader_that_never_reads_is_closed_and_holds_nothing() {
    let house = House::new().await;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let door = Door::new(listener);
    let open = std::sync::Arc::clone(&door.open);
    let served = serve(door, house.router.clone(), house.lifecycle.clone(), quick());
    tokio::spawn(served);
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4_096).unwrap();
    let mut stream = socket.connect(address).await.unwrap();
    let key = &house.support.key;
    let head = format!("GET /v1/events HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {key}\r\n\r\n");
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut text = String::new();
    read_until(&mut stream, &mut text, "event: hello").await;
    assert_eq!((open.get(), house.router.state().held_open().streams), (1, 1));
    let is_closed = async || {
        for _ in 0..50 {
            house.authorize().await;
        }
        open.get() == 0
    };
    until("the stream is closed", is_closed).await;
    assert_eq!(house.router.state().held_open().streams, 0);
}

#[tokio::test(start_paused = true)]
async fn a_key_holds_eight_streams() {
    let house = House::new().await;
    let mut open = Vec::new();
    for _ in 0..8 {
        open.push(Open::at(&house, "/v1/events", &house.support.key, &[]).await);
    }
    let answer = house.get("/v1/events", &house.support.key).await;
    assert_eq!(answer.code(), (429, "rate_limited"));
    assert_eq!(answer.headers["retry-after"], "1");
    Open::at(&house, "/v1/events", &house.other.key, &[]).await;
    open.pop();
    Open::at(&house, "/v1/events", &house.support.key, &[]).await;
}

#[tokio::test(start_paused = true)]
async fn a_person_holds_eight_streams_in_however_many_browsers() {
    let house = House::new().await;
    let first = house.browser("ada@example.com", Role::Viewer).await.key;
    let second = house.browser_in(house.org, "ada@example.com", Role::Viewer).await.key;
    let mut open = Vec::new();
    for browser in [&first, &second, &first, &second, &first, &second, &first, &second] {
        open.push(Open::at(&house, "/v1/events", browser, &[]).await);
    }
    for browser in [&first, &second] {
        let answer = house.get("/v1/events", browser).await;
        assert_eq!(answer.code(), (429, "rate_limited"));
    }
    let other = house.browser("bob@example.com", Role::Viewer).await.key;
    Open::at(&house, "/v1/events", &other, &[]).await;
}

#[tokio::test(start_paused = true)]
async fn a_page_that_is_left_open_does_not_keep_its_session_in_use() {
    let house = House::new().await;
    let ada = house.browser("ada@example.com", Role::Viewer).await.key;
    let mut stream = Open::at(&house, "/v1/events", &ada, &[]).await;
    stream.message().await.unwrap();
    house.clock.pass(Duration::from_hours(7));
    for _ in 0..8 {
        assert!(stream.message().await.is_some(), "it was idle for seven hours");
    }
    house.clock.pass(Duration::from_hours(6));
    let mut left = 0;
    while stream.message().await.is_some() {
        left += 1;
        assert!(left < 20, "it goes on after thirteen idle hours");
    }
    assert_eq!(house.get("/v1/session", &ada).await.code(), (401, "unauthenticated"));
}

#[tokio::test(start_paused = true)]
async fn a_closing_server_ends_its_streams() {
    let house = House::new().await;
    let mut stream = Open::at(&house, "/v1/events", &house.support.key, &[]).await;
    stream.message().await.unwrap();
    house.control.close();
    assert!(stream.message().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_falls_behind_is_told_to_fetch_its_lists() {
    let house = House::new().await;
    let mut stream = Open::at(&house, "/v1/events", &house.org_key, &[]).await;
    stream.message().await.unwrap();
    // Each authorization is a turn of its own, and so a batch; 64 of them are kept.
    for _ in 0..70 {
        house.authorize().await;
        tokio::task::yield_now().await;
    }
    let resync = stream.message().await.unwrap();
    assert_eq!(resync.data, json!({ "object": "resync", "reason": "slow_client" }));
    house.authorize().await;
    assert_eq!(kinds(&stream.events(1).await), ["action.created"]);
}

#[tokio::test(start_paused = true)]
async fn what_another_instance_commits_is_streamed_too() {
    let house = House::new().await;
    let mut stream = Open::at(&house, "/v1/events", &house.org_key, &[]).await;
    stream.message().await.unwrap();
    let elsewhere = house.second_instance();
    let operator = elsewhere.operate(&testkit::Operator).org(house.org);
    operator.stop_agent(house.other.agent, "a drill", PendingApprovals::Void).await.unwrap();
    let events = stream.events(2).await;
    assert_eq!(kinds(&events), ["agent.stopped", "deed.sealed"]);
    assert_eq!(events[0].data["hydrated"], false);
}

#[tokio::test]
async fn over_a_socket_events_come_at_once_and_closing_ends_the_connection() {
    let house = House::new().await;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let door = Door::new(listener);
    let served = serve(door, house.router.clone(), house.lifecycle.clone(), quick());
    let served = tokio::spawn(served);
    let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
    let key = &house.support.key;
    let head = format!("GET /v1/events HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {key}\r\n\r\n");
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut text = String::new();
    read_until(&mut stream, &mut text, "event: hello").await;
    assert!(text.starts_with("HTTP/1.1 200"), "{text}");
    house.refund(1).await;
    read_until(&mut stream, &mut text, "event: deed.sealed").await;
    house.control.close();
    // A chunked body that ended in order, and then the end of the connection.
    stream.read_to_string(&mut text).await.unwrap();
    assert!(text.ends_with("0\r\n\r\n"), "{text}");
    assert_eq!(served.await.unwrap(), 0);
}

async fn read_until(stream: &mut tokio::net::TcpStream, text: &mut String, mark: &str) {
    let mut buffer = [0; 4096];
    while !text.contains(mark) {
        let read = stream.read(&mut buffer);
        let read = tokio::time::timeout(WITHIN, read).await.unwrap().unwrap();
        assert_ne!(read, 0, "{text}");
        text.push_str(std::str::from_utf8(&buffer[..read]).unwrap());
    }
}
