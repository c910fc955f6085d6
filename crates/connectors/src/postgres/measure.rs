//! What a write measures of its own transaction where evidence is asked for: the tables whose rows the
//! server counted as changed, how far the change log tells of them, and the rows that the answer is of.
//!
//! Deferred triggers are run before anything is counted, so that the commit changes nothing more. The
//! counters also hold what earlier transactions of the connection have not handed over yet, so only
//! differences count.
//!
//! No counter tells of a table that was emptied, dropped or altered. Each of these locks it against
//! everybody until the end, so such locks count, too. A transaction begins with none of them.

use std::collections::BTreeMap;

use model::{
    Footprint, LogBlind, LogTrace, Measured, ReportedRows, RowCounts, RowOp, Scoped, TableName,
    Teller, Touched,
};
use serde_json::{Map, Value};
use tokio_postgres::{Client, Error, Row, Statement, types::Type};

use super::{
    PostgresTool,
    config::Reports,
    setup::table_name,
    value::{Codec, told},
};

/// Where what was dropped counts as a table, by its number: no schema can have such a name.
const DROPPED: &str = "pg_dropped";

/// What the counters held before the statement, by table.
pub(super) type Before = BTreeMap<u32, RowCounts>;

/// What a transaction measured, before its answer is looked at.
#[derive(Debug)]
pub(super) struct Taken {
    touched: BTreeMap<TableName, Touched>,
    names: BTreeMap<String, TableName>,
    target: Option<Target>,
}

/// The table that reported rows are of.
#[derive(Debug)]
struct Target {
    table: TableName,
    key: Vec<String>,
    columns: BTreeMap<i16, String>,
}

/// What the counters hold.
pub(super) async fn before(client: &Client) -> Result<Before, Error> {
    let rows = client.query_typed(COUNTED, &[]).await?;
    rows.iter().map(|row| Ok((row.try_get(0)?, counts(row, 1)?))).collect()
}

/// Has everything run that waits for the commit.
pub(super) async fn nothing_deferred(client: &Client) -> Result<(), Error> {
    client.batch_execute("set constraints all immediate").await
}

/// The part of the measure that the server tells: what is in the counters now, less what was before.
pub(super) async fn counted(client: &Client, publication: &str) -> Result<Vec<Row>, Error> {
    client.query_typed(TOUCHED, &[(&publication, Type::TEXT)]).await
}

/// The declared tables as the server finds them.
pub(super) async fn named(client: &Client, footprint: &Footprint) -> Result<Vec<Row>, Error> {
    let names: Vec<&str> = footprint.tables.keys().map(String::as_str).collect();
    let quoted: Vec<String> = names.iter().map(|name| table_name(name)).collect();
    let arrays = [
        (&names as &(dyn tokio_postgres::types::ToSql + Sync), Type::TEXT_ARRAY),
        (&quoted as _, Type::TEXT_ARRAY),
    ];
    client.query_typed(NAMED, &arrays).await
}

/// The table that the answer's columns are of, where they are of one.
pub(super) async fn target(
    client: &Client,
    statement: &Statement,
    reports: Option<&Reports>,
) -> Result<Vec<Row>, Error> {
    let mut origins = statement.columns().iter().filter_map(tokio_postgres::Column::table_oid);
    let first = origins.next();
    let one = first.filter(|first| origins.all(|other| other == *first));
    let name = reports.map(|reports| table_name(&reports.table));
    let oid = if name.is_some() { None } else { one };
    client.query_typed(TARGET, &[(&oid, Type::OID), (&name, Type::TEXT)]).await
}

impl Taken {
    /// What the rows of the three questions say.
    pub(super) fn of(
        before: &Before,
        (counted, found, target): (&[Row], &[Row], &[Row]),
    ) -> Result<Self, Error> {
        let mut touched = BTreeMap::new();
        for row in counted {
            let id: u32 = row.try_get(0)?;
            let was = before.get(&id).copied().unwrap_or_default();
            let truncates = u64::from(row.try_get::<_, bool>(13)?);
            let counts = RowCounts { truncates, ..less(counts(row, 1)?, was) };
            if counts.rows() > 0 || counts.truncates > 0 {
                let name = name(row, 4)?.unwrap_or_else(|| TableName::new(DROPPED, id.to_string()));
                touched.insert(name, of_table(row, counts)?);
            }
        }
        let mut names = BTreeMap::new();
        for row in found {
            if let Some(table) = name(row, 1)? {
                names.insert(row.try_get(0)?, table);
            }
        }
        let target = target.first().map(of_target).transpose()?.flatten();
        Ok(Self { touched, names, target })
    }
}

impl PostgresTool {
    /// The whole measure of a run that answered these rows.
    pub(super) fn measured(
        &self,
        taken: Taken,
        trace: LogTrace,
        (statement, rows, args): (&Statement, &[Map<String, Value>], &Value),
    ) -> Measured {
        let scope = self.scope(&taken, args);
        let rows = taken.target.and_then(|target| self.reported(target, statement, rows));
        Measured { trace, touched: taken.touched, names: taken.names, scope, rows }
    }

    /// The rows that the answer is of, by the columns of their table.
    fn reported(
        &self,
        target: Target,
        statement: &Statement,
        rows: &[Map<String, Value>],
    ) -> Option<ReportedRows> {
        let (teller, op) = match &self.reports {
            Some(reports) => (Teller::Function, reports.op),
            None if self.changes_rows() => (Teller::Database, self.op()),
            // What a query returns of a table's rows says nothing of changes.
            None => return None,
        };
        let named = |column: &tokio_postgres::Column| match &self.reports {
            Some(reports) => {
                let of = reports.columns.iter().find(|(_, told)| *told == column.name());
                let same = target.columns.values().any(|known| known == column.name());
                of.map(|(of, _)| of.clone()).or(same.then(|| column.name().to_owned()))
            }
            None => column.column_id().and_then(|id| target.columns.get(&id).cloned()),
        };
        let columns: Vec<(&str, String, Codec)> = statement
            .columns()
            .iter()
            .filter_map(|column| Some((column.name(), named(column)?, Codec::of(column.type_()))))
            .collect();
        let row = |row: &Map<String, Value>| {
            let cell = |(result, column, codec): &(&str, String, Codec)| {
                Some((column.clone(), told(codec, row.get(*result)?)))
            };
            columns.iter().filter_map(cell).collect()
        };
        (!columns.is_empty()).then(|| ReportedRows {
            table: target.table,
            op,
            key: target.key,
            teller,
            rows: rows.iter().map(row).collect(),
        })
    }

    /// What the statement does to every row that it changes; nothing where that differs from row to
    /// row, or where it is no statement that changes rows.
    fn op(&self) -> Option<RowOp> {
        let text = self.shape.text.to_ascii_lowercase();
        match text.split_whitespace().next().unwrap_or_default() {
            "insert" if !text.contains("conflict") => Some(RowOp::Insert),
            "update" => Some(RowOp::Update),
            "delete" => Some(RowOp::Delete),
            _ => None,
        }
    }

    /// Whether the statement's own number is one of changed rows.
    pub(super) fn changes_rows(&self) -> bool {
        let first = self.shape.text.split_whitespace().next().unwrap_or_default();
        ["insert", "update", "delete", "merge"].iter().any(|word| first.eq_ignore_ascii_case(word))
    }

    /// What the arguments say of the rows that may be changed.
    fn scope(&self, taken: &Taken, args: &Value) -> Vec<Scoped> {
        let footprint = self.definition.footprint.as_ref();
        let rules = footprint.and_then(|footprint| footprint.scope.as_ref());
        let of_table = |(declared, columns): (&String, &BTreeMap<String, String>)| {
            let table = taken.names.get(declared).cloned();
            let one = |(column, argument): (&String, &String)| {
                let told =
                    told(self.shape.codec(argument)?, args.get(argument).unwrap_or(&Value::Null));
                Some(Scoped { table: table.clone()?, column: column.clone(), told })
            };
            columns.iter().filter_map(one).collect::<Vec<_>>()
        };
        rules.into_iter().flatten().flat_map(of_table).collect()
    }
}

fn counts(row: &Row, at: usize) -> Result<RowCounts, Error> {
    let number = |at| Ok(u64::try_from(row.try_get::<_, i64>(at)?).unwrap_or_default());
    Ok(RowCounts {
        inserts: number(at)?,
        updates: number(at + 1)?,
        deletes: number(at + 2)?,
        truncates: 0,
    })
}

fn less(now: RowCounts, was: RowCounts) -> RowCounts {
    RowCounts {
        inserts: now.inserts.saturating_sub(was.inserts),
        updates: now.updates.saturating_sub(was.updates),
        deletes: now.deletes.saturating_sub(was.deletes),
        truncates: 0,
    }
}

fn name(row: &Row, at: usize) -> Result<Option<TableName>, Error> {
    let (schema, name): (Option<String>, Option<String>) = (row.try_get(at)?, row.try_get(at + 1)?);
    Ok(schema.zip(name).map(|(schema, name)| TableName { schema, name }))
}

fn of_table(row: &Row, counts: RowCounts) -> Result<Touched, Error> {
    let blind = [
        (LogBlind::Unlogged, row.try_get(9)?),
        (LogBlind::NoFullIdentity, row.try_get(10)?),
        (LogBlind::NotPublished, row.try_get(11)?),
        (LogBlind::Filtered, row.try_get(12)?),
    ];
    let blind = blind.into_iter().filter(|(_, is_so)| *is_so).map(|(blind, _)| blind).collect();
    let generated: Vec<String> = row.try_get(14)?;
    let generated = generated.into_iter().collect();
    Ok(Touched { counts, root: name(row, 6)?, key: row.try_get(8)?, generated, blind })
}

fn of_target(row: &Row) -> Result<Option<Target>, Error> {
    let Some(table) = name(row, 0)? else { return Ok(None) };
    let (numbers, columns): (Vec<i16>, Vec<String>) = (row.try_get(3)?, row.try_get(4)?);
    let columns = numbers.into_iter().zip(columns).collect();
    Ok(Some(Target { table, key: row.try_get(2)?, columns }))
}

const COUNTED: &str = "
    select relid, n_tup_ins, n_tup_upd, n_tup_del
    from pg_catalog.pg_stat_xact_all_tables
    where n_tup_ins + n_tup_upd + n_tup_del > 0
        and schemaname not in ('pg_catalog', 'information_schema', 'service')
        and schemaname not like 'pg\\_toast%'";

// A lock without a row of the catalog is of something that was dropped, and what that was nobody can tell
// any more. Of a partitioned table the partitions are locked as well, and temporary tables are nobody's.
const TOUCHED: &str = "
    with counted as (
        select relid, n_tup_ins, n_tup_upd, n_tup_del
        from pg_catalog.pg_stat_xact_all_tables
        where n_tup_ins + n_tup_upd + n_tup_del > 0),
    locked as (
        select distinct l.relation as relid
        from pg_catalog.pg_locks l
        join pg_catalog.pg_database d on d.oid = l.database
        where l.pid = pg_catalog.pg_backend_pid() and l.locktype = 'relation' and l.granted
            and l.mode = 'AccessExclusiveLock' and d.datname = pg_catalog.current_database())
    select
        coalesce(x.relid, l.relid), coalesce(x.n_tup_ins, 0), coalesce(x.n_tup_upd, 0),
        coalesce(x.n_tup_del, 0), n.nspname::text, c.relname::text,
        rn.nspname::text, r.relname::text,
        array(
            select a.attname::text
            from pg_catalog.pg_index i
            cross join lateral unnest(i.indkey::int2[]) with ordinality as k (number, place)
            join pg_catalog.pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.number
            where i.indrelid = c.oid and i.indisprimary and k.place <= i.indnkeyatts
            order by k.place),
        coalesce(c.relpersistence <> 'p' or c.relkind = 'f', false),
        coalesce(c.relreplident <> 'f', false),
        c.oid is not null and not exists (
            select from pg_catalog.pg_publication_tables t
            where t.pubname = $1 and t.schemaname = n.nspname and t.tablename = c.relname),
        exists (
            select from pg_catalog.pg_publication p
            left join pg_catalog.pg_publication_rel e
                on e.prpubid = p.oid and e.prrelid in (c.oid, r.oid)
            where p.pubname = $1
                and (not (p.pubinsert and p.pubupdate and p.pubdelete and p.pubtruncate)
                    or p.pubviaroot or e.prqual is not null or e.prattrs is not null)),
        l.relid is not null and (c.oid is null or c.relpersistence <> 't'),
        array(
            select a.attname::text from pg_catalog.pg_attribute a
            where a.attrelid = c.oid and not a.attisdropped and a.attgenerated = 's' and exists (
                select from pg_catalog.pg_publication p
                where p.pubname = $1 and pg_catalog.to_jsonb(p) ->> 'pubgencols' = 's'))
    from counted x
    full join locked l on l.relid = x.relid
    left join pg_catalog.pg_class c on c.oid = coalesce(x.relid, l.relid)
    left join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    left join pg_catalog.pg_class r
        on c.relispartition and r.oid = pg_catalog.pg_partition_root(c.oid)
    left join pg_catalog.pg_namespace rn on rn.oid = r.relnamespace
    where c.oid is null
        or (n.nspname not in ('pg_catalog', 'information_schema', 'service')
            and n.nspname not like 'pg\\_toast%'
            and (x.relid is not null or c.relkind in ('r', 'f', 'm') and c.relpersistence <> 't'))";

const NAMED: &str = "
    select d.name, n.nspname::text, c.relname::text
    from unnest($1::text[], $2::text[]) as d (name, quoted)
    join pg_catalog.pg_class c on c.oid = pg_catalog.to_regclass(d.quoted)
    join pg_catalog.pg_namespace n on n.oid = c.relnamespace";

const TARGET: &str = "
    select
        n.nspname::text, c.relname::text,
        array(
            select a.attname::text
            from pg_catalog.pg_index i
            cross join lateral unnest(i.indkey::int2[]) with ordinality as k (number, place)
            join pg_catalog.pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.number
            where i.indrelid = c.oid and i.indisprimary and k.place <= i.indnkeyatts
            order by k.place),
        array(
            select a.attnum from pg_catalog.pg_attribute a
            where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped order by a.attnum),
        array(
            select a.attname::text from pg_catalog.pg_attribute a
            where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped order by a.attnum)
    from pg_catalog.pg_class c
    join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    where c.oid = coalesce($1, pg_catalog.to_regclass($2)::oid) and c.relkind in ('r', 'p')";
