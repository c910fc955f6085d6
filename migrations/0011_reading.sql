-- Reading the log: finding deeds by agent, kind and subject, seldom events by what they are, and
-- the checks of logs that somebody asked for.
--
-- An ordinary action pays for one of these indexes; the others hold what is out of the ordinary.

create index deed_of_agent on deed (org_id, agent_id, seq) where agent_id is not null;
create index deed_of_kind on deed (org_id, kind, seq) where kind <> 'action';
-- The subject stands last in every body, since its members are sorted.
create index deed_about_other on deed
    (org_id, substring(body from '\x22subject\x22:\{\x22id\x22:\x22([^\x22]*)\x22,\x22type\x22:\x22[a-z_]*\x22\}\}$'), seq)
    where action_id is null;

create index event_seldom on event (org_id, kind, seq)
    where kind not like 'action.%' and kind <> 'deed.sealed';

create table chain_check (
    org_id uuid not null,
    id uuid not null,
    created_at timestamptz not null,
    status text not null check (status in ('queued', 'running', 'passed', 'failed')),
    -- When somebody last worked on it; one that was left alone is taken over.
    touched_at timestamptz not null,
    -- The whole row as JSON, as the service reads it.
    record text not null,
    primary key (org_id, id)
);

-- An org's log is checked once at a time.
create unique index chain_check_open on chain_check (org_id)
    where status in ('queued', 'running');
create index chain_check_newest on chain_check (org_id, created_at desc, id desc);
create index chain_check_waiting on chain_check (touched_at)
    where status in ('queued', 'running');
