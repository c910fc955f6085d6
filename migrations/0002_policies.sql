-- Policies, their immutable versions, and the version that is active in each mode.

create table policy (
    org_id uuid not null,
    id uuid not null,
    name text not null,
    created_at timestamptz not null,
    primary key (org_id, id),
    unique (org_id, name),
    foreign key (org_id) references org
);

create table policy_version (
    org_id uuid not null,
    id uuid not null,
    policy_id uuid not null,
    number integer not null check (number > 0),
    -- The document as it was sent.
    document text not null,
    -- SHA-256 of the document's canonical form.
    digest bytea not null check (octet_length(digest) = 32),
    created_at timestamptz not null,
    primary key (org_id, id),
    unique (org_id, policy_id, number),
    foreign key (org_id, policy_id) references policy
);

create table policy_active (
    org_id uuid not null,
    mode text not null check (mode in ('enforce', 'shadow')),
    policy_id uuid not null,
    version_id uuid not null,
    digest bytea not null check (octet_length(digest) = 32),
    primary key (org_id, mode),
    foreign key (org_id, version_id) references policy_version
);
