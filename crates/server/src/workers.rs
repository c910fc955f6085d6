//! What goes on while the service serves: each worker is a loop over one function of the domain.
//!
//! A worker that fails logs it and goes on with its next round; nothing that it does depends on
//! its punctuality.

use std::{collections::HashMap, time::Duration};

use tokio::{sync::watch, task::JoinSet, time::MissedTickBehavior};

use crate::{checkpoints::Checkpoints, core::Core, wire_up::chain};

/// A third of a lease, so that two rounds may fail.
const RENEW_EVERY: Duration = Duration::from_secs(5);
const SWEEP_EVERY: Duration = Duration::from_secs(1);
const CHECKPOINT_EVERY: Duration = Duration::from_secs(10);

/// The workers at work.
#[derive(Debug)]
pub struct Workers {
    stop: watch::Sender<()>,
    tasks: JoinSet<()>,
}

impl Workers {
    /// Starts every worker.
    pub fn start(core: &Core, checkpoints: &Checkpoints) -> Self {
        let (stop, stopped) = watch::channel(());
        let mut tasks = JoinSet::new();
        tasks.spawn(renewal(core.clone(), stopped.clone()));
        tasks.spawn(sweep(core.clone(), stopped.clone()));
        tasks.spawn(checkpointing(core.clone(), checkpoints.clone(), stopped));
        Self { stop, tasks }
    }

    /// Lets every worker end its round and waits for that.
    pub async fn stop(mut self) {
        drop(self.stop);
        while self.tasks.join_next().await.is_some() {}
    }
}

/// Beats at an interval until the workers are stopped.
struct Pulse {
    interval: tokio::time::Interval,
    stopped: watch::Receiver<()>,
}

impl Pulse {
    fn new(every: Duration, stopped: watch::Receiver<()>) -> Self {
        let mut interval = tokio::time::interval(every);
        // A round that took long is not followed by a burst of short ones.
        interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self { interval, stopped }
    }

    /// Waits for the next round; nothing when there is none to come.
    async fn next(&mut self) -> Option<()> {
        tokio::select! {
            _ = self.stopped.changed() => None,
            _ = self.interval.tick() => Some(()),
        }
    }
}

/// Keeps the leases of what this instance carries out.
async fn renewal(core: Core, stopped: watch::Receiver<()>) {
    let mut pulse = Pulse::new(RENEW_EVERY, stopped);
    while pulse.next().await.is_some() {
        if let Err(error) = core.gate.renew_leases().await {
            tracing::warn!(error = chain(&error), "leases could not be renewed");
        }
    }
}

/// Ends what nobody else ends: overdue reports, expired approvals, runs of lost instances.
async fn sweep(core: Core, stopped: watch::Receiver<()>) {
    let mut pulse = Pulse::new(SWEEP_EVERY, stopped);
    while pulse.next().await.is_some() {
        match core.gate.sweep().await {
            Ok(0) => {}
            Ok(ended) => tracing::debug!(ended, "due actions were looked at"),
            Err(error) => tracing::warn!(error = chain(&error), "a sweep stopped early"),
        }
    }
}

/// Signs the heads of logs that have grown; once more when the service stops.
async fn checkpointing(core: Core, checkpoints: Checkpoints, stopped: watch::Receiver<()>) {
    let mut seen = HashMap::new();
    let mut pulse = Pulse::new(CHECKPOINT_EVERY, stopped);
    loop {
        let next = pulse.next().await;
        if let Err(error) = checkpoints.sign(&core, &mut seen).await {
            tracing::warn!(%error, "checkpoints could not be signed");
        }
        if next.is_none() {
            return;
        }
    }
}
