-- What people are asked is listed by how it stands, and found by its id.
--
-- Only actions about which people are or were asked are in these indexes. The id stands in the record
-- alone, which every version of the service writes. Each statement is a transaction of its own and may
-- be repeated, so that the indexes are made while instances serve.

set lock_timeout = '15min';

drop index concurrently if exists action_asked;
create index concurrently action_asked on action (org_id, approval_status, id)
    where approval_status is not null;
drop index concurrently if exists action_asked_of_agent;
create index concurrently action_asked_of_agent on action (org_id, agent_id, approval_status, id)
    where approval_status is not null;
drop index concurrently if exists action_asked_by;
create index concurrently action_asked_by on action (org_id, (record::json #>> '{approval,id}'))
    where approval_status is not null;
