-- Orgs, their heads and turns, and who acts in them.
--
-- `org_head` is the one row that every change of an org moves: a turn commits only if the version
-- is still the one that it was decided on. `turn` is the second guard of that compare-and-set and
-- tells, after an answer was lost, whether a turn was committed.

create table org (
    org_id uuid not null,
    created_at timestamptz not null,
    -- The whole row as JSON, as the service reads it.
    record text not null,
    primary key (org_id)
);

create table org_head (
    org_id uuid not null,
    version bigint not null check (version > 0),
    -- The log of deeds: its origin, how many it has, the last one's digest and time, and the
    -- roots of the full subtrees of its tree.
    log text not null,
    size bigint not null check (size >= 0),
    last_digest bytea not null check (octet_length(last_digest) = 32),
    frontier bytea not null check (octet_length(frontier) % 32 = 0),
    issued_at timestamptz not null,
    event_seq bigint not null check (event_seq >= 0),
    primary key (org_id),
    foreign key (org_id) references org
) with (fillfactor = 50); -- Every turn writes the row anew; its page must have room for that.

create table turn (
    org_id uuid not null,
    id uuid not null,
    -- The version that the turn made. A row without one is a fence: the turn was given up, and
    -- this row keeps a commit of it that is still on its way from ever taking effect.
    version bigint,
    at timestamptz not null,
    primary key (org_id, id),
    unique (org_id, version)
);

create table agent (
    org_id uuid not null,
    id uuid not null,
    name text not null,
    created_at timestamptz not null,
    archived_at timestamptz,
    record text not null,
    primary key (org_id, id),
    foreign key (org_id) references org
);

-- The name of an archived agent is free again.
create unique index agent_name on agent (org_id, name) where archived_at is null;

create table api_key (
    org_id uuid not null,
    id uuid not null,
    -- Absent for a key of the org itself.
    agent_id uuid,
    created_at timestamptz not null,
    record text not null,
    primary key (org_id, id),
    foreign key (org_id) references org,
    foreign key (org_id, agent_id) references agent
);

-- Leads from a key's id, all that a caller brings, to its org.
create table api_key_org (
    key_id uuid not null,
    org_id uuid not null,
    primary key (key_id)
);

create table connector (
    org_id uuid not null,
    id uuid not null,
    name text not null,
    created_at timestamptz not null,
    record text not null,
    primary key (org_id, id),
    unique (org_id, name),
    foreign key (org_id) references org
);
