-- What was rolled back to a savepoint is not told, a message among it.
create table items (id integer primary key);
-- Recorded from here on.
begin;
insert into items values (1);
savepoint here;
insert into items values (2);
select pg_logical_emit_message(true, 'service', 'rolled back');
rollback to here;
insert into items values (3);
commit;
