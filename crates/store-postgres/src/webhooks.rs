//! Webhook endpoints, their lanes and deliveries. Leases and what is due are told by the database's
//! time; a lane is written only with the token of its last claim.

use std::{collections::BTreeMap, time::Duration};

use async_trait::async_trait;
use delivery::{
    Adding, Claim, Delivery, DeliveryList, DeliveryStore, DeliveryTally, Hold, Key, Lane,
    LaneState, Noted, Waiting,
};
use ledger::{
    StoreDown,
    record::{OrgWebhooks, Webhook},
};
use model::{DeliveryId, DeliveryStatus, EventId, EventType, OrgId, Timestamp, WebhookId};
use tokio_postgres::{Row, error::SqlState};
use uuid::Uuid;

use crate::{
    PostgresStore,
    database::{Call, Unanswered},
    fault::Fault,
    list::first_id,
    rows::{Cells, bigint, system_time, to_json},
};

mod sql;

pub(crate) use sql::LIVE;
use sql::{
    ADD, ANY, CLAIM, CLOSED, CLOSED_LANE, COUNT_NOT_DELIVERED, COUNT_SINCE, DELIVERIES, DELIVERY,
    DROP, DROPPED, DUE, FARED, FORGET, HASTEN, HASTEN_EVENTS, HELD, LANES, NEXT, NOT_DELIVERED,
    OPEN, ORGS, PUT, TALLIES, WAITING, WEBHOOK,
};

#[async_trait]
impl DeliveryStore for PostgresStore {
    async fn time(&self) -> Result<Timestamp, StoreDown> {
        let attempt = "ask for the time";
        let rows = self.database.ask_one(attempt, Call::new("select now() as now")).await?;
        let row = rows.first().ok_or_else(|| Fault::Broken("no row".to_owned()).down(attempt))?;
        Cells::of("now", row).moment("now").map_err(|fault| fault.down(attempt))
    }

    async fn webhooks(&self, org: OrgId) -> Result<Vec<Webhook>, StoreDown> {
        let call = Call::new(LIVE).with(*org.as_uuid());
        self.all("list webhook endpoints", call, webhook).await
    }

    async fn lanes(&self, org: OrgId) -> Result<BTreeMap<WebhookId, LaneState>, StoreDown> {
        let call = Call::new(LANES).with(*org.as_uuid());
        let lanes = self.all("read the lanes of webhook endpoints", call, |row| {
            let cells = Cells::of("webhook_lane", row);
            let (behind, is_ending) = (cells.count("behind")?, cells.get("is_ending")?);
            let state = LaneState { lane: lane(&cells)?, behind, is_ending };
            Ok((cells.id("webhook_id", WebhookId::from_uuid)?, state))
        });
        Ok(lanes.await?.into_iter().collect())
    }

    async fn delivery(&self, org: OrgId, id: DeliveryId) -> Result<Option<Delivery>, StoreDown> {
        let call = Call::new(DELIVERY).with(*org.as_uuid()).with(*id.as_uuid());
        self.found("read a webhook delivery", call, delivery).await
    }

    async fn deliveries(
        &self,
        key: Key,
        asked: DeliveryList,
        limit: usize,
    ) -> Result<Vec<Delivery>, StoreDown> {
        let sql = match asked.status {
            None | Some(DeliveryStatus::Delivered) => DELIVERIES,
            Some(_) => NOT_DELIVERED,
        };
        let call = keyed(sql, key)
            .with(asked.status.map(DeliveryStatus::as_str))
            .with(asked.after.map(|id| *id.as_uuid()))
            .with(most(limit));
        self.all("list webhook deliveries", call, delivery).await
    }

    async fn tallies(
        &self,
        key: Key,
        (from, to): (Timestamp, Timestamp),
        step: Duration,
    ) -> Result<Vec<DeliveryTally>, StoreDown> {
        let call = keyed(TALLIES, key).with(first_id(from)).with(first_id(to));
        let call = call.with(step.as_secs_f64());
        let tally = |row: &Row| {
            let cells = Cells::of("webhook_delivery", row);
            let (at, status) = (cells.moment("part")?, cells.word("status")?);
            Ok(DeliveryTally { at, status, count: cells.count("count")? })
        };
        self.all("count webhook deliveries", call, tally).await
    }

    async fn not_delivered(&self, key: Key) -> Result<BTreeMap<DeliveryStatus, u64>, StoreDown> {
        let call = keyed(COUNT_NOT_DELIVERED, key);
        let counts = self.all("count webhook deliveries", call, |row| {
            let cells = Cells::of("webhook_delivery", row);
            Ok((cells.word("status")?, cells.count("count")?))
        });
        Ok(counts.await?.into_iter().collect())
    }

    async fn count_since(
        &self,
        key: Key,
        kind: EventType,
        since: Timestamp,
    ) -> Result<usize, StoreDown> {
        let call = keyed(COUNT_SINCE, key).with(kind.as_str()).with(system_time(since));
        let count = self.found("count webhook deliveries", call, |row| {
            Cells::of("webhook_delivery", row).count("count")
        });
        Ok(count.await?.map_or(0, |count| usize::try_from(count).unwrap_or(usize::MAX)))
    }

    async fn add(
        &self,
        key: Key,
        deliveries: &[Delivery],
        adding: Adding,
    ) -> Result<Option<usize>, StoreDown> {
        let attempt = "add webhook deliveries";
        let first = deliveries.iter().filter_map(|delivery| delivery.next_at).min();
        let Some(first) = first else { return Ok(Some(0)) };
        let open = keyed(OPEN, key).with(system_time(first));
        let add = of_rows(ADD, key, deliveries).map_err(|fault| fault.down(attempt))?;
        let add = add.with(adding == Adding::All);
        let calls = [Call::new("begin"), open, add, Call::new("commit")];
        let answers = self.guarded(attempt, &calls).await?;
        Ok(answers.map(|answers| answers.get(2).map_or(0, Vec::len)))
    }

    async fn hasten(
        &self,
        key: Key,
        waiting: Waiting<'_>,
        (at, attempts): (Timestamp, usize),
    ) -> Result<Option<usize>, StoreDown> {
        let attempt = "hasten webhook deliveries";
        let open = keyed(OPEN, key).with(system_time(at));
        let hasten = |sql| keyed(sql, key).with(system_time(at)).with(most(attempts));
        let hasten = match waiting {
            Waiting::Delivery(id) => hasten(HASTEN).with(*id.as_uuid()),
            Waiting::Events(places) => {
                let places: Vec<i64> = places.iter().copied().map(bigint).collect();
                hasten(HASTEN_EVENTS).with(places)
            }
        };
        let calls = [Call::new("begin"), open, hasten, Call::new("commit")];
        let answers = self.guarded(attempt, &calls).await?;
        Ok(answers.map(|answers| answers.get(2).map_or(0, Vec::len)))
    }

    async fn has_open_lanes(&self) -> Result<bool, StoreDown> {
        let attempt = "look whether there are webhook endpoints";
        let question = |orgs| Call::new(ANY).with(orgs);
        let is_open = |row: &Row| Cells::of("webhook_lane", row).get("any_is_open");
        Ok(self.all_orgs(attempt, question, is_open).await?.contains(&true))
    }

    async fn waiting_endpoints(
        &self,
        (failing, disable_after): (bool, Duration),
        limit: usize,
    ) -> Result<Vec<Key>, StoreDown> {
        let question = |orgs| {
            let call = Call::new(WAITING).with(orgs).with(failing);
            call.with(disable_after.as_secs_f64()).with(most(limit))
        };
        let attempt = "look which webhook endpoints wait";
        let mut waiting = self
            .all_orgs(attempt, question, |row| {
                let cells = Cells::of("webhook_lane", row);
                Ok((cells.count("place")?, cells.moment_if_any("lease_until")?, key_of(row)?))
            })
            .await?;
        // Each node answers in this order, in which every org has its turn before another's next.
        waiting.sort_unstable();
        waiting.truncate(limit);
        Ok(waiting.into_iter().map(|(_, _, key)| key).collect())
    }

    async fn claim(&self, key: Key, lease: Duration) -> Result<Option<Claim>, StoreDown> {
        let attempt = "claim a webhook endpoint";
        let calls = [keyed(CLAIM, key).with(lease.as_secs_f64()), keyed(WEBHOOK, key)];
        let answers = self.database.ask(attempt, &calls).await?;
        let first = |at: usize| answers.get(at).and_then(|rows| rows.first());
        let (Some(claimed), Some(row)) = (first(0), first(1)) else { return Ok(None) };
        let claim = || {
            let of_lane = Cells::of("webhook_lane", claimed);
            Ok::<_, Fault>(Claim {
                webhook: webhook(row)?,
                token: of_lane.count("token")?,
                lane: lane(&of_lane)?,
                is_due: of_lane.get("is_due")?,
                now: of_lane.moment("claimed_at")?,
            })
        };
        claim().map(Some).map_err(|fault| fault.down(attempt))
    }

    async fn due_deliveries(&self, key: Key, limit: usize) -> Result<Vec<Delivery>, StoreDown> {
        let call = keyed(DUE, key).with(most(limit));
        self.all("read due webhook deliveries", call, delivery).await
    }

    async fn note(
        &self,
        (key, token): (Key, u64),
        (lane, deliveries): (&Lane, &[Delivery]),
        hold: Hold,
    ) -> Result<Option<Noted>, StoreDown> {
        let attempt = "note webhook deliveries";
        let lease = match hold {
            Hold::For(lease) => lease,
            Hold::LetGo => Duration::ZERO,
        };
        let guard = keyed(HELD, key).with(bigint(token)).with(lease.as_secs_f64());
        let [first, second] = lane.failed_events;
        let fared = keyed(FARED, key)
            .with(bigint(token))
            .with(bigint(lane.seq))
            .with(lane.failing_since.map(system_time))
            .with(lane.failed_at.map(system_time))
            .with(lane.delivered_at.map(system_time))
            .with(first.map(bigint))
            .with(second.map(bigint));
        let mut calls = vec![Call::new("begin"), guard, fared];
        if !deliveries.is_empty() {
            calls.push(of_rows(PUT, key, deliveries).map_err(|fault| fault.down(attempt))?);
        }
        let next = keyed(NEXT, key).with(bigint(lane.seq));
        calls.extend([keyed(WEBHOOK, key), next, Call::new("commit")]);
        let Some(answers) = self.guarded(attempt, &calls).await? else { return Ok(None) };
        let before_commit = |by: usize| answers.iter().rev().nth(by).and_then(|rows| rows.first());
        let (Some(next), Some(row)) = (before_commit(1), before_commit(2)) else {
            return Err(Fault::Broken("no row".to_owned()).down(attempt));
        };
        let noted = || {
            let next = Cells::of("webhook_lane", next);
            let noted = Noted { is_due: next.get("is_due")?, webhook: webhook(row)? };
            Ok::<_, Fault>(next.get::<bool>("holds")?.then_some(noted))
        };
        noted().map_err(|fault| fault.down(attempt))
    }

    async fn sweep_deliveries(&self, keep: Duration, limit: usize) -> Result<usize, StoreDown> {
        let attempt = "sweep webhook deliveries";
        let (mut dropped, mut removed) = (0, 0);
        let closed = |orgs| Call::new(CLOSED).with(orgs).with(most(limit));
        for key in self.all_orgs(attempt, closed, key_of).await? {
            let calls = [
                Call::new("begin"),
                keyed(CLOSED_LANE, key),
                keyed(DROP, key).with(most(limit)),
                keyed(DROPPED, key),
                Call::new("commit"),
            ];
            let answers = self.database.ask(attempt, &calls).await?;
            dropped = dropped.max(answers.get(2).map_or(0, Vec::len));
        }
        let org = |row: &Row| Cells::of("webhook", row).get::<Uuid>("org_id");
        for org in self.all_orgs(attempt, |orgs| Call::new(ORGS).with(orgs), org).await? {
            let call = Call::new(FORGET).with(org).with(keep.as_secs_f64()).with(most(limit));
            removed = removed.max(self.database.ask_one(attempt, call).await?.len());
        }
        Ok(dropped.max(removed))
    }
}

impl PostgresStore {
    /// The answers of a transaction whose guard held; nothing where it did not.
    pub(crate) async fn guarded(
        &self,
        attempt: &'static str,
        calls: &[Call<'_>],
    ) -> Result<Option<Vec<Vec<Row>>>, StoreDown> {
        let session = self.database.session(calls).await.map_err(|fault| fault.down(attempt))?;
        match session.send(calls).await {
            Ok(answers) => Ok(Some(answers)),
            Err(Unanswered::Failed(failed))
                if failed.error.code() == Some(&SqlState::DIVISION_BY_ZERO) =>
            {
                Ok(None)
            }
            Err(unanswered) => Err(unanswered.fault().down(attempt)),
        }
    }
}

/// The endpoints as the rows that turns ask for, one for each org.
pub(crate) fn of_orgs(all: Vec<Webhook>) -> Vec<OrgWebhooks> {
    let mut orgs: BTreeMap<OrgId, Vec<Webhook>> = BTreeMap::new();
    for webhook in all {
        orgs.entry(webhook.org).or_default().push(webhook);
    }
    orgs.into_iter().map(|(org, endpoints)| OrgWebhooks { org, endpoints }).collect()
}

fn keyed(sql: &'static str, (org, webhook): Key) -> Call<'static> {
    Call::new(sql).with(*org.as_uuid()).with(*webhook.as_uuid())
}

fn most(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

/// The statement with these deliveries as its rows.
fn of_rows<'a>(sql: &'static str, key: Key, deliveries: &'a [Delivery]) -> Result<Call<'a>, Fault> {
    let tries = deliveries.iter().map(|it| to_json("tries", "webhook_delivery", &it.tries));
    let tries = tries.collect::<Result<Vec<_>, _>>()?;
    Ok(keyed(sql, key)
        .with(column(deliveries, |it| *it.id.as_uuid()))
        .with(column(deliveries, |it| bigint(it.seq)))
        .with(column(deliveries, |it| *it.event.as_uuid()))
        .with(column(deliveries, |it| it.kind.as_str()))
        .with(column(deliveries, |it| it.status.as_str()))
        .with(tries)
        .with(column(deliveries, |it| it.next_at.map(system_time)))
        .with(column(deliveries, |it| system_time(it.created_at))))
}

fn column<'a, T>(rows: &'a [Delivery], value: impl Fn(&'a Delivery) -> T) -> Vec<T> {
    rows.iter().map(value).collect()
}

fn key_of(row: &Row) -> Result<Key, Fault> {
    let cells = Cells::of("webhook_lane", row);
    Ok((cells.id("org_id", OrgId::from_uuid)?, cells.id("webhook_id", WebhookId::from_uuid)?))
}

fn webhook(row: &Row) -> Result<Webhook, Fault> {
    Cells::of("webhook", row).json("record")
}

fn lane(cells: &Cells<'_>) -> Result<Lane, Fault> {
    Ok(Lane {
        seq: cells.count("seq")?,
        failing_since: cells.moment_if_any("failing_since")?,
        failed_at: cells.moment_if_any("failed_at")?,
        delivered_at: cells.moment_if_any("delivered_at")?,
        failed_events: [
            cells.count_if_any("failed_event")?,
            cells.count_if_any("failed_other_event")?,
        ],
    })
}

fn delivery(row: &Row) -> Result<Delivery, Fault> {
    let cells = Cells::of("webhook_delivery", row);
    Ok(Delivery {
        id: cells.id("id", DeliveryId::from_uuid)?,
        webhook: cells.id("webhook_id", WebhookId::from_uuid)?,
        seq: cells.count("seq")?,
        event: cells.id("event_id", EventId::from_uuid)?,
        kind: cells.word("kind")?,
        status: cells.word("status")?,
        tries: cells.json("tries")?,
        next_at: cells.moment_if_any("next_at")?,
        created_at: cells.moment("created_at")?,
    })
}
