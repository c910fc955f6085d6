-- Since when a member is what they are, and as which member a session's person chose its org.
--
-- A session whose person last showed their mailbox before they rose is not let into what they rose to.
-- An older version writes neither; a row without the moment has been what it is since it was made.
alter table member add column role_since timestamptz;

alter table session add column chosen_member uuid;
