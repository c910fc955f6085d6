-- Questions to people whether they join an org, and the mails that ask them.
--
-- The link of an invitation follows from the ids of org and invitation under the pepper, so no secret is
-- here. The address is the person's alone.

create table invite (
    org_id uuid not null,
    id uuid not null,
    user_id uuid not null,
    role text not null check (role in ('viewer', 'admin', 'owner')),
    can_approve boolean not null,
    invited_by text not null,
    created_at timestamptz not null,
    expires_at timestamptz not null check (expires_at > created_at),
    closed_at timestamptz check (closed_at >= created_at),
    member_id uuid,
    primary key (org_id, id),
    foreign key (org_id) references org,
    check (member_id is null or closed_at is not null)
);

-- Nobody is asked twice at a time.
create unique index invite_open on invite (org_id, user_id) where closed_at is null;
create index invite_newest on invite (org_id, created_at desc, id desc);

-- A mail that is to be sent; the row goes when it was. It stands apart from `mail_job`, where a service
-- of an older version would meet mails that it knows nothing of.
create table invite_mail (
    id uuid not null,
    org_id uuid not null,
    invite_id uuid not null,
    run_at timestamptz not null,
    attempt integer not null check (attempt >= 0),
    lease_until timestamptz,
    token bigint not null check (token >= 0),
    holder uuid,
    primary key (id),
    unique (invite_id)
);

create index invite_mail_due on invite_mail (run_at);
