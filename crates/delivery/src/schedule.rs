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

/// So many failed attempts of each of two events show that it is the endpoint that fails, and not
/// one moment of it.
const ENOUGH_ATTEMPTS: usize = 3;

/// What the operator sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// How long a try may take.
    pub timeout: Duration,
    /// The most tries after the first.
    pub max_attempts: usize,
    /// How long an endpoint may accept nothing before it is disabled.
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

    /// When a delivery is tried after its next try, if that and all later ones fail when they are due.
    pub(crate) fn later_tries(
        &self,
        (first, next): (Timestamp, Timestamp),
        tried: usize,
    ) -> Vec<Timestamp> {
        let mut last = next;
        let later = (tried.saturating_add(1)..).map_while(|tried| {
            last = self.next_try((first, last), tried)?;
            Some(last)
        });
        later.collect()
    }

    /// The most attempts of a delivery.
    pub(crate) fn attempts(&self) -> usize {
        self.max_attempts.saturating_add(1)
    }

    /// How many failed attempts of an event count when an endpoint is judged: three, or all of them
    /// where an event has fewer.
    pub fn enough_attempts(&self) -> usize {
        ENOUGH_ATTEMPTS.min(self.attempts())
    }

    /// Whether an endpoint is to be disabled: every attempt failed for as long as it may, and those
    /// of two events failed often enough.
    pub fn is_failed(&self, lane: &Lane) -> bool {
        let [_, second] = lane.failed_events;
        match (lane.failing_since, lane.failed_at) {
            (Some(since), Some(last)) => {
                second.is_some() && last.since(since) >= self.disable_after
            }
            (_, _) => false,
        }
    }

    /// The earliest moment at which an endpoint that fails is disabled.
    pub(crate) fn disables_at(&self, lane: &Lane) -> Option<Timestamp> {
        lane.failing_since.map(|since| since + self.disable_after)
    }
}
