
-- Who reads the change log. Only a superuser may give REPLICATION, and since PostgreSQL 16 a role that
-- has it itself; on Amazon RDS it is the membership in rds_replication.
do $do$
begin
    if not exists (select from pg_roles where rolname = '{decoder}') then
        begin
            create role "{decoder}" login;
        exception
        -- The script of another database of this server made it at the same moment.
        when unique_violation or duplicate_object then
            null;
        end;
    end if;
    execute format('grant connect on database %I to "{decoder}"', current_database());
    if exists (select from pg_roles where rolname = 'rds_replication') then
        grant rds_replication to "{decoder}";
    elsif not (select rolreplication from pg_roles where rolname = '{decoder}') then
        alter role "{decoder}" replication;
    end if;
exception when insufficient_privilege then
    raise exception 'the role "%" may not let "{decoder}" read the change log: a superuser runs alter role "{decoder}" replication, or this script',
        current_user;
end
$do$;
