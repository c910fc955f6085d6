//! What the pure crates ask of the runtime: tasks that outlive their request, and time that
//! passes. The tasks are counted, so that a process that stops can wait for their end.

mod background;
mod lane;

use std::{
    num::NonZero,
    sync::{Arc, OnceLock},
    thread,
    time::Duration,
};

use async_trait::async_trait;
pub(crate) use background::Background;
use futures_util::future::BoxFuture;
use lane::Lane;
use tokio::sync::watch;

/// Tokio as the ledger and the Gate see it.
#[derive(Debug, Clone)]
pub struct Tokio {
    running: Arc<watch::Sender<usize>>,
    // Each is made when there is work for it.
    deciding: Arc<OnceLock<Lane>>,
    trying: Arc<OnceLock<Lane>>,
}

/// For how long a thread that waits for disks and names is kept when it has nothing to do.
pub(crate) const WAITING_THREAD_IS_KEPT: Duration = Duration::from_hours(365 * 24);

/// The most tests and comparisons of policies that are computed at once.
const TRIALS: usize = 2;

impl Tokio {
    /// A runtime without tasks.
    pub fn new() -> Self {
        Self {
            running: Arc::new(watch::Sender::new(0)),
            deciding: Arc::default(),
            trying: Arc::default(),
        }
    }

    /// Does work on policies that nobody's call waits for.
    pub(crate) fn try_out(&self, work: Box<dyn FnOnce() + Send>) {
        self.trying.get_or_init(|| Lane::new("trying", TRIALS)).take(work);
    }

    /// Waits until no task runs that was started here.
    pub async fn idle(&self) {
        // The sender lives as long as `self`, so there is no error to come.
        let _ = self.running.subscribe().wait_for(|running| *running == 0).await;
    }
}

impl Default for Tokio {
    fn default() -> Self {
        Self::new()
    }
}

/// A task that counts as running until this is dropped, however the task ends.
struct Counted(Arc<watch::Sender<usize>>);

impl Counted {
    fn new(running: &Arc<watch::Sender<usize>>) -> Self {
        running.send_modify(|running| *running += 1);
        Self(Arc::clone(running))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.send_modify(|running| *running = running.saturating_sub(1));
    }
}

impl ledger::Spawn for Tokio {
    fn spawn(&self, task: BoxFuture<'static, ()>) {
        let counted = Counted::new(&self.running);
        tokio::spawn(async move {
            task.await;
            drop(counted);
        });
    }

    fn compute(&self, work: Box<dyn FnOnce() + Send>) {
        // One fewer than cores, so that the runtime always has one to itself.
        let threads = || thread::available_parallelism().map_or(1, NonZero::get).max(2) - 1;
        self.deciding.get_or_init(|| Lane::new("deciding", threads())).take(work);
    }
}

#[async_trait]
impl gate::Pause for Tokio {
    async fn pause(&self, span: Duration) {
        tokio::time::sleep(span).await;
    }
}

#[cfg(test)]
mod tests;
