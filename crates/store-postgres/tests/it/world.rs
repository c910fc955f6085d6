//! A database of its own and the store on it, for one test.

use std::{sync::Arc, time::Duration};

use crypto::Secret;
use store_postgres::{PostgresStore, Settings, testing::TestDatabase};
use testkit::eventually::until;
use tokio_postgres::Client;

/// What the server allows a session, in place of the service's own limits.
const LIMITS: &str = "options=-c%20statement_timeout%3D60s%20-c%20lock_timeout%3D60s\
    %20-c%20idle_in_transaction_session_timeout%3D0";

/// The settings of the service on this database, patient: on a busy machine the usual limits would
/// measure the machine. A test about a limit sets that one.
pub(crate) fn settings(database: &TestDatabase) -> Settings {
    patient(&database.url())
}

/// As above, on the database at this address.
pub(crate) fn patient(url: &str) -> Settings {
    let sign = if url.contains('?') { '&' } else { '?' };
    let mut settings = Settings::new(Secret::new(format!("{url}{sign}{LIMITS}")));
    settings.deadline = Duration::from_mins(1);
    settings.hold = Duration::from_secs(20);
    settings.lease = Duration::from_secs(50);
    settings
}

/// Waits until a session of this client's database waits for a lock.
pub(crate) async fn until_blocked(owner: &Client) {
    let sql = "select 1 from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'";
    let is_blocked = async || !owner.query(sql, &[]).await.unwrap().is_empty();
    until("a session waits for a lock", is_blocked).await;
}

/// A database and the store on it.
pub(crate) async fn store() -> Option<(TestDatabase, Arc<PostgresStore>)> {
    let database = TestDatabase::new().await?;
    let store = PostgresStore::new(&settings(&database)).unwrap();
    Some((database, Arc::new(store)))
}
