//! Spreads work on many deeds over the cores. What comes out does not depend on how many there are.

use std::{num::NonZero, panic, thread};

/// Below this many items for each core, starting a thread costs more than it saves.
const WORTH_A_THREAD: usize = 32;

/// Does the work on each part of the list and returns what came out, in the list's order.
pub(crate) fn parts<T: Sync, R: Send>(items: &[T], work: impl Fn(&[T]) -> R + Sync) -> Vec<R> {
    // Asking for the number of cores costs something too.
    if items.len() <= WORTH_A_THREAD {
        return vec![work(items)];
    }
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    let part = items.len().div_ceil(cores).max(WORTH_A_THREAD);
    let work = &work;
    thread::scope(|scope| {
        let threads: Vec<_> =
            items.chunks(part).map(|part| scope.spawn(move || work(part))).collect();
        let done = threads.into_iter().map(|thread| {
            // A panic goes on where it would have gone without threads.
            thread.join().unwrap_or_else(|why| panic::resume_unwind(why))
        });
        done.collect()
    })
}
