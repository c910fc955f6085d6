//! What this process has seen of its orgs and of the store's clock. None of it is the record: it is
//! what the record must not fall behind of.

use std::time::Duration;

use deed::LogOrigin;
use model::Timestamp;

use crate::{data::Head, place::LogNo};

/// For how long the store's time is tracked before the store is asked again: this process's count
/// of time stands still while the machine sleeps.
const TRACKED_FOR: Duration = Duration::from_secs(10);

/// The store's time, tracked between its answers by a count that no step of the wall clock moves.
#[derive(Debug, Default)]
pub(crate) struct StoreTime {
    // What the store told, and this process's count when it did.
    told: Option<(Timestamp, Duration)>,
}

impl StoreTime {
    /// Takes what the store has just told.
    pub(crate) fn tell(&mut self, now: Timestamp, elapsed: Duration) {
        self.told = Some((now, elapsed));
    }

    /// The store's time at this count; nothing when the store was not asked for too long.
    pub(crate) fn at(&self, elapsed: Duration) -> Option<Timestamp> {
        let (told, then) = self.told?;
        let since = elapsed.saturating_sub(then);
        (since <= TRACKED_FOR).then(|| told + since)
    }
}

/// The furthest that this process has seen the log of an org. A record that is behind it was put
/// back, by a restore or by a standby that had not heard of everything, and whatever would be
/// sealed on it would be a second story under the places of the first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mark {
    log: LogOrigin,
    log_no: Option<LogNo>,
    version: u64,
    size: u64,
}

impl Mark {
    /// How far a signed checkpoint says that the log was.
    pub(crate) fn of_checkpoint(log: LogOrigin, size: u64) -> Self {
        Self { log, log_no: None, version: 0, size }
    }

    /// Where the head stands.
    pub(crate) fn of_head(head: &Head) -> Self {
        let (log, size) = (head.chain.log().clone(), head.chain.size());
        Self { log, log_no: Some(head.log_no), version: head.version, size }
    }

    /// Whether a record that stands here has lost what this mark has seen. A later log is judged by
    /// its first deed, which tells what the one before it lost.
    pub(crate) fn is_ahead_of(&self, found: &Self) -> bool {
        if self.log != found.log {
            return self.log_no.is_some_and(|seen| found.log_no.is_none_or(|no| no <= seen));
        }
        found.size < self.size || found.version < self.version
    }

    /// Whether the log with this name was seen with more deeds than these.
    pub(crate) fn has_more_of(&self, log: &LogOrigin, size: u64) -> bool {
        self.log == *log && size < self.size
    }
}

#[cfg(test)]
mod tests;
