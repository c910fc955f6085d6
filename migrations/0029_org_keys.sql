-- The list of an org's own keys reads what it shows and no more, however many keys its agents have.

create index api_key_of_org on api_key (org_id, created_at desc, id desc)
    where agent_id is null;
-- Those that may open something, of which there may be so many.
create index api_key_of_org_unrevoked on api_key (org_id)
    where agent_id is null and record::json ->> 'revoked_at' is null;
