//! What the comparison of budget counters with charges reads.

use std::{sync::Arc, time::Duration};

use gate::ActionStore;
use ledger::{Changes, record::Action};
use model::{ActionId, DeedId};
use store_postgres::{PostgresStore, testing::TestDatabase};
use testkit::{Scribe, eventually::eventually, sample};
use uuid::Uuid;

use crate::world::{settings, store};

/// How many actions the org has that no window counts any more.
const OLD: usize = 300;

/// How many rows of actions were read up to now. A server process reports that when it ends, so
/// every store must be gone.
async fn read(database: &TestDatabase) -> i64 {
    let owner = database.owner().await;
    let sql = "select coalesce(sum(idx_tup_fetch + seq_tup_read), 0)::bigint,
            (select count(*) from pg_stat_activity where usename = $1
                and datname = current_database())
        from pg_stat_user_tables where relname = 'action'";
    eventually(async || {
        let row = owner.query_one(sql, &[&database.role()]).await.unwrap();
        let (rows, open): (i64, i64) = (row.get(0), row.get(1));
        (open == 0).then_some(rows)
    })
    .await
}

/// An action of forty days ago, charged to a counter of then.
fn old(scribe: &Scribe) -> Action {
    let mint = scribe.mint();
    let (request, _) = sample::request(&serde_json::json!({}), &mint);
    let action = sample::action(&scribe.agent("one"), request, &mint);
    let then = scribe.now.before(Duration::from_hours(24 * 40));
    let body = action.id.as_uuid().as_u128() & ((1 << 80) - 1);
    let millis = u128::try_from(then.unix_millis()).unwrap();
    let action = Action {
        id: ActionId::from_uuid(Uuid::from_u128(millis << 80 | body)),
        created_at: then,
        charged: vec![sample::budget("day", then, "1")],
        ..action
    };
    sample::sealed(&action, mint.id(DeedId::from_uuid))
}

/// How many rows of actions one comparison reads, and how many counters it finds wrong.
async fn compared(database: &TestDatabase, scribe: &Scribe) -> (i64, usize) {
    let before = read(database).await;
    let store = PostgresStore::new(&settings(database)).unwrap();
    let wrong = store.drift(scribe.org).await.unwrap().len();
    drop(store);
    (read(database).await - before, wrong)
}

#[tokio::test]
async fn a_comparison_of_budgets_reads_what_the_running_windows_count_and_nothing_else() {
    let Some((database, store)) = store().await else { return };
    let mut scribe = Scribe::created(61, &*store).await;
    let begun = (0..OLD).map(|_| sample::begun(old(&scribe), Vec::new()));
    scribe.append(&*store, begun.collect::<Vec<_>>()).await.unwrap();
    drop(Arc::into_inner(store));
    assert_eq!(compared(&database, &scribe).await, (0, 0), "no counter, no look at actions");

    let store = PostgresStore::new(&settings(&database)).unwrap();
    let window = scribe.now.before(Duration::from_mins(1));
    let mint = scribe.mint();
    let (request, _) = sample::request(&serde_json::json!({}), &mint);
    let action = sample::action(&scribe.agent("one"), request, &mint);
    let charged = vec![sample::budget("day", window, "2")];
    let charged = sample::begun(Action { charged, ..action }, Vec::new());
    let counter = Changes::from(sample::budget("day", window, "5"));
    scribe.append(&store, vec![charged, counter]).await.unwrap();
    drop(store);
    let (rows, wrong) = compared(&database, &scribe).await;
    assert_eq!(wrong, 1);
    assert!((1..10).contains(&rows), "{rows} rows were read");
}
