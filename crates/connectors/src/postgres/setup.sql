-- The governed schema: who may run tools here, and the ledger of what they wrote.
--
-- Run in the governed database, as often as you like, by its owner with CREATEROLE or by a superuser.
-- As a file:
--     psql --set ON_ERROR_STOP=1 --set conn_password=… --file setup.sql …
-- with one --set for each `:'…_password'` below.

begin;
set local search_path = {path};

-- Roles. Passwords are set at the end.
do $do$
declare
    me constant name := current_user;
    able constant text :=
        case when current_setting('server_version_num')::int >= 160000 then 'set' else 'member' end;
    wanted record;
    others text;
    message regprocedure;
begin
    if not has_database_privilege(current_database(), 'create') then
        raise exception 'the role "%" may not create schemas here: run this as the owner of "%"',
            me, current_database();
    end if;
    for wanted in
        select * from (values ('{owner}', 'nologin'), ('{conn}', 'login'), ('{read}', 'login'))
            as roles (name, powers)
    loop
        if wanted.name <> '' and not exists (select from pg_roles where rolname = wanted.name) then
            begin
                execute format('create role %I %s', wanted.name, wanted.powers);
            exception
            -- The script of another database of this server made it at the same moment.
            when unique_violation or duplicate_object then
                null;
            when insufficient_privilege then
                raise exception 'the role "%" may not make the role "%": it needs CREATEROLE',
                    me, wanted.name;
            end;
        end if;
    end loop;
    -- The schema is given to its owner by somebody who may act as that role.
    if not pg_has_role('{owner}', able) then
        begin
            execute format('grant %I to %I', '{owner}', me);
        exception when insufficient_privilege then
            raise exception 'the role "{owner}" was made by somebody else, who has to run this first: grant "{owner}" to "%" with admin option',
                me;
        end;
    end if;
    -- Rights on tables are given by who owns them.
    select string_agg(format('%s of %I', c.oid::regclass, pg_get_userbyid(c.relowner)), ', ')
    into others
    from pg_class c
    where c.oid = any (array[{tables}]::regclass[]) and not pg_has_role(c.relowner, 'usage');
    if others is not null then
        raise exception 'the role "%" may give no rights on tables of other owners: %. Be made a member of these roles first',
            me, others;
    end if;
    execute format('grant connect on database %I to {logins}', current_database());
    -- PUBLIC has this right, where nobody took it away, and only a superuser can give it. What the
    -- function takes differs by PostgreSQL's version, and it writes text as well as bytes.
    for message in
        select oid from pg_proc
        where proname = 'pg_logical_emit_message' and pronamespace = 'pg_catalog'::regnamespace
    loop
        if (select rolsuper from pg_roles where rolname = me)
            or not has_function_privilege('{owner}', message, 'execute')
        then
            execute format('grant execute on function %s to %I', message, '{owner}');
        end if;
    end loop;
end
$do$;

-- The ledger: one row for each write, in the write's own transaction. Only the functions below
-- reach it.
create schema if not exists service authorization "{owner}";
set local role "{owner}";
revoke all on schema service from public;
grant usage on schema service to "{conn}";

create table if not exists service.ledger (
    action_id text primary key,
    attempt integer not null,
    kind text not null,
    org text not null,
    tool text,
    request_digest text,
    xid xid8 not null,
    nonce text not null,
    mac text not null,
    db_user name not null,
    at timestamptz not null
);
alter table service.ledger replica identity full;
revoke all on service.ledger from public, "{conn}";

create table if not exists service.heartbeat (
    id smallint primary key check (id = 1),
    beat bigint not null,
    at timestamptz not null
);
alter table service.heartbeat replica identity full;
revoke all on service.heartbeat from public, "{conn}";
insert into service.heartbeat (id, beat, at)
values (1, 0, now())
on conflict do nothing;

-- Begins a write: the row, and the marker in the change log. The service alone can sign a marker.
create or replace function service.begin_action(
    action_id text, org text, tool text, request_digest text, nonce text, mac text, marker text
) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $body$
begin
    if octet_length(marker) > 512 then
        raise exception 'a marker is longer than 512 bytes';
    end if;
    insert into service.ledger
        (action_id, attempt, kind, org, tool, request_digest, xid, nonce, mac, db_user, at)
    values
        ($1, 1, 'act', $2, $3, $4, pg_current_xact_id(), $5, $6, session_user, clock_timestamp());
    perform pg_logical_emit_message(true, 'service', marker);
end
$body$;

-- Puts a tombstone in the place of a write that was not committed, and returns what the ledger
-- holds of the action afterwards. The insert waits for a transaction that still holds the place.
create or replace function service.void_action(
    action_id text, org text, nonce text, mac text, marker text
) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $body$
declare
    found_kind text;
begin
    if octet_length(marker) > 512 then
        raise exception 'a marker is longer than 512 bytes';
    end if;
    insert into service.ledger
        (action_id, attempt, kind, org, xid, nonce, mac, db_user, at)
    values
        ($1, 1, 'void', $2, pg_current_xact_id(), $3, $4, session_user, clock_timestamp())
    on conflict do nothing;
    if found then
        perform pg_logical_emit_message(true, 'service', marker);
        return 'void';
    end if;
    select ledger.kind into found_kind from service.ledger where ledger.action_id = $1;
    return found_kind;
end
$body$;

revoke all on function service.begin_action(text, text, text, text, text, text, text) from public;
revoke all on function service.void_action(text, text, text, text, text) from public;
grant execute on function service.begin_action(text, text, text, text, text, text, text) to "{conn}";
grant execute on function service.void_action(text, text, text, text, text) to "{conn}";
reset role;

-- Recommended, where no other software of yours uses logical messages: nobody else can then write
-- anything that looks like a marker.
--     do $$
--     declare message regprocedure;
--     begin
--         for message in select oid from pg_proc where proname = 'pg_logical_emit_message' loop
--             execute format('grant execute on function %s to %I', message, '{owner}');
--             execute format('revoke execute on function %s from public', message);
--         end loop;
--     end $$;

-- What the declared tools need, and no more.
{grants}
{witness}
{passwords}
commit;
