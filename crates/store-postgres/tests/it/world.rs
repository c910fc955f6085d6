//! A database of its own and the store on it, for one test.

use std::{sync::Arc, time::Duration};

use crypto::Secret;
use store_postgres::{PostgresStore, Settings, testing::TestDatabase};

/// The settings of the service on this database. The machine that runs tests may be busy,
/// so the deadline is longer than the usual one where a test is not about it.
pub(crate) fn settings(database: &TestDatabase) -> Settings {
    let mut settings = Settings::new(Secret::new(database.url()));
    settings.deadline = Duration::from_secs(20);
    settings
}

/// A database and the store on it.
pub(crate) async fn store() -> Option<(TestDatabase, Arc<PostgresStore>)> {
    let database = TestDatabase::new().await?;
    let store = PostgresStore::new(&settings(&database)).unwrap();
    Some((database, Arc::new(store)))
}
