-- The mails to the owners of an org about a webhook endpoint that was disabled because it failed for too
-- long.
--
-- The turn that disables writes one row; behind it a row for each owner takes its place, which goes when its
-- mail was sent. It stands apart from the other tables of mails, where a service of an older version would
-- meet mails that it knows nothing of. The link of a mail leads to a page behind sign-in, so no secret is
-- here, and what the mail says is read when it is sent.

create table webhook_mail (
    id uuid not null,
    org_id uuid not null,
    webhook_id uuid not null,
    -- When the endpoint was disabled: one that was enabled since is worth no mail.
    disabled_at timestamptz not null,
    -- Whom it is for; nobody as long as nobody looked up the owners.
    member_id uuid,
    run_at timestamptz not null,
    expires_at timestamptz not null,
    attempt integer not null check (attempt >= 0),
    lease_until timestamptz,
    token bigint not null check (token >= 0),
    holder uuid,
    primary key (id),
    -- Nobody is written to twice about one disabling.
    unique (webhook_id, disabled_at, member_id)
);

create index webhook_mail_due on webhook_mail (run_at);
create index webhook_mail_expiry on webhook_mail (expires_at);
