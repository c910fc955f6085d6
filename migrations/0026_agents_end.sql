-- An agent may have an end, at which it counts as suspended.
--
-- Lists of what is suspended and of what is active read three indexes of which each agent stands in one:
-- those that were suspended, those that have an end and no suspension, and those that have neither. The
-- index `agent_free` of all that were not suspended stays for services of an older version.

create index agent_ending on agent (org_id, created_at desc, id desc)
    where archived_at is null and record::json ->> 'stop' is null
        and record::json ->> 'suspension' is null and record::json ->> 'expires_at' is not null;
create index agent_endless on agent (org_id, created_at desc, id desc)
    where archived_at is null and record::json ->> 'stop' is null
        and record::json ->> 'suspension' is null and record::json ->> 'expires_at' is null;
