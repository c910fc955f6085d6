//! Whether a database is one that this build may serve from. Changes nothing.

use std::{collections::BTreeMap, time::Duration};

use ledger::StoreDown;
use model::Digest;
use tokio_postgres::Row;

use crate::{
    database::{Call, Database},
    fault::Fault,
    migrate::MIGRATIONS,
    rows::Cells,
};

/// What a database must promise about what it has committed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// That it survives a crash (`fsync`, `full_page_writes` and `synchronous_commit` are on), and
    /// that the role of the service cannot change what was sealed.
    SurvivesACrash,
    /// Nothing: what is in it may be lost, as in a test.
    MayBeLost,
}

/// Why the service does not start on a database.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// Nobody answers there, or not yet.
    #[error(transparent)]
    Unreachable(StoreDown),
    /// It cannot be asked.
    #[error(transparent)]
    Down(#[from] StoreDown),
    /// It lacks a migration.
    #[error("the database lacks migration {version} `{name}`; run `chancery migrate`")]
    Missing {
        /// The migration's number.
        version: i32,
        /// Its name.
        name: &'static str,
    },
    /// It has a migration that this build does not know, or another text of one that it does.
    #[error(
        "the database has a migration {version} that this build does not know; it was migrated by a newer build or another one"
    )]
    Unknown {
        /// The migration's number.
        version: i32,
    },
    /// A setting that keeps committed turns from being lost is off.
    #[error(
        "the database's setting `{setting}` is `{value}`: a crash would lose sealed deeds; turn it on"
    )]
    Forgetful {
        /// The setting.
        setting: String,
        /// Its value.
        value: String,
    },
    /// The role of the service may change what was sealed.
    #[error(
        "the role `{role}` may change rows of `{table}`, which the service itself must not be able to: serve as a role that `chancery migrate --role` gave its rights, no superuser and no owner of the tables"
    )]
    Mighty {
        /// The role.
        role: String,
        /// A table that it may change.
        table: String,
    },
}

const APPLIED: &str = "select version, digest from schema_migration order by version";
/// `42P01`, which PostgreSQL answers when a table is not there.
const SETTINGS: &str = "
    select name, setting from pg_settings
    where name in ('fsync', 'full_page_writes', 'synchronous_commit') and setting = 'off'
    order by name";

/// The tables of what was sealed that this role may change. An owner may give itself any right.
const CHANGEABLE: &str = "
    select current_user::text as role, class.relname::text as name
    from pg_class as class
    where class.oid = any (array[
            to_regclass('deed'), to_regclass('event'), to_regclass('log_node'),
            to_regclass('closed_log'), to_regclass('checkpoint'), to_regclass('past_tile')]::oid[])
        and (has_table_privilege(class.oid, 'update, delete, truncate')
            or pg_has_role(class.relowner, 'member'))
    order by name limit 1";

/// How long a process that starts waits for its first connection. No caller waits with it, and a
/// server that has much to do may be slow to take a new one.
const FIRST_CONTACT: Duration = Duration::from_secs(10);

/// Checks the schema's version and, where asked to, the settings that deeds rest on.
pub(crate) async fn check(database: &Database, durability: Durability) -> Result<(), CheckError> {
    let attempt = "read the version of the schema";
    database.reach(FIRST_CONTACT).await.map_err(|fault| match fault {
        Fault::Unreachable(_) => CheckError::Unreachable(fault.down(attempt)),
        _ => CheckError::Down(fault.down(attempt)),
    })?;
    let exists = "select to_regclass('schema_migration') is not null as made";
    let rows = database.ask_one(attempt, Call::new(exists)).await?;
    let made = rows.first().map(|row| Cells::of("pg_class", row).get("made")).transpose();
    let applied = match made.map_err(|fault| fault.down(attempt))? {
        Some(true) => applied(&database.ask_one(attempt, Call::new(APPLIED)).await?),
        Some(false) | None => Ok(BTreeMap::new()),
    };
    compare(&applied.map_err(|fault| fault.down(attempt))?)?;
    match durability {
        Durability::SurvivesACrash => {
            check_settings(database).await?;
            check_role(database).await
        }
        Durability::MayBeLost => Ok(()),
    }
}

/// The versions that are applied, each with the digest of its text.
pub(crate) fn applied(rows: &[Row]) -> Result<BTreeMap<i32, Digest>, Fault> {
    let read = |row| {
        let cells = Cells::of("schema_migration", row);
        Ok((cells.get("version")?, cells.digest("digest")?))
    };
    rows.iter().map(read).collect()
}

/// Checks that exactly the migrations of this build are applied.
fn compare(applied: &BTreeMap<i32, Digest>) -> Result<(), CheckError> {
    for (version, digest) in applied {
        let known = MIGRATIONS.iter().find(|migration| migration.version == *version);
        if known.is_none_or(|migration| migration.digest() != *digest) {
            return Err(CheckError::Unknown { version: *version });
        }
    }
    let missing = MIGRATIONS.iter().find(|migration| !applied.contains_key(&migration.version));
    match missing {
        Some(migration) => {
            Err(CheckError::Missing { version: migration.version, name: migration.name })
        }
        None => Ok(()),
    }
}

async fn check_settings(database: &Database) -> Result<(), CheckError> {
    let attempt = "read the settings of the database";
    let rows = database.ask_one(attempt, Call::new(SETTINGS)).await?;
    let Some(row) = rows.first() else { return Ok(()) };
    let cells = Cells::of("pg_settings", row);
    let read = || Ok((cells.get("name")?, cells.get("setting")?));
    let (setting, value) = read().map_err(|fault: Fault| fault.down(attempt))?;
    Err(CheckError::Forgetful { setting, value })
}

async fn check_role(database: &Database) -> Result<(), CheckError> {
    let attempt = "read the rights of the service's role";
    let rows = database.ask_one(attempt, Call::new(CHANGEABLE)).await?;
    let Some(row) = rows.first() else { return Ok(()) };
    let cells = Cells::of("pg_class", row);
    let read = || Ok((cells.get("role")?, cells.get("name")?));
    let (role, table) = read().map_err(|fault: Fault| fault.down(attempt))?;
    Err(CheckError::Mighty { role, table })
}
