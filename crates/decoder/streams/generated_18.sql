-- Since 18 a publication may tell stored generated columns. Virtual ones are never told.
create table totals (
    id integer primary key, net integer, gross integer generated always as (net * 2) stored
);
alter table totals replica identity full;
create table sums (
    id integer primary key, net integer, gross integer generated always as (net * 2) virtual, note text
);
-- Recorded from here on.
alter publication recorded set (publish_generated_columns = stored);
insert into totals (id, net) values (1, 10);
update totals set net = 11;
insert into sums (id, net, note) values (1, 10, 'ten');
update sums set net = 11;
update sums set id = 2;
delete from sums;
alter publication recorded set (publish_generated_columns = none);
insert into totals (id, net) values (2, 20);
