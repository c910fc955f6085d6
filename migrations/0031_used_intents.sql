-- The intents that actions used up, for the list of them: one row for each action that was signed.
--
-- The nonce in `idempotency` goes when its intent is over; this row stays, wherever the action is moved.
-- It holds digests alone, so retention has nothing to take from it. Ids of actions are in the order of
-- their moments, so the primary key is the list, and the other index that of one agent.

create table used_intent (
    org_id uuid not null,
    action_id uuid not null,
    agent_id uuid not null,
    kid text not null,
    digest bytea not null check (octet_length(digest) = 32),
    nonce bytea not null check (octet_length(nonce) = 32),
    issued_at timestamptz not null,
    expires_at timestamptz not null,
    used_at timestamptz not null,
    primary key (org_id, action_id)
);

-- The condition holds for every row, and keeps the index out of the plan of the whole list, which names
-- no agent, while the table has no statistics.
create index used_intent_of_agent on used_intent (org_id, agent_id, action_id)
    where agent_id is not null;
