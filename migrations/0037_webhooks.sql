-- Webhook endpoints, how far each one is, and the deliveries of events to them.
--
-- The events of an org are the queue, so a turn that makes one writes nothing here: an endpoint's lane
-- says up to which place every event had its first try. A delivery is written once it was tried, or when
-- somebody asks for one. An older instance knows none of this and posts nothing; what happened meanwhile
-- is behind the lanes' places when it is gone.

create table webhook (
    org_id uuid not null,
    id uuid not null,
    created_at timestamptz not null,
    deleted_at timestamptz,
    record text not null,
    primary key (org_id, id),
    foreign key (org_id) references org
);

create table webhook_lane (
    org_id uuid not null,
    webhook_id uuid not null,
    -- Whether anything is posted.
    is_open boolean not null,
    seq bigint not null check (seq >= 0),
    -- When the first of the waiting deliveries is due.
    due_at timestamptz,
    failing_since timestamptz,
    failed_at timestamptz,
    delivered_at timestamptz,
    -- Whoever serves it writes only with the token of the last claim.
    lease_until timestamptz,
    token bigint not null check (token >= 0),
    primary key (org_id, webhook_id),
    foreign key (org_id, webhook_id) references webhook
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01);

create table webhook_delivery (
    org_id uuid not null,
    id uuid not null,
    webhook_id uuid not null,
    -- The event's place, id and type.
    seq bigint not null check (seq > 0),
    event_id uuid not null,
    kind text not null,
    status text not null check (status in ('pending', 'retrying', 'delivered', 'dead', 'dropped')),
    tries text not null,
    next_at timestamptz,
    created_at timestamptz not null,
    primary key (org_id, id),
    check ((next_at is not null) = (status in ('pending', 'retrying')))
) with (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.05);

create index webhook_delivery_newest on webhook_delivery (org_id, webhook_id, id desc);
create index webhook_delivery_place on webhook_delivery (org_id, webhook_id, seq);
create index webhook_delivery_due on webhook_delivery (org_id, webhook_id, next_at)
    where next_at is not null;
create index webhook_delivery_oldest on webhook_delivery (org_id, created_at)
    where next_at is null;
