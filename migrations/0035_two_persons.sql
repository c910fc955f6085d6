-- Activations of policy versions that wait for a second person.
--
-- A service of an older version knows no second person: it lets whoever may activate do so at once, and
-- leaves the column of the settings as it is.

create table policy_proposal (
    org_id uuid not null,
    id uuid not null,
    mode text not null check (mode in ('enforce', 'shadow')),
    proposed_at timestamptz not null,
    closed_at timestamptz check (closed_at >= proposed_at),
    record text not null,
    primary key (org_id, id),
    foreign key (org_id) references org
);

-- Of each mode one waits at a time.
create unique index policy_proposal_open on policy_proposal (org_id, mode) where closed_at is null;

-- Whether two people make a version active.
alter table org_settings add column policy_two_person boolean;
-- What was confirmed by a second person, and whether tests were overruled.
alter table policy_activation add column proposal_id uuid;
alter table policy_activation add column proposed_by text;
alter table policy_activation add column forced boolean;
