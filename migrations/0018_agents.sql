-- Lists of agents and of their keys read what they show and no more.
--
-- A list without a filter, and one by what an agent is held by, is read from an index of its own in the
-- order of the list. What holds an agent stands in its record, so that a service of an older version
-- keeps these right as well.

create index agent_newest on agent (org_id, created_at desc, id desc);
create index agent_live on agent (org_id, created_at desc, id desc) where archived_at is null;
create index agent_archived on agent (org_id, created_at desc, id desc) where archived_at is not null;
create index agent_stopped on agent (org_id, created_at desc, id desc)
    where archived_at is null and record::json ->> 'stop' is not null;
create index agent_suspended on agent (org_id, created_at desc, id desc)
    where archived_at is null and record::json ->> 'stop' is null
        and record::json ->> 'suspension' is not null;
create index agent_free on agent (org_id, created_at desc, id desc)
    where archived_at is null and record::json ->> 'stop' is null
        and record::json ->> 'suspension' is null;
-- By the beginning of the name, archived agents too.
create index agent_by_name on agent (org_id, name collate "C", id);

create index api_key_of_agent on api_key (org_id, agent_id, created_at desc, id desc)
    where agent_id is not null;
-- Those of an agent that may open something, of which there may be so many.
create index api_key_unrevoked on api_key (org_id, agent_id)
    where agent_id is not null and record::json ->> 'revoked_at' is null;
