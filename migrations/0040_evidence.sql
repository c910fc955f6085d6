-- What change logs of governed databases say: how far each log was read and by whom, the transactions
-- that were read, and where a log was not read.
--
-- An older instance knows none of this and reads no log. Rows before and after are encrypted.

create table log_reader (
    org_id uuid not null,
    connector_id uuid not null,
    -- Whoever follows the log writes only with the token of the last holder.
    holder text not null,
    token bigint not null check (token > 0),
    lease_until timestamptz not null,
    -- How far the log was read; none before its first epoch.
    following text,
    primary key (org_id, connector_id),
    foreign key (org_id) references org
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.01);

create table log_frame (
    org_id uuid not null,
    connector_id uuid not null,
    epoch bigint not null check (epoch > 0),
    commit_lsn bigint not null check (commit_lsn >= 0),
    -- The action that it belongs to, or passes for.
    action_id uuid,
    -- Whether it was taken for that action's.
    is_own boolean not null,
    kept_at timestamptz not null,
    record text not null,
    images bytea,
    primary key (org_id, connector_id, epoch, commit_lsn),
    check (not is_own or action_id is not null)
);

-- A run is one transaction.
create unique index log_frame_own on log_frame (org_id, action_id) where is_own;
create index log_frame_action on log_frame (org_id, action_id) where action_id is not null;
create index log_frame_oldest on log_frame (org_id, connector_id, is_own, kept_at);

create table log_gap (
    org_id uuid not null,
    connector_id uuid not null,
    ended bigint not null check (ended > 0),
    record text not null,
    primary key (org_id, connector_id, ended)
);

-- Few of many connectors have their logs read.
create index connector_witnessed on connector (org_id, id)
    where record::json ->> 'witness' is not null;
