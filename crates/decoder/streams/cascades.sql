-- What foreign keys delete and change, after what it follows from.
create table orders (id integer primary key);
create table lines (id integer primary key, of integer references orders on delete cascade);
create table notes (id integer primary key, of integer references orders on delete set null);
alter table orders replica identity full;
alter table lines replica identity full;
alter table notes replica identity full;
insert into orders values (1);
insert into lines values (10, 1), (11, 1);
insert into notes values (20, 1);
-- Recorded from here on.
delete from orders;
