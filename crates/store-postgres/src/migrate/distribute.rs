//! Spreads the tables over the nodes of a Citus cluster, by their org.
//!
//! What belongs to one org lies on one node, in tables that are cut alike; what belongs to none is
//! on every node. Nothing here is needed on a plain PostgreSQL.

use std::{collections::BTreeSet, fmt};

use tokio_postgres::{Client, Error};

use super::{GRANTS, MigrateError, OF_NO_ORG, failed, lock, run};
use crate::{Settings, connect};

/// How a table is spread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spread {
    /// A copy on every node.
    Everywhere,
    /// Cut by `org_id`; the others are cut as it is.
    First,
    /// Cut as the first one, so that all rows of an org lie on one node.
    BesideFirst,
}

/// A table that is to be spread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spreading {
    /// The table.
    pub table: &'static str,
    /// How.
    pub spread: Spread,
}

impl fmt::Display for Spreading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { table, spread } = self;
        match spread {
            Spread::Everywhere => write!(f, "{table}: a copy on every node"),
            Spread::First => write!(f, "{table}: distributed by org_id"),
            Spread::BesideFirst => {
                write!(f, "{table}: distributed by org_id, co-located with {FIRST}")
            }
        }
    }
}

impl Spreading {
    /// How this table of the schema is spread.
    fn of(table: &'static str) -> Self {
        let spread = match table {
            FIRST => Spread::First,
            _ if OF_NO_ORG.contains(&table) => Spread::Everywhere,
            _ => Spread::BesideFirst,
        };
        Self { table, spread }
    }

    fn sql(self) -> String {
        let Self { table, spread } = self;
        match spread {
            Spread::Everywhere => format!("select create_reference_table('{table}')"),
            Spread::First => distributed(table, "none"),
            Spread::BesideFirst => distributed(table, FIRST),
        }
    }
}

fn distributed(table: &str, beside: &str) -> String {
    format!("select create_distributed_table('{table}', 'org_id', colocate_with => '{beside}')")
}

/// What is still to be spread, in the order in which it goes: tables on every node first, then
/// those that others point at before those that do.
pub async fn spreading(settings: &Settings) -> Result<Vec<Spreading>, MigrateError> {
    missing(&client(settings).await?).await
}

/// Spreads these tables, each by itself: where one fails, those before it stay spread, and another
/// run goes on from there.
pub async fn distribute(settings: &Settings, tables: &[Spreading]) -> Result<(), MigrateError> {
    let client = client(settings).await?;
    for spreading in tables {
        let attempt = format!("spread the table `{}`", spreading.table);
        run(&client, &spreading.sql(), &attempt).await?;
    }
    Ok(())
}

/// Spreads what a migration made, once the other tables are spread.
pub(super) async fn whats_new(client: &Client) -> Result<(), Error> {
    let spread = spread(client).await?;
    if spread.contains(FIRST) {
        for new in not_yet(&spread) {
            // A migration makes the tables of its own version, and this build knows later ones.
            let sql = "select to_regclass($1) is not null as made";
            if client.query_one(sql, &[&new.table]).await?.try_get("made")? {
                client.batch_execute(&new.sql()).await?;
            }
        }
    }
    Ok(())
}

const FIRST: &str = "org";

/// Begins a transaction that changes several tables. Citus changes the parts of a table over several
/// connections, after which it refuses to change a second one in the same transaction, unless it is
/// told to use one connection for a node.
pub(super) async fn begin(client: &Client) -> Result<(), Error> {
    client.batch_execute("begin").await?;
    if has_citus(client).await? {
        client.batch_execute("set local citus.multi_shard_modify_mode = 'sequential'").await?;
    }
    Ok(())
}

async fn has_citus(client: &Client) -> Result<bool, Error> {
    let sql = "select from pg_extension where extname = 'citus'";
    Ok(client.query_opt(sql, &[]).await?.is_some())
}

async fn client(settings: &Settings) -> Result<Client, MigrateError> {
    let (config, tls) = connect::config(settings)?;
    let client = connect::dial(&config, tls).await;
    let client = client.map_err(|fault| failed("reach the database", fault))?;
    lock(&client).await?;
    Ok(client)
}

async fn missing(client: &Client) -> Result<Vec<Spreading>, MigrateError> {
    let attempt = "read what is spread already";
    if !has_citus(client).await.map_err(|error| failed(attempt, error.into()))? {
        return Err(MigrateError::NoCitus);
    }
    let spread = spread(client).await.map_err(|error| failed(attempt, error.into()))?;
    Ok(not_yet(&spread))
}

/// The tables that are spread; none where there is no Citus.
async fn spread(client: &Client) -> Result<BTreeSet<String>, Error> {
    let sql = "select to_regclass('pg_dist_partition') is not null as knows";
    if !client.query_one(sql, &[]).await?.try_get::<_, bool>("knows")? {
        return Ok(BTreeSet::new());
    }
    let sql = "select logicalrelid::regclass::text as name from pg_dist_partition";
    client.query(sql, &[]).await?.iter().map(|row| row.try_get("name")).collect()
}

fn not_yet(spread: &BTreeSet<String>) -> Vec<Spreading> {
    let all = GRANTS.iter().map(|grant| grant.table).filter(|table| !spread.contains(*table));
    let (mut whole, cut): (Vec<_>, Vec<_>) =
        all.map(Spreading::of).partition(|it| it.spread == Spread::Everywhere);
    whole.extend(cut);
    whole
}
