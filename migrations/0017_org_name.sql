-- The names of orgs, each the name of one.
--
-- A row is written by the turn that makes an org, so that of two that are made with one name at once
-- one is refused. It belongs to no org, since it tells them apart. Orgs that had one name before this
-- keep it; the oldest of them holds it here.

create table org_name (
    name text collate "C" not null,
    org_id uuid not null,
    primary key (name)
);

insert into org_name (name, org_id)
select distinct on (name) name, org_id
from (select record::json ->> 'name' as name, created_at, org_id from org) as named
order by name, created_at, org_id;
