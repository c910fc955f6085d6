-- Policies with a description that may change and an end, versions with an author and a note, the
-- tests that a version must pass, and the history of what was active.
--
-- The history begins here: activations before it stand in their admin deeds.

alter table policy
    add column description text,
    add column revision integer check (revision > 0),
    add column archived_at timestamptz;

-- The name of an archived policy is free again.
alter table policy drop constraint policy_org_id_name_key;
create unique index policy_name on policy (org_id, name) where archived_at is null;

alter table policy_version
    add column note text,
    add column author text;

create table policy_tests (
    org_id uuid not null,
    policy_id uuid not null,
    -- The file as it was sent.
    suite text not null,
    cases integer not null check (cases >= 0),
    revision integer not null check (revision > 0),
    updated_at timestamptz not null,
    primary key (org_id, policy_id),
    foreign key (org_id, policy_id) references policy
);

create table policy_activation (
    org_id uuid not null,
    -- The turn that did it; no turn activates twice.
    turn bigint not null check (turn > 0),
    deed_id uuid not null,
    at timestamptz not null,
    mode text not null check (mode in ('enforce', 'shadow')),
    -- Absent where nothing is active in the mode from then on.
    policy_id uuid,
    version_id uuid,
    previous_id uuid,
    made_by text not null,
    reason text not null,
    primary key (org_id, turn),
    unique (org_id, deed_id),
    foreign key (org_id, policy_id) references policy,
    foreign key (org_id, version_id) references policy_version,
    check ((policy_id is null) = (version_id is null))
);
