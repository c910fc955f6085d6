-- Stands in for a database that keeps its orgs on two nodes: what the last byte of an org's id is decides.
-- A row of `node_away` takes a node away: whatever reads or writes a row of an org on it fails as Citus says
-- it, or hangs where the node is silent, and so does whatever writes a table that every node has whole.
-- Roles that own the tables are not held up.
insert into pg_extension (oid, extname, extowner, extnamespace, extrelocatable, extversion)
select 999999, 'citus', oid, 'public'::regnamespace, false, '0' from pg_roles
where rolname = current_user;

create table pg_dist_placement as
select node::bigint as shardid, node as groupid from generate_series(0, 1) as node;
create table node_away (node integer primary key, is_silent boolean not null);
grant select on pg_dist_placement, node_away to public;

create function get_shard_id_for_distribution_column(named regclass, org uuid) returns bigint
language sql stable as $$ select get_byte(uuid_send(org), 15)::bigint % 2 $$;

create function fails(is_silent boolean) returns void language plpgsql stable as $$
begin
    if is_silent then
        perform pg_sleep(60);
    end if;
    raise exception 'connection to the remote node failed' using errcode = '08006';
end $$;

create function is_reached(org uuid) returns boolean language plpgsql stable as $$
begin
    perform fails(is_silent) from node_away
    where node = get_shard_id_for_distribution_column('org', org);
    return true;
end $$;

create function is_on_every_node() returns trigger language plpgsql as $$
begin
    if exists (
        select from pg_class where oid = tg_relid and not pg_has_role(relowner, 'usage')
    ) then
        perform fails(is_silent) from node_away;
    end if;
    return null;
end $$;

do $$
declare
    everywhere text[] := array['seal_key', 'pepper', 'api_key_org', 'org_name', 'person', 'membership',
        'invite_mail', 'approval_mail', 'webhook_mail', 'sign_in_count', 'challenge', 'session',
        'mail_job'];
    named text;
begin
    foreach named in array everywhere loop
        execute format(
            'create trigger on_every_node before insert or update or delete on %I
            for each statement execute function is_on_every_node()', named);
    end loop;
    for named in
        select table_name from information_schema.columns
        where table_schema = 'public' and column_name = 'org_id' and table_name <> all(everywhere)
    loop
        execute format('alter table %I enable row level security', named);
        execute format(
            'create policy on_its_node on %I using (is_reached(org_id)) with check (is_reached(org_id))',
            named);
    end loop;
end $$;
