//! The port through which requests leave.

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use model::{DeliveryError, EventId, EventType};

/// Why nothing can be posted to an address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UrlError {
    /// The text is no address that events are posted to; the sentence says what one is.
    #[error("expected {0}")]
    Malformed(String),
    /// The address may not be reached.
    #[error("{0}")]
    Refused(String),
}

/// A request that posts one event.
#[derive(Debug, Clone, Copy)]
pub struct Post<'a> {
    /// Where to.
    pub url: &'a str,
    /// `webhook-id`: the same on every try.
    pub id: EventId,
    /// `service-event-type`.
    pub kind: EventType,
    /// `webhook-timestamp`: the second of Unix time of this try.
    pub timestamp: i64,
    /// `webhook-signature`.
    pub signature: &'a str,
    /// The envelope.
    pub body: &'a [u8],
}

/// Posts events.
#[async_trait]
pub trait Sender: Send + Sync {
    /// Says why nothing could be posted to this address.
    async fn check(&self, url: &str) -> Result<(), UrlError>;

    /// Posts one event and returns the status of the answer, whatever it is. It follows nothing, and
    /// takes no longer than a try may.
    async fn post(&self, post: Post<'_>) -> Result<u16, DeliveryError>;
}

/// Where posts are made: aside of whatever somebody waits for.
#[async_trait]
pub trait Aside: Send + Sync {
    /// Runs this to its end.
    fn run(&self, work: BoxFuture<'static, ()>);

    /// Waits, in what is run here, until another post may begin.
    async fn turn(&self) {}
}
