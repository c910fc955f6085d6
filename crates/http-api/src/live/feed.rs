//! The events of each org in commit order, for everybody here who waits for them.
//!
//! One task per org that somebody listens to. It takes what this process committed from the
//! ledger's notices, and asks the store four times a second for what others committed. Events
//! have gapless places, so it knows when a notice does not follow and reads the store instead.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use event::Event;
use ledger::{EventStore, Notice, Notices, StoreDown};
use model::{EventType, KeyId, OrgId};
use serde_json::{Value, json};
use tokio::{
    sync::{OnceCell, broadcast},
    time::MissedTickBehavior,
};

/// How many batches a slow listener may be behind before it misses some.
const QUEUE: usize = 64;
/// How many events are read from the store at once.
pub(crate) const CHUNK: usize = 256;
/// How often the store is asked for what other instances committed.
const POLL: Duration = Duration::from_millis(250);

/// Events that follow each other, shared by every listener.
#[derive(Debug)]
pub(crate) struct Batch {
    pub(crate) events: Vec<Event>,
    /// The full objects of the events, made by the first stream that shows them.
    pub(crate) objects: OnceCell<Vec<Option<Value>>>,
}

impl Batch {
    pub(crate) fn new(events: Vec<Event>) -> Arc<Self> {
        Arc::new(Self { events, objects: OnceCell::new() })
    }

    /// Whether the key was revoked by one of these events.
    pub(crate) fn revokes(&self, key: KeyId) -> bool {
        let of_keys = [EventType::ApiKeyRevoked, EventType::AgentKeyRevoked];
        let own = |event: &&Event| event.object.get("id") == Some(&json!(key));
        self.events.iter().filter(|event| of_keys.contains(&event.kind)).any(|event| own(&event))
    }
}

/// One listener's place in an org's feed.
#[derive(Debug)]
pub(crate) struct Subscription {
    pub(crate) batches: broadcast::Receiver<Arc<Batch>>,
    /// The place of the last event that the receiver will not bring.
    pub(crate) position: u64,
}

/// The feeds of every org that somebody listens to.
#[derive(Clone)]
pub(crate) struct Feeds(Arc<Shared>);

struct Shared {
    events: Arc<dyn EventStore>,
    notices: Notices,
    open: Mutex<HashMap<OrgId, Arc<Feed>>>,
}

struct Feed {
    sender: broadcast::Sender<Arc<Batch>>,
    // Invariant: the place of the last event sent; moved under the same lock as the sending.
    position: Mutex<u64>,
}

impl Feeds {
    pub(crate) fn new(events: Arc<dyn EventStore>, notices: Notices) -> Self {
        Self(Arc::new(Shared { events, notices, open: Mutex::default() }))
    }

    /// Where recorded events are read.
    pub(crate) fn store(&self) -> &dyn EventStore {
        &*self.0.events
    }

    /// Listens to an org from now on.
    pub(crate) async fn subscribe(&self, org: OrgId) -> Result<Subscription, StoreDown> {
        if let Some(feed) = self.0.open().get(&org) {
            return Ok(feed.subscribe());
        }
        // Subscribed before the store is asked, so that nothing falls in between.
        let notices = self.0.notices.subscribe();
        let last = self.0.events.last_event(org).await?;
        let mut open = self.0.open();
        if let Some(feed) = open.get(&org) {
            return Ok(feed.subscribe());
        }
        let (sender, _) = broadcast::channel(QUEUE);
        let feed = Arc::new(Feed { sender, position: Mutex::new(last) });
        open.insert(org, Arc::clone(&feed));
        let subscription = feed.subscribe();
        tokio::spawn(Arc::clone(&self.0).run(org, feed, notices));
        Ok(subscription)
    }
}

impl Shared {
    fn open(&self) -> MutexGuard<'_, HashMap<OrgId, Arc<Feed>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn run(
        self: Arc<Self>,
        org: OrgId,
        feed: Arc<Feed>,
        mut notices: broadcast::Receiver<Arc<Notice>>,
    ) {
        let mut ticks = tokio::time::interval(POLL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                notice = notices.recv() => match notice {
                    Ok(notice) if notice.org != org => {}
                    Ok(notice) => {
                        if !feed.extend(&notice.events) {
                            self.read(org, &feed).await;
                        }
                    }
                    Err(broadcast::error::RecvError::Lagged(_)) => self.read(org, &feed).await,
                    // Not before the process ends: this very feed holds the other end.
                    Err(broadcast::error::RecvError::Closed) => return,
                },
                _ = ticks.tick() => {
                    if self.closed(org, &feed) {
                        return;
                    }
                    self.read(org, &feed).await;
                }
            }
        }
    }

    /// Ends the feed once nobody listens; under the lock, so that nobody begins to meanwhile.
    fn closed(&self, org: OrgId, feed: &Feed) -> bool {
        let mut open = self.open();
        let unused = feed.sender.receiver_count() == 0;
        if unused {
            open.remove(&org);
        }
        unused
    }

    async fn read(&self, org: OrgId, feed: &Feed) {
        loop {
            let events = match self.events.events_after(org, feed.position(), CHUNK).await {
                Ok(events) => events,
                Err(error) => {
                    // Nothing is missed: the next tick reads on from the same place.
                    tracing::debug!(%error, "could not read events for streams");
                    return;
                }
            };
            feed.extend(&events);
            if events.len() < CHUNK {
                return;
            }
        }
    }
}

impl Feed {
    fn lock(&self) -> MutexGuard<'_, u64> {
        self.position.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn position(&self) -> u64 {
        *self.lock()
    }

    fn subscribe(&self) -> Subscription {
        let position = self.lock();
        Subscription { batches: self.sender.subscribe(), position: *position }
    }

    /// Sends what is new of these events; returns whether they follow what was sent.
    fn extend(&self, events: &[Event]) -> bool {
        let mut position = self.lock();
        let fresh: Vec<Event> =
            events.iter().filter(|event| event.seq > *position).cloned().collect();
        let (Some(first), Some(last)) = (fresh.first(), fresh.last()) else { return true };
        if first.seq != *position + 1 {
            return false;
        }
        *position = last.seq;
        // Nobody listening is no fault: the feed ends at its next look.
        let _ = self.sender.send(Batch::new(fresh));
        true
    }
}
