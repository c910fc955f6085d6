//! What must hold of every org's rows, as a table. The queries are run in `invariants`.

use super::past;

/// Something that holds of every org's rows at every moment.
#[derive(Debug, PartialEq, Eq)]
pub struct Invariant {
    /// Its name.
    pub name: &'static str,
    /// What holds, as a sentence.
    pub sentence: &'static str,
    /// What its query takes.
    pub takes: Takes,
    /// The rows that break it, each as one text.
    pub(super) sql: &'static str,
}

/// What an invariant's query takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    /// `$1`, the org.
    Org,
    /// The org, and as `$2` the partitions of the past that are attached.
    OrgAndAttached,
    /// The org, and as `$2` the seconds after which something due counts as left behind.
    OrgAndSpan,
    /// The org, and as `$2` the ids of the vault's keys.
    OrgAndVaultKeys,
}

/// Every invariant, the log first.
pub const INVARIANTS: &[Invariant] = &[
    Invariant {
        name: "log-dense",
        sentence: "the deeds of a log have the places 0, 1, 2 and so on",
        takes: Takes::OrgAndAttached,
        sql: past::LOG_DENSE,
    },
    Invariant {
        name: "log-linked",
        sentence: "each deed names the digest of the previous deed",
        takes: Takes::OrgAndAttached,
        sql: past::LOG_LINKED,
    },
    Invariant {
        name: "deed-digest",
        sentence: "a deed's digest is that of its body",
        takes: Takes::Org,
        sql: "
            select format('deed %s', seq) from deed
            where org_id = $1 and digest <> sha256(convert_to(body, 'UTF8'))",
    },
    Invariant {
        name: "deed-columns",
        sentence: "a deed's columns repeat what its body says",
        takes: Takes::Org,
        sql: r"
            select format('deed %s', seq) from deed
            where org_id = $1
                and substring(body from '\x22key_id\x22:\x22([^\x22]*)\x22,\x22kind\x22:\x22[a-z]*\x22,\x22livemode\x22')
                    || ' ' || substring(body from ',\x22kind\x22:\x22([a-z]*)\x22,\x22livemode\x22:')
                    || ' ' || substring(body from '\x22prev\x22:\x22[^\x22]*\x22,\x22seq\x22:([0-9]+),')
                    is distinct from concat_ws(' ', key_id, kind, seq & (1::bigint << 40) - 1)",
    },
    Invariant {
        name: "deed-times",
        sentence: "no deed is older than the previous deed",
        takes: Takes::Org,
        sql: "
            select format('deed %s', seq)
            from (
                select seq, issued_at, lag(issued_at) over (order by seq) as before
                from deed where org_id = $1
            ) as d
            where issued_at < before",
    },
    Invariant {
        name: "deed-key",
        sentence: "the key of each deed is registered",
        takes: Takes::Org,
        sql: "
            select format('deed %s by %s', seq, key_id) from deed
            where org_id = $1 and not exists (
                select from seal_key where kid = key_id and purpose = 'deed')",
    },
    Invariant {
        name: "head",
        sentence: "the head row names the last deed, and the tree is as large as the log",
        takes: Takes::OrgAndAttached,
        sql: past::HEAD,
    },
    Invariant {
        name: "tree",
        sentence: "every full tile of the tree has its node",
        takes: Takes::Org,
        sql: "
            select format('level %s of log %s has %s of %s nodes', l.level, l.no, count(n.index), due)
            from (
                select no, level, no << (40 - 8 * level) as first,
                    size / (256 ^ level)::bigint as due
                from (
                    select (select count(*) from closed_log where org_id = $1) as no, size
                    from org_head where org_id = $1
                    union all
                    select no, size from closed_log where org_id = $1
                ) as log
                cross join generate_series(1, 5) as level
            ) as l
            left join log_node as n on n.org_id = $1 and n.level = l.level
                and n.index >= l.first and n.index < (l.no + 1) << (40 - 8 * l.level)
            group by l.no, l.level, l.first, due
            having count(n.index) <> due or max(n.index) >= l.first + due",
    },
    Invariant {
        name: "closed-logs",
        sentence: "each log that was closed is named by the first deed of the next log",
        takes: Takes::Org,
        sql: r"
            select format('log %s with %s deeds', c.no, c.size)
            from (
                select *, row_number() over (order by no) - 1 as place
                from closed_log where org_id = $1
            ) as c
            left join deed as d on d.org_id = $1 and d.seq = (c.no + 1)::bigint << 40
            where c.no <> c.place
                or (substring(d.body from '\x22log\x22:\x22([^\x22]*)\x22,\x22lost_from_seq\x22:'),
                    substring(d.body from '\x22size\x22:([0-9]+)\},[\x22]event\x22:\x22log\.recovered\x22'))
                is distinct from (c.log, c.size::text)",
    },
    Invariant {
        name: "checkpoints",
        sentence: "no checkpoint is ahead of its log",
        takes: Takes::Org,
        sql: "
            select format('a checkpoint of %s deeds, log %s has %s', c.size, h.no, h.size)
            from (
                select size >> 40 as no, size & (1::bigint << 40) - 1 as size
                from checkpoint where org_id = $1
            ) as c
            left join (
                select (select count(*) from closed_log where org_id = $1) as no, size
                from org_head where org_id = $1
                union all
                select no, size from closed_log where org_id = $1
            ) as h using (no)
            where c.size > h.size or h.size is null",
    },
    Invariant {
        name: "turns",
        sentence: "each version of the head was made by one turn, up to the last",
        takes: Takes::Org,
        sql: "
            select format('the last version is %s, the turns make %s of %s', h.version,
                count(t.version), h.version - min(t.version) + 1)
            from org_head as h left join turn as t on t.org_id = $1
            where h.org_id = $1
            group by h.version
            having max(t.version) is distinct from h.version
                or count(t.version) <> h.version - min(t.version) + 1",
    },
    Invariant {
        name: "action-deed",
        sentence: "a sealed action has one deed of its own, the one that it names; no other has any",
        takes: Takes::Org,
        sql: "
            select format('action %s in state %s has %s', coalesce(a.id, d.action_id),
                coalesce(a.state, 'unrecorded'), coalesce(d.deeds, 0))
            from (select id, state, deed_id from action where org_id = $1) as a
            full join (
                select action_id, count(*) as deeds, min(id::text)::uuid as id
                from deed where org_id = $1 and kind = 'action' group by action_id
            ) as d on d.action_id = a.id
            where case when a.state = 'sealed'
                then d.deeds is distinct from 1 or d.id is distinct from a.deed_id
                else d.deeds is not null or a.deed_id is not null end",
    },
    Invariant {
        name: "action-fields",
        sentence: "what an action has fits the state that it is in",
        takes: Takes::Org,
        sql: "
            select format('action %s: %s, %s, execution %s, approval %s, verdict %s', id, state,
                status, execution_status, approval_status, verdict)
            from action
            where org_id = $1 and not (
                (state = 'pending_approval') = (status = 'pending_approval')
                and (state = 'pending_approval') = (approval_status is not distinct from 'pending')
                and (status not in ('denied', 'cancelled', 'pending_approval')
                    or (execution_status is null and verdict is null))
                and (status not in ('processing', 'authorized')
                    or execution_status is not distinct from 'running')
                and (status <> 'cancelled' or approval_status is not distinct from 'cancelled')
                and (status not in ('executed', 'failed') or state <> 'sealed'
                    or (execution_status in ('succeeded', 'failed', 'unknown')
                        and verdict is not null and level is not null))
                and (status <> 'failed' or execution_status is not distinct from 'failed')
                and (execution_status is distinct from 'unknown'
                    or (status = 'executed' and verdict is not distinct from 'UNVERIFIABLE'))
                and (state <> 'executing' or mode <> 'proxy' or deadline is not null)
                and (state <> 'executing' or mode <> 'gateway' or lease_until is not null)
                and (state <> 'witnessing' or (mode = 'gateway' and status = 'processing'
                    and lease_until is not null and verdict is null))
                and (state in ('executing', 'witnessing') or lease_until is null))",
    },
    Invariant {
        name: "action-record",
        sentence: "an action's columns repeat its record",
        takes: Takes::Org,
        sql: "
            select format('action %s', id) from action
            where org_id = $1
                and (record::jsonb ->> 'state', record::jsonb ->> 'status',
                    record::jsonb ->> 'mode', record::jsonb ->> 'tool',
                    record::jsonb -> 'execution' ->> 'status',
                    record::jsonb -> 'approval' ->> 'status',
                    record::jsonb -> 'witness' ->> 'verdict',
                    (record::jsonb -> 'lease' ->> 'token')::bigint)
                is distinct from (state, status, mode, tool, execution_status, approval_status,
                    verdict, lease_token)",
    },
    Invariant {
        name: "kept-reports",
        sentence: "an action that waits for evidence has its report, and only an action sealed without evidence has one too",
        takes: Takes::Org,
        sql: "
            select format('action %s', id) from action
            where org_id = $1 and state = 'witnessing' and not exists (
                select from kept_report as kept
                where kept.org_id = $1 and kept.action_id = action.id
                    and kept.awaited_since is null)
            union all
            select format('the report of %s', kept.action_id) from kept_report as kept
            where kept.org_id = $1 and not exists (
                select from action
                where action.org_id = $1 and action.id = kept.action_id
                    and case when kept.awaited_since is null then action.state = 'witnessing'
                        else action.state = 'sealed' and kept.connector_id is not null
                            and action.record::json ->> 'payload_pruned_at' is null
                            and action.record::json -> 'amendment' is null end)",
    },
    Invariant {
        name: "amendments",
        sentence: "an amendment follows its action's deed in the same log, and its action names it",
        takes: Takes::OrgAndAttached,
        sql: past::AMENDMENTS,
    },
    Invariant {
        name: "leases",
        sentence: "no lease expired more than ten of its lengths ago",
        takes: Takes::OrgAndSpan,
        sql: "
            select format('action %s, lease until %s', id, lease_until) from action
            where org_id = $1 and lease_until < now() - make_interval(secs => $2)",
    },
    Invariant {
        name: "deadlines",
        sentence: "no report and no decision is overdue by more than ten leases",
        takes: Takes::OrgAndSpan,
        sql: "
            select format('action %s, due at %s', id,
                case when state = 'executing' then deadline else approval_expires_at end)
            from action
            where org_id = $1
                and (state = 'executing' and deadline < now() - make_interval(secs => $2)
                    or state = 'pending_approval'
                        and approval_expires_at < now() - make_interval(secs => $2))",
    },
    Invariant {
        name: "void-approvals",
        sentence: "nothing waits for an approval that was made void more than ten leases ago",
        takes: Takes::OrgAndSpan,
        sql: "
            select format('action %s, void since %s', a.id, v.until)
            from (
                select (record::json ->> 'voids')::timestamptz as until, null::uuid as agent_id
                from org where org_id = $1 and record::json ->> 'voids' is not null
                union all
                select (record::json ->> 'voids')::timestamptz, id
                from agent where org_id = $1 and record::json ->> 'voids' is not null
            ) as v
            join action as a on a.org_id = $1 and a.state = 'pending_approval'
                and (v.agent_id is null or a.agent_id = v.agent_id) and a.created_at <= v.until
            where v.until < now() - make_interval(secs => $2)",
    },
    Invariant {
        name: "events",
        sentence: "the events have places without a gap, up to the one that the head names",
        takes: Takes::OrgAndAttached,
        sql: past::EVENTS,
    },
    Invariant {
        name: "deed-events",
        sentence: "each deed since the first event has its event",
        takes: Takes::OrgAndAttached,
        sql: past::DEED_EVENTS,
    },
    Invariant {
        name: "idempotency",
        sentence: "each idempotency key names an action of its agent, or of the org whose key it is",
        takes: Takes::Org,
        sql: "
            select format('a key of agent %s names %s', k.agent_id, k.action_id)
            from idempotency as k
            left join action as a on a.org_id = $1 and a.id = k.action_id
            where k.org_id = $1 and (a.id is null
                or a.agent_id <> k.agent_id
                    and k.agent_id <> '00000000-0000-0000-0000-000000000000')",
    },
    Invariant {
        name: "disclosures",
        sentence: "what opens a commitment belongs to an action or a deed",
        takes: Takes::OrgAndAttached,
        sql: past::DISCLOSURES,
    },
    Invariant {
        name: "agents",
        sentence: "each action is an agent's, and each API key leads to its org",
        takes: Takes::Org,
        sql: "
            select format('action %s of agent %s', a.id, a.agent_id)
            from action as a left join agent as g on g.org_id = $1 and g.id = a.agent_id
            where a.org_id = $1 and g.id is null
            union all
            select format('API key %s', k.id)
            from api_key as k left join api_key_org as o on o.key_id = k.id
            where k.org_id = $1 and o.org_id is distinct from k.org_id",
    },
    Invariant {
        name: "members",
        sentence: "an org with members has an owner, and each person who accepted an invitation is a member",
        takes: Takes::Org,
        sql: "
            select format('org %s has no owner', m.org_id) from member as m
            where m.org_id = $1 and m.removed_at is null
            group by m.org_id having count(*) filter (where m.role = 'owner') = 0
            union all
            select format('member %s is not found by their person', m.id)
            from member as m
            left join membership as o on o.org_id = $1 and o.user_id = m.user_id
            where m.org_id = $1 and o.user_id is null
            union all
            select format('invitation %s', i.id) from invite as i
            left join member as m on m.org_id = $1 and m.id = i.member_id
            where i.org_id = $1 and i.member_id is not null
                and m.user_id is distinct from i.user_id",
    },
    Invariant {
        name: "sessions",
        sentence: "a session lives for a week at most, and its org is one that its person is or was in",
        takes: Takes::Org,
        sql: "
            select format('session %s lasts from %s to %s', s.id, s.created_at, s.expires_at)
            from membership as o join session as s on s.user_id = o.user_id
            where o.org_id = $1 and (s.expires_at - s.created_at > interval '168 hours'
                or least(s.authenticated_at, s.last_seen_at, s.ended_at) < s.created_at
                or s.authenticated_at > s.expires_at)
            union all
            select format('session %s', s.id) from session as s
            where s.chosen_org = $1 and not exists (
                select from member as m where m.org_id = $1 and m.user_id = s.user_id)",
    },
    Invariant {
        name: "intent-keys",
        sentence: "an intent key goes by its thumbprint, and of an agent's at most four count",
        takes: Takes::Org,
        sql: r#"
            select format('key %s of agent %s', key ->> 'id', agent_id)
            from intent_key_set cross join jsonb_array_elements(record::jsonb -> 'keys') as key
            where org_id = $1 and key ->> 'kid' is distinct from rtrim(translate(encode(sha256(
                convert_to('{"crv":"Ed25519","kty":"OKP","x":"' || (key ->> 'public_key') || '"}',
                    'UTF8')), 'base64'), '+/', '-_'), '=')
            union all
            select format('agent %s has %s keys', agent_id, count(*))
            from intent_key_set cross join jsonb_array_elements(record::jsonb -> 'keys') as key
            where org_id = $1 and key ->> 'revoked_at' is null
                and coalesce((key ->> 'not_after')::timestamptz > now(), true)
            group by agent_id having count(*) > 4"#,
    },
    Invariant {
        name: "policy",
        sentence: "the active policy versions are there, with their digests",
        takes: Takes::Org,
        sql: "
            select format('%s names version %s', a.mode, a.version_id)
            from policy_active as a
            left join policy_version as v on v.org_id = $1 and v.id = a.version_id
            where a.org_id = $1
                and (v.policy_id, v.digest) is distinct from (a.policy_id, a.digest)",
    },
    Invariant {
        name: "budgets",
        sentence: "a budget's counter is the sum of what its calls were charged and did not get back",
        takes: Takes::Org,
        sql: "
            select format('counter %s from %s: %s, its calls were charged %s',
                coalesce(b.key, c.key), coalesce(b.window_start, c.window_start), b.used, c.used)
            from (
                select key, window_start, used from budget_window
                where org_id = $1 and window_end > now()
            ) as b
            full join (
                select part ->> 'key' as key, (part ->> 'window_start')::timestamptz
                    as window_start, sum((part ->> 'used')::numeric) as used
                from action cross join jsonb_array_elements(record::jsonb -> 'charged') as part
                where org_id = $1 and status not in ('cancelled', 'failed')
                    and not (status = 'denied' and approval_status is not null)
                    and (part ->> 'window_end')::timestamptz > now()
                group by 1, 2
            ) as c using (key, window_start)
            where coalesce(b.used, 0) <> coalesce(c.used, 0)",
    },
    Invariant {
        name: "counts",
        sentence: "up to its mark every sealed action is counted once, for its agent and for its org",
        takes: Takes::OrgAndAttached,
        sql: past::COUNTS,
    },
    Invariant {
        name: "webhooks",
        sentence: "every webhook endpoint has a lane, open as long as it is enabled, at a place that the \
                   org has reached",
        takes: Takes::Org,
        sql: "
            select format('webhook endpoint %s', w.id)
            from webhook as w
            left join webhook_lane as lane on lane.org_id = $1 and lane.webhook_id = w.id
            left join org_head as head on head.org_id = $1
            where w.org_id = $1
                and (lane.webhook_id is null or lane.seq > head.event_seq
                    or lane.is_open <> (w.deleted_at is null
                        and (w.record::jsonb -> 'disabled') is null))",
    },
    Invariant {
        name: "vault",
        sentence: "every credential and every endpoint's secrets are encrypted under a key of the vault's \
                   ring",
        takes: Takes::OrgAndVaultKeys,
        sql: "
            select format('field %s of connector %s', field.key, c.id)
            from connector as c
            cross join jsonb_each_text(record::jsonb -> 'credential') as field
            where org_id = $1
                and substring(decode(field.value, 'base64') from 2 for 8) <> all ($2::bytea[])
            union all
            select format('secret of webhook endpoint %s', w.id) from webhook as w
            where w.org_id = $1 and w.deleted_at is null
                and substring(decode(w.record::jsonb ->> 'secret', 'base64') from 2 for 8)
                    <> all ($2::bytea[])
            union all
            select format('secret before that of webhook endpoint %s', w.id) from webhook as w
            where w.org_id = $1 and w.deleted_at is null
                and substring(
                        decode(w.record::jsonb #>> '{previous_secret,sealed}', 'base64')
                        from 2 for 8)
                    <> all ($2::bytea[])",
    },
];
