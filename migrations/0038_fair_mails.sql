-- Mails about questions go org by org, so that one org's do not hold up another's: whoever claims them
-- goes from org to org, and to the longest due within one. A service of an older version goes by
-- `run_at` alone and keeps its indexes; the next migration that touches the table may drop them.

create index approval_mail_due_of_org on approval_mail (org_id, run_at) where member_id is not null;
create index approval_mail_unaddressed_of_org on approval_mail (org_id, run_at)
    where member_id is null;
