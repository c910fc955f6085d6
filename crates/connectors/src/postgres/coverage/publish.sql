-- What the change log of this database tells the service. Run in the governed database by the owner of
-- the tables below, who may also act as "{owner}", or by a superuser; as often as you like.
--
-- Nothing else is changed. What it costs is said at each table.

begin;
set local lock_timeout = '5s';
set local search_path = pg_catalog;

{identities}
-- What is published: these tables whole, with every operation.
do $do$
begin
    if not exists (select from pg_publication where pubname = '{publication}') then
        create publication "{publication}";
    end if;
end
$do$;
alter publication "{publication}" set
    (publish = 'insert, update, delete, truncate', publish_via_partition_root = false);
alter publication "{publication}" set table
    {tables};

-- The service's beat, by which it is seen that the log is read to its end.
set local role "{owner}";
create or replace function service.beat(marker text) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $body$
begin
    if octet_length(marker) > 512 then
        raise exception 'a marker is longer than 512 bytes';
    end if;
    update service.heartbeat set beat = beat + 1, at = clock_timestamp() where id = 1;
    perform pg_logical_emit_message(true, 'service', marker);
end
$body$;
revoke all on function service.beat(text) from public;
grant execute on function service.beat(text) to "{conn}";

-- Who reads the log compares the ledger with what the log told.
grant usage on schema service to "{decoder}";
grant select on service.ledger to "{decoder}";
reset role;
commit;
