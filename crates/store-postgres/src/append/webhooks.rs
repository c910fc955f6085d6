//! Webhook endpoints that a turn changed, their lanes, and the deliveries that it asks for.

use ledger::{
    Turn,
    record::{OrgWebhooks, WebhookSend},
};
use model::DeliveryStatus;

use super::Step;
use crate::{
    database::Call,
    fault::Fault,
    rows::{bigint, system_time, to_json},
};

const NO_TRIES: &str = "[]";

/// The statements that write the endpoints of an org, of which most stand as they did, and that open
/// and close their lanes.
pub(super) fn endpoints<'a>(turn: &'a Turn, row: &'a OrgWebhooks) -> Result<[Step<'a>; 2], Fault> {
    let sql = "
        insert into webhook (org_id, id, created_at, deleted_at, record)
        select $1::uuid, r.*
        from unnest($2::uuid[], $3::timestamptz[], $4::timestamptz[], $5::text[]) as r
        on conflict (org_id, id) do update
        set deleted_at = excluded.deleted_at, record = excluded.record
        where webhook.record <> excluded.record";
    let all = &row.endpoints;
    let records =
        all.iter().map(|it| to_json("record", "webhook", it)).collect::<Result<Vec<_>, _>>()?;
    let ids = || all.iter().map(|it| *it.id.as_uuid()).collect::<Vec<_>>();
    let endpoints = Call::new(sql)
        .with(*row.org.as_uuid())
        .with(ids())
        .with(all.iter().map(|it| system_time(it.created_at)).collect::<Vec<_>>())
        .with(all.iter().map(|it| it.deleted_at.map(system_time)).collect::<Vec<_>>())
        .with(records);
    // One that is opened begins behind everything that happened before, this turn included, and a
    // claim from before has ended.
    let sql = "
        insert into webhook_lane (org_id, webhook_id, is_open, seq, token)
        select $1::uuid, r.id, r.is_open, $4::bigint, 0
        from unnest($2::uuid[], $3::boolean[]) as r (id, is_open)
        on conflict (org_id, webhook_id) do update
        set is_open = excluded.is_open,
            seq = case when excluded.is_open then excluded.seq else webhook_lane.seq end,
            opened_token = case when excluded.is_open then webhook_lane.token
                else webhook_lane.opened_token end,
            failing_since = case when excluded.is_open then null
                else webhook_lane.failing_since end,
            failed_at = case when excluded.is_open then null else webhook_lane.failed_at end,
            failed_event = case when excluded.is_open then null
                else webhook_lane.failed_event end,
            failed_other_event = case when excluded.is_open then null
                else webhook_lane.failed_other_event end
        where webhook_lane.is_open <> excluded.is_open";
    let lanes = Call::new(sql)
        .with(*row.org.as_uuid())
        .with(ids())
        .with(all.iter().map(ledger::record::Webhook::is_open).collect::<Vec<_>>())
        .with(bigint(turn.head.event_seq));
    Ok([endpoints, lanes].map(Step::rows))
}

/// The statements that begin a delivery of an event of this turn; none for an event of no turn.
pub(super) fn send<'a>(turn: &'a Turn, row: &'a WebhookSend) -> Option<[Step<'a>; 2]> {
    let event = turn.events.iter().find(|event| event.id == row.event)?;
    let sql = "
        insert into webhook_delivery
            (org_id, id, webhook_id, seq, event_id, kind, status, tries, next_at, created_at)
        values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $9)";
    let delivery = Call::new(sql)
        .with(*turn.org.as_uuid())
        .with(*row.id.as_uuid())
        .with(*row.webhook.as_uuid())
        .with(bigint(event.seq))
        .with(*event.id.as_uuid())
        .with(event.kind.as_str())
        .with(DeliveryStatus::Pending.as_str())
        .with(NO_TRIES)
        .with(system_time(turn.at));
    let sql = "
        update webhook_lane set due_at = least(due_at, $3)
        where org_id = $1 and webhook_id = $2";
    let due = Call::new(sql)
        .with(*turn.org.as_uuid())
        .with(*row.webhook.as_uuid())
        .with(system_time(turn.at));
    Some([delivery, due].map(Step::rows))
}
