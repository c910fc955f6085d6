//! One open event stream: what it sends, in which order, and when it ends.
//!
//! The body is made as it is read: a client that reads slowly holds back nothing but its own
//! place in the feed, and once it is too far behind it is told to fetch its lists again.

mod message;

use std::{collections::VecDeque, sync::Arc, time::Duration};

use bytes::Bytes;
use event::{Event, Types};
use futures_util::Stream;
use ledger::StoreDown;
use model::{AgentId, Uuid};
use tokio::{sync::broadcast, time::Instant};
use web::{ApiError, Credential, Slot};

use super::{
    cursor::{Cursor, Resume},
    feed::{Batch, CHUNK, Subscription},
};
use crate::{
    access::{Reader, STREAM_READERS},
    app::{App, again},
};

/// How often the credential is looked at again.
const RECHECK: Duration = Duration::from_mins(1);
/// How long a stream lasts.
const LIFETIME: Duration = Duration::from_mins(30);
/// How far back a cursor is served.
const RESUME_WINDOW: Duration = Duration::from_mins(5);

/// Which events a stream shows.
#[derive(Debug, Clone)]
pub(crate) struct Wanted {
    pub(crate) types: Types,
    /// Of this agent only.
    pub(crate) agent: Option<AgentId>,
}

impl Wanted {
    fn shows(&self, event: &Event) -> bool {
        self.types.cover(event.kind) && self.agent.is_none_or(|agent| event.agent == Some(agent))
    }
}

/// An open stream.
pub(crate) struct EventStream {
    app: Arc<App>,
    caller: Reader,
    // As it was sent, to be looked up again.
    shown: Option<Credential>,
    wanted: Wanted,
    subscription: Subscription,
    // The place of the last event that was looked at.
    last: u64,
    // Messages that are made and not read yet.
    queue: VecDeque<Bytes>,
    heartbeat: Instant,
    recheck: Instant,
    end: Instant,
    ended: bool,
    _slot: Slot<Uuid>,
}

/// Whose stream it is and what holds its place.
pub(crate) struct Opening {
    pub(crate) caller: Reader,
    pub(crate) shown: Option<Credential>,
    pub(crate) slot: Slot<Uuid>,
}

impl EventStream {
    /// Opens a stream: from here on it misses nothing.
    pub(crate) async fn open(
        app: Arc<App>,
        opening: Opening,
        wanted: Wanted,
        cursor: Option<Cursor>,
    ) -> Result<Self, StoreDown> {
        let Opening { caller, shown, slot } = opening;
        let subscription = app.feeds.subscribe(caller.org()).await?;
        let position = subscription.position;
        let resume = match cursor {
            None => Resume::Live,
            Some(cursor) => resume(&app, &caller, cursor, position).await?,
        };
        let last = match resume {
            Resume::Behind(seq) => seq,
            Resume::Live | Resume::Expired => position,
        };
        let mut queue = VecDeque::from([message::hello(&app, resume, last)]);
        if resume == Resume::Expired {
            queue.push_back(message::resync("cursor_expired"));
        }
        let now = Instant::now();
        Ok(Self {
            app,
            caller,
            shown,
            wanted,
            subscription,
            last,
            queue,
            heartbeat: now + message::HEARTBEAT,
            recheck: now + RECHECK,
            end: now + LIFETIME,
            ended: false,
            _slot: slot,
        })
    }

    /// The body that the stream is read as.
    pub(crate) fn into_body(self) -> impl Stream<Item = Bytes> {
        futures_util::stream::unfold(self, |mut stream| async move {
            let message = stream.next().await?;
            Some((message, stream))
        })
    }

    /// The next message; nothing once the stream has ended.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(message) = self.queue.pop_front() {
                self.heartbeat = Instant::now() + message::HEARTBEAT;
                return Some(message);
            }
            if self.ended {
                return None;
            }
            if self.last < self.subscription.position {
                self.catch_up().await;
            } else {
                self.listen().await;
            }
        }
    }

    /// Reads from the store what lies between the cursor and the feed.
    async fn catch_up(&mut self) {
        let events = self.app.feeds.store();
        match events.events_after(self.caller.org(), self.last, CHUNK).await {
            Ok(events) if events.is_empty() => self.last = self.subscription.position,
            Ok(events) => self.show(&Batch::new(events)).await,
            Err(error) => {
                tracing::warn!(%error, "could not read events that a stream missed");
                self.last = self.subscription.position;
                self.queue.push_back(message::resync("events_unavailable"));
            }
        }
    }

    /// Waits for whatever comes first.
    async fn listen(&mut self) {
        let mut lifecycle = self.app.lifecycle.clone();
        // In this order: a stream that is busy all the time still ends, and is still checked.
        tokio::select! {
            biased;
            () = lifecycle.closing() => self.ended = true,
            () = tokio::time::sleep_until(self.end) => self.ended = true,
            () = tokio::time::sleep_until(self.recheck) => self.check_credential().await,
            batch = self.subscription.batches.recv() => match batch {
                Ok(batch) => self.show(&batch).await,
                Err(broadcast::error::RecvError::Lagged(_)) => self.skip(),
                Err(broadcast::error::RecvError::Closed) => self.ended = true,
            },
            () = tokio::time::sleep_until(self.heartbeat) => {
                self.queue.push_back(message::ping());
            }
        }
    }

    /// Lets go of everything that a slow reader has not read.
    fn skip(&mut self) {
        self.subscription.batches = self.subscription.batches.resubscribe();
        self.queue.clear();
        self.queue.push_back(message::resync("slow_client"));
    }

    async fn show(&mut self, batch: &Batch) {
        if self.caller.key().is_some_and(|key| batch.revokes(key)) {
            return self.end_session(&ApiError::unauthenticated("the API key is not valid"));
        }
        let shown = |event: &&Event| event.seq > self.last && self.wanted.shows(event);
        if batch.events.iter().any(|event| shown(&event)) {
            let objects = batch.objects.get_or_init(|| message::objects(&self.app, batch)).await;
            let pairs = batch.events.iter().zip(objects);
            let messages: Vec<Bytes> = pairs
                .filter(|(event, _)| shown(event))
                .map(|(event, object)| message::event(&self.app, event, object.as_ref()))
                .collect();
            self.queue.extend(messages);
        }
        self.last = batch.events.last().map_or(self.last, |event| event.seq.max(self.last));
    }

    /// Ends the stream of a credential that no longer opens it.
    async fn check_credential(&mut self) {
        self.recheck = Instant::now() + RECHECK;
        let admitted = STREAM_READERS.admit(again(self.shown.as_ref()), &*self.app).await;
        let lost = match admitted {
            Ok((reader, _)) if reader.is_same_as(&self.caller) => None,
            Ok(_) => Some(ApiError::unauthenticated("the credential is not valid")),
            // A store that cannot be asked says nothing about the credential; ask again in a minute.
            Err(error) if error.status().is_server_error() => None,
            Err(error) => Some(error),
        };
        if let Some(error) = lost {
            self.end_session(&error);
        }
    }

    /// Tells why the stream ends; what was made before and not read yet goes first.
    fn end_session(&mut self, error: &ApiError) {
        self.queue.push_back(message::session_ended(error));
        self.ended = true;
    }
}

/// Whether the cursor can be served, and from where.
async fn resume(
    app: &App,
    caller: &Reader,
    cursor: Cursor,
    position: u64,
) -> Result<Resume, StoreDown> {
    let Cursor { instance, seq } = cursor;
    if instance != app.instance || seq > position {
        return Ok(Resume::Expired);
    }
    if seq == position {
        return Ok(Resume::Behind(seq));
    }
    let missed = app.feeds.store().events_after(caller.org(), seq, 1).await?;
    let oldest = app.clock.now().before(RESUME_WINDOW);
    let in_time = |event: &Event| event.seq == seq + 1 && event.created_at >= oldest;
    Ok(if missed.first().is_some_and(in_time) { Resume::Behind(seq) } else { Resume::Expired })
}
