-- The publication before the slot: older changes are decoded with the catalog of their own time.
create publication recorded for all tables;
select pg_create_logical_replication_slot('recorded', 'pgoutput');
