-- A transaction that came from another server.
create table items (id integer primary key);
select pg_replication_origin_create('elsewhere');
-- Recorded from here on.
select pg_replication_origin_session_setup('elsewhere');
begin;
select pg_replication_origin_xact_setup('16/B374D848', '2026-01-01 00:00:00+00');
insert into items values (1);
commit;
select pg_replication_origin_session_reset();
select pg_replication_origin_drop('elsewhere');
