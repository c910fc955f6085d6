-- Where a sign-in leads, and the org of a session.
--
-- The page that was asked for stays with the challenge, since the link may be opened long after, and
-- nothing of it stands in the mail. A challenge that is asked for by a session makes that session fresh
-- instead of opening another.
alter table challenge
    add column next text,
    add column again uuid;

create index challenge_of_person on challenge (user_id) where used_at is null;

-- The org that a session works in, and what its person was there when they chose it. Both or neither:
-- a session of an older version has none, and chooses.
alter table session
    add column chosen_org uuid,
    add column chosen_role text;

alter table session add constraint session_choice check (
    (chosen_org is null and chosen_role is null)
    or (chosen_org is not null and chosen_role in ('viewer', 'admin', 'owner'))
);
