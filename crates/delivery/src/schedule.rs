//! When a delivery that was not taken is tried again, and when an endpoint has failed for too long.

use std::time::Duration;

use model::Timestamp;

use crate::Lane;

/// How long after the first try each of the others is due.
pub const RETRIES: [Duration; 8] = [
    Duration::from_secs(30),
    Duration::from_mins(2),
    Duration::from_mins(10),
    Duration::from_mins(30),
    Duration::from_hours(1),
    Duration::from_hours(3),
    Duration::from_hours(6),
    Duration::from_hours(12),
];

/// What the operator sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// How long a try may take.
    pub timeout: Duration,
    /// The most tries after the first.
    pub max_attempts: usize,
    /// How long an endpoint may take nothing before it is disabled.
    pub disable_after: Duration,
    /// The most endpoints of an org.
    pub max_endpoints: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(10),
            max_attempts: RETRIES.len(),
            disable_after: Duration::from_hours(72),
            max_endpoints: 16,
        }
    }
}

impl Limits {
    /// When a delivery is tried again whose first try began at `first` and whose last one, the
    /// `tried`th, at `last`; nothing when it had all of them.
    ///
    /// Where a try came late, the next keeps at least half of its distance, so that the tries of a
    /// delivery that waited for the service do not follow each other at once.
    pub fn next_try(
        &self,
        (first, last): (Timestamp, Timestamp),
        tried: usize,
    ) -> Option<Timestamp> {
        let retries = RETRIES.iter().take(self.max_attempts);
        let due = *retries.clone().nth(tried.checked_sub(1)?)?;
        let before = tried.checked_sub(2).and_then(|at| RETRIES.get(at)).copied();
        let apart = due.saturating_sub(before.unwrap_or_default()) / 2;
        Some((first + due).max(last + apart))
    }

    /// Whether an endpoint took nothing for longer than it may.
    pub fn is_failed(&self, lane: &Lane) -> bool {
        match (lane.failing_since, lane.failed_at) {
            (Some(since), Some(last)) => last.since(since) >= self.disable_after,
            (_, _) => false,
        }
    }
}
