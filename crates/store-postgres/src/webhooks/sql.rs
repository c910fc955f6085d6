//! The statements over endpoints, their lanes and deliveries.

/// The endpoints of an org that were not deleted.
pub(crate) const LIVE: &str = "
    select record from webhook where org_id = $1 and deleted_at is null
    order by created_at, id";

pub(super) const LANES: &str = "
    select lane.webhook_id, lane.seq, lane.failing_since, lane.failed_at, lane.delivered_at,
        lane.failed_event, lane.failed_other_event,
        greatest(head.event_seq - lane.seq, 0) as behind,
        coalesce(lane.is_open and lane.token = lane.opened_token and lane.lease_until > now(), false)
            as is_ending
    from webhook_lane as lane join org_head as head on head.org_id = $1
    where lane.org_id = $1";

pub(super) const DELIVERY: &str = "
    select id, webhook_id, seq, event_id, kind, status, tries, next_at, created_at
    from webhook_delivery where org_id = $1 and id = $2";

pub(super) const DELIVERIES: &str = "
    select id, webhook_id, seq, event_id, kind, status, tries, next_at, created_at
    from webhook_delivery
    where org_id = $1 and webhook_id = $2
        and ($3::text is null or status = $3) and ($4::uuid is null or id < $4)
    order by id desc limit $5";
// Few deliveries among many have one of these statuses: an index of their own finds them.
pub(super) const NOT_DELIVERED: &str = "
    select id, webhook_id, seq, event_id, kind, status, tries, next_at, created_at
    from webhook_delivery
    where org_id = $1 and webhook_id = $2
        and status = $3 and status <> 'delivered' and ($4::uuid is null or id < $4)
    order by id desc limit $5";

// The ids tell when, and are in the index.
pub(super) const TALLIES: &str = "
    select date_bin(make_interval(secs => $5), created_at, timestamptz 'epoch') as part, status,
        count(*) as count
    from webhook_delivery
    where org_id = $1 and webhook_id = $2 and id >= $3 and id < $4
    group by 1, 2";
pub(super) const COUNT_NOT_DELIVERED: &str = "
    select status, count(*) as count from webhook_delivery
    where org_id = $1 and webhook_id = $2 and status <> 'delivered'
    group by status";

pub(super) const DUE: &str = "
    select id, webhook_id, seq, event_id, kind, status, tries, next_at, created_at
    from webhook_delivery
    where org_id = $1 and webhook_id = $2 and next_at <= now()
    order by next_at, seq limit $3";

pub(super) const COUNT_SINCE: &str = "
    select count(*) as count from webhook_delivery
    where org_id = $1 and webhook_id = $2 and kind = $3 and created_at >= $4";

// Asked by itself while there is none, and so that nothing else is.
pub(super) const ANY: &str = "
    select exists (
        select 1 from webhook_lane
        where ($1::uuid[] is null or org_id = any($1)) and is_open) as any_is_open";

// Looks through every org; what an org has to do is told by two of its rows.
pub(super) const WAITING: &str = "
    select waiting.org_id, waiting.webhook_id, waiting.place, waiting.lease_until
    from (
        select lane.org_id, lane.webhook_id, lane.lease_until,
            row_number() over (
                partition by lane.org_id order by lane.lease_until nulls first) as place
        from webhook_lane as lane join org_head as head on head.org_id = lane.org_id
        where ($1::uuid[] is null or lane.org_id = any($1) and head.org_id = any($1))
            and lane.is_open and (lane.lease_until is null or lane.lease_until <= now())
            and (lane.failing_since is not null) = $2
            and (lane.seq < head.event_seq or lane.due_at <= now()
                or lane.failed_at - lane.failing_since >= make_interval(secs => $3)
                    and lane.failed_other_event is not null)) as waiting
    order by waiting.place, waiting.lease_until nulls first limit $4";

pub(super) const CLAIM: &str = "
    with claimed as (
        update webhook_lane
        set lease_until = now() + make_interval(secs => $3), token = token + 1
        where org_id = $1 and webhook_id = $2 and is_open
            and (lease_until is null or lease_until <= now())
        returning token, seq, failing_since, failed_at, delivered_at, failed_event,
            failed_other_event, due_at)
    select token, seq, failing_since, failed_at, delivered_at, failed_event, failed_other_event,
        coalesce(due_at <= now(), false) as is_due, now() as claimed_at
    from claimed";

pub(super) const WEBHOOK: &str = "select record from webhook where org_id = $1 and id = $2";

// The statements of a note, beside one that reads the endpoint as it stands by then. The first fails where
// the claim was lost, and takes the lane's row until the end; the second changes nothing where the claim
// ended, which the last says, and finds what waits by then.
pub(super) const HELD: &str = "
    with held as (
        update webhook_lane set lease_until = now() + make_interval(secs => $4)
        where org_id = $1 and webhook_id = $2 and token = $3
        returning 1)
    select 1 / count(*) from held";
pub(super) const FARED: &str = "
    update webhook_lane
    set seq = $4, failing_since = $5, failed_at = $6, delivered_at = $7, failed_event = $8,
        failed_other_event = $9
    where org_id = $1 and webhook_id = $2 and token = $3 and is_open
        and token > coalesce(opened_token, 0)";
pub(super) const PUT: &str = "
    insert into webhook_delivery
        (org_id, id, webhook_id, seq, event_id, kind, status, tries, next_at, created_at)
    select $1::uuid, r.id, $2::uuid, r.seq, r.event_id, r.kind, r.status, r.tries, r.next_at,
        r.created_at
    from unnest($3::uuid[], $4::bigint[], $5::uuid[], $6::text[], $7::text[], $8::text[],
        $9::timestamptz[], $10::timestamptz[])
        as r (id, seq, event_id, kind, status, tries, next_at, created_at)
    on conflict (org_id, id) do update
    set status = excluded.status, tries = excluded.tries, next_at = excluded.next_at";
pub(super) const NEXT: &str = "
    with noted as (
        update webhook_lane
        set due_at = (select min(next_at) from webhook_delivery
                where org_id = $1 and webhook_id = $2 and next_at is not null),
            lease_until = case when is_open and token > coalesce(opened_token, 0)
                then lease_until end,
            seq = case when is_open then greatest(seq, $3) else seq end
        where org_id = $1 and webhook_id = $2
        returning due_at, is_open and token > coalesce(opened_token, 0) as holds)
    select holds, coalesce(due_at <= now(), false) as is_due from noted";

// Taken first, so that a lane that is being closed is seen closed.
pub(super) const OPEN: &str = "
    with lane as (
        update webhook_lane set due_at = least(due_at, $3)
        where org_id = $1 and webhook_id = $2 and is_open
        returning 1)
    select 1 / count(*) from lane";
pub(super) const ADD: &str = "
    insert into webhook_delivery
        (org_id, id, webhook_id, seq, event_id, kind, status, tries, next_at, created_at)
    select $1::uuid, r.id, $2::uuid, r.seq, r.event_id, r.kind, r.status, r.tries, r.next_at,
        r.created_at
    from unnest($3::uuid[], $4::bigint[], $5::uuid[], $6::text[], $7::text[], $8::text[],
        $9::timestamptz[], $10::timestamptz[])
        as r (id, seq, event_id, kind, status, tries, next_at, created_at)
    where $11 or not exists (
        select 1 from webhook_delivery as kept
        where kept.org_id = $1 and kept.webhook_id = $2 and kept.seq = r.seq
            and kept.status in ('pending', 'retrying', 'delivered'))
    returning id";

// What had all of its attempts waits to be reported.
pub(super) const HASTEN: &str = "
    update webhook_delivery set next_at = $3
    where org_id = $1 and webhook_id = $2 and id = $5 and next_at > $3
        and json_array_length(tries::json) < $4::bigint
    returning id";
pub(super) const HASTEN_EVENTS: &str = "
    update webhook_delivery as waiting set next_at = $3
    where org_id = $1 and webhook_id = $2 and seq = any($5) and next_at > $3
        and json_array_length(tries::json) < $4::bigint
        and not exists (
            select 1 from webhook_delivery as accepted
            where accepted.org_id = $1 and accepted.webhook_id = $2
                and accepted.seq = waiting.seq and accepted.status = 'delivered')
    returning id";

pub(super) const CLOSED: &str = "
    select org_id, webhook_id from webhook_lane
    where ($1::uuid[] is null or org_id = any($1)) and not is_open and due_at is not null
    limit $2";
// Taken first, so that nobody opens the lane or notes what was tried until the others have ended.
pub(super) const CLOSED_LANE: &str = "
    select webhook_id from webhook_lane
    where org_id = $1 and webhook_id = $2 and not is_open for update";
pub(super) const DROP: &str = "
    update webhook_delivery set status = 'dropped', next_at = null
    where org_id = $1 and next_at is not null and id in (
        select id from webhook_delivery
        where org_id = $1 and webhook_id = $2 and next_at is not null limit $3)
        and exists (
            select 1 from webhook_lane
            where org_id = $1 and webhook_id = $2 and not is_open)
    returning id";
pub(super) const DROPPED: &str = "
    update webhook_lane set due_at = (select min(next_at) from webhook_delivery
        where org_id = $1 and webhook_id = $2 and next_at is not null)
    where org_id = $1 and webhook_id = $2 and not is_open";
pub(super) const ORGS: &str = "
    select distinct org_id from webhook where ($1::uuid[] is null or org_id = any($1))";
pub(super) const FORGET: &str = "
    delete from webhook_delivery
    where org_id = $1 and id in (
        select id from webhook_delivery
        where org_id = $1 and next_at is null
            and created_at < now() - make_interval(secs => $2)
        order by created_at limit $3)
    returning id";
