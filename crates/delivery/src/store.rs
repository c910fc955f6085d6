//! What webhooks keep beside the turns of orgs, and what they ask of a store.

use std::{collections::BTreeMap, time::Duration};

use async_trait::async_trait;
use event::Event;
use ledger::{StoreDown, record::Webhook};
use model::{
    DeliveryError, DeliveryId, DeliveryStatus, EventId, EventType, OrgId, Timestamp, WebhookId,
};
use serde::{Deserialize, Serialize};

use crate::{DeliveryTally, Limits};

/// What names an endpoint among all orgs.
pub type Key = (OrgId, WebhookId);

/// One event on its way to one endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// The delivery's id.
    pub id: DeliveryId,
    /// The endpoint.
    pub webhook: WebhookId,
    /// The event's place in the org's order.
    pub seq: u64,
    /// The event, which receivers know the delivery by.
    pub event: EventId,
    /// What happened.
    pub kind: EventType,
    /// How it stands.
    pub status: DeliveryStatus,
    /// What was tried, the first try first.
    pub tries: Vec<Try>,
    /// When it is tried, or tried again.
    pub next_at: Option<Timestamp>,
    /// When it began.
    pub created_at: Timestamp,
}

/// One try of a delivery. What the receiver said beyond its status is kept nowhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Try {
    /// When it began.
    pub at: Timestamp,
    /// The status of the answer, where there was one.
    pub http_status: Option<u16>,
    /// Why it was not taken; nothing where it was.
    pub error_class: Option<DeliveryError>,
    /// How many milliseconds it took.
    pub duration_ms: u64,
}

impl Delivery {
    /// A delivery of this event that was not tried yet.
    pub(crate) fn pending(
        (id, webhook): (DeliveryId, WebhookId),
        event: &Event,
        now: Timestamp,
    ) -> Self {
        Self {
            id,
            webhook,
            seq: event.seq,
            event: event.id,
            kind: event.kind,
            status: DeliveryStatus::Pending,
            tries: Vec::new(),
            next_at: Some(now),
            created_at: now,
        }
    }

    /// Whether it will be tried.
    pub fn is_open(&self) -> bool {
        match self.status {
            DeliveryStatus::Pending | DeliveryStatus::Retrying => true,
            DeliveryStatus::Delivered | DeliveryStatus::Dead | DeliveryStatus::Dropped => false,
        }
    }
}

/// Which deliveries of an endpoint a list shows, newest first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DeliveryList {
    /// Those that stand so.
    pub status: Option<DeliveryStatus>,
    /// The delivery that the list begins behind.
    pub after: Option<DeliveryId>,
}

/// How far an endpoint is, and how it fares.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Lane {
    /// The place up to which every event had its first try or was not wanted.
    pub seq: u64,
    /// When the first attempt began that failed since one was accepted.
    pub failing_since: Option<Timestamp>,
    /// When the last attempt began that failed.
    pub failed_at: Option<Timestamp>,
    /// When the last attempt began that was accepted.
    pub delivered_at: Option<Timestamp>,
    /// The places of two events with [`Limits::enough_attempts`] failed attempts each since
    /// `failing_since`: the first such event, and another that failed after [`Limits::disable_after`].
    pub failed_events: [Option<u64>; 2],
}

impl Lane {
    /// The lane without what failed before the endpoint had its address.
    #[must_use]
    pub(crate) fn of(self, webhook: &Webhook) -> Self {
        let Some((since, changed)) = self.failing_since.zip(webhook.url_since) else { return self };
        if since >= changed {
            return self;
        }
        Self { failing_since: None, failed_at: None, failed_events: [None; 2], ..self }
    }

    /// Counts an attempt that was accepted: the lane fails no longer.
    pub(crate) fn accepted(&mut self, at: Timestamp) {
        let Self { failing_since, failed_events, delivered_at, .. } = self;
        (*failing_since, *failed_events, *delivered_at) = (None, [None; 2], Some(at));
    }

    /// Counts the last attempt of this delivery, which began at that moment and failed.
    pub(crate) fn failed(&mut self, delivery: &Delivery, at: Timestamp, limits: &Limits) {
        if self.failing_since.is_none() {
            self.failed_events = [None; 2];
        }
        let since = *self.failing_since.get_or_insert(at);
        self.failed_at = self.failed_at.max(Some(at));
        let failed = delivery.tries.iter().filter(|it| it.error_class.is_some() && it.at >= since);
        if failed.count() < limits.enough_attempts() {
            return;
        }
        let is_late = at.since(since) >= limits.disable_after;
        self.failed_events = match self.failed_events {
            [None, _] => [Some(delivery.seq), None],
            [Some(first), None] if is_late && first != delivery.seq => {
                [Some(first), Some(delivery.seq)]
            }
            both => both,
        };
    }
}

/// A lane as its org sees it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LaneState {
    /// The lane.
    pub lane: Lane,
    /// How many events of the org are behind its place, wanted or not.
    pub behind: u64,
    /// Whether an instance that claimed the lane before it was opened may still be posting.
    pub is_ending: bool,
}

/// An endpoint that one instance serves and no other, until its lease ends.
#[derive(Debug, Clone, PartialEq)]
pub struct Claim {
    /// The endpoint as it stands.
    pub webhook: Webhook,
    /// Counts the claims; a later one ends this.
    pub token: u64,
    /// Its lane.
    pub lane: Lane,
    /// Whether a delivery is to be tried again now.
    pub is_due: bool,
    /// The store's own time when it was claimed.
    pub now: Timestamp,
}

impl Claim {
    /// The endpoint's key.
    pub fn key(&self) -> Key {
        (self.webhook.org, self.webhook.id)
    }

    /// Goes on with the lane, and with the endpoint as it stood when that was noted.
    pub(crate) fn go_on(&mut self, lane: Lane, noted: Noted) {
        let Noted { is_due, webhook } = noted;
        (self.lane, self.is_due, self.webhook) = (lane.of(&webhook), is_due, webhook);
    }
}

/// Which deliveries are added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Adding {
    /// All of them.
    All,
    /// Those whose events the endpoint neither accepted nor is still to get.
    Missed,
}

/// Deliveries that wait for a retry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waiting<'a> {
    /// This one.
    Delivery(DeliveryId),
    /// Those of the events at these places, of which the endpoint accepted none.
    Events(&'a [u64]),
}

/// What becomes of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hold {
    /// It goes on for this long.
    For(Duration),
    /// It ends.
    LetGo,
}

/// What a store returns while the claim holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Noted {
    /// Whether a delivery is to be tried again now.
    pub is_due: bool,
    /// The endpoint as it stands by now.
    pub webhook: Webhook,
}

/// Where endpoints, their lanes and deliveries are kept. A turn that creates or enables an endpoint
/// opens its lane at the turn's last event, with no failed attempts; one that disables or deletes the
/// endpoint closes the lane. A claim ends when its lane is closed.
#[async_trait]
pub trait DeliveryStore: Send + Sync {
    /// The store's own time, by which deliveries are due, kept and counted.
    async fn time(&self) -> Result<Timestamp, StoreDown>;

    /// The org's endpoints that were not deleted, oldest first.
    async fn webhooks(&self, org: OrgId) -> Result<Vec<Webhook>, StoreDown>;

    /// The lanes of the org's endpoints.
    async fn lanes(&self, org: OrgId) -> Result<BTreeMap<WebhookId, LaneState>, StoreDown>;

    /// A delivery of the org.
    async fn delivery(&self, org: OrgId, id: DeliveryId) -> Result<Option<Delivery>, StoreDown>;

    /// Returns up to `limit` deliveries of the endpoint that are asked for, newest first.
    async fn deliveries(
        &self,
        key: Key,
        asked: DeliveryList,
        limit: usize,
    ) -> Result<Vec<Delivery>, StoreDown>;

    /// Counts the endpoint's deliveries that began from the first moment on and before the second, by
    /// status and in parts of `step` that are laid from the epoch on; in no particular order.
    async fn tallies(
        &self,
        key: Key,
        (from, to): (Timestamp, Timestamp),
        step: Duration,
    ) -> Result<Vec<DeliveryTally>, StoreDown>;

    /// How many deliveries of the endpoint have each status other than `delivered`, those that no
    /// delivery has left out.
    async fn not_delivered(&self, key: Key) -> Result<BTreeMap<DeliveryStatus, u64>, StoreDown>;

    /// How many deliveries of events of this type the endpoint has since this moment.
    async fn count_since(
        &self,
        key: Key,
        kind: EventType,
        since: Timestamp,
    ) -> Result<usize, StoreDown>;

    /// Adds deliveries that are to be tried, and returns how many; nothing where the lane is closed
    /// by now. [`Adding::Missed`] adds an event once, however many ask at the same time.
    async fn add(
        &self,
        key: Key,
        deliveries: &[Delivery],
        adding: Adding,
    ) -> Result<Option<usize>, StoreDown>;

    /// Makes deliveries due at this moment that wait for a retry and had fewer than so many attempts,
    /// and returns how many; nothing where the lane is closed by now.
    async fn hasten(
        &self,
        key: Key,
        waiting: Waiting<'_>,
        (at, attempts): (Timestamp, usize),
    ) -> Result<Option<usize>, StoreDown>;

    /// Whether any org has an open lane.
    async fn has_open_lanes(&self) -> Result<bool, StoreDown>;

    /// Returns up to `limit` open lanes that nobody holds and that have something to do: of endpoints
    /// that fail, or of the others. The first of each org comes before the second of any, and of an
    /// org those that were served longest ago come first. An endpoint that failed for `disable_after`
    /// has something to do.
    async fn waiting_endpoints(
        &self,
        (failing, disable_after): (bool, Duration),
        limit: usize,
    ) -> Result<Vec<Key>, StoreDown>;

    /// Claims an endpoint for this long by the store's own time; nothing when somebody holds it, or
    /// when its lane is closed.
    async fn claim(&self, key: Key, lease: Duration) -> Result<Option<Claim>, StoreDown>;

    /// Returns up to `limit` deliveries of the endpoint that are due by the store's own time, the
    /// longest due first.
    async fn due_deliveries(&self, key: Key, limit: usize) -> Result<Vec<Delivery>, StoreDown>;

    /// Writes where a claimed lane stands and these deliveries in their new form, all or none.
    ///
    /// A claim that was lost, because there was a later one, writes nothing. One that ended, because
    /// the lane was closed or opened again, writes the deliveries, which were tried, and at most moves
    /// the place of the opened lane on. Both return nothing.
    async fn note(
        &self,
        (key, token): (Key, u64),
        (lane, deliveries): (&Lane, &[Delivery]),
        hold: Hold,
    ) -> Result<Option<Noted>, StoreDown>;

    /// Drops up to `limit` deliveries that wait in closed lanes, removes up to `limit` that began
    /// before `keep` ago and are open no more, and returns the most that it did of one.
    async fn sweep_deliveries(&self, keep: Duration, limit: usize) -> Result<usize, StoreDown>;
}
