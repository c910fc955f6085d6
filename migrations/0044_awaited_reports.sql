-- Reports that are kept behind the seal of their actions: the change log had not told of the run by then, and
-- may still tell. What it tells amends the deed; until then the row has what that is compared with, and
-- neither arguments nor result.
--
-- An older instance removes a report with its seal and awaits nothing; rows that a newer one leaves it
-- neither reads nor counts, except that its look at the invariants takes them for left over.

alter table kept_report add column connector_id uuid;
-- When the action was sealed; null while the action itself waits.
alter table kept_report add column awaited_since timestamptz;

create index kept_report_awaited on kept_report (awaited_since, org_id, action_id)
    where awaited_since is not null;
