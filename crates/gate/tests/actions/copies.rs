//! Large arguments and results are held once: counted by an allocator, from the submission of a
//! parsed call to what the store is given.

use allocation_counter::measure;
use model::Status;
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};

use crate::house::House;

const LARGE: usize = 200 * 1024;
const ROOM: usize = 262_144;

fn runtime() -> Runtime {
    // One thread, since allocations are counted for a thread.
    Builder::new_current_thread().build().unwrap()
}

/// The bytes that are allocated from a call with this note to the end of its action, whose result
/// has a text of so many bytes.
fn allocated(note: &str, result: usize) -> u64 {
    let runtime = runtime();
    let house = runtime.block_on(House::with_room(ROOM, ROOM));
    // The first call of a tool finds its rules.
    runtime.block_on(house.refund(1));
    let result = json!({ "note": "x".repeat(result) });
    house.refund.answer(testkit::done(result));
    let call = house.call("shop.refund", json!({ "amount": 20, "note": note }));
    let counted = measure(|| {
        let action = runtime.block_on(house.submit(call)).unwrap();
        assert_eq!(action.status, Status::Executed);
    });
    counted.bytes_total
}

/// How many times a value of [`LARGE`] bytes was copied, in hundredths.
fn copies(with: u64, without: u64) -> u64 {
    (with - without) * 100 / u64::try_from(LARGE).unwrap()
}

#[test]
fn large_arguments_are_copied_once_after_they_were_parsed() {
    let copies = copies(allocated(&"x".repeat(LARGE), 0), allocated("", 0));
    assert!(copies <= 110, "{copies} hundredths");
}

#[test]
fn a_large_result_is_copied_once_after_the_tool_gave_it() {
    // The tool of this test gives a copy of the result that it was told.
    let copies = copies(allocated("", LARGE), allocated("", 0)) - 100;
    assert!(copies <= 110, "{copies} hundredths");
}

#[test]
fn what_is_counted_are_copies() {
    let value = Value::from("x".repeat(LARGE));
    let counted = measure(|| drop(value.clone()));
    assert_eq!(copies(counted.bytes_total, 0), 100);
}
