-- Lists of actions by any filter, and cheaper writes of what is long.
--
-- An action's id is made at the moment that the action is recorded, so the order of ids is the
-- order of (created_at, id): the store refuses an action whose id is of another moment. Every index
-- below therefore ends with the id alone, and the primary key itself is the list without a filter.
-- Each filter has one index that leads straight to its values, common or rare; together they hold
-- less per action than the one wide index that they replace.

drop index action_newest;
drop index action_of_agent;
drop index action_of_tool;
drop index action_on_behalf_of;
drop index action_not_allowed;
drop index action_not_verified;
drop index action_shadow_differs;

-- While the table has no statistics yet, all indexes look alike to the planner, and of those it
-- takes the youngest. The condition holds for every row and keeps an index out of the statements
-- that do not name its column: only the primary key is left for those.
create index action_of_agent on action (org_id, agent_id, id) where agent_id is not null;
create index action_of_tool on action (org_id, tool, id) where tool is not null;
create index action_decided on action (org_id, outcome, id) where outcome is not null;
create index action_unsealed on action (org_id, state, id) where state <> 'sealed';
create index action_witnessed on action (org_id, verdict, level, id) where verdict is not null;
create index action_in_error on action (org_id, error_code, id) where error_code is not null;
create index action_on_behalf_of on action (org_id, on_behalf_of, id)
    where on_behalf_of is not null;
create index action_shadow_differs on action (org_id, id) where shadow_outcome <> outcome;

-- Texts of some kilobytes stay in their row as they are. Compressing them was the largest single
-- cost of a turn, and saved half of their place at best: they are mostly digests and ids.
alter table action set (toast_tuple_target = 8160);
alter table action alter column record set storage external;
alter table deed set (toast_tuple_target = 8160);
alter table deed alter column body set storage external;
