//! What the workers did, as numbers for monitoring and health.

use std::{
    fmt,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicI64, AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use delivery::Worked;
use gate::Sweep;
use model::{Clock, Timestamp};

/// A worker that has not got through a round for this long is not well.
const LATE: Duration = Duration::from_mins(1);
/// The same for one whose rounds are an hour apart.
const LATE_OF_HOURLY: Duration = Duration::from_hours(3);

/// A worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Worker {
    /// Keeps leases.
    Renewal,
    /// Ends calls whose edge did not report.
    Reports,
    /// Ends approvals that nobody gave.
    Approvals,
    /// Ends runs of lost instances.
    Takeovers,
    /// Asks for the evidence that calls were sealed without.
    Evidence,
    /// Signs the heads of logs.
    Checkpoints,
    /// Looks whether logs are as they were sealed.
    Walk,
    /// Takes up new seal keys.
    Keys,
    /// Removes what has been kept long enough.
    Pruning,
    /// Sends the mails that wait.
    Mails,
    /// Counts what was sealed.
    Counts,
    /// Posts events to webhook endpoints.
    Webhooks,
    /// Looks which change logs are to be followed.
    Logs,
}

impl Worker {
    /// Every worker.
    pub const ALL: [Self; 13] = [
        Self::Renewal,
        Self::Reports,
        Self::Approvals,
        Self::Takeovers,
        Self::Evidence,
        Self::Checkpoints,
        Self::Walk,
        Self::Keys,
        Self::Pruning,
        Self::Mails,
        Self::Counts,
        Self::Webhooks,
        Self::Logs,
    ];

    /// The worker's name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Renewal => "renewal",
            Self::Reports => "reports",
            Self::Approvals => "approvals",
            Self::Takeovers => "takeovers",
            Self::Evidence => "evidence",
            Self::Checkpoints => "checkpoints",
            Self::Walk => "walk",
            Self::Keys => "keys",
            Self::Pruning => "pruning",
            Self::Mails => "mails",
            Self::Counts => "counts",
            Self::Webhooks => "webhooks",
            Self::Logs => "logs",
        }
    }

    const fn late(self) -> Duration {
        match self {
            Self::Renewal
            | Self::Reports
            | Self::Approvals
            | Self::Takeovers
            | Self::Checkpoints
            | Self::Walk
            | Self::Keys
            | Self::Mails
            | Self::Counts
            | Self::Webhooks
            | Self::Logs => LATE,
            // The one may wait for governed systems, and nothing is late without it.
            Self::Evidence | Self::Pruning => LATE_OF_HOURLY,
        }
    }
}

/// The rounds of every worker.
#[derive(Debug, Default)]
pub struct Work {
    /// Due actions that sweeps looked at.
    pub due: AtomicU64,
    /// Leases that were lost while their runs went on.
    pub leases_lost: AtomicU64,
    /// What was posted to webhook endpoints.
    pub posts: Posts,
    /// The end of the last walk that passed over no log.
    pub walked: Moment,
    due_now: [AtomicU64; Sweep::ALL.len()],
    renewal: Rounds,
    reports: Rounds,
    approvals: Rounds,
    takeovers: Rounds,
    evidence: Rounds,
    checkpoints: Rounds,
    walk: Rounds,
    keys: Rounds,
    pruning: Rounds,
    mails: Rounds,
    counts: Rounds,
    webhooks: Rounds,
    logs: Rounds,
}

/// What was posted to webhook endpoints.
#[derive(Debug, Default)]
pub struct Posts {
    /// Tries that were taken.
    pub delivered: AtomicU64,
    /// Tries that were not.
    pub failed: AtomicU64,
    /// Deliveries that were never taken.
    pub dead: AtomicU64,
    /// Endpoints that were disabled because they took nothing.
    pub disabled: AtomicU64,
}

/// When something was last so; at first, when the process began.
#[derive(Debug)]
pub struct Moment(Mutex<Instant>);

#[expect(clippy::disallowed_methods, reason = "an age must not move with the wall clock")]
fn now() -> Instant {
    Instant::now()
}

impl Default for Moment {
    fn default() -> Self {
        Self(Mutex::new(now()))
    }
}

impl Moment {
    /// Notes that it is so now.
    pub fn set(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = now();
    }

    /// How long ago it was.
    pub fn age(&self) -> Duration {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).elapsed()
    }
}

/// The rounds of one worker.
#[derive(Debug, Default)]
pub struct Rounds {
    /// Rounds that were got through.
    pub done: AtomicU64,
    /// Rounds that failed.
    pub failed: AtomicU64,
    // Milliseconds of Unix time of the last round got through, or of the first round where none was; none
    // yet is zero.
    last: AtomicI64,
}

impl Work {
    /// The rounds of a worker.
    pub fn of(&self, worker: Worker) -> &Rounds {
        match worker {
            Worker::Renewal => &self.renewal,
            Worker::Reports => &self.reports,
            Worker::Approvals => &self.approvals,
            Worker::Takeovers => &self.takeovers,
            Worker::Evidence => &self.evidence,
            Worker::Checkpoints => &self.checkpoints,
            Worker::Walk => &self.walk,
            Worker::Keys => &self.keys,
            Worker::Pruning => &self.pruning,
            Worker::Mails => &self.mails,
            Worker::Counts => &self.counts,
            Worker::Webhooks => &self.webhooks,
            Worker::Logs => &self.logs,
        }
    }

    /// Notes how many due actions a sweep looked at.
    pub fn looked_at(&self, sweep: Sweep, due: usize) {
        self.due.fetch_add(due as u64, Relaxed);
        let [reports, approvals, takeovers, evidence] = &self.due_now;
        let now = match sweep {
            Sweep::Reports => reports,
            Sweep::Approvals => approvals,
            Sweep::Takeovers => takeovers,
            Sweep::Evidence => evidence,
        };
        now.store(due as u64, Relaxed);
    }

    /// Counts what serving a webhook endpoint came to.
    pub fn posted(&self, worked: Worked) {
        let Worked { delivered, failed, dead, disabled } = worked;
        let Posts { delivered: taken, failed: refused, dead: ended, disabled: closed } =
            &self.posts;
        for (count, more) in
            [(taken, delivered), (refused, failed), (ended, dead), (closed, disabled)]
        {
            count.fetch_add(more as u64, Relaxed);
        }
    }

    /// Counts leases that were lost.
    pub fn lost_leases(&self, leases: usize) {
        self.leases_lost.fetch_add(leases as u64, Relaxed);
    }

    /// How many due actions the last sweeps looked at.
    pub fn due_now(&self) -> u64 {
        self.due_now.iter().map(|due| due.load(Relaxed)).sum()
    }

    /// Whether every worker that has begun got through a round lately.
    pub fn is_well(&self, clock: &dyn Clock) -> bool {
        Worker::ALL.into_iter().all(|worker| self.of(worker).is_well(clock, worker.late()))
    }
}

impl Rounds {
    /// Counts a round and passes its outcome on.
    pub fn count<T, E: fmt::Display>(
        &self,
        clock: &dyn Clock,
        round: Result<T, E>,
    ) -> Result<T, E> {
        let now = clock.now().unix_millis();
        if round.is_ok() {
            self.done.fetch_add(1, Relaxed);
            self.last.store(now, Relaxed);
        } else {
            self.failed.fetch_add(1, Relaxed);
            // A worker whose first round failed is not late yet.
            let _ = self.last.compare_exchange(0, now, Relaxed, Relaxed);
        }
        round
    }

    fn is_well(&self, clock: &dyn Clock, late: Duration) -> bool {
        let begun = self.done.load(Relaxed) > 0 || self.failed.load(Relaxed) > 0;
        let since = clock.now().since(Timestamp::from_unix_millis(self.last.load(Relaxed)));
        !(begun && since > late)
    }
}

#[cfg(test)]
mod tests;
