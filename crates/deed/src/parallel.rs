//! Spreads work on many deeds over the cores. What comes out does not depend on how many there are.

use std::{
    num::NonZero,
    panic,
    thread::{self, Builder, Scope, ScopedJoinHandle},
};

/// Below this many items for each core, starting a thread costs more than it saves.
const WORTH_A_THREAD: usize = 32;
/// So many items take a fraction of a second, and threads for them next to nothing of it.
pub(crate) const BLOCK: usize = 2048;

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
        let done: Vec<_> = items.chunks(part).map(|part| begun(scope, part, work)).collect();
        done.into_iter().map(Part::end).collect()
    })
}

/// Does the work like [`parts`], some thousand items after the other, and tells after each of these
/// how many are done.
pub(crate) fn blocks<T: Sync, R: Send>(
    items: &[T],
    work: impl Fn(&[T]) -> R + Sync,
    mut tell: impl FnMut(usize),
) -> Vec<R> {
    let (mut done, mut found) = (0, Vec::new());
    for block in items.chunks(BLOCK) {
        found.extend(parts(block, &work));
        done += block.len();
        tell(done);
    }
    found
}

/// A part of the work: under way on a thread, or done.
enum Part<'scope, R> {
    Running(ScopedJoinHandle<'scope, R>),
    Done(R),
}

/// Begins a part on a thread of its own. Where the system gives no thread, as under a limit on
/// processes, the part is done here: slower, and nothing fails.
fn begun<'scope, T: Sync, R: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    part: &'scope [T],
    work: &'scope (impl Fn(&[T]) -> R + Sync),
) -> Part<'scope, R> {
    let thread = Builder::new().spawn_scoped(scope, move || work(part));
    thread.map_or_else(|_| Part::Done(work(part)), Part::Running)
}

impl<R> Part<'_, R> {
    fn end(self) -> R {
        match self {
            Self::Done(done) => done,
            // A panic goes on where it would have gone without threads.
            Self::Running(thread) => thread.join().unwrap_or_else(|why| panic::resume_unwind(why)),
        }
    }
}
