-- Who is in an org, as what.
--
-- A member who left keeps their row, since deeds name it. Of somebody who comes back there is another,
-- and one of theirs at most is live.

create table member (
    org_id uuid not null,
    id uuid not null,
    user_id uuid not null,
    role text not null check (role in ('viewer', 'admin', 'owner')),
    can_approve boolean not null,
    joined_at timestamptz not null,
    removed_at timestamptz check (removed_at >= joined_at),
    revision bigint not null check (revision > 0),
    primary key (org_id, id),
    foreign key (org_id) references org
);

create unique index member_live on member (org_id, user_id) where removed_at is null;
create index member_newest on member (org_id, joined_at desc, id desc) where removed_at is null;
create index member_owner on member (org_id, id) where removed_at is null and role = 'owner';

-- In which orgs a person is or was, so that they are found without asking every org.
create table membership (
    user_id uuid not null,
    org_id uuid not null,
    primary key (user_id, org_id)
);
