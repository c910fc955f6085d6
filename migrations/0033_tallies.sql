-- How many actions an org had, for people who look: kept, since rows are too many to count each time.
--
-- A sealed action never changes, and the log has one deed that seals it. So the counts follow the log:
-- `tally_mark` says up to which place an org's deeds are counted, and one statement moves it and adds
-- what is behind it. What is behind the mark, and the few actions that are not sealed, a reader counts
-- itself. No turn writes here, an instance of a version before does no harm, and a record that was
-- there before is counted from its first deed on by the instances, a few thousand deeds at a time.

create table tally_mark (
    org_id uuid not null,
    -- The place of the last deed that is counted; -1 before the first.
    place bigint not null check (place >= -1),
    -- The version of the head at which all of its deeds were counted.
    version bigint not null check (version >= 0),
    primary key (org_id)
);

-- The newest rows are written again and again, and need room for that on their page.
create table action_tally (
    org_id uuid not null,
    -- The agent, or the org for all of its agents together.
    owner_id uuid not null,
    -- The quarter of an hour that they were recorded in, by its beginning. A day of every time zone
    -- is made of whole ones.
    slot timestamptz not null,
    status text not null,
    outcome text not null,
    -- Empty where there is none; what is null could not be part of the key.
    verdict text not null,
    level text not null,
    -- What their cost is in; empty where they cost nothing.
    unit text not null,
    count bigint not null check (count > 0),
    cost numeric not null check (cost >= 0),
    primary key (org_id, owner_id, slot, status, outcome, verdict, level, unit)
) with (fillfactor = 70);
