//! Threads for work that takes milliseconds and never waits, such as policies at the limit of what
//! they may compute. There is one fewer than cores, so that the runtime always has one to itself.

use std::{
    num::NonZero,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{Receiver, Sender, channel},
    },
    thread,
};

/// A piece of work.
type Work = Box<dyn FnOnce() + Send>;

/// The way to the threads; they end with it.
#[derive(Debug)]
pub(super) struct Lane(Option<Sender<Work>>);

impl Lane {
    /// The lane of this machine.
    pub(super) fn new() -> Self {
        let cores = thread::available_parallelism().map_or(1, NonZero::get);
        let (sender, work) = channel();
        let work = Arc::new(Mutex::new(work));
        let begun = (1..cores.max(2)).filter(|_| is_begun(Arc::clone(&work))).count();
        Self((begun > 0).then_some(sender))
    }

    /// Does the work after that which came before, or here where the system gave no thread.
    pub(super) fn take(&self, work: Work) {
        let unsent = match &self.0 {
            Some(lane) => lane.send(work).err().map(|unsent| unsent.0),
            None => Some(work),
        };
        if let Some(work) = unsent {
            work();
        }
    }
}

fn is_begun(work: Arc<Mutex<Receiver<Work>>>) -> bool {
    let thread = thread::Builder::new().name("deciding".to_owned());
    thread.spawn(move || go_on(&work)).is_ok()
}

/// Does one piece after the other for as long as somebody may send some.
fn go_on(work: &Mutex<Receiver<Work>>) {
    loop {
        // Of several threads one waits for work, the others for this lock.
        let next = work.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(piece) = next else { return };
        // Whoever waits for a piece that panicked learns of it; the thread goes on.
        let _ = catch_unwind(AssertUnwindSafe(piece));
    }
}
