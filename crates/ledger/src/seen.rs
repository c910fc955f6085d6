//! What this process has seen of its orgs and of the store's clock. None of it is the record: it is
//! what the record must not fall behind of.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use deed::LogOrigin;
use model::{OrgId, Timestamp};

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
}

/// What this process has seen of every org, and the orgs of which it takes no turn. No mark is
/// dropped with what is remembered of an org.
#[derive(Debug, Default)]
pub(crate) struct Marks {
    marks: Mutex<HashMap<OrgId, Mark>>,
    // Orgs whose log was found not to be the one that was signed for.
    withheld: Mutex<BTreeSet<OrgId>>,
}

impl Marks {
    pub(crate) fn withhold(&self, org: OrgId) {
        locked(&self.withheld).insert(org);
    }

    pub(crate) fn release(&self, org: OrgId) {
        locked(&self.withheld).remove(&org);
    }

    pub(crate) fn withheld(&self) -> BTreeSet<OrgId> {
        locked(&self.withheld).clone()
    }

    pub(crate) fn is_withheld(&self, org: OrgId) -> bool {
        locked(&self.withheld).contains(&org)
    }

    /// Takes note of how far an org's log is.
    pub(crate) fn note(&self, org: OrgId, mark: Mark) {
        let mut marks = locked(&self.marks);
        if !marks.get(&org).is_some_and(|before| before.is_ahead_of(&mark)) {
            marks.insert(org, mark);
        }
    }

    /// Whether more of the log was seen than these deeds.
    pub(crate) fn has_more_of(&self, org: OrgId, log: &LogOrigin, size: u64) -> bool {
        locked(&self.marks).get(&org).is_some_and(|mark| mark.log == *log && size < mark.size)
    }

    /// Whether the record of an org, with its head here, has lost what was seen of it; then no turn
    /// of the org is taken any more.
    pub(crate) fn is_behind(&self, org: OrgId, head: Option<&Head>) -> bool {
        let found = head.map(Mark::of_head);
        let behind = match (locked(&self.marks).get(&org), &found) {
            (None, _) => false,
            (Some(_), None) => true,
            (Some(mark), Some(found)) => mark.is_ahead_of(found),
        };
        match found {
            _ if behind => {
                tracing::error!(
                    %org,
                    "the database was put back behind what this process has seen of the org's log; \
                     nothing is sealed for it until a newer state is restored, or `chancery log \
                     recover` opens another log",
                );
                self.withhold(org);
            }
            Some(found) => self.note(org, found),
            None => {}
        }
        behind
    }
}

fn locked<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
