//! Reads columns as the types of the domain, and writes those as PostgreSQL has them.

use std::{
    str::FromStr,
    time::{Duration, SystemTime},
};

use ledger::StoreDown;
use model::{Digest, Timestamp};
use serde::de::DeserializeOwned;
use tokio_postgres::{Row, types::FromSql};
use uuid::Uuid;

use crate::{PostgresStore, database::Call, fault::Fault};

impl PostgresStore {
    /// Every row of the answer, read in this way.
    pub(crate) async fn all<T>(
        &self,
        attempt: &'static str,
        call: Call<'_>,
        read: impl Fn(&Row) -> Result<T, Fault> + Send + Sync,
    ) -> Result<Vec<T>, StoreDown> {
        let rows = self.database.ask_one(attempt, call).await?;
        rows.iter().map(read).collect::<Result<_, _>>().map_err(|fault| fault.down(attempt))
    }

    /// The first row of the answer, read in this way.
    pub(crate) async fn found<T>(
        &self,
        attempt: &'static str,
        call: Call<'_>,
        read: impl Fn(&Row) -> Result<T, Fault> + Send + Sync,
    ) -> Result<Option<T>, StoreDown> {
        Ok(self.all(attempt, call, read).await?.into_iter().next())
    }
}

/// A row of a table, read column by column.
#[derive(Clone, Copy)]
pub(crate) struct Cells<'a> {
    table: &'static str,
    row: &'a Row,
}

impl<'a> Cells<'a> {
    /// The row as one of this table.
    pub(crate) fn of(table: &'static str, row: &'a Row) -> Self {
        Self { table, row }
    }

    /// A column that PostgreSQL and Rust have the same type for.
    pub(crate) fn get<T: FromSql<'a>>(&self, column: &'static str) -> Result<T, Fault> {
        self.row.try_get(column).map_err(|error| self.fault(column, error))
    }

    /// An id.
    pub(crate) fn id<T>(&self, column: &'static str, make: fn(Uuid) -> T) -> Result<T, Fault> {
        self.get(column).map(make)
    }

    /// An id that may be absent.
    pub(crate) fn id_if_any<T>(
        &self,
        column: &'static str,
        make: fn(Uuid) -> T,
    ) -> Result<Option<T>, Fault> {
        self.get::<Option<Uuid>>(column).map(|id| id.map(make))
    }

    /// A moment.
    pub(crate) fn moment(&self, column: &'static str) -> Result<Timestamp, Fault> {
        self.get(column).map(timestamp)
    }

    /// A moment that may be absent.
    pub(crate) fn moment_if_any(&self, column: &'static str) -> Result<Option<Timestamp>, Fault> {
        self.get::<Option<SystemTime>>(column).map(|moment| moment.map(timestamp))
    }

    /// A number that is never negative.
    pub(crate) fn count(&self, column: &'static str) -> Result<u64, Fault> {
        let number: i64 = self.get(column)?;
        u64::try_from(number).map_err(|error| self.fault(column, error))
    }

    /// A number that is never negative, where there is one.
    pub(crate) fn count_if_any(&self, column: &'static str) -> Result<Option<u64>, Fault> {
        let number: Option<i64> = self.get(column)?;
        number.map(u64::try_from).transpose().map_err(|error| self.fault(column, error))
    }

    /// A digest.
    pub(crate) fn digest(&self, column: &'static str) -> Result<Digest, Fault> {
        self.bytes(column).map(Digest::from_bytes)
    }

    /// A digest that may be absent.
    pub(crate) fn digest_if_any(&self, column: &'static str) -> Result<Option<Digest>, Fault> {
        let bytes = self.get::<Option<&[u8]>>(column)?.map(<[u8; 32]>::try_from).transpose();
        bytes.map(|bytes| bytes.map(Digest::from_bytes)).map_err(|error| self.fault(column, error))
    }

    /// Returns bytes of a fixed number.
    pub(crate) fn bytes<const N: usize>(&self, column: &'static str) -> Result<[u8; N], Fault> {
        let bytes: &[u8] = self.get(column)?;
        bytes.try_into().map_err(|error| self.fault(column, error))
    }

    /// A text with a grammar of its own.
    pub(crate) fn word<T: FromStr>(&self, column: &'static str) -> Result<T, Fault>
    where
        T::Err: std::fmt::Display,
    {
        let text: &str = self.get(column)?;
        text.parse().map_err(|error| self.fault(column, error))
    }

    /// The value that a column holds as JSON.
    pub(crate) fn json<T: DeserializeOwned>(&self, column: &'static str) -> Result<T, Fault> {
        let text: &str = self.get(column)?;
        serde_json::from_str(text).map_err(|error| self.fault(column, error))
    }

    /// The fault of a column that holds what it cannot.
    pub(crate) fn fault(&self, column: &'static str, why: impl std::fmt::Display) -> Fault {
        Fault::Row { table: self.table, column, why: why.to_string() }
    }
}

/// The moment as PostgreSQL takes it.
pub(crate) fn system_time(moment: Timestamp) -> SystemTime {
    let millis = moment.unix_millis();
    let span = Duration::from_millis(millis.unsigned_abs());
    if millis < 0 { SystemTime::UNIX_EPOCH - span } else { SystemTime::UNIX_EPOCH + span }
}

/// The moment that PostgreSQL gave, cut to the millisecond.
pub(crate) fn timestamp(moment: SystemTime) -> Timestamp {
    let micros = match moment.duration_since(SystemTime::UNIX_EPOCH) {
        Ok(after) => i64::try_from(after.as_micros()).unwrap_or(i64::MAX),
        Err(before) => -i64::try_from(before.duration().as_micros()).unwrap_or(i64::MAX),
    };
    Timestamp::from_unix_millis(micros.div_euclid(1_000))
}

/// The number as PostgreSQL takes it. What does not fit was never counted here, and as
/// the largest number it equals nothing that is stored.
pub(crate) fn bigint(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// The value as JSON.
pub(crate) fn to_json(
    column: &'static str,
    table: &'static str,
    value: &impl serde::Serialize,
) -> Result<String, Fault> {
    serde_json::to_string(value).map_err(|error| Fault::Row {
        table,
        column,
        why: error.to_string(),
    })
}
