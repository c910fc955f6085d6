-- The public keys that an agent signs intents with, one row for each agent that ever had one.
--
-- They stand apart from the agent's own row, which an older instance writes anew without what it does
-- not know.

create table intent_key_set (
    org_id uuid not null,
    agent_id uuid not null,
    record text not null,
    primary key (org_id, agent_id),
    foreign key (org_id, agent_id) references agent
);
