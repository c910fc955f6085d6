-- The last test of each connector: what an administrator had checked in the governed system, and when.
--
-- It is no part of the org's record: instances write it outside of turns, and nothing decides by it.

create table connector_test (
    org_id uuid not null,
    connector_id uuid not null,
    revision bigint not null,
    tested_at timestamptz not null,
    duration_ms bigint not null,
    -- A list of objects with `name`, `state` and `detail`.
    checks text not null,
    primary key (org_id, connector_id),
    foreign key (org_id, connector_id) references connector
);
