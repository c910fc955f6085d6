select pg_drop_replication_slot('recorded');
