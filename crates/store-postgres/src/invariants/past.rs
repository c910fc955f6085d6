//! The queries of those invariants that count or join what may lie in partitions that are away. What
//! is away is known by its digests alone and is not looked at.

/// A query that may name the tiles that are `away`, with the places of the events around theirs. Its
/// `$2` are the partitions that are not.
macro_rules! beside_away {
    ($sql:literal) => {
        concat!(
            "
            with away as (
                select index, digests, issued_at, before, events
                from (
                    select *, lag(events, 1, 0::bigint) over (order by index) as before
                    from past_tile where org_id = $1
                ) as tile
                where tile.part <> all($2::text[])
            )",
            $sql
        )
    };
}

pub(super) const LOG_DENSE: &str = beside_away!(
    "
    select format('deed %s of log %s is at place %s', place, log, counted)
    from (
        select seq >> 40 as log, seq & (1::bigint << 40) - 1 as place,
            row_number() over (partition by seq >> 40 order by seq) - 1 as counted
        from (
            select seq from deed where org_id = $1
            union all
            select (index << 8) + leaf.no from away cross join generate_series(0, 255) as leaf (no)
        ) as placed
    ) as d
    where place <> counted"
);

pub(super) const LOG_LINKED: &str = beside_away!(
    r"
    select format('deed %s', seq)
    from (
        select seq, prev, is_here,
            encode(lag(digest) over (partition by seq >> 40 order by seq), 'hex') as before
        from (
            select seq, digest, true as is_here,
                substring(body from '\x22prev\x22:\x22sha256:([0-9a-f]{64})\x22,\x22seq\x22:') as prev
            from deed where org_id = $1
            union all
            select (index << 8) + 255, substr(digests, 8161, 32), false, null from away
        ) as linked
    ) as d
    where is_here and (prev is null or prev <> before)"
);

pub(super) const HEAD: &str = beside_away!(
    "
    select format('the head of log %s has %s deeds, the log %s', h.no, h.size, l.size)
    from org
    left join (
        select org_id, (select count(*) from closed_log where org_id = $1) as no, size,
            last_digest, frontier, issued_at
        from org_head where org_id = $1
        union all
        select org_id, no, size, last_digest, frontier, issued_at
        from closed_log where org_id = $1
    ) as h using (org_id)
    cross join lateral (
        select max(seq) as last, count(*) + 256 * (
            select count(*) from away
            where index >= h.no << 32 and index < (h.no + 1) << 32
        ) as size
        from deed
        where org_id = $1 and seq >= h.no << 40 and seq < (h.no + 1) << 40) as l
    left join deed as d on d.org_id = $1 and d.seq = l.last
    where org.org_id = $1
        and (h.size is distinct from l.size
            or octet_length(h.frontier) <> 32 * bit_count(h.size::bit(64))
            or (l.size > 0 and (h.last_digest, h.issued_at)
                is distinct from (d.digest, d.issued_at)))"
);

pub(super) const EVENTS: &str = beside_away!(
    "
    select format('the head names event %s, there are %s up to %s', h.event_seq,
        count(e.seq), max(e.seq))
    from org_head as h left join event as e on e.org_id = $1
    cross join (
        select coalesce(sum(events - before), 0) as away, min(before) + 1 as first
        from away where events > before
    ) as past
    where h.org_id = $1
    group by h.event_seq, past.away, past.first
    having coalesce(max(e.seq), 0) <> h.event_seq
        or count(e.seq) + past.away
            <> coalesce(max(e.seq) - least(min(e.seq), past.first) + 1, 0)"
);

pub(super) const DEED_EVENTS: &str = beside_away!(
    r"
    select format('deed %s', d.seq)
    from deed as d
    left join (
        select substring(data from '\x22seq\x22:([0-9]+)')::bigint + (
            select count(*) << 40 from closed_log as c
            where c.org_id = $1 and c.event_seq < event.seq) as of
        from event where org_id = $1 and kind = 'deed.sealed'
    ) as e on e.of = d.seq
    where d.org_id = $1 and e.of is null
        and d.issued_at > (select min(created_at) from event where org_id = $1)
        and d.issued_at > coalesce((select max(issued_at) from away), '-infinity')"
);

// What was recorded before the last tile that is away was sealed may be away itself.
pub(super) const COUNTS: &str = beside_away!(
    "
    select format('%s, %s of %s from %s: %s are counted, %s are there', status, outcome, owner_id,
        slot, coalesce(kept.count, 0), coalesce(there.count, 0))
    from (
        select owner_id, slot, status, outcome, verdict, level, unit, count, cost
        from action_tally
        where org_id = $1 and slot >= coalesce((select max(issued_at) from away), '-infinity')
    ) as kept
    full join (
        select owner.id as owner_id, s.slot, s.status, s.outcome, s.verdict, s.level,
            coalesce(s.cost ->> 'currency', '') as unit, count(*) as count,
            coalesce(sum((s.cost ->> 'amount')::numeric), 0) as cost
        from (
            select a.agent_id, a.status, a.outcome, coalesce(a.verdict, '') as verdict,
                coalesce(a.level, '') as level, a.record::json -> 'cost' as cost,
                to_timestamp(floor(extract(epoch from a.created_at) / 900) * 900) as slot
            from action as a
            join deed as d on d.org_id = $1 and d.id = a.deed_id
            where a.org_id = $1
                and d.seq <= coalesce((select place from tally_mark where org_id = $1), -1)
        ) as s
        cross join lateral (values ($1), (s.agent_id)) as owner (id)
        where s.slot >= coalesce((select max(issued_at) from away), '-infinity')
        group by 1, 2, 3, 4, 5, 6, 7
    ) as there using (owner_id, slot, status, outcome, verdict, level, unit)
    where (kept.count, kept.cost) is distinct from (there.count, there.cost)"
);

// An action goes with its first deed, so that its amendment may be here without either.
pub(super) const AMENDMENTS: &str = beside_away!(
    "
    select format('deed %s', d.seq)
    from deed as d
    left join action as a on a.org_id = $1 and a.id = d.action_id
    left join deed as f on f.org_id = $1 and f.id = a.deed_id
    where d.org_id = $1 and d.kind = 'amendment'
        and case when f.id is null then not exists (select from away)
            else f.seq >= d.seq or f.seq >> 40 <> d.seq >> 40
                or d.body::json -> 'amendment' -> 'amends' ->> 'id'
                    is distinct from f.body::json ->> 'id'
                or d.body::json -> 'amendment' -> 'amends' ->> 'digest'
                    is distinct from 'sha256:' || encode(f.digest, 'hex')
                or a.record::json -> 'amendment' ->> 'deed'
                    is distinct from d.body::json ->> 'id' end
    union all
    select format('action %s', a.id)
    from action as a
    where a.org_id = $1 and a.record::json -> 'amendment' is not null
        and not exists (select from away)
        and not exists (
            select from deed as d
            where d.org_id = $1 and d.action_id = a.id and d.kind = 'amendment')"
);

pub(super) const DISCLOSURES: &str = beside_away!(
    "
    select format('%s of %s', path, owner_id) from disclosure as o
    where org_id = $1
        and not exists (select from action where org_id = $1 and id = o.owner_id)
        and not exists (select from deed where org_id = $1 and id = o.owner_id)
        and not exists (select from away)"
);
