-- Actions, the keys that name them, what opens their commitments, and budget counters.
--
-- `record` is the whole action as JSON, and what the service reads. The columns beside it are what
-- lists filter by, what is looked for when something is due, and what the checks speak of; every
-- write sets both from one value.

create table action (
    org_id uuid not null,
    id uuid not null,
    created_at timestamptz not null,
    agent_id uuid not null,
    -- As sent, which need not be a tool's name. Compared by bytes, so that patterns use indexes.
    tool text collate "C" not null,
    tool_digest bytea check (octet_length(tool_digest) = 32),
    mode text not null check (mode in ('gateway', 'proxy')),
    state text not null,
    status text not null,
    on_behalf_of text,
    outcome text not null check (outcome in ('allow', 'deny', 'require_approval')),
    shadow_outcome text,
    approval_status text,
    approval_expires_at timestamptz,
    deadline timestamptz,
    execution_status text,
    error_code text,
    verdict text,
    level text,
    deed_id uuid,
    -- Who carries the action out. The end moves without a turn when the holder renews it.
    lease_holder text,
    lease_token bigint,
    lease_until timestamptz,
    record text not null,
    check (state in ('pending_approval', 'executing', 'witnessing', 'cancelled', 'sealed')),
    constraint action_sealed_with_a_deed
        check ((state = 'sealed') = (deed_id is not null)),
    constraint action_waits_with_an_open_approval
        check ((state = 'pending_approval') = (status = 'pending_approval')
            and (state <> 'pending_approval'
                or (approval_status = 'pending' and approval_expires_at is not null))),
    constraint action_refused_without_a_run
        check (status not in ('denied', 'cancelled', 'pending_approval')
            or (execution_status is null and verdict is null)),
    constraint action_ended_with_a_verdict
        check (status not in ('executed', 'failed') or state <> 'sealed'
            or (execution_status <> 'running' and execution_status is not null
                and verdict is not null and level is not null)),
    constraint action_unknown_is_unverifiable
        check (execution_status is distinct from 'unknown'
            or (status = 'executed' and (verdict is null or verdict = 'UNVERIFIABLE'))),
    constraint action_failed_certainly
        check (status <> 'failed' or execution_status = 'failed'),
    constraint action_leased_while_it_runs
        check (lease_until is null or state in ('executing', 'witnessing')),
    constraint action_lease_is_whole
        check ((lease_until is null) = (lease_holder is null)
            and (lease_until is null) = (lease_token is null))
);

-- Lists are read newest first. Every filter but the agent's finds its column in this index, so
-- that even one that lets nothing through reads no row: 0.3 s at a million actions.
create index action_newest on action (org_id, created_at desc, id desc)
    include (tool, state, outcome, shadow_outcome, verdict, level, error_code, on_behalf_of);

-- What is rare, or asked for often, is found at once. The partial ones hold what is out of the
-- ordinary, so the ordinary call does not pay for them.
create index action_of_agent on action (org_id, agent_id, created_at desc, id desc);
create index action_of_tool on action (org_id, tool, created_at desc, id desc);
create index action_on_behalf_of on action (org_id, on_behalf_of, created_at desc, id desc)
    where on_behalf_of is not null;
create index action_not_allowed on action (org_id, outcome, created_at desc, id desc)
    where outcome <> 'allow';
create index action_not_verified on action (org_id, verdict, created_at desc, id desc)
    where verdict <> 'VERIFIED';
create index action_shadow_differs on action (org_id, created_at desc, id desc)
    where shadow_outcome <> outcome;
create index action_tool_seen on action (org_id, agent_id, tool, created_at desc, id desc)
    include (tool_digest) where mode = 'proxy' and tool_digest is not null;

-- What is due; rows leave these indexes when they end, so they stay small.
create index action_lease_end on action (lease_until) where lease_until is not null;
create index action_report_due on action (deadline)
    where state = 'executing' and deadline is not null;
create index action_answer_due on action (approval_expires_at) where state = 'pending_approval';

-- Made last: while the table has no statistics yet, all indexes look alike to the planner, and of
-- those it takes the youngest.
alter table action add primary key (org_id, id);

create table idempotency (
    org_id uuid not null,
    agent_id uuid not null,
    key text not null,
    action_id uuid not null,
    fingerprint bytea not null check (octet_length(fingerprint) = 32),
    expires_at timestamptz not null,
    primary key (org_id, agent_id, key)
);

-- The texts that open salted commitments. Deleting one is pruning: the deed still checks.
create table disclosure (
    org_id uuid not null,
    -- The action for what was disclosed when it began, the deed for the rest.
    owner_id uuid not null,
    path text not null,
    text text not null,
    primary key (org_id, owner_id, path)
);

create table budget_window (
    org_id uuid not null,
    key text not null,
    window_start timestamptz not null,
    window_end timestamptz not null,
    -- In the budget's unit, exactly.
    used numeric not null check (used >= 0),
    primary key (org_id, key, window_start)
);
