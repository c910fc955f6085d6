//! The statements of the figures.

use crate::unsealed::unsealed_states;

// Orgs whose head moved since all of their deeds were counted, by id: one pass comes by each once,
// and those that move all the time keep nobody else from being counted.
pub(super) const UNCOUNTED: &str = "
    select head.org_id from org_head as head
    left join tally_mark as mark
        on mark.org_id = head.org_id and ($1::uuid[] is null or mark.org_id = any($1))
    where ($1::uuid[] is null or head.org_id = any($1))
        and mark.version is distinct from head.version
        and ($3::uuid is null or head.org_id > $3)
    order by head.org_id limit $2";

pub(super) const MARKED: &str = "
    insert into tally_mark (org_id, place, version) values ($1, -1, 0)
    on conflict (org_id) do nothing";

pub(super) const HELD: &str = "select place from tally_mark where org_id = $1 for update";

/// The deeds behind the mark, each with the action that it seals, if it seals one.
///
/// Most actions cost nothing: to find that their text speaks of no cost takes a fifth of reading it.
macro_rules! behind_the_mark {
    ($most:literal) => {
        concat!(
            "
        select d.seq, a.*
        from deed as d
        left join lateral (
            select agent_id, created_at, status, outcome, coalesce(verdict, '') as verdict,
                coalesce(level, '') as level,
                case when strpos(record, '\"cost\":{') > 0 then record::json -> 'cost' end as cost
            from action
            where org_id = $1 and id = d.action_id and deed_id = d.id offset 0
        ) as a on true
        where d.org_id = $1
            and d.seq > coalesce((select place from tally_mark where org_id = $1), -1)
        order by d.seq limit ",
            $most
        )
    };
}

pub(super) const COUNTED_UP: &str = concat!(
    "
    with sealed as (",
    behind_the_mark!("$2"),
    "
    ), counted as (
        insert into action_tally
            (org_id, owner_id, slot, status, outcome, verdict, level, unit, count, cost)
        select $1::uuid, owner.id, to_timestamp(floor(extract(epoch from created_at) / 900) * 900),
            status, outcome, verdict, level, coalesce(cost ->> 'currency', '') as unit,
            count(*), coalesce(sum((cost ->> 'amount')::numeric), 0)
        from sealed
        cross join lateral (values ($1::uuid), (agent_id)) as owner (id)
        where agent_id is not null
        group by 2, 3, 4, 5, 6, 7, 8
        on conflict (org_id, owner_id, slot, status, outcome, verdict, level, unit) do update
        set count = action_tally.count + excluded.count, cost = action_tally.cost + excluded.cost
    )
    update tally_mark
    set place = coalesce((select max(seq) from sealed), place),
        version = case
            when (select count(*) from sealed) < $2
            then coalesce((select version from org_head where org_id = $1), version)
            else version
        end
    where org_id = $1
    returning (select count(*) from sealed) as seen"
);

// `$2` is whose counts are read: the agent's, or the org's.
pub(super) const KEPT: &str = concat!(
    "
    with behind as (",
    behind_the_mark!("$11"),
    "
    ), part as (
        select slot as at, 'sealed' as state, status, outcome, verdict, level, unit, count, cost
        from action_tally
        where org_id = $1 and owner_id = $2 and slot >= $3 and slot < $4
        union all
        select created_at, 'sealed', status, outcome, verdict, level,
            coalesce(cost ->> 'currency', ''), 1, coalesce((cost ->> 'amount')::numeric, 0)
        from behind
        where agent_id is not null and created_at >= $3 and created_at < $4
            and ($6::uuid is null or agent_id = $6)
        union all
        select open.created_at, stage.name, open.status, open.outcome, open.verdict, open.level,
            coalesce(open.cost ->> 'currency', ''), 1,
            coalesce((open.cost ->> 'amount')::numeric, 0)
        from ",
    unsealed_states!(),
    "
        cross join lateral (
            select created_at, status, outcome, coalesce(verdict, '') as verdict,
                coalesce(level, '') as level,
                case when strpos(record, '\"cost\":{') > 0 then record::json -> 'cost' end as cost
            from only action
            where org_id = $1 and state = stage.name and state <> 'sealed'
                and id >= $12 and id < $13 and ($6::uuid is null or agent_id = $6)
            offset 0
        ) as open
    ), counted as (
        select floor(extract(epoch from at) * 1000)::bigint / $5 as part, status, outcome, verdict,
            level, unit, sum(count)::bigint as count, sum(cost)::text as cost
        from part
        where ($7::text[] is null or state = any($7))
            and ($8::text[] is null or outcome = any($8))
            and ($9::text[] is null or verdict = any($9))
            and ($10::text[] is null or level = any($10))
        group by 1, 2, 3, 4, 5, 6
    )
    select all_behind.behind, counted.*
    from (select count(*) as behind from behind) as all_behind
    left join counted on true"
);

/// The actions that are not sealed, each with its agent.
macro_rules! not_sealed {
    () => {
        concat!(
            unsealed_states!(),
            "
        cross join lateral (
            select agent_id, id from only action
            where org_id = $1 and state = stage.name and state <> 'sealed'
            offset 0
        ) as open"
        )
    };
}

// Of each agent the newest sealed action, by its index, and the newest that is not.
pub(super) const LAST: &str = concat!(
    "
    select agent_id, max(id::text)::uuid as id from (
        select acting.id as agent_id, newest.id
        from agent as acting
        cross join lateral (
            select id from action
            where org_id = $1 and agent_id = acting.id and state = 'sealed'
            order by id desc limit 1
        ) as newest
        where acting.org_id = $1
        union all
        select open.agent_id, open.id
        from ",
    not_sealed!(),
    "
    ) as acted
    group by agent_id order by 2 desc limit $2"
);

pub(super) const OF_AGENTS: &str = concat!(
    "
    select asked.id as agent_id, greatest(newest.id::text, unsealed.id)::uuid as last,
        (
            select count(*) from api_key
            where org_id = $1 and agent_id = asked.id and record::json ->> 'revoked_at' is null
                and coalesce((record::json ->> 'expires_at')::timestamptz > $3, true)
        ) as keys
    from unnest($2::uuid[]) as asked (id)
    left join lateral (
        select id from action
        where org_id = $1 and agent_id = asked.id and state = 'sealed'
        order by id desc limit 1
    ) as newest on true
    left join (
        select open.agent_id, max(open.id::text) as id
        from ",
    not_sealed!(),
    "
        group by 1
    ) as unsealed on unsealed.agent_id = asked.id"
);

// Names of one budget's counters begin alike, and what follows is sorted below a `-`. A cancelled action
// has given back what it took.
pub(super) const COUNTERS: &str = concat!(
    r#"
    with held as (
        select part ->> 'key' as key, (part ->> 'window_start')::timestamptz as window_start,
            sum((part ->> 'used')::numeric) as reserved
        from "#,
    unsealed_states!(),
    r#"
        cross join lateral (
            select record from only action
            where org_id = $1 and state = stage.name and stage.name <> 'cancelled' and state <> 'sealed'
                and record like '%"charged":[{%'
            offset 0
        ) as open
        cross join jsonb_array_elements(open.record::jsonb -> 'charged') as part
        group by 1, 2
    )
    select found.asked, found.key, found.used::text as taken,
        least(coalesce(held.reserved, 0), found.used)::text as reserved
    from (
        select asked.place as asked, counter.*
        from unnest($2::text[], $3::timestamptz[], $4::text[], $5::text[])
            with ordinality as asked (prefix, window_start, after, near, place)
        cross join lateral (
            select key, window_start, used from budget_window
            where org_id = $1 and window_start = asked.window_start
                and key collate "C" > coalesce(asked.after, asked.prefix) collate "C"
                and key collate "C" < rtrim(asked.prefix, ',') || '-' collate "C"
                and (asked.near is null
                    or (used > 0 and used * 5 >= asked.near::numeric * 4))
            order by key collate "C" limit $6
        ) as counter
        order by asked.place, counter.key collate "C" limit $6
    ) as found
    left join held on held.key = found.key and held.window_start = found.window_start
    order by found.asked, found.key collate "C""#
);

pub(super) const WAITING: &str = "
    select count(*) as count from only action
    where org_id = $1 and state = 'pending_approval' and state <> 'sealed'";

pub(super) const FIRST_TO_EXPIRE: &str = "
    select record from only action
    where org_id = $1 and state = 'pending_approval' and state <> 'sealed'
    order by approval_expires_at, id limit $2";
