-- Values of many types, and types that are not built in.
create type mood as enum ('glad', 'sad');
create domain amount as numeric(12, 2) check (value >= 0);
create type spot as (x integer, y integer);
create table many (
    id integer primary key, yes boolean, code char(4), kind varchar(9), tags text[], doc jsonb,
    raw bytea, at timestamptz, day date, span interval, share double precision, whole bigint,
    feeling mood, price amount, place spot, reach int4range, token uuid, bits bit(3)
);
alter table many replica identity full;
-- Recorded from here on.
insert into many values (
    1, true, 'ab', 'x', '{a,"b c",NULL}', '{"b": [1, null]}', '\x00ff',
    '2026-01-02 03:04:05.678901+02', '2026-02-28', '1 month 2 days 03:04:05', 0.30000000000000004,
    9007199254740993, 'sad', 3.5, (1, 2), '[1,5)', '0190d2a6-7b1e-7c3a-8f00-0123456789ab', B'101'
);
