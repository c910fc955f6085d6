-- What the stream does not tell at all.
create table items (id integer primary key);
create unlogged table scratch (id integer primary key);
create sequence numbers;
insert into items values (1);
-- Recorded from here on.
select nextval('numbers');
select lo_create(4711);
insert into scratch values (1);
create temporary table passing (id integer);
insert into passing values (1);
select * from items for update;
update items set id = 2 where id = 99;
begin;
insert into items values (5);
rollback;
