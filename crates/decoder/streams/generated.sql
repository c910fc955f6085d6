-- Generated columns are not told; identity columns are.
create table totals (
    id integer generated always as identity primary key,
    net integer, gross integer generated always as (net * 2) stored, note text
);
alter table totals replica identity full;
-- Recorded from here on.
insert into totals (net, note) values (10, 'ten');
update totals set net = 11;
