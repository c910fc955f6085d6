//! Every store of the service on PostgreSQL: plain SQL, one transaction of one org per turn.
//!
//! A turn is appended in one round trip: all its statements are sent at once, the guarded move of
//! the org's head first, so that a turn decided on an older head changes nothing. Isolation is
//! READ COMMITTED everywhere; nothing rests on more than that compare-and-set, unique keys and
//! checks. The schema is in `/migrations`, [`migrate`] brings a database to it, and
//! [`PostgresStore::check`] refuses one that is not.

mod accounts;
mod actions;
mod append;
mod approvals;
mod archive;
mod connect;
mod database;
mod drift;
mod evidence;
mod fault;
mod figures;
mod halts;
mod intents;
mod invariants;
mod ledger_store;
mod list;
mod log;
mod log_checks;
mod log_deeds;
mod log_entries;
mod log_search;
mod mails;
mod members;
mod migrate;
mod nodes;
mod org_settings;
mod parts;
mod people;
mod pipeline;
mod policies;
mod prune;
mod rows;
mod schema;
mod seal_keys;
mod secrets;
mod settings;
#[cfg(feature = "testing")]
pub mod testing;
mod unsealed;
mod webhooks;
mod weighed;

use std::{fmt, sync::Arc, time::Duration};

use database::{Call, Database, PoolKind};
use fault::Fault;
use ledger::StoreDown;
use model::Timestamp;
use rows::Cells;
use tokio::sync::Semaphore;

pub use archive::{
    ArchiveError, Earnest, Moved, Part, Thinned, move_to_the_past, thin_checkpoints,
};
pub use connect::BadSettings;
pub use invariants::{Finding, INVARIANTS, Invariant, Looked, NotLooked, Takes, look};
pub use migrate::{
    GRANTS, Grant, MIGRATIONS, MigrateError, Migration, OF_NO_ORG,
    distribute::{Spread, Spreading, distribute, spreading},
    migrate,
};
pub use schema::{CheckError, Durability};
pub use secrets::{PepperMac, SealedSecrets};
pub use settings::{Plans, Settings};

/// The use of the pools of connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pools {
    /// For turns, leases, sweeps, keys and health.
    pub turns: Pool,
    /// For lists, searches, exports and walks.
    pub reading: Pool,
}

/// The use of a pool of connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pool {
    /// Connections that nobody uses.
    pub idle: usize,
    /// Connections in use.
    pub in_use: usize,
    /// The most connections.
    pub most: usize,
    /// Calls that wait for a connection.
    pub waiting: usize,
}

/// The record in PostgreSQL.
pub struct PostgresStore {
    database: Database,
    reading: Database,
    // Permits for turn locks that are waited for or held.
    turn_locks: Arc<Semaphore>,
    lease: Duration,
    hold: Duration,
    // Shared by all who send from here.
    rounds: Arc<mails::Rounds>,
}

/// The number of connections for turns for each turn lock.
const CONNECTIONS_PER_TURN_LOCK: usize = 4;

/// How the database stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pulse {
    /// Its time.
    pub now: Timestamp,
    /// Whether it takes writes; a standby and one that was set read-only take none.
    pub takes_writes: bool,
}

/// What all orgs of the database have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Survey {
    /// Whether the last deed of an org is of a time that has not come.
    pub is_ahead: bool,
    /// How many orgs are on nodes of the database that do not answer.
    pub unreached: usize,
    /// Whether any node with orgs answered.
    pub is_reached: bool,
}

const PULSE: &str = "
    select clock_timestamp() as clock,
        not (pg_is_in_recovery() or current_setting('transaction_read_only')::boolean)
            as takes_writes";
const AHEAD: &str = "
    select coalesce(bool_or(issued_at > clock_timestamp() + interval '2 seconds'), false) as is_ahead
    from org_head where ($1::uuid[] is null or org_id = any($1))";

impl PostgresStore {
    /// The store that these settings name; it connects when it is first asked.
    pub fn new(settings: &Settings) -> Result<Self, BadSettings> {
        let database = Database::new(settings, PoolKind::Turns)?;
        let reading = Database::new(settings, PoolKind::Reading)?;
        let turn_locks = Arc::new(Semaphore::new(settings.pool_size / CONNECTIONS_PER_TURN_LOCK));
        let rounds = Arc::default();
        let (lease, hold) = (settings.lease, settings.hold);
        Ok(Self { database, reading, turn_locks, lease, hold, rounds })
    }

    /// Checks that the database has exactly the schema of this build, and that what it says it
    /// has committed survives a crash.
    pub async fn check(&self, durability: Durability) -> Result<(), CheckError> {
        schema::check(&self.database, durability).await
    }

    /// How the database stands now.
    pub async fn pulse(&self) -> Result<Pulse, StoreDown> {
        let attempt = "read the status of the database";
        let call = Call::new(PULSE);
        let rows = self.database.ask_one(attempt, call).await?;
        let row = rows.first().ok_or_else(|| Fault::Broken("no row".to_owned()).down(attempt))?;
        let cells = Cells::of("the pulse", row);
        let pulse =
            || Ok(Pulse { now: cells.moment("clock")?, takes_writes: cells.get("takes_writes")? });
        pulse().map_err(|fault: Fault| fault.down(attempt))
    }

    /// Looks at all orgs.
    pub async fn survey(&self) -> Result<Survey, StoreDown> {
        let attempt = "look at all orgs";
        let question = |orgs| Call::new(AHEAD).with(orgs);
        let reached = self.database.reach_every_org(attempt, question, None).await?;
        let is_ahead = |row| Cells::of("org_head", row).get::<bool>("is_ahead");
        let ahead = reached.rows.iter().map(is_ahead).collect::<Result<Vec<_>, _>>();
        let ahead = ahead.map_err(|fault| fault.down(attempt))?;
        Ok(Survey {
            is_ahead: ahead.contains(&true),
            unreached: reached.unreached.len(),
            is_reached: reached.failed.is_none(),
        })
    }

    /// How the pools of connections are used now.
    pub fn pools(&self) -> Pools {
        Pools { turns: self.database.pool(), reading: self.reading.pool() }
    }

    /// Asks the database for a sign of life.
    pub async fn ping(&self) -> Result<(), StoreDown> {
        self.database.ask_one("ping the database", Call::new("select 1")).await.map(|_| ())
    }
}

impl fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresStore").field("lease", &self.lease).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
