-- The definition of a tool that an agent's edge was last let run, by its digest.
--
-- Whether a tool has changed is asked in the turn that decides, so that the guard of the head covers
-- the answer: of two calls at once the second sees what the first was let run. A call that was
-- refused, or that waits for a person, is not written here; it would teach the record a definition
-- that nobody has accepted.

create table accepted_tool (
    org_id uuid not null,
    agent_id uuid not null,
    tool text not null,
    digest bytea not null check (octet_length(digest) = 32),
    primary key (org_id, agent_id, tool),
    foreign key (org_id, agent_id) references agent
);

insert into accepted_tool (org_id, agent_id, tool, digest)
select distinct on (org_id, agent_id, tool) org_id, agent_id, tool, tool_digest
from action
where mode = 'proxy' and tool_digest is not null and outcome = 'allow'
order by org_id, agent_id, tool, id desc;
