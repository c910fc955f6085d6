-- By what it is known that a process was started with the pepper of this database.
--
-- API keys, sessions, links and codes are kept as MACs under the pepper, so under another one none of
-- them would be found again, and nothing else would tell. The row has a MAC of a fixed text: a start
-- with a pepper that does not give it is refused.

create table pepper (
    id smallint primary key check (id = 1),
    mac bytea not null,
    noted_at timestamptz not null
);
