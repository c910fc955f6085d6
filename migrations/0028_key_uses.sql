-- When a key was last used.
--
-- It stands beside the key's record, which turns alone may change: instances write it now and then and in
-- no turn, so that it says a moment to within a minute or so, and nothing decides by it.

create table api_key_use (
    org_id uuid not null,
    key_id uuid not null,
    used_at timestamptz not null,
    primary key (org_id, key_id),
    foreign key (org_id, key_id) references api_key
);
