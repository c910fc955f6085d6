-- Approvals that a Stop made void are found by the few rows that say so.
--
-- The note stands in the record of an org or of an agent, and goes when none of them waits any more. A
-- service of an older version keeps the note as long as it does not write the row; one that does takes
-- it away, and what waited then goes on waiting until it expires, which is a no as well.

create index org_voids on org (org_id) where record::json ->> 'voids' is not null;
create index agent_voids on agent (org_id, id) where record::json ->> 'voids' is not null;
