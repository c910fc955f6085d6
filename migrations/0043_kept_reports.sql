-- What runs reported whose evidence is waited for: the actions in the state `witnessing`, and no others.
--
-- Beside the action and not in it: the text holds the tool's result, which no list of actions is to read.
-- It is written in the turn that lets the action wait, and removed in the one that seals it. An older
-- instance knows none of this and lets no action wait; what one of these does when it meets such an
-- action is to leave it to the others.

create table kept_report (
    org_id uuid not null,
    action_id uuid not null,
    -- Written and read by the Gate alone.
    record text not null,
    primary key (org_id, action_id)
) with (autovacuum_vacuum_scale_factor = 0.01);
