//! The live event stream: its beginning, its order, its cursors, and who sees what.

use serde_json::{Value, json};

use crate::{
    calls::caller,
    eventually::until,
    house::{Caller, Message, Request, SharedHouse, Stream, name},
};

fn events() -> Request {
    Request::get("/v1/events")
}

fn kinds(messages: &[Message]) -> Vec<&str> {
    messages.iter().map(|message| message.event.as_str()).collect()
}

/// Leaves a note and returns its action.
async fn note(caller: &Caller) -> Value {
    caller.executed("lab.note", json!({ "mark": name() })).await
}

#[tokio::test]
async fn a_stream_begins_with_hello_and_tells_what_is_committed() {
    let Some((_, caller)) = caller().await else { return };
    let mut stream = Stream::try_open(&caller, events()).await.unwrap();
    assert_eq!(stream.next().await.retry, "3000");
    let hello = stream.next().await;
    assert_eq!(hello.event, "hello");
    assert_eq!(hello.data["object"], "stream");
    assert_eq!(hello.data["heartbeat_s"], 15);
    assert_eq!(hello.data["resumed"], false);
    let action = note(&caller).await;
    let told = stream.until_sealed(&action).await;
    assert_eq!(kinds(&told), ["action.created", "action.witnessed", "deed.sealed"]);
    for message in &told {
        assert_eq!(message.data["object"], "event");
        assert_eq!(message.data["type"], message.event.as_str());
        assert_eq!(message.data["hydrated"], true);
        let (instance, place) = message.id.split_once('.').unwrap();
        assert_eq!(hello.data["instance"], instance);
        assert!(place.parse::<u64>().is_ok());
    }
    assert_eq!(told[2].data["data"]["object"]["id"], action["deed"]);
}

#[tokio::test]
async fn events_carry_no_payload_and_no_address() {
    let Some((_, caller)) = caller().await else { return };
    let mut stream = Stream::open(&caller, events()).await;
    let mark = name();
    let body = crate::house::call("lab.note", json!({ "mark": mark }));
    let request = Request::post("/v1/actions", &body);
    let action = caller.send(request.header("Service-On-Behalf-Of", "ann@shop.example")).await.ok();
    for message in stream.until_sealed(&action).await {
        let text = message.data.to_string();
        assert!(!text.contains(&format!("\"mark\":\"{mark}\"")), "{text}");
        assert!(!text.contains("ann@shop.example"), "{text}");
    }
}

#[tokio::test]
async fn a_cursor_goes_on_where_the_stream_was_left() {
    let Some((_, caller)) = caller().await else { return };
    let mut stream = Stream::open(&caller, events()).await;
    let first = note(&caller).await;
    let told = stream.until_sealed(&first).await;
    drop(stream);
    let missed = note(&caller).await;
    // From the middle of the first action's events on; the header wins over the parameter.
    let cursor = &told[1].id;
    let request = Request::get("/v1/events?last_event_id=zz.1").header("Last-Event-ID", cursor);
    let mut stream = Stream::try_open(&caller, request).await.unwrap();
    assert_eq!(stream.next().await.retry, "3000");
    assert_eq!(stream.next().await.data["resumed"], true);
    let again = stream.next().await;
    assert_eq!((again.event.as_str(), &again.id), ("deed.sealed", &told[2].id));
    assert_eq!(again.data["id"], told[2].data["id"], "the event is the same one");
    let told = stream.until_sealed(&missed).await;
    assert_eq!(kinds(&told), ["action.created", "action.witnessed", "deed.sealed"]);
}

#[tokio::test]
async fn a_cursor_that_cannot_be_served_is_answered_with_resync() {
    let Some((_, caller)) = caller().await else { return };
    let request = Request::get("/v1/events?last_event_id=0.1");
    let mut stream = Stream::try_open(&caller, request).await.unwrap();
    assert_eq!(stream.next().await.retry, "3000");
    assert_eq!(stream.next().await.data["resumed"], false);
    let resync = stream.next().await;
    assert_eq!(resync.event, "resync");
    assert_eq!(resync.data, json!({ "object": "resync", "reason": "cursor_expired" }));
    let action = note(&caller).await;
    assert_eq!(stream.until_sealed(&action).await.len(), 3);
}

#[tokio::test]
async fn filters_choose_types_and_families() {
    let Some((_, caller)) = caller().await else { return };
    let only = Request::get("/v1/events?types=deed.sealed");
    let mut deeds = Stream::open(&caller, only).await;
    let family = Request::get("/v1/events?types=action.*,deed.sealed");
    let mut family = Stream::open(&caller, family).await;
    let action = note(&caller).await;
    assert_eq!(kinds(&deeds.until_sealed(&action).await), ["deed.sealed"]);
    assert_eq!(family.until_sealed(&action).await.len(), 3);
}

#[tokio::test]
async fn a_bad_filter_or_cursor_is_refused_before_the_first_byte() {
    let Some((shared, caller)) = caller().await else { return };
    let long = format!("/v1/events?types={}", "action.created,".repeat(100));
    let cases = [
        ("/v1/events?types=weather.changed", "types"),
        ("/v1/events?types=", "types"),
        ("/v1/events?types=action.*,", "types"),
        (long.as_str(), "types"),
        ("/v1/events?last_event_id=yesterday", "last_event_id"),
        ("/v1/events?last_event_id=A.1", "last_event_id"),
        ("/v1/events?agent=agt_1", "agent"),
        ("/v1/events?colour=blue", "colour"),
    ];
    for (path, param) in cases {
        caller.get(path).await.error(400, "validation_failed", Some(param));
    }
    let header = events().header("Last-Event-ID", "no cursor");
    caller.send(header).await.error(400, "validation_failed", Some("Last-Event-ID"));
    let other = shared.house.agent(&name()).await;
    let path = format!("/v1/events?agent={}", other.id);
    caller.get(&path).await.error(403, "insufficient_scope", Some("agent"));
}

#[tokio::test]
async fn an_agent_sees_its_own_events_and_the_org_sees_all() {
    let Some((shared, caller)) = caller().await else { return };
    let stranger = shared.caller().await;
    let mut own = Stream::open(&caller, events()).await;
    let org = shared.service.caller(&shared.house.org_key().await);
    let mut all = Stream::open(&org, events()).await;
    let theirs = note(&stranger).await;
    let mine = note(&caller).await;
    // Nothing of the stranger's comes before the agent's own.
    assert_eq!(own.until_sealed(&mine).await.len(), 3);
    all.until_sealed(&theirs).await;
    all.until_sealed(&mine).await;
    let agent = mine["agent"]["id"].as_str().unwrap();
    let mut of_agent = Stream::open(&org, Request::get(&format!("/v1/events?agent={agent}"))).await;
    let again = note(&caller).await;
    assert_eq!(of_agent.until_sealed(&again).await.len(), 3);
}

#[tokio::test]
async fn a_key_opens_eight_streams_and_not_one_more() {
    let Some((_, caller)) = caller().await else { return };
    let mut open = Vec::new();
    for _ in 0..8 {
        open.push(Stream::open(&caller, events()).await);
    }
    let answer = Stream::try_open(&caller, events()).await.unwrap_err();
    answer.error(429, "rate_limited", None);
    assert!(answer.header("retry-after").is_some());
    drop(open.pop());
    // The service sees the end of a connection a moment later.
    until("a closed stream counts no more", async || {
        Stream::try_open(&caller, events()).await.is_ok()
    })
    .await;
}

#[tokio::test]
async fn a_refusal_is_told_with_its_deed() {
    let Some((_, caller)) = caller().await else { return };
    let mut stream = Stream::open(&caller, events()).await;
    let error = caller.call("shop.orders.delete", json!({ "order": 6 })).await;
    let action = error.error(403, "policy_denied", None)["action"].clone();
    let told = stream.until_sealed(&action).await;
    assert!(kinds(&told).contains(&"action.denied"), "{:?}", kinds(&told));
}

#[tokio::test]
async fn an_admins_change_is_told_to_the_org() {
    let Some(shared) = SharedHouse::get().await else { return };
    let org = shared.service.caller(&shared.house.org_key().await);
    let mut stream = Stream::open(&org, Request::get("/v1/events?types=agent.*")).await;
    // Made by another process: the stream follows the database and not its own process alone.
    let agent = shared.house.agent(&name()).await;
    loop {
        let message = stream.next().await;
        if message.data["data"]["object"]["id"] == agent.id {
            assert_eq!(message.event, "agent.created");
            return;
        }
    }
}
