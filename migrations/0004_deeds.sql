-- Deeds with the tree over them, checkpoints, and events. Rows here are written once.
--
-- The leaves of a log's tree follow from the deeds' digests, and every other node from those of
-- the levels kept in `log_node`.

create table deed (
    org_id uuid not null,
    -- The place in the org's log, from 0.
    seq bigint not null check (seq >= 0),
    id uuid not null,
    kind text not null,
    agent_id uuid,
    action_id uuid,
    issued_at timestamptz not null,
    -- The exact bytes that were signed.
    body text not null,
    digest bytea not null check (octet_length(digest) = 32),
    signature bytea not null check (octet_length(signature) = 64),
    key_id text not null,
    primary key (org_id, seq),
    unique (org_id, id)
);

create index deed_about_action on deed (org_id, action_id, seq) where action_id is not null;

create table log_node (
    org_id uuid not null,
    -- In tiles: the root of 256^level deeds.
    level smallint not null check (level > 0),
    index bigint not null check (index >= 0),
    hash bytea not null check (octet_length(hash) = 32),
    primary key (org_id, level, index)
);

create table checkpoint (
    org_id uuid not null,
    size bigint not null check (size >= 0),
    root bytea not null check (octet_length(root) = 32),
    -- The signed note.
    note text not null,
    signed_at timestamptz not null,
    primary key (org_id, size)
);

create table event (
    org_id uuid not null,
    -- The place in the org's order, from 1, without gaps.
    seq bigint not null check (seq > 0),
    id uuid not null,
    kind text not null,
    created_at timestamptz not null,
    livemode boolean not null,
    agent_id uuid,
    action_id uuid,
    -- The thin object as JSON.
    data text not null,
    primary key (org_id, seq)
);

create index event_about_action on event (org_id, action_id, seq) where action_id is not null;
