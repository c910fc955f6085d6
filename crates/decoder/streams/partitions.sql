-- A partitioned table's rows are told by leaf; one that moves is deleted here and new there.
create table sales (id integer, region text, primary key (id, region)) partition by list (region);
create table sales_north partition of sales for values in ('north');
create table sales_south partition of sales for values in ('south');
alter table sales_north replica identity full;
alter table sales_south replica identity full;
-- Recorded from here on.
begin;
insert into sales values (1, 'north');
update sales set region = 'south' where id = 1;
commit;
