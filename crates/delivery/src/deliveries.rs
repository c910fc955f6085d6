//! Deliveries as their org reads them, and what it asks to be posted once more.

use std::{collections::BTreeMap, time::Duration};

use act::{ActError, MayChange, MayView};
use event::Event;
use ledger::{Needs, StoreDown, record::WebhookSend};
use model::{DeliveryId, DeliveryStatus, EventType, OrgId, Timestamp, WebhookId};
use serde_json::json;

use crate::{
    Adding, Delivery, DeliveryList, Waiting, WebhookError, Webhooks,
    courier::Wanted,
    endpoint::{found, thin},
};

/// How far back what was not taken is posted again.
pub const RECOVERED_WITHIN: Duration = Duration::from_hours(7 * 24);
/// The most deliveries that one request to recover adds or makes due.
pub const MOST_RECOVERED: usize = 10_000;

const PAGE: usize = 500;
/// How many pages one request to recover looks at, and for how long: what the endpoint took or does not
/// want counts for none of the deliveries, and has to be looked at all the same.
const MOST_PAGES: usize = 200;
const LOOKED_FOR: Duration = Duration::from_secs(10);
const PINGS_WITHIN: Duration = Duration::from_mins(1);
const MOST_PINGS: usize = 10;

/// What a request to recover came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recovered {
    /// How many events are posted again.
    pub count: usize,
    /// How many deliveries that waited for a retry became due.
    pub retried: usize,
    /// The moment from which on there is more, where that is so.
    pub rest_since: Option<Timestamp>,
}

/// A delivery as its org sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct ShownDelivery {
    /// The delivery.
    pub delivery: Delivery,
    /// Its event, as long as that is stored.
    pub event: Option<Event>,
    /// How many attempts are left if all of them fail.
    pub attempts_left: usize,
    /// When those after the next one are made if all of them fail.
    pub later: Vec<Timestamp>,
}

impl ShownDelivery {
    /// The body of each attempt, as long as the event is stored.
    pub fn body(&self) -> Option<String> {
        self.event.as_ref().map(body)
    }
}

/// The body of the requests that post this event.
pub(crate) fn body(event: &Event) -> String {
    event.envelope().to_string()
}

/// The deliveries of one status that began in one part of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeliveryTally {
    /// When the part begins.
    pub at: Timestamp,
    /// The status.
    pub status: DeliveryStatus,
    /// How many there are.
    pub count: u64,
}

/// How many deliveries of an endpoint have each status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryCounts {
    /// Those that began within the asked time, by the parts of that time.
    pub tallies: Vec<DeliveryTally>,
    /// All that are kept and were not accepted.
    pub not_delivered: BTreeMap<DeliveryStatus, u64>,
}

impl Webhooks {
    /// A delivery of the org.
    pub async fn delivery(
        &self,
        caller: &impl MayView,
        id: DeliveryId,
    ) -> Result<ShownDelivery, WebhookError> {
        let found = self.parts.store.delivery(caller.org(), id).await?;
        let found = found.ok_or(ActError::NotFound("webhook delivery"))?;
        let event = event_at(&*self.parts.events, caller.org(), found.seq).await?;
        Ok(self.shown_delivery(found, event))
    }

    fn shown_delivery(&self, delivery: Delivery, event: Option<Event>) -> ShownDelivery {
        let left = self.parts.limits.attempts().saturating_sub(delivery.tries.len());
        let moments = delivery.tries.first().map(|tried| tried.at).zip(delivery.next_at);
        let later = moments
            .filter(|_| delivery.is_open())
            .map(|moments| self.parts.limits.later_tries(moments, delivery.tries.len()));
        ShownDelivery {
            attempts_left: if delivery.is_open() { left } else { 0 },
            later: later.unwrap_or_default(),
            delivery,
            event,
        }
    }

    /// Counts the deliveries of an endpoint by status: those that began from `from` on and before
    /// `to`, in parts of `step` that are laid from the epoch on, and all that were not accepted.
    pub async fn delivery_counts(
        &self,
        caller: &impl MayView,
        id: WebhookId,
        ((from, to), step): ((Timestamp, Timestamp), Duration),
    ) -> Result<DeliveryCounts, WebhookError> {
        self.show(caller, id).await?;
        let (store, key) = (&self.parts.store, (caller.org(), id));
        Ok(DeliveryCounts {
            tallies: store.tallies(key, (from, to), step).await?,
            not_delivered: store.not_delivered(key).await?,
        })
    }

    /// Returns up to `limit` deliveries of an endpoint that are asked for, newest first, and whether
    /// there are more.
    pub async fn deliveries(
        &self,
        caller: &impl MayView,
        id: WebhookId,
        (asked, limit): (DeliveryList, usize),
    ) -> Result<(Vec<ShownDelivery>, bool), WebhookError> {
        self.show(caller, id).await?;
        let key = (caller.org(), id);
        let mut found = self.parts.store.deliveries(key, asked, limit.saturating_add(1)).await?;
        let has_more = found.len() > limit;
        found.truncate(limit);
        let places: Vec<u64> = found.iter().map(|delivery| delivery.seq).collect();
        let events = self.parts.events.events_at(caller.org(), &places).await?;
        let shown = found.into_iter().map(|delivery| {
            let event = events.iter().find(|event| event.seq == delivery.seq).cloned();
            self.shown_delivery(delivery, event)
        });
        Ok((shown.collect(), has_more))
    }

    /// Posts `webhook.ping` to an endpoint, whatever it asked for.
    pub async fn ping(
        &self,
        caller: &impl MayChange,
        id: WebhookId,
    ) -> Result<ShownDelivery, WebhookError> {
        let org = caller.org();
        let since = self.parts.store.time().await?.before(PINGS_WITHIN);
        let kind = EventType::WebhookPing;
        if self.parts.store.count_since((org, id), kind, since).await? >= MOST_PINGS {
            return Err(WebhookError::TooOften(MOST_PINGS));
        }
        let sent = self.turn(caller, (Needs::default(), None), move |at, record| {
            let webhook = found(at, id)?;
            if !webhook.is_open() {
                return Err(is_disabled().into());
            }
            let event = record.tell(kind, thin(&webhook));
            let send = WebhookSend { id: record.id(DeliveryId::from_uuid), webhook: id, event };
            record.write(send);
            Ok(send.id)
        });
        let id = sent.await?;
        self.delivery(caller, id).await
    }

    /// Posts an event once more that an endpoint got, or did not get, before: by another delivery, or,
    /// while this one waits for a retry, by that retry.
    pub async fn redeliver(
        &self,
        caller: &impl MayChange,
        id: DeliveryId,
    ) -> Result<ShownDelivery, WebhookError> {
        let ShownDelivery { delivery: before, event, attempts_left, .. } =
            self.delivery(caller, id).await?;
        let key = (caller.org(), before.webhook);
        if before.is_open() {
            if attempts_left == 0 {
                let why = "the delivery had its last attempt, and becomes `dead` once that is \
                           reported; try again in a minute";
                return Err(ActError::Conflict(why).into());
            }
            let now = (self.parts.store.time().await?, self.parts.limits.attempts());
            let hastened = self.parts.store.hasten(key, Waiting::Delivery(id), now).await?;
            hastened.ok_or_else(is_disabled)?;
            return self.delivery(caller, id).await;
        }
        let gone = ActError::Conflict("the event is no longer stored");
        let event = event.ok_or(gone)?;
        let mint = self.parts.mint().await?;
        let id = mint.id(DeliveryId::from_uuid);
        let again = Delivery::pending((id, before.webhook), &event, mint.now());
        let added = self.parts.store.add(key, std::slice::from_ref(&again), Adding::All).await?;
        added.ok_or_else(is_disabled)?;
        Ok(self.shown_delivery(again, Some(event)))
    }

    /// Posts every event again that happened since then, was wanted, and did not arrive; or the first of
    /// them, and says from where to go on. Where that is asked for, it also makes those due that wait
    /// for a retry.
    pub async fn recover(
        &self,
        caller: &impl MayChange,
        id: WebhookId,
        (since, retry): (Timestamp, bool),
    ) -> Result<Recovered, WebhookError> {
        let (org, mint) = (caller.org(), self.parts.mint().await?);
        let (now, began) = (mint.now(), self.parts.clock.elapsed());
        if since < now.before(RECOVERED_WITHIN) || since > now {
            let expected = "a moment within the last 7 days";
            return Err(ActError::bad_input("since", expected).into());
        }
        let shown = self.show(caller, id).await?;
        if !shown.webhook.is_open() {
            return Err(is_disabled().into());
        }
        if shown.state.is_ending {
            let why = "deliveries from before the endpoint was enabled are still under way; try \
                       again in a minute";
            return Err(ActError::Conflict(why).into());
        }
        let wanted = Wanted::of(&shown.webhook);
        // What is behind this place is still to get its first try.
        let end = shown.state.lane.seq;
        let mut at = self.last_before(org, (since, end)).await?;
        let (mut count, mut retried, mut pages) = (0, 0, 0);
        while at < end {
            let page = self.parts.events.events_after(org, at, PAGE).await?;
            let page: Vec<Event> = page.into_iter().filter(|event| event.seq <= end).collect();
            let Some(last) = page.last() else { break };
            let wanted = page.iter().filter(|it| wanted.covers(it));
            let deliveries: Vec<_> = wanted
                .map(|it| Delivery::pending((mint.id(DeliveryId::from_uuid), id), it, now))
                .collect();
            let added = self.parts.store.add((org, id), &deliveries, Adding::Missed).await?;
            let added = added.ok_or_else(is_disabled)?;
            if retry {
                let places: Vec<u64> = deliveries.iter().map(|it| it.seq).collect();
                let waiting = Waiting::Events(&places);
                let now = (now, self.parts.limits.attempts());
                let hastened = self.parts.store.hasten((org, id), waiting, now).await?;
                retried += hastened.ok_or_else(is_disabled)?;
            }
            (at, count, pages) = (last.seq, count + added, pages + 1);
            let took = self.parts.clock.elapsed().saturating_sub(began);
            // Going on from a moment looks at all of it again. Where nothing was added, that comes to the
            // same place unless the moment is a later one.
            let moves_on = last.created_at > since;
            let is_long = moves_on && (pages >= MOST_PAGES || took >= LOOKED_FOR);
            if at < end && (count + retried >= MOST_RECOVERED || is_long) {
                return Ok(Recovered { count, retried, rest_since: Some(last.created_at) });
            }
        }
        Ok(Recovered { count, retried, rest_since: None })
    }

    /// The place of the last event before this moment, found by halving: moments follow places.
    async fn last_before(
        &self,
        org: OrgId,
        (since, end): (Timestamp, u64),
    ) -> Result<u64, StoreDown> {
        let (mut low, mut high) = (0, end);
        while low < high {
            let middle = low + (high - low) / 2;
            let next = self.parts.events.events_after(org, middle, 1).await?;
            match next.first() {
                Some(event) if event.created_at < since => low = event.seq.max(middle + 1),
                Some(_) | None => high = middle,
            }
        }
        Ok(low)
    }
}

/// The event at this place, as long as it is kept.
pub(crate) async fn event_at(
    events: &dyn ledger::EventStore,
    org: OrgId,
    seq: u64,
) -> Result<Option<Event>, StoreDown> {
    Ok(events.events_at(org, &[seq]).await?.pop())
}

fn is_disabled() -> ActError {
    ActError::Conflict("the endpoint is disabled; enable it first")
}

/// The thin object of an event that an endpoint never took.
pub(crate) fn dead(delivery: &Delivery) -> serde_json::Value {
    json!({
        "object": "webhook_delivery",
        "id": delivery.id,
        "status": delivery.status,
        "webhook_endpoint": delivery.webhook,
        "event": delivery.event,
    })
}
