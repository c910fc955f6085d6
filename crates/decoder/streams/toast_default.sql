-- The same of a table that tells its key alone: what the value was is not told.
create table pages (id integer primary key, label text, body text);
alter table pages alter body set storage external;
insert into pages values (1, 'one', repeat('x', 3000));
-- Recorded from here on.
update pages set label = 'uno';
update pages set id = 2;
