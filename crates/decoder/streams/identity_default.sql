-- A table that tells its primary key alone, and that only where it changes.
create table items (label text, id integer primary key);
insert into items values ('one', 1), ('two', 2);
-- Recorded from here on.
begin;
update items set label = 'uno' where id = 1;
update items set id = 9 where id = 2;
delete from items where id = 1;
commit;
