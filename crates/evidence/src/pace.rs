//! How often a log is read, and how much of it at once.
//!
//! Every read makes the database decode anew from where its oldest writing transaction began, so a
//! forgotten transaction makes reads dear. A follower therefore never asks for more than a quarter of
//! the time: after a read that took long it waits three times as long as that. Small reads of a long
//! backlog are the dearest of all, so a read that was full is followed by a larger one; one that failed or
//! weighed too much is followed by a smaller one.

/// What may be set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PaceLimits {
    /// Milliseconds between reads while somebody waits for a transaction.
    pub active_ms: u64,
    /// Milliseconds between reads otherwise.
    pub idle_ms: u64,
    /// Changes that are asked for in one read.
    pub batch: u32,
}

/// The most changes that are asked for in one read, and the fewest where fewer are not wished.
const MOST: u32 = 100_000;
const FEWEST: u32 = 100;
/// Past this no wait grows for the sake of the database alone, where nobody waits.
const LONGEST_IDLE_MS: u64 = 5_000;

/// When to read next, and how much.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    limits: PaceLimits,
    batch: u32,
}

impl Pace {
    /// The pace of a log that was not read yet.
    pub fn new(limits: PaceLimits) -> Self {
        Self { limits, batch: limits.batch.min(MOST) }
    }

    /// How many changes to ask for next.
    pub fn batch(&self) -> u32 {
        self.batch
    }

    /// The pace behind a read that failed, or brought more than is well taken at once.
    #[must_use]
    pub fn eased(self) -> Self {
        let fewest = FEWEST.min(self.limits.batch);
        Self { batch: (self.batch / 2).max(fewest), ..self }
    }

    /// Notes a read and tells how many milliseconds to wait before the next one, while somebody waits
    /// for a transaction or nobody does. A full read is followed at once by another, but for what the
    /// database is owed.
    pub fn after(&mut self, took_ms: u64, full: bool, awaited: bool) -> u64 {
        self.batch = if full { self.batch.saturating_mul(2).min(MOST) } else { self.limits.batch };
        let owed = owed(took_ms);
        if full {
            return owed;
        }
        if awaited {
            return self.limits.active_ms.max(owed);
        }
        let idle = self.limits.idle_ms;
        let slowed = if took_ms.saturating_mul(4) > idle {
            idle.saturating_mul(2).min(LONGEST_IDLE_MS)
        } else {
            idle
        };
        slowed.max(idle).max(owed)
    }
}

/// How many milliseconds a database is left alone after it was busy for so long.
pub fn owed(busy_ms: u64) -> u64 {
    busy_ms.saturating_mul(3)
}
