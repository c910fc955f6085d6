-- Actions are written for less.
--
-- An action is written when it begins and when it ends, and each time every index of the lists was
-- written with it. Now it enters those by which lists are driven once, when it is sealed. Actions
-- that are not are few, and `action_unsealed` has them all.
--
-- What must hold of an action is judged before it is sent: PostgreSQL read eleven conditions anew for
-- every statement, which cost a small turn more than its rows. The one that ties an action to its
-- deed stays. `chancery check` looks for all of them.
--
-- Each statement is a transaction of its own and may be repeated, so that indexes are made while
-- instances serve. Waiting for a long reader holds nobody up; the locks of the last statement do, and
-- it gives up after five seconds.

set lock_timeout = '15min';

drop index concurrently if exists action_sealed_of_agent;
create index concurrently action_sealed_of_agent on action (org_id, agent_id, id)
    where state = 'sealed' and agent_id is not null;
drop index concurrently if exists action_sealed_of_tool;
create index concurrently action_sealed_of_tool on action (org_id, tool, id)
    where state = 'sealed' and tool is not null;
drop index concurrently if exists action_sealed_on_behalf_of;
create index concurrently action_sealed_on_behalf_of on action (org_id, on_behalf_of, id)
    where state = 'sealed' and on_behalf_of is not null;
drop index concurrently if exists action_sealed_decided;
create index concurrently action_sealed_decided on action (org_id, outcome, id)
    where state = 'sealed' and outcome is not null;

drop index concurrently if exists action_of_agent;
drop index concurrently if exists action_of_tool;
drop index concurrently if exists action_on_behalf_of;
drop index concurrently if exists action_decided;
-- The definition that a tool had last stands in accepted_tool.
drop index concurrently if exists action_tool_seen;

set lock_timeout = '5s';

alter table action
    drop constraint if exists action_state_check,
    drop constraint if exists action_mode_check,
    drop constraint if exists action_outcome_check,
    drop constraint if exists action_tool_digest_check,
    drop constraint if exists action_waits_with_an_open_approval,
    drop constraint if exists action_refused_without_a_run,
    drop constraint if exists action_ended_with_a_verdict,
    drop constraint if exists action_unknown_is_unverifiable,
    drop constraint if exists action_failed_certainly,
    drop constraint if exists action_leased_while_it_runs,
    drop constraint if exists action_lease_is_whole;
