//! What is looked at of each table.

use model::TableGap;
use tokio_postgres::Row;

use super::{CoveredTable, Price};

/// Every table that was asked for, one that is partitioned by its leaves. Who reads the log has no right
/// on any schema, so names are looked up in the catalog.
pub(super) const TABLES: &str = "
    select
        w.name, n.nspname::text, c.relname::text, c.relkind::text, c.relpersistence::text,
        c.relreplident::text,
        exists (select from pg_catalog.pg_index i where i.indrelid = c.oid and i.indisprimary),
        exists (select from pg_catalog.pg_index i
            where i.indrelid = c.oid and i.indisreplident and i.indisvalid),
        p.tablename is not null, p.rowfilter is not null,
        exists (select
            from pg_catalog.pg_publication_rel r
            join pg_catalog.pg_publication b on b.oid = r.prpubid
            where b.pubname = $3 and r.prattrs is not null
                and (r.prrelid = c.oid
                    or r.prrelid in (select relid from pg_catalog.pg_partition_ancestors(c.oid)))),
        exists (select
            from pg_catalog.pg_publication_tables t
            join pg_catalog.pg_publication b on b.pubname = t.pubname
            where t.schemaname = n.nspname and t.tablename = c.relname
                and (b.pubupdate or b.pubdelete)),
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
    order by w.place, n.nspname, c.relname";

pub(super) fn covered(row: &Row) -> Result<CoveredTable, tokio_postgres::Error> {
    let asked: String = row.try_get(0)?;
    let (schema, name): (Option<String>, Option<String>) = (row.try_get(1)?, row.try_get(2)?);
    let (Some(schema), Some(name)) = (schema, name) else {
        let (missing, price) = (vec![TableGap::Absent], Price::default());
        return Ok(CoveredTable { name: asked.clone(), asked, missing, writes_fail: false, price });
    };
    let (kind, persistence, identity): (String, String, String) =
        (row.try_get(3)?, row.try_get(4)?, row.try_get(5)?);
    let (has_key, has_index): (bool, bool) = (row.try_get(6)?, row.try_get(7)?);
    let (published, filtered, cut): (bool, bool, bool) =
        (row.try_get(8)?, row.try_get(9)?, row.try_get(10)?);
    let published_somewhere: bool = row.try_get(11)?;
    let (bytes, changed): (Option<i64>, i64) = (row.try_get(12)?, row.try_get(13)?);
    let has_identity = match identity.as_str() {
        "f" => true,
        "d" => has_key,
        "i" => has_index,
        _ => false,
    };
    // A view, a table of another server, a partitioned table that has no leaf yet.
    let is_table = kind == "r";
    let gaps = [
        (!is_table, TableGap::NoTable),
        (is_table && persistence != "p", TableGap::Unlogged),
        (is_table && !has_key, TableGap::NoKey),
        (is_table && identity != "f", TableGap::IdentityNotFull),
        (is_table && !published, TableGap::NotPublished),
        (filtered, TableGap::RowsFiltered),
        (cut, TableGap::ColumnsFiltered),
    ];
    Ok(CoveredTable {
        asked,
        name: format!("{schema}.{name}"),
        missing: gaps.into_iter().filter(|(holds, _)| *holds).map(|(_, gap)| gap).collect(),
        writes_fail: is_table && published_somewhere && !has_identity,
        price: Price {
            row_bytes: bytes.and_then(|bytes| bytes.try_into().ok()),
            changed_rows: changed.try_into().unwrap_or(0),
        },
    })
}
