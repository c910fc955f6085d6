//! How often large arguments are copied from a turn to what is bound: counted by an allocator.

use allocation_counter::measure;
use ledger::{Changes, LedgerStore};
use serde_json::json;
use store_postgres::{PostgresStore, testing::TestDatabase};
use testkit::{Scribe, sample};
use tokio::runtime::{Builder, Runtime};

use crate::world::settings;

const LARGE: usize = 200 * 1024;

/// The bytes that are allocated to append the beginning of an action whose arguments have a text of
/// so many bytes, in an org of this seed.
fn allocated(runtime: &Runtime, store: &PostgresStore, (seed, size): (u64, usize)) -> u64 {
    let mut scribe = runtime.block_on(Scribe::created(seed, store));
    let agent = scribe.agent("one");
    runtime.block_on(scribe.append(store, vec![Changes::from(agent.clone())])).unwrap();
    let mint = scribe.mint();
    let (request, opens) = sample::request(&json!({ "note": "x".repeat(size) }), &mint);
    let action = sample::action(&agent, request, &mint);
    let turn = scribe.turn(vec![sample::begun(action, vec![opens])]);
    let counted = measure(|| {
        runtime.block_on(store.append(&turn)).unwrap();
    });
    counted.bytes_total
}

#[test]
fn large_arguments_are_copied_once_into_their_statement() {
    // One thread, since allocations are counted for a thread.
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let Some(database) = runtime.block_on(TestDatabase::new()) else { return };
    let mut one = settings(&database);
    one.pool_size = 1;
    let store = PostgresStore::new(&one).unwrap();
    // The first turns prepare statements, and grow the buffer that the connection keeps and writes
    // to its socket from.
    allocated(&runtime, &store, (1, 10));
    allocated(&runtime, &store, (2, LARGE));
    let small = allocated(&runtime, &store, (3, 10));
    let large = allocated(&runtime, &store, (4, LARGE));
    // The one is the value in its statement, as the driver sends it.
    let copies = (large - small) * 100 / u64::try_from(LARGE).unwrap();
    assert!(copies <= 110, "{copies} hundredths");
}
