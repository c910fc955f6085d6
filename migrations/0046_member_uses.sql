-- When a person last used a session of theirs for an org.
--
-- Sessions go soon after they end, and who has not been in the org for long is to be seen for longer. As
-- with the uses of keys, it is written in no turn, to within a minute or so, and nothing decides by it.

create table member_use (
    org_id uuid not null,
    user_id uuid not null,
    used_at timestamptz not null,
    primary key (org_id, user_id)
);
