//! The stream of events as a client reads it: opened, read message by message, resumed.

use std::time::Duration;

use bytes::Bytes;
use crypto::Secret;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use serde_json::Value;
use upstream::{Address, Client, Open, UpstreamError};

use super::plain;
use crate::exit::Failure;

/// The path and the query of the stream.
const PATH: &str = "/v1/events";
/// The service says something every 15 seconds.
const IDLE: Duration = Duration::from_secs(45);
const ANSWERED_WITHIN: Duration = Duration::from_secs(30);
/// No message is longer.
const LONGEST: usize = 16 * 1024 * 1024;
/// What is read of an error.
const LONGEST_ERROR: usize = 64 * 1024;

/// Where events come from.
pub(super) struct Source {
    client: Client,
    address: Address,
    headers: HeaderMap,
    open: Option<Open>,
    unread: Vec<u8>,
}

/// What the service says.
#[derive(Debug, PartialEq)]
pub(super) enum Message {
    /// Something happened.
    Event(Value),
    /// Something may have, that nobody will tell.
    Missed(String),
    /// The key is good no more.
    Ended(String),
}

/// What became of an opening.
pub(super) enum Opened {
    /// The stream is open.
    Stream,
    /// The service asks for patience.
    Later(String),
}

/// Why a stream could not be opened.
#[derive(Debug, thiserror::Error)]
pub(super) enum OpenError {
    /// There was no answer.
    #[error(transparent)]
    Upstream(#[from] UpstreamError),
    /// The service refused.
    #[error("{0}")]
    Refused(String),
}

impl Source {
    pub(super) fn new(
        (client, base): (Client, Address),
        key: Secret<String>,
        types: Option<&str>,
    ) -> Result<Self, Failure> {
        let path = base.path_and_query().split('?').next().unwrap_or_default();
        let path = format!("{}{PATH}{}", path.trim_end_matches('/'), query(types));
        let address = base.at(&path).map_err(|error| Failure::usage(error.to_string()))?;
        let bearer = HeaderValue::try_from(format!("Bearer {}", key.expose()));
        let mut bearer = bearer.map_err(|_| {
            Failure::usage("the key in `SERVICE_API_KEY` contains an invalid character")
        })?;
        bearer.set_sensitive(true);
        let mut headers = HeaderMap::new();
        headers.insert(header::AUTHORIZATION, bearer);
        headers.insert(header::ACCEPT, HeaderValue::from_static("text/event-stream"));
        Ok(Self { client, address, headers, open: None, unread: Vec::new() })
    }

    /// Opens the stream behind the last event that was read, as far as the service can.
    pub(super) async fn open(&mut self) -> Result<Opened, OpenError> {
        (self.open, self.unread) = (None, Vec::new());
        let to = (Method::GET, &self.address);
        let mut open = self.client.open(to, self.headers.clone(), ANSWERED_WITHIN).await?;
        if open.status == StatusCode::OK {
            self.open = Some(open);
            return Ok(Opened::Stream);
        }
        let status = open.status;
        let said = refusal(&mut open).await;
        let why = format!("the service returned {status}{said}");
        // What is sent was wrong, and will be.
        let is_final = status.is_client_error() && status != StatusCode::TOO_MANY_REQUESTS;
        if is_final { Err(OpenError::Refused(why)) } else { Ok(Opened::Later(why)) }
    }

    /// The next message; nothing once the stream has ended.
    pub(super) async fn next(&mut self) -> Option<Message> {
        loop {
            while let Some(end) = end_of_message(&self.unread) {
                let rest = self.unread.split_off(end);
                let text = std::mem::replace(&mut self.unread, rest);
                let read = Read::of(&String::from_utf8_lossy(&text));
                if let Some(cursor) = read.cursor() {
                    self.headers.insert("last-event-id", cursor);
                }
                if let Some(message) = read.message() {
                    return Some(message);
                }
            }
            let piece = self.open.as_mut()?.next(IDLE).await;
            let piece: Option<Bytes> = piece.ok().flatten();
            match piece {
                Some(piece) if self.unread.len() + piece.len() <= LONGEST => {
                    self.unread.extend_from_slice(&piece);
                }
                _ => {
                    self.open = None;
                    return None;
                }
            }
        }
    }
}

/// Types have letters, dots, underscores and stars; what else is sent the service refuses by its name.
fn query(types: Option<&str>) -> String {
    let Some(types) = types else { return String::new() };
    let escaped = |byte: u8| match byte {
        b'a'..=b'z' | b'.' | b'_' | b'*' | b',' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    format!("?types={}", types.bytes().map(escaped).collect::<String>())
}

/// What the service says of an error, behind a colon.
async fn refusal(open: &mut Open) -> String {
    let mut read = Vec::new();
    while read.len() < LONGEST_ERROR
        && let Ok(Some(piece)) = open.next(ANSWERED_WITHIN).await
    {
        read.extend_from_slice(&piece);
    }
    let said: Value = serde_json::from_slice(&read).unwrap_or_default();
    let message = said.pointer("/error/message").and_then(Value::as_str);
    message.map(|message| format!(": {}", plain(message))).unwrap_or_default()
}

/// Where the first message ends, its empty line included.
fn end_of_message(unread: &[u8]) -> Option<usize> {
    unread.windows(2).position(|pair| pair == b"\n\n").map(|at| at + 2)
}

/// The lines of one message.
#[derive(Default)]
struct Read {
    id: String,
    event: String,
    data: String,
}

impl Read {
    fn of(text: &str) -> Self {
        let mut read = Self::default();
        for line in text.lines() {
            match line.split_once(": ") {
                Some(("id", value)) => value.clone_into(&mut read.id),
                Some(("event", value)) => value.clone_into(&mut read.event),
                Some(("data", value)) => read.data.push_str(value),
                _ => {}
            }
        }
        read
    }

    fn cursor(&self) -> Option<HeaderValue> {
        if self.id.is_empty() {
            return None;
        }
        HeaderValue::from_str(&self.id).ok()
    }

    fn message(self) -> Option<Message> {
        let data: Value = serde_json::from_str(&self.data).ok()?;
        let said = |name: &str| plain(data.get(name).and_then(Value::as_str).unwrap_or_default());
        match self.event.as_str() {
            "" | "hello" => None,
            "resync" => Some(Message::Missed(said("reason"))),
            "session_ended" => Some(Message::Ended(said("message"))),
            _ => Some(Message::Event(data)),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn heard(text: &str) -> (Option<HeaderValue>, Option<Message>) {
        let read = Read::of(text);
        (read.cursor(), read.message())
    }

    #[test]
    fn each_message_is_what_its_service_means() {
        let event = "id: abc.7\nevent: action.created\ndata: {\"id\":\"evt_1\"}\n\n";
        let cursor = Some(HeaderValue::from_static("abc.7"));
        assert_eq!(heard(event), (cursor, Some(Message::Event(json!({ "id": "evt_1" })))));
        let resync = "event: resync\ndata: {\"reason\":\"slow_client\"}\n\n";
        assert_eq!(heard(resync), (None, Some(Message::Missed("slow_client".to_owned()))));
        let ended = "event: session_ended\ndata: {\"code\":\"x\",\"message\":\"Revoked.\"}\n\n";
        assert_eq!(heard(ended), (None, Some(Message::Ended("Revoked.".to_owned()))));
        for silent in [": ping\n\n", "retry: 3000\n\n", "event: hello\ndata: {}\n\n"] {
            assert_eq!(heard(silent), (None, None), "{silent}");
        }
    }

    #[test]
    fn a_message_ends_at_its_empty_line_and_types_are_sent_as_they_are() {
        assert_eq!(end_of_message(b": ping\n"), None);
        assert_eq!(end_of_message(b": ping\n\nid"), Some(8));
        assert_eq!(query(Some("action.*,deed.sealed")), "?types=action.*,deed.sealed");
        assert_eq!(query(Some("a&b")), "?types=a%26b");
        assert_eq!(query(None), "");
    }
}
