-- New, changed and deleted rows of a table that tells its old rows whole; nulls among them.
create table items (id integer primary key, label text, price numeric(10, 2));
alter table items replica identity full;
-- Recorded from here on.
begin;
insert into items values (1, 'one', 1.50), (2, null, null);
update items set label = 'uno', price = null where id = 1;
update items set id = 3 where id = 2;
delete from items where id = 1;
commit;
delete from items;
