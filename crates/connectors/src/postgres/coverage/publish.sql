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
-- Since PostgreSQL 18, updates and deletes of a table whose old rows are logged in full fail while a
-- publication of it does not publish its stored generated columns.
do $do$
begin
    if current_setting('server_version_num')::int >= 180000 then
        execute 'alter publication "{publication}" set (publish_generated_columns = stored)';
    end if;
end
$do$;
alter publication "{publication}" set table
    {tables};

-- Nothing is kept of this if PostgreSQL would then refuse updates or deletes of one of these tables.
do $do$
declare
    one record;
    why text;
begin
    for one in
        select s.template as tried, t.schemaname, t.tablename, (
            select a.attname from pg_attribute a
            where a.attrelid = format('%I.%I', t.schemaname, t.tablename)::regclass
                and a.attnum > 0 and not a.attisdropped
            order by a.attnum limit 1) as written
        from pg_publication_tables t
        cross join (values ('explain update only %I.%I set %I = default where false'),
            ('explain delete from only %I.%I where false')) s (template)
        where t.pubname = '{publication}' and t.schemaname <> 'service'
    loop
        begin
            execute format(one.tried, one.schemaname, one.tablename, one.written);
        exception when insufficient_privilege then
            -- The owner gave this right away, and cannot try what it may not do.
            null;
        end;
    end loop;
exception when object_not_in_prerequisite_state or invalid_column_reference then
    get stacked diagnostics why = pg_exception_detail;
    raise exception 'nothing was changed, because PostgreSQL would then say: %', sqlerrm
        using detail = why, hint = 'Look at the publications of this table, and request the script again.';
end
$do$;

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
