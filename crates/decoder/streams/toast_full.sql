-- A large value that an update leaves alone, of a table that tells its old rows whole.
create table pages (id integer primary key, label text, body text);
alter table pages alter body set storage external, replica identity full;
insert into pages values (1, 'one', repeat('x', 3000));
-- Recorded from here on.
update pages set label = 'uno';
update pages set body = 'short';
