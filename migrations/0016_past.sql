-- The deeds that an operator moved to partitions of the past, tile by tile.
--
-- Such a partition is a table that inherits from `deed`, `event` or `action`, so every statement that
-- reads those finds its rows while it is attached, and writes go on to the tables themselves. None is
-- made here: `chancery archive past` makes them, a month each, when it moves something there.
--
-- A row here stands for a tile of 256 deeds, which lies in one partition whole. The digests of its
-- deeds are all that the tree of the log is made of, so every proof stays possible while the partition
-- is away, and a walk knows what it need not look for.

create table past_tile (
    org_id uuid not null,
    -- The tile's number, as that of its node in `log_node` on the first level.
    index bigint not null check (index >= 0),
    -- The partition is `deed_` with this behind it, and so for events and actions.
    part text collate "C" not null check (part ~ '^[0-9]{4}_[0-9]{2}$'),
    digests bytea not null check (octet_length(digests) = 8192),
    -- When the last of the deeds was sealed.
    issued_at timestamptz not null,
    -- The place of the last event that is in the past with this tile or one before it.
    events bigint not null check (events >= 0),
    -- When that event was told.
    event_at timestamptz,
    primary key (org_id, index)
);

create index past_tile_by_event on past_tile (org_id, events);
