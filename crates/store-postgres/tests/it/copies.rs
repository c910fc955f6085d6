//! How often a large value is held on its way from a turn to the socket of the database: counted by
//! an allocator.

use allocation_counter::measure;
use ledger::{DeedEntry, LedgerStore};
use serde_json::json;
use testkit::{Draft, Scribe};
use tokio::runtime::Builder;

use crate::world::store;

const LARGE: usize = 200 * 1024;

/// The bytes that are allocated for a turn whose deed has a disclosure of so many bytes.
fn allocated(scribe: &mut Scribe, append: impl FnOnce(&ledger::Turn), size: usize) -> u64 {
    let (_, disclosure) =
        deed::commit(&scribe.mint(), deed::Path::REASON, &json!("x".repeat(size)));
    let entry = DeedEntry { disclosures: vec![disclosure], ..scribe.deed(None) };
    let turn = scribe.turn(Draft { deeds: vec![entry], ..Draft::default() });
    let counted = measure(|| append(&turn));
    scribe.went(&turn);
    counted.bytes_total
}

#[test]
fn a_large_value_is_held_so_often_between_the_turn_and_the_database() {
    // One thread, since allocations are counted for a thread.
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let Some((_database, store)) = runtime.block_on(store()) else { return };
    let mut scribe = runtime.block_on(Scribe::created(1, &*store));
    let append = |turn: &ledger::Turn| {
        runtime.block_on(store.append(turn)).unwrap();
    };
    // The first turn prepares its statements.
    allocated(&mut scribe, append, 0);
    let small = allocated(&mut scribe, append, 0);
    let large = allocated(&mut scribe, append, LARGE);
    let copies = (large - small) * 100 / u64::try_from(LARGE).unwrap();
    println!("{copies} hundredths");
    assert!(copies <= 600, "{copies} hundredths");
}
