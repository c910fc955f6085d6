//! What the pure crates ask of the runtime: tasks that outlive their request, and time that
//! passes. The tasks are counted, so that a process that stops can wait for their end.

mod lane;

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use lane::Lane;
use tokio::sync::watch;

/// Tokio as the ledger and the Gate see it.
#[derive(Debug, Clone)]
pub struct Tokio {
    running: Arc<watch::Sender<usize>>,
    // Made when there is work for it.
    lane: Arc<OnceLock<Lane>>,
}

impl Tokio {
    /// A runtime without tasks.
    pub fn new() -> Self {
        Self { running: Arc::new(watch::Sender::new(0)), lane: Arc::default() }
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
        self.lane.get_or_init(Lane::new).take(work);
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
