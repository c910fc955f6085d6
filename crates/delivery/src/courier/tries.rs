//! The tries of one round: what is posted, in which order, and how each of them ended.

use std::{sync::Arc, time::Duration};

use futures_util::{StreamExt, stream};
use ledger::StoreDown;
use model::{DeliveryError, DeliveryId, DeliveryStatus, Mint, OrgId, Timestamp, WebhookId, causes};

use super::{
    StoreTime, Wanted, lease,
    telling::{TOLD_AGAIN_AFTER, is_told},
};
use crate::{
    Aside, Delivery, Parts, Post, SigningSecret, Try,
    deliveries::event_at,
    pages::{Page, Posted},
    signature,
};

/// How many deliveries that are tried again are under way at once.
const AGAIN_UNDER_WAY: usize = 3;
/// After this long what was done is noted.
const NOTE_AFTER: Duration = Duration::from_secs(1);

/// Where one endpoint's events go.
pub(super) struct Target {
    pub(super) org: OrgId,
    pub(super) id: WebhookId,
    pub(super) url: String,
    pub(super) secrets: Vec<SigningSecret>,
    pub(super) wanted: Wanted,
    pub(super) time: StoreTime,
}

/// The tries of one round at one endpoint.
#[derive(Clone)]
pub(super) struct Tries {
    parts: Parts,
    aside: Arc<dyn Aside>,
    target: Arc<Target>,
    // As the process counts time: when the round began, and when the claim was asked for.
    began: Duration,
    asked: Duration,
}

impl Tries {
    pub(super) fn new(
        (parts, aside): (&Parts, &Arc<dyn Aside>),
        target: Target,
        asked: Duration,
    ) -> Self {
        let (began, target) = (parts.clock.elapsed(), Arc::new(target));
        Self { parts: parts.clone(), aside: Arc::clone(aside), target, began, asked }
    }

    /// Whether a try is begun that the claim will outlive, before what was done is to be noted.
    fn may_begin(&self) -> bool {
        let (now, limits) = (self.parts.clock.elapsed(), &self.parts.limits);
        let is_held = now.saturating_sub(self.asked) + limits.timeout
            < lease(limits).saturating_sub(Duration::from_secs(1));
        now.saturating_sub(self.began) < NOTE_AFTER && is_held
    }

    /// Posts wanted events in order; returns the place up to which that is done.
    pub(super) async fn first(self, mut seq: u64, page: Arc<Page>) -> (u64, Vec<Delivery>) {
        let (target, mut deliveries) = (&*self.target, Vec::new());
        for posted in page.after(seq) {
            let event = &posted.event;
            if target.wanted.covers(event) {
                self.aside.turn().await;
                if !self.may_begin() {
                    break;
                }
                let now = target.time.now(&*self.parts.clock);
                let mint = Mint::new(now, self.parts.entropy.as_ref());
                let id = (mint.id(DeliveryId::from_uuid), target.id);
                let delivery = Delivery::pending(id, event, mint.now());
                deliveries.push(self.tried(delivery, posted).await);
            }
            seq = event.seq;
        }
        (seq, deliveries)
    }

    /// Tries deliveries again, a few beside one another, and says whether their events could be read.
    /// Those that are not begun, or whose events are not read, stay due.
    pub(super) async fn again(&self, due: &[Delivery]) -> (Vec<Delivery>, bool) {
        let one = async |delivery: Delivery| -> Result<Option<Delivery>, StoreDown> {
            if !self.may_begin() {
                return Ok(None);
            }
            let event = event_at(&*self.parts.events, self.target.org, delivery.seq).await?;
            Ok(Some(match event {
                Some(event) => self.tried(delivery, &event.into()).await,
                None => Delivery { status: DeliveryStatus::Dropped, next_at: None, ..delivery },
            }))
        };
        let mut under_way =
            stream::iter(due.iter().cloned()).map(one).buffer_unordered(AGAIN_UNDER_WAY);
        let (mut done, mut is_read) = (Vec::new(), true);
        // What failed to be read is due again; what was posted meanwhile is noted.
        while let Some(tried) = under_way.next().await {
            match tried {
                Ok(delivery) => done.extend(delivery),
                Err(error) => {
                    tracing::warn!(error = causes(&error), "an event was not read");
                    is_read = false;
                }
            }
        }
        (done, is_read)
    }

    /// The delivery after one more try.
    async fn tried(&self, mut delivery: Delivery, posted: &Posted) -> Delivery {
        let target = &*self.target;
        let (at, began) = (target.time.now(&*self.parts.clock), self.parts.clock.elapsed());
        let Posted { event, id, body } = posted;
        let timestamp = at.unix_millis().div_euclid(1_000);
        let signature = signature(&target.secrets, (id, timestamp), body.as_bytes());
        let post = Post {
            url: &target.url,
            id: event.id,
            kind: event.kind,
            timestamp,
            signature: &signature,
            body: body.as_bytes(),
        };
        let answer = self.parts.sender.post(post).await;
        let _ = failpoint::hit("webhook.posted");
        let took = self.parts.clock.elapsed().saturating_sub(began);
        delivery.tries.push(Try {
            at,
            http_status: answer.ok(),
            error_class: refused(answer),
            duration_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        });
        self.settled(delivery, target.time.now(&*self.parts.clock))
    }

    /// The delivery as it stands after its last try.
    fn settled(&self, delivery: Delivery, now: Timestamp) -> Delivery {
        let (Some(first), Some(last)) = (delivery.tries.first(), delivery.tries.last()) else {
            return delivery;
        };
        let moments = (first.at, last.at);
        let (status, next_at) = match last.error_class {
            None => (DeliveryStatus::Delivered, None),
            Some(_) => match self.parts.limits.next_try(moments, delivery.tries.len()) {
                Some(next) => (DeliveryStatus::Retrying, Some(next)),
                None if is_told(delivery.kind) => {
                    (DeliveryStatus::Retrying, Some(now + TOLD_AGAIN_AFTER))
                }
                None => (DeliveryStatus::Dead, None),
            },
        };
        Delivery { status, next_at, ..delivery }
    }
}

/// Why an answer means that the event was not taken.
fn refused(answer: Result<u16, DeliveryError>) -> Option<DeliveryError> {
    match answer {
        Ok(200..=299) => None,
        Ok(300..=399) => Some(DeliveryError::Redirect),
        Ok(_) => Some(DeliveryError::HttpStatus),
        Err(error) => Some(error),
    }
}
