//! An open event stream, read message by message.

use std::time::Duration;

use bytes::Bytes;
use http::Method;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use serde_json::Value;

use super::{
    caller::{Answer, Caller, Request},
    judge,
};

/// Longer than any message that is to come takes.
const PATIENCE: Duration = Duration::from_secs(10);
/// Where streams are.
const PATH: &str = "/v1/events";

/// One message of a stream, or one comment.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Message {
    /// What it is; empty for a comment or a `retry` line.
    pub event: String,
    /// The cursor behind it.
    pub id: String,
    /// Its data.
    pub data: Value,
    /// The milliseconds after which to connect again.
    pub retry: String,
}

/// An open stream.
#[derive(Debug)]
pub struct Stream {
    body: Incoming,
    unread: String,
}

impl Stream {
    /// Opens a stream, or returns the error that was answered.
    pub async fn try_open(caller: &Caller, request: Request) -> Result<Self, Answer> {
        let (head, body) = caller.open(request).await.expect("an answer").into_parts();
        let streams = head.status == 200;
        let mut answer = Answer { status: head.status, headers: head.headers, body: Bytes::new() };
        if streams {
            judge::check(&Method::GET, PATH, &answer);
            return Ok(Self { body, unread: String::new() });
        }
        answer.body = body.collect().await.unwrap().to_bytes();
        judge::check(&Method::GET, PATH, &answer);
        Err(answer)
    }

    /// Opens a stream of a service that may be gone; nothing when it does not come.
    pub async fn follow(caller: &Caller, request: Request) -> Option<Self> {
        let opening = tokio::time::timeout(PATIENCE, caller.open(request));
        let (head, body) = opening.await.ok()?.ok()?.into_parts();
        (head.status == 200).then(|| Self { body, unread: String::new() })
    }

    /// Opens a stream and passes its beginning.
    pub async fn open(caller: &Caller, request: Request) -> Self {
        let mut stream = Self::try_open(caller, request).await.expect("a stream");
        assert_eq!(stream.next().await.retry, "3000");
        assert_eq!(stream.next().await.event, "hello");
        stream
    }

    /// The next message, which must come soon.
    pub async fn next(&mut self) -> Message {
        self.try_next().await.expect("the stream ended")
    }

    /// The next message, which must come soon; nothing once the stream has ended.
    pub async fn try_next(&mut self) -> Option<Message> {
        tokio::time::timeout(PATIENCE, self.heard()).await.expect("a message in time")
    }

    /// The next message; nothing once the stream has ended or was silent for this long.
    pub async fn next_within(&mut self, patience: Duration) -> Option<Message> {
        tokio::time::timeout(patience, self.heard()).await.ok()?
    }

    async fn heard(&mut self) -> Option<Message> {
        loop {
            if let Some((text, rest)) = self.unread.split_once("\n\n") {
                let message = Message::read(text);
                let rest = rest.to_owned();
                self.unread = rest;
                return Some(message);
            }
            if let Ok(part) = self.body.frame().await?.ok()?.into_data() {
                self.unread.push_str(std::str::from_utf8(&part).unwrap());
            }
        }
    }

    /// The messages up to the one that seals this action, that one included.
    pub async fn until_sealed(&mut self, action: &Value) -> Vec<Message> {
        let mut messages = Vec::new();
        loop {
            let message = self.next().await;
            let object = &message.data["data"]["object"];
            let sealed = message.event == "deed.sealed" && object["action"] == action["id"];
            messages.push(message);
            if sealed {
                return messages;
            }
        }
    }
}

impl Message {
    fn read(text: &str) -> Self {
        let mut message = Self::default();
        for line in text.lines() {
            match line.split_once(": ") {
                Some(("event", event)) => event.clone_into(&mut message.event),
                Some(("id", id)) => id.clone_into(&mut message.id),
                Some(("retry", retry)) => retry.clone_into(&mut message.retry),
                Some(("data", data)) => message.data = serde_json::from_str(data).unwrap(),
                Some(("", _comment)) => {}
                other => panic!("no line of a stream: {other:?}"),
            }
        }
        message
    }
}
