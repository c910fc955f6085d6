-- The mails to those who may answer what an action asks.
--
-- The turn that asks writes one row; behind it a row for each of those people takes its place, which goes
-- when its mail was sent. It stands apart from `mail_job` and `invite_mail`, where a service of an older
-- version would meet mails that it knows nothing of. The link of a mail follows from the ids of org,
-- question and member under the pepper, so no secret is here; that it was used stands in the action.

create table approval_mail (
    id uuid not null,
    org_id uuid not null,
    action_id uuid not null,
    approval_id uuid not null,
    -- Whom it is for; nobody as long as nobody knows who may answer.
    member_id uuid,
    run_at timestamptz not null,
    expires_at timestamptz not null,
    attempt integer not null check (attempt >= 0),
    lease_until timestamptz,
    token bigint not null check (token >= 0),
    holder uuid,
    primary key (id),
    -- Nobody is written to twice about one question.
    unique (approval_id, member_id)
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01);

create index approval_mail_due on approval_mail (run_at) where member_id is not null;
create index approval_mail_unaddressed on approval_mail (run_at) where member_id is null;
create index approval_mail_expiry on approval_mail (expires_at);
