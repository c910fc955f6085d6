-- People, how they sign in, and the mails that let them.
--
-- A person belongs to no org and may be in many, so none of these rows does. What a turn decides about
-- a person in an org is not here. No secret is here either: the link and the code of a challenge
-- follow from its id and its salt under the pepper, and of a session's and a browser's token there is a
-- MAC.

create table person (
    user_id uuid not null,
    -- In its one form; two spellings of one mailbox are one row.
    address text collate "C" not null check (address = lower(address)),
    created_at timestamptz not null,
    primary key (user_id),
    unique (address)
);

-- How often somebody asked to sign in since a moment, by the MAC of their address or of where they
-- asked from.
create table sign_in_count (
    subject bytea not null check (octet_length(subject) = 32),
    began_at timestamptz not null,
    count integer not null check (count > 0),
    primary key (subject)
);

-- One try to sign in. That of an address which nobody has is kept like any other, without a person, so
-- that nothing which is answered tells the two apart.
create table challenge (
    id uuid not null,
    user_id uuid references person,
    salt bytea not null check (octet_length(salt) = 16),
    browser bytea not null check (octet_length(browser) = 32),
    tries integer not null check (tries between 0 and 5),
    created_at timestamptz not null,
    expires_at timestamptz not null check (expires_at > created_at),
    used_at timestamptz,
    primary key (id)
);

create index challenge_expiry on challenge (expires_at);

create table session (
    id uuid not null,
    user_id uuid not null references person,
    mac bytea not null check (octet_length(mac) = 32),
    created_at timestamptz not null,
    authenticated_at timestamptz not null,
    last_seen_at timestamptz not null,
    expires_at timestamptz not null check (expires_at > created_at),
    ended_at timestamptz,
    network text not null,
    browser text not null,
    primary key (id),
    unique (mac)
);

create index session_of_person on session (user_id, id);
create index session_expiry on session (expires_at);

-- A mail that is to be sent; the row goes when it was. Of each challenge there is one at most.
create table mail_job (
    id uuid not null,
    challenge_id uuid not null references challenge on delete cascade,
    run_at timestamptz not null,
    attempt integer not null check (attempt >= 0),
    lease_until timestamptz,
    token bigint not null check (token >= 0),
    holder uuid,
    primary key (id),
    unique (challenge_id)
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01);

create index mail_job_due on mail_job (run_at);
