-- Messages: of a transaction, of one that was rolled back, of another prefix, and too long ones.
create table items (id integer primary key);
-- Recorded from here on.
begin;
insert into items values (1);
select pg_logical_emit_message(false, 'service', 'told although it was rolled back');
select pg_logical_emit_message(true, 'service', 'rolled back');
rollback;
select pg_logical_emit_message(true, 'service', 'alone');
begin;
select pg_logical_emit_message(true, 'other', 'somebody else''s');
select pg_logical_emit_message(true, 'service', repeat('x', 513));
select pg_logical_emit_message(true, 'service', '\x00ff'::bytea);
commit;
