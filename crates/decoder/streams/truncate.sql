-- Tables that are emptied: no rows are told.
create table orders (id serial primary key);
create table lines (id integer primary key, of integer references orders);
create table notes (id integer primary key);
insert into orders values (1);
-- Recorded from here on.
truncate orders restart identity cascade;
begin;
insert into notes values (1);
truncate notes;
insert into notes values (2);
commit;
