-- What an org decided of how it is run, apart from the record that it was made with.
--
-- An org without a row keeps payloads for as long as its record says. The row stands apart because
-- the record is written anew with each part of the log whose payloads go, and what an operator
-- decided must not travel with that. A service of an older version reads the record alone: a longer
-- time is to be set once every instance knows of this table.

create table org_settings (
    org_id uuid not null,
    -- For how many days payloads are kept once their action is sealed.
    retention_days integer not null check (retention_days between 1 and 3650),
    updated_at timestamptz not null,
    primary key (org_id),
    foreign key (org_id) references org
);
