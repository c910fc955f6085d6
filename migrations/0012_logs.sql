-- Logs that were closed, and the order of deeds across the logs of an org.
--
-- An org has one open log, whose head is its row of `org_head`. After a restore that lost deeds the
-- log is closed as it stands and another begins; the row here is the head that it ended with.
--
-- The numbers of places, nodes and sizes in `deed.seq`, `log_node.index` and `checkpoint.size` are
-- one line for all logs of an org, 2^40 of them for each log: the first log's begin at 0, as they
-- always did, the next one's at 2^40. So no key gets wider, and no row is written anew.

create table closed_log (
    org_id uuid not null,
    -- Which of the org's logs it is, from 0 without gaps; the open one has the next number.
    no integer not null check (no >= 0),
    log text not null,
    size bigint not null check (size >= 0),
    last_digest bytea not null check (octet_length(last_digest) = 32),
    frontier bytea not null check (octet_length(frontier) % 32 = 0),
    issued_at timestamptz not null,
    -- The place of the org's last event while the log was open.
    event_seq bigint not null check (event_seq >= 0),
    closed_at timestamptz not null,
    primary key (org_id, no),
    unique (org_id, log),
    foreign key (org_id) references org
);

-- What is about no action is found by who did it: few rows beside those of actions.
create index event_of_no_action on event (org_id, seq) where action_id is null;
