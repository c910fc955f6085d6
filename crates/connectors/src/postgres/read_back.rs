//! Reads reported rows back by their primary keys, as the role that runs read tools.
//!
//! Who ran the tool says nothing here: the reader is another role, on another connection, in a
//! transaction of its own that began after the commit.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    time::Duration,
};

use model::{Datum, Image, Measured, ReadBack, ReadBackGap, ReadRow, ReportedRows, TableName};
use tokio::time::timeout;
use tokio_postgres::{
    Error, Row,
    error::SqlState,
    types::{ToSql, Type},
};
use tool::Reading;

use super::{
    fault::SessionError,
    governed::{Governed, SMALL_ANSWER},
    pool::Lease,
    quote,
    session::Access,
};

/// What a read-back may bring: as much as the largest result.
const ROWS_BYTES: usize = SMALL_ANSWER * 8;

impl Governed {
    /// What stands where the rows were reported, within the time limit.
    pub(super) async fn read_back(&self, reported: &Measured, time_limit: Duration) -> Reading {
        let unread = |gap| Reading::Done(ReadBack::Unread(gap));
        if std::sync::Arc::ptr_eq(&self.reads, &self.writes) {
            return unread(ReadBackGap::NotOffered);
        }
        let Some(rows) = &reported.rows else { return unread(ReadBackGap::NoKey) };
        let Some(keys) = keys(rows) else { return unread(ReadBackGap::NoKey) };
        let reading = self.read_rows(rows, &keys, (&reported.trace.system, time_limit));
        match timeout(time_limit, reading).await {
            Err(_) => unread(ReadBackGap::Timeout),
            Ok(Ok(Some(found))) => Reading::Done(ReadBack::Rows(found)),
            Ok(Ok(None)) => Reading::Unreachable,
            Ok(Err(error)) => of_error(&error),
        }
    }

    /// The rows in the order of the keys; nothing where the reader cannot get there.
    async fn read_rows(
        &self,
        rows: &ReportedRows,
        keys: &[Vec<String>],
        (system, time_limit): (&str, Duration),
    ) -> Result<Option<Vec<Option<ReadRow>>>, Error> {
        let pace = self.pace(time_limit);
        let begun = self.begin(&self.reads, Access::ReadOnly, (&pace, ROWS_BYTES)).await;
        let lease = match begun {
            Ok((lease, _)) => lease,
            Err(SessionError::Database(error)) => return Err(error),
            Err(SessionError::Connect(_)) => return Ok(None),
        };
        if lease.session.system() != system {
            lease.roll_back().await;
            return Ok(None);
        }
        let found = select(&lease, rows, keys).await;
        lease.roll_back().await;
        found.map(Some)
    }
}

async fn select(
    lease: &Lease,
    rows: &ReportedRows,
    keys: &[Vec<String>],
) -> Result<Vec<Option<ReadRow>>, Error> {
    let client = &lease.session.client;
    let table = whole_name(&rows.table);
    let types = client.query_typed(COLUMN_TYPES, &[(&table, Type::TEXT)]).await?;
    let types: BTreeMap<String, String> = types
        .iter()
        .map(|row| Ok((row.try_get(0)?, row.try_get(1)?)))
        .collect::<Result<_, Error>>()?;
    let told: BTreeSet<&String> = rows.rows.iter().flat_map(BTreeMap::keys).collect();
    let columns: Vec<&String> = types.keys().filter(|column| told.contains(column)).collect();
    let text = statement(&table, &rows.key, (&columns, &types));
    let arrays: Vec<(&(dyn ToSql + Sync), Type)> =
        keys.iter().map(|column| (column as _, Type::TEXT_ARRAY)).collect();
    let found = client.query_typed(&text, &arrays).await?;
    found.iter().map(|row| read_row(row, &columns)).collect()
}

/// The keys of all rows, column by column; nothing where a row does not tell its own.
fn keys(rows: &ReportedRows) -> Option<Vec<Vec<String>>> {
    if rows.key.is_empty() {
        return None;
    }
    let of_column = |part: &String| {
        rows.rows.iter().map(|row| row.get(part).and_then(|told| told.text.clone())).collect()
    };
    rows.key.iter().map(of_column).collect()
}

/// One query for all rows, in their order. Names are quoted, and types are as the server printed them.
fn statement(
    table: &str,
    key: &[String],
    (columns, types): (&[&String], &BTreeMap<String, String>),
) -> String {
    let mut text = "select t.xmin::text".to_owned();
    // Writing to a string cannot fail.
    for column in columns {
        let column = quote(column);
        let _ = write!(
            text,
            ", case when t.{column} is null then null else format('%s', t.{column}) end"
        );
    }
    let arrays: Vec<String> = (1..=key.len()).map(|at| format!("${at}::text[]")).collect();
    let names: Vec<String> = (1..=key.len()).map(|at| format!("k{at}")).collect();
    let _ = write!(
        text,
        " from unnest({}) with ordinality as k ({}, place) left join {table} t on true",
        arrays.join(", "),
        names.join(", "),
    );
    for (part, name) in key.iter().zip(&names) {
        let ty = types.get(part).map_or("text", String::as_str);
        let _ = write!(text, " and t.{} = k.{name}::{ty}", quote(part));
    }
    text.push_str(" order by k.place");
    text
}

fn read_row(row: &Row, columns: &[&String]) -> Result<Option<ReadRow>, Error> {
    let xmin: Option<String> = row.try_get(0)?;
    let Some(xmin) = xmin.and_then(|xmin| xmin.parse().ok()) else { return Ok(None) };
    let mut image = Image::new();
    for (at, column) in columns.iter().enumerate() {
        let value: Option<String> = row.try_get(at + 1)?;
        image.insert((*column).clone(), value.map_or(Datum::Null, Datum::Text));
    }
    Ok(Some(ReadRow { xmin, image }))
}

fn of_error(error: &Error) -> Reading {
    let gap = match error.code() {
        Some(&SqlState::INSUFFICIENT_PRIVILEGE) => ReadBackGap::Denied,
        Some(&SqlState::QUERY_CANCELED | &SqlState::LOCK_NOT_AVAILABLE) => ReadBackGap::Timeout,
        Some(_) | None => return Reading::Unreachable,
    };
    Reading::Done(ReadBack::Unread(gap))
}

fn whole_name(table: &TableName) -> String {
    format!("{}.{}", quote(&table.schema), quote(&table.name))
}

const COLUMN_TYPES: &str = "
    select a.attname::text, pg_catalog.format_type(a.atttypid, a.atttypmod)
    from pg_catalog.pg_attribute a
    where a.attrelid = pg_catalog.to_regclass($1) and a.attnum > 0 and not a.attisdropped
    order by a.attname::text collate \"C\"";
