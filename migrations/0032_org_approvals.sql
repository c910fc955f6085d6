-- How an org asks people, and how often what it decided of itself has changed.
--
-- A service of an older version asks as its own settings say and leaves these columns as they are. What
-- is absent was decided by none that knows of it: nothing is asked otherwise, and the revision is 1.

-- How long people have to answer when neither rule nor policy says, in seconds.
alter table org_settings add column answer_seconds bigint;
-- Whether nobody says yes on their own behalf, whatever a rule lets them.
alter table org_settings add column require_other_person boolean;
-- Whether the only member may say yes to what a rule excludes them from.
alter table org_settings add column allow_single_member boolean;
alter table org_settings add column revision bigint;
