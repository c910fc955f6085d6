//! Noting what a round did, and telling an org of what was never taken.

use std::time::Duration;

use act::{Act, ActError, By, Record};
use ledger::{Snapshot, StoreDown};
use model::{DeliveryStatus, EventType, OrgId, causes};

use super::{Claimed, Courier, Round};
use crate::{Delivery, Hold, Lane, Noted, deliveries::dead};

/// How soon it is told once more that a delivery is dead, where that was not told or not noted.
pub(super) const TOLD_AGAIN_AFTER: Duration = Duration::from_secs(30);

/// Whether an org is told that an event of this type never arrived. If that were told of such news, too,
/// endpoints that take nothing would make new events of each other's without end.
pub(super) fn is_told(kind: EventType) -> bool {
    kind != EventType::WebhookDeliveryDead
}

impl Courier {
    /// Whether a delivery had all of its tries and the org is still to be told so.
    pub(super) fn is_untold(&self, delivery: &Delivery) -> bool {
        let (Some(first), Some(last)) = (delivery.tries.first(), delivery.tries.last()) else {
            return false;
        };
        let next = self.parts.limits.next_try((first.at, last.at), delivery.tries.len());
        delivery.status == DeliveryStatus::Retrying
            && last.error_class.is_some()
            && next.is_none()
            && is_told(delivery.kind)
    }

    /// Notes what a round did; says how many dead deliveries it told of, and nothing when the claim was
    /// lost. They are told between two notes. By the first they wait to be told, by the second they are
    /// dead, so that one is told by whoever holds the claim, and told once more only where what was
    /// told could not be noted.
    pub(super) async fn note(
        &self,
        claimed: &mut Claimed,
        round: &Round,
        hold: Hold,
    ) -> Result<Option<(Noted, usize)>, StoreDown> {
        if round.dead.is_empty() {
            let noted = self.write(claimed, (&round.lane, &round.deliveries), hold).await?;
            return Ok(noted.map(|noted| (noted, 0)));
        }
        let meanwhile = Hold::For(self.lease());
        let noted = self.write(claimed, (&round.lane, &round.deliveries), meanwhile).await?;
        if noted.is_none() {
            return Ok(None);
        }
        let is_told = self.tell(claimed.claim.webhook.org, &round.dead).await;
        let told: &[Delivery] = if is_told { &round.dead } else { &[] };
        let noted = self.write(claimed, (&round.lane, told), hold).await?;
        Ok(noted.map(|noted| (noted, told.len())))
    }

    pub(super) async fn write(
        &self,
        claimed: &mut Claimed,
        noted: (&Lane, &[Delivery]),
        hold: Hold,
    ) -> Result<Option<Noted>, StoreDown> {
        claimed.asked = self.parts.clock.elapsed();
        let claim = (claimed.claim.key(), claimed.claim.token);
        self.parts.store.note(claim, noted, hold).await
    }

    /// Tells the org of what was never taken, all of it or nothing, and says whether it did.
    async fn tell(&self, org: OrgId, all: &[Delivery]) -> bool {
        let objects: Vec<_> = all.iter().map(dead).collect();
        let told = Act::new(By::Service, move |_: &Snapshot, record: &mut Record<'_>| {
            for object in &objects {
                record.tell(EventType::WebhookDeliveryDead, object.clone());
            }
            Ok::<_, ActError>(())
        });
        let told = told.enter(&self.parts.ledger, org).await;
        if let Err(error) = &told {
            tracing::warn!(%org, count = all.len(), error = causes(error),
                "the event about dead deliveries could not be recorded and will be retried");
        }
        told.is_ok()
    }
}
