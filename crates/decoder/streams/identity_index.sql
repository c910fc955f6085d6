-- A table that tells the columns of an index.
create table items (id integer primary key, code text not null unique, label text);
alter table items replica identity using index items_code_key;
insert into items values (1, 'a', 'one'), (2, 'b', 'two');
-- Recorded from here on.
begin;
update items set id = 7 where code = 'a';
update items set code = 'c' where code = 'b';
delete from items where code = 'a';
commit;
