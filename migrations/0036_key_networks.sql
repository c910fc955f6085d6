-- From which network a key was last used.
--
-- A service of an older version writes when alone; what it leaves here may then tell of an earlier use.

alter table api_key_use add column network text;
