//! Threads for work that takes milliseconds and more and never waits, such as policies at the limit
//! of what they may compute. They compute with what the other threads of the machine leave them, so
//! that nobody who is quick waits for somebody who is slow.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{Receiver, Sender, channel},
    },
    thread,
};

/// How far other threads are preferred: of a core that two want, these have a quarter.
#[cfg(target_os = "linux")]
const NICE: i32 = 5;

/// A piece of work.
type Work = Box<dyn FnOnce() + Send>;

/// The way to the threads; they end with it.
#[derive(Debug)]
pub(super) struct Lane(Option<Sender<Work>>);

impl Lane {
    /// So many threads of this name, or as many of them as the system gives.
    pub(super) fn new(name: &str, threads: usize) -> Self {
        let (sender, work) = channel();
        let work = Arc::new(Mutex::new(work));
        let begun = (0..threads).filter(|_| is_begun(name, Arc::clone(&work))).count();
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

fn is_begun(name: &str, work: Arc<Mutex<Receiver<Work>>>) -> bool {
    let thread = thread::Builder::new().name(name.to_owned());
    let begun = thread.spawn(move || {
        yield_to_others();
        go_on(&work);
    });
    begun.is_ok()
}

/// Has the system prefer other threads to this one.
fn yield_to_others() {
    // Elsewhere it would be the whole process that is made to wait.
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::nice(NICE) {
        tracing::debug!(%error, "the priority of a computing thread could not be lowered");
    }
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
