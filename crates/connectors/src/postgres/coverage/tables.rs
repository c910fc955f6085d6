//! What is looked at of each table.

use model::TableGap;
use tokio_postgres::Row;

use super::{CoveredTable, KeyIdentity, Price};

/// Every table that was asked for, one that is partitioned by its leaves. Who reads the log has no right
/// on any schema, so names are looked up in the catalog.
const TABLES: &str = "
    select
        w.name, n.nspname::text, c.relname::text, c.relkind::text, c.relpersistence::text,
        c.relreplident::text,
        exists (select from pg_catalog.pg_index i where i.indrelid = c.oid and i.indisprimary),
        exists (select from pg_catalog.pg_index i
            where i.indrelid = c.oid and i.indisprimary and i.indimmediate and i.indisvalid),
        exists (select from pg_catalog.pg_index i
            where i.indrelid = c.oid and i.indisreplident and i.indisvalid),
        p.tablename is not null, p.rowfilter is not null,
        exists (select
            from pg_catalog.pg_publication_rel r
            join pg_catalog.pg_publication b on b.oid = r.prpubid
            where b.pubname = $3 and r.prattrs is not null
                and (r.prrelid = c.oid
                    or r.prrelid in (select relid from pg_catalog.pg_partition_ancestors(c.oid)))),
        covering.exist, covering.in_part, covering.hide_identity, covering.ours_in_part,
        covering.others_in_part,
        exists (select from pg_catalog.pg_attribute a
            where a.attrelid = c.oid and not a.attisdropped and a.attgenerated = 'v'),
        case when c.reltuples > 0
            then (c.relpages::float8 * current_setting('block_size')::float8 / c.reltuples)::int8
        end,
        coalesce(s.n_tup_upd + s.n_tup_del, 0)
    from unnest($1::text[], $2::text[], $4::text[]) with ordinality
        as w (name, schema, relation, place)
    left join lateral (
        select r.oid
        from pg_catalog.pg_class r
        join pg_catalog.pg_namespace s on s.oid = r.relnamespace
        where r.relname = w.relation and r.relkind in ('r', 'p', 'v', 'm', 'f')
            and (s.nspname = w.schema or (w.schema is null and s.nspname = any ($5)))
        order by pg_catalog.array_position($5, s.nspname::text)
        limit 1
    ) root on true
    left join lateral (
        select relid from pg_catalog.pg_partition_tree(root.oid::regclass) where isleaf
    ) leaf on true
    left join pg_catalog.pg_class c on c.oid = coalesce(leaf.relid, root.oid)
    left join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    left join pg_catalog.pg_publication_tables p
        on p.pubname = $3 and p.schemaname = n.nspname and p.tablename = c.relname
    left join pg_catalog.pg_stat_all_tables s on s.relid = c.oid
    cross join lateral (
        select
            count(*) > 0 as exist,
            coalesce(bool_or(b.in_part), false) as in_part,
            coalesce(bool_or(b.hides_identity), false) as hide_identity,
            coalesce(bool_or(b.in_part) filter (where b.name = $3), false) as ours_in_part,
            coalesce(array_agg(b.name order by b.name) filter (where b.in_part and b.name <> $3), '{}')
                as others_in_part
        from ({COVERING}) b
    ) covering
    order by w.place, n.nspname, c.relname";

/// The publications of updates or deletes of the table `c`, and what of it they leave out. Of a partition
/// a publication takes the columns of the topmost ancestor in it, if it publishes by the root, and
/// otherwise its own. Since PostgreSQL 18 a publication says whether it publishes stored generated columns
/// (`pubgencols`); older servers publish none, and let such tables be updated all the same.
const COVERING: &str = "
    select p.pubname::text as name,
        listed.columns is not null or generated.left_out and exists (
            select from pg_catalog.pg_attribute a
            where a.attrelid = c.oid and not a.attisdropped and a.attgenerated = 's') as in_part,
        exists (
            select from unnest(identity.columns) as k (name)
            join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attname = k.name
            where case when listed.columns is null
                then generated.left_out and a.attgenerated = 's'
                else not a.attname = any (listed.columns) end)
        or exists (
            select from unnest(listed.filtered) as f (name)
            where not f.name = any (identity.columns)) as hides_identity
    from pg_catalog.pg_publication p
    cross join lateral (
        select coalesce(pg_catalog.to_jsonb(p) ->> 'pubgencols' = 'n', false) as left_out) generated
    cross join lateral (
        select array(
            select a.attname from pg_catalog.pg_index i
            cross join lateral unnest(i.indkey::int2[]) with ordinality as k (number, place)
            join pg_catalog.pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.number
            where i.indrelid = c.oid and k.place <= i.indnkeyatts
                and (c.relreplident = 'd' and i.indisprimary
                    or c.relreplident = 'i' and i.indisreplident)) as columns) identity
    left join lateral (
        select
            case when r.prattrs is not null then array(
                select a.attname from pg_catalog.pg_attribute a
                where a.attrelid = r.prrelid and a.attnum = any (r.prattrs::int2[])) end as columns,
            case when r.prqual is not null then array(
                select a.attname from pg_catalog.pg_depend d
                join pg_catalog.pg_attribute a
                    on a.attrelid = d.refobjid and a.attnum = d.refobjsubid
                where d.classid = 'pg_catalog.pg_publication_rel'::regclass and d.objid = r.oid
                    and d.refclassid = 'pg_catalog.pg_class'::regclass
                    and not d.refobjsubid = any (coalesce(r.prattrs::int2[], '{}'))) end as filtered
        from pg_catalog.pg_publication_rel r
        left join pg_catalog.pg_partition_ancestors(c.oid) with ordinality as a (relid, level)
            on a.relid = r.prrelid
        where r.prpubid = p.oid and (r.prrelid = c.oid or p.pubviaroot and a.relid is not null)
        order by a.level desc nulls last
        limit 1
    ) listed on true
    where (p.pubupdate or p.pubdelete) and c.relkind = 'r' and c.relpersistence = 'p'
        and (p.puballtables
            or exists (
                select from pg_catalog.pg_publication_rel r
                where r.prpubid = p.oid and r.prrelid in (
                    select c.oid union select relid from pg_catalog.pg_partition_ancestors(c.oid)))
            or exists (
                select from pg_catalog.pg_publication_namespace s
                join pg_catalog.pg_class k on k.relnamespace = s.pnnspid
                where s.pnpubid = p.oid and k.oid in (
                    select c.oid union select relid from pg_catalog.pg_partition_ancestors(c.oid))))";

/// The question about the tables: `$1` their names, `$2` and `$4` the parts of these, `$3` the
/// publication, `$5` the search path.
pub(super) fn question() -> String {
    TABLES.replace("{COVERING}", COVERING)
}

pub(super) fn covered(row: &Row) -> Result<CoveredTable, tokio_postgres::Error> {
    let asked: String = row.try_get(0)?;
    let (schema, name): (Option<String>, Option<String>) = (row.try_get(1)?, row.try_get(2)?);
    let (Some(schema), Some(name)) = (schema, name) else { return Ok(CoveredTable::absent(asked)) };
    let (kind, persistence, identity): (String, String, String) =
        (row.try_get(3)?, row.try_get(4)?, row.try_get(5)?);
    let (has_key, key_identifies, has_index): (bool, bool, bool) =
        (row.try_get(6)?, row.try_get(7)?, row.try_get(8)?);
    let (published, filtered, cut): (bool, bool, bool) =
        (row.try_get(9)?, row.try_get(10)?, row.try_get(11)?);
    let (is_covered, in_part, hides_identity): (bool, bool, bool) =
        (row.try_get(12)?, row.try_get(13)?, row.try_get(14)?);
    let (ours_in_part, others_in_part): (bool, Vec<String>) = (row.try_get(15)?, row.try_get(16)?);
    let is_virtual: bool = row.try_get(17)?;
    let (bytes, changed): (Option<i64>, i64) = (row.try_get(18)?, row.try_get(19)?);
    let is_full = identity == "f";
    let by_key = match identity.as_str() {
        "d" if key_identifies => Some(KeyIdentity::Set),
        "i" if has_index => Some(KeyIdentity::Set),
        _ => key_identifies.then_some(KeyIdentity::Possible),
    };
    // PostgreSQL refuses updates and deletes of a table without an identity, and of one of whose identity
    // a publication leaves a column out.
    let is_refused = match by_key {
        _ if is_full => in_part || is_virtual,
        Some(KeyIdentity::Set) => hides_identity,
        Some(KeyIdentity::Possible) | None => true,
    };
    // A view, a table of another server, a partitioned table that has no leaf yet.
    let is_table = kind == "r";
    let gaps = [
        (!is_table, TableGap::NoTable),
        (is_table && persistence != "p", TableGap::Unlogged),
        (is_table && !has_key, TableGap::NoKey),
        (is_table && !is_full, TableGap::IdentityNotFull),
        (is_table && is_virtual, TableGap::VirtualColumns),
        (is_table && !others_in_part.is_empty(), TableGap::PublishedInPart),
        (is_table && !published, TableGap::NotPublished),
        (filtered, TableGap::RowsFiltered),
        (cut || ours_in_part, TableGap::ColumnsFiltered),
    ];
    Ok(CoveredTable {
        asked,
        name: format!("{schema}.{name}"),
        missing: gaps.into_iter().filter(|(holds, _)| *holds).map(|(_, gap)| gap).collect(),
        writes_fail: is_covered && is_refused,
        partial_publications: others_in_part,
        by_key,
        price: Price {
            row_bytes: bytes.and_then(|bytes| bytes.try_into().ok()),
            changed_rows: changed.try_into().unwrap_or(0),
        },
    })
}
