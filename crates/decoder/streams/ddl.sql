-- A table that changes its shape between two rows of one transaction.
create table items (id integer primary key, label text);
alter table items replica identity full;
-- Recorded from here on.
begin;
insert into items values (1, 'one');
alter table items add column price integer default 5;
insert into items values (2, 'two', 2);
alter table items drop column label;
alter table items alter price type bigint;
update items set price = 3 where id = 2;
create table copies as select * from items;
commit;
begin;
alter table items replica identity default;
update items set price = 4 where id = 2;
alter table items replica identity full;
commit;
