//! Webhook endpoints, their lanes and deliveries in memory.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use async_trait::async_trait;
use delivery::{
    Adding, Claim, Delivery, DeliveryList, DeliveryStore, DeliveryTally, Hold, Key, Lane,
    LaneState, Noted, Waiting,
};
use ledger::{
    StoreDown, Turn,
    record::{OrgWebhooks, Webhook},
};
use model::{DeliveryId, DeliveryStatus, EventType, OrgId, Timestamp, WebhookId};

use crate::{MemoryStore, rows::Rows};

/// A lane and who holds it.
#[derive(Debug, Clone, Default)]
pub(crate) struct KeptLane {
    lane: Lane,
    is_open: bool,
    lease_until: Option<Timestamp>,
    token: u64,
    /// The token of the last claim before it was opened.
    opened_token: u64,
}

impl KeptLane {
    fn is_free(&self, now: Timestamp) -> bool {
        self.is_open && !self.is_leased(now)
    }

    fn is_leased(&self, now: Timestamp) -> bool {
        self.lease_until.is_some_and(|until| until > now)
    }

    /// Whether its last claim is from after it was opened.
    fn holds(&self) -> bool {
        self.is_open && self.token > self.opened_token
    }
}

/// The endpoints of an org that were not deleted, where it has any.
pub(crate) fn of_org(rows: &Rows, org: OrgId) -> Option<OrgWebhooks> {
    let live = rows.webhooks.values().filter(|it| it.org == org && it.deleted_at.is_none());
    let endpoints: Vec<_> = live.cloned().collect();
    (!endpoints.is_empty()).then_some(OrgWebhooks { org, endpoints })
}

impl Rows {
    /// Keeps the endpoints that the turn changed, opens and closes their lanes, and begins the
    /// deliveries that it asks for.
    pub(crate) fn post(&mut self, turn: &Turn) {
        for webhook in turn.changes.webhooks.iter().flat_map(|all| &all.endpoints) {
            let kept = self.lanes.entry(webhook.id).or_default();
            if webhook.is_open() && !kept.is_open {
                let delivered_at = kept.lane.delivered_at;
                kept.lane = Lane { seq: turn.head.event_seq, delivered_at, ..Lane::default() };
                kept.opened_token = kept.token;
            }
            kept.is_open = webhook.is_open();
            self.webhooks.insert(webhook.id, webhook.clone());
        }
        for send in &turn.changes.webhook_sends {
            let Some(event) = turn.events.iter().find(|event| event.id == send.event) else {
                continue;
            };
            let delivery = Delivery {
                id: send.id,
                webhook: send.webhook,
                seq: event.seq,
                event: event.id,
                kind: event.kind,
                status: DeliveryStatus::Pending,
                tries: Vec::new(),
                next_at: Some(turn.at),
                created_at: turn.at,
            };
            self.deliveries.insert(delivery.id, delivery);
        }
    }

    fn of(&self, webhook: WebhookId) -> impl Iterator<Item = &Delivery> {
        self.deliveries.values().filter(move |delivery| delivery.webhook == webhook)
    }

    fn is_due(&self, webhook: WebhookId, now: Timestamp) -> bool {
        self.of(webhook).any(|delivery| delivery.next_at.is_some_and(|at| at <= now))
    }

    fn last_event(&self) -> u64 {
        self.events.last().map_or(0, |event| event.seq)
    }
}

#[async_trait]
impl DeliveryStore for MemoryStore {
    async fn time(&self) -> Result<Timestamp, StoreDown> {
        Ok(self.clock.now())
    }

    async fn webhooks(&self, org: OrgId) -> Result<Vec<Webhook>, StoreDown> {
        let kept = self.reach("list webhook endpoints")?;
        let found = kept.orgs.get(&org).and_then(|rows| of_org(rows, org));
        let mut found = found.map(|all| all.endpoints).unwrap_or_default();
        found.sort_by_key(|webhook| (webhook.created_at, webhook.id));
        Ok(found)
    }

    async fn lanes(&self, org: OrgId) -> Result<BTreeMap<WebhookId, LaneState>, StoreDown> {
        let kept = self.reach("read the lanes of webhook endpoints")?;
        let now = self.clock.now();
        let Some(rows) = kept.orgs.get(&org) else { return Ok(BTreeMap::new()) };
        let state = |lane: &KeptLane| LaneState {
            lane: lane.lane,
            behind: rows.last_event().saturating_sub(lane.lane.seq),
            is_ending: lane.is_open && !lane.holds() && lane.is_leased(now),
        };
        Ok(rows.lanes.iter().map(|(id, lane)| (*id, state(lane))).collect())
    }

    async fn delivery(&self, org: OrgId, id: DeliveryId) -> Result<Option<Delivery>, StoreDown> {
        let kept = self.reach("read a webhook delivery")?;
        Ok(kept.orgs.get(&org).and_then(|rows| rows.deliveries.get(&id)).cloned())
    }

    async fn deliveries(
        &self,
        (org, webhook): Key,
        asked: DeliveryList,
        limit: usize,
    ) -> Result<Vec<Delivery>, StoreDown> {
        let kept = self.reach("list webhook deliveries")?;
        let rows = kept.orgs.get(&org).into_iter();
        let mut found: Vec<_> = rows
            .flat_map(|rows| rows.of(webhook))
            .filter(|it| asked.status.is_none_or(|status| it.status == status))
            .filter(|it| asked.after.is_none_or(|after| it.id < after))
            .cloned()
            .collect();
        found.sort_by_key(|delivery| Reverse(delivery.id));
        found.truncate(limit);
        Ok(found)
    }

    async fn tallies(
        &self,
        (org, webhook): Key,
        (from, to): (Timestamp, Timestamp),
        step: Duration,
    ) -> Result<Vec<DeliveryTally>, StoreDown> {
        let kept = self.reach("count webhook deliveries")?;
        let step = i64::try_from(step.as_millis()).unwrap_or(i64::MAX).max(1);
        let mut counts = BTreeMap::new();
        for delivery in kept.orgs.get(&org).into_iter().flat_map(|rows| rows.of(webhook)) {
            if (from..to).contains(&delivery.created_at) {
                let part = delivery.created_at.unix_millis().div_euclid(step) * step;
                *counts.entry((part, delivery.status)).or_default() += 1;
            }
        }
        let tally = |((at, status), count)| {
            let at = Timestamp::from_unix_millis(at);
            DeliveryTally { at, status, count }
        };
        Ok(counts.into_iter().map(tally).collect())
    }

    async fn not_delivered(
        &self,
        (org, webhook): Key,
    ) -> Result<BTreeMap<DeliveryStatus, u64>, StoreDown> {
        let kept = self.reach("count webhook deliveries")?;
        let mut counts = BTreeMap::new();
        for delivery in kept.orgs.get(&org).into_iter().flat_map(|rows| rows.of(webhook)) {
            if delivery.status != DeliveryStatus::Delivered {
                *counts.entry(delivery.status).or_default() += 1;
            }
        }
        Ok(counts)
    }

    async fn count_since(
        &self,
        (org, webhook): Key,
        kind: EventType,
        since: Timestamp,
    ) -> Result<usize, StoreDown> {
        let kept = self.reach("count webhook deliveries")?;
        let rows = kept.orgs.get(&org).into_iter();
        let all = rows.flat_map(|rows| rows.of(webhook));
        Ok(all.filter(|it| it.kind == kind && it.created_at >= since).count())
    }

    async fn add(
        &self,
        (org, webhook): Key,
        new: &[Delivery],
        adding: Adding,
    ) -> Result<Option<usize>, StoreDown> {
        let mut kept = self.reach("add webhook deliveries")?;
        if new.is_empty() {
            return Ok(Some(0));
        }
        let Some(rows) = kept.orgs.get_mut(&org) else { return Ok(None) };
        if !rows.lanes.get(&webhook).is_some_and(|lane| lane.is_open) {
            return Ok(None);
        }
        let is_settled = |it: &&Delivery| it.is_open() || it.status == DeliveryStatus::Delivered;
        let settled: BTreeSet<u64> = rows.of(webhook).filter(is_settled).map(|it| it.seq).collect();
        let is_added = |it: &&Delivery| adding == Adding::All || !settled.contains(&it.seq);
        let added: Vec<_> = new.iter().filter(is_added).map(|it| (it.id, it.clone())).collect();
        let count = added.len();
        rows.deliveries.extend(added);
        Ok(Some(count))
    }

    async fn hasten(
        &self,
        (org, webhook): Key,
        waiting: Waiting<'_>,
        (at, attempts): (Timestamp, usize),
    ) -> Result<Option<usize>, StoreDown> {
        let mut kept = self.reach("hasten webhook deliveries")?;
        let Some(rows) = kept.orgs.get_mut(&org) else { return Ok(None) };
        if !rows.lanes.get(&webhook).is_some_and(|lane| lane.is_open) {
            return Ok(None);
        }
        let accepted = rows.of(webhook).filter(|it| it.status == DeliveryStatus::Delivered);
        let accepted: BTreeSet<u64> = accepted.map(|it| it.seq).collect();
        let is_meant = |it: &&mut Delivery| {
            let is_named = match waiting {
                Waiting::Delivery(id) => it.id == id,
                Waiting::Events(seqs) => seqs.contains(&it.seq) && !accepted.contains(&it.seq),
            };
            it.webhook == webhook && is_named && it.next_at > Some(at) && it.tries.len() < attempts
        };
        let mut count = 0;
        for delivery in rows.deliveries.values_mut().filter(is_meant) {
            delivery.next_at = Some(at);
            count += 1;
        }
        Ok(Some(count))
    }

    async fn has_open_lanes(&self) -> Result<bool, StoreDown> {
        let kept = self.reach("look whether there are webhook endpoints")?;
        Ok(kept.orgs.values().flat_map(|rows| rows.lanes.values()).any(|lane| lane.is_open))
    }

    async fn waiting_endpoints(
        &self,
        (failing, disable_after): (bool, Duration),
        limit: usize,
    ) -> Result<Vec<Key>, StoreDown> {
        let kept = self.reach("look which webhook endpoints wait")?;
        let now = self.clock.now();
        let mut found = Vec::new();
        for (org, rows) in &kept.orgs {
            let mut waiting = Vec::new();
            for (id, kept) in &rows.lanes {
                let lane = &kept.lane;
                let [_, second_failed] = lane.failed_events;
                let failed_for = match (lane.failing_since, lane.failed_at) {
                    (Some(since), Some(last)) => last.since(since),
                    (_, _) => Duration::ZERO,
                };
                let has_more = lane.seq < rows.last_event()
                    || rows.is_due(*id, now)
                    || failed_for >= disable_after && second_failed.is_some();
                if kept.is_free(now) && lane.failing_since.is_some() == failing && has_more {
                    waiting.push((kept.lease_until, (*org, *id)));
                }
            }
            waiting.sort();
            found.extend(waiting.into_iter().enumerate());
        }
        found.sort();
        Ok(found.into_iter().map(|(_, (_, key))| key).take(limit).collect())
    }

    async fn claim(
        &self,
        (org, webhook): Key,
        lease: Duration,
    ) -> Result<Option<Claim>, StoreDown> {
        let mut kept = self.reach("claim a webhook endpoint")?;
        let now = self.clock.now();
        let Some(rows) = kept.orgs.get_mut(&org) else { return Ok(None) };
        let is_due = rows.is_due(webhook, now);
        let free = rows.lanes.get_mut(&webhook).filter(|lane| lane.is_free(now));
        let (Some(lane), Some(row)) = (free, rows.webhooks.get(&webhook)) else {
            return Ok(None);
        };
        (lane.lease_until, lane.token) = (Some(now + lease), lane.token + 1);
        let (webhook, token, lane) = (row.clone(), lane.token, lane.lane);
        Ok(Some(Claim { webhook, token, lane, is_due, now }))
    }

    async fn due_deliveries(
        &self,
        (org, webhook): Key,
        limit: usize,
    ) -> Result<Vec<Delivery>, StoreDown> {
        let kept = self.reach("read due webhook deliveries")?;
        let (now, rows) = (self.clock.now(), kept.orgs.get(&org).into_iter());
        let is_due = |delivery: &&Delivery| delivery.next_at.is_some_and(|at| at <= now);
        let mut due: Vec<_> =
            rows.flat_map(|rows| rows.of(webhook)).filter(is_due).cloned().collect();
        due.sort_by_key(|delivery| (delivery.next_at, delivery.seq));
        due.truncate(limit);
        Ok(due)
    }

    async fn note(
        &self,
        ((org, webhook), token): (Key, u64),
        (lane, deliveries): (&Lane, &[Delivery]),
        hold: Hold,
    ) -> Result<Option<Noted>, StoreDown> {
        let mut kept = self.reach("note webhook deliveries")?;
        let now = self.clock.now();
        let Some(rows) = kept.orgs.get_mut(&org) else { return Ok(None) };
        let kept_lane = rows.lanes.get_mut(&webhook).filter(|it| it.token == token);
        let (Some(claimed), Some(row)) = (kept_lane, rows.webhooks.get(&webhook)) else {
            return Ok(None);
        };
        let (endpoint, holds) = (row.clone(), claimed.holds());
        let lease_until = match hold {
            Hold::For(lease) => now + lease,
            Hold::LetGo => now,
        };
        claimed.lease_until = holds.then_some(lease_until);
        if holds {
            claimed.lane = *lane;
        } else if claimed.is_open {
            claimed.lane.seq = claimed.lane.seq.max(lane.seq);
        }
        rows.deliveries.extend(deliveries.iter().map(|it| (it.id, it.clone())));
        let noted = Noted { is_due: rows.is_due(webhook, now), webhook: endpoint };
        Ok(holds.then_some(noted))
    }

    async fn sweep_deliveries(&self, keep: Duration, limit: usize) -> Result<usize, StoreDown> {
        let mut kept = self.reach("sweep webhook deliveries")?;
        let oldest = self.clock.now().before(keep);
        let (mut dropped, mut removed) = (0, 0);
        for rows in kept.orgs.values_mut() {
            let Rows { lanes, deliveries, .. } = rows;
            let is_closed = |id: &WebhookId| lanes.get(id).is_some_and(|lane| !lane.is_open);
            let waiting =
                deliveries.values_mut().filter(|it| it.is_open() && is_closed(&it.webhook));
            for delivery in waiting.take(limit - dropped) {
                (delivery.status, delivery.next_at) = (DeliveryStatus::Dropped, None);
                dropped += 1;
            }
            deliveries.retain(|_, it| {
                let goes = removed < limit && !it.is_open() && it.created_at < oldest;
                removed += usize::from(goes);
                !goes
            });
        }
        Ok(dropped.max(removed))
    }
}
