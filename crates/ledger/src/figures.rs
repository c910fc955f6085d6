//! What a ledger has done and what waits in it, as numbers for monitoring. Nothing is decided by
//! them.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use meter::{Counter, Histogram};

/// Seconds that a turn may take, bucket by bucket.
const SECONDS: &[f64] = &[0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0];
/// Requests that a turn may decide, bucket by bucket.
const REQUESTS: &[f64] = &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0];

/// What a ledger has done since it was made.
#[derive(Debug)]
pub struct Figures {
    /// Turns that are durable.
    pub turns: Counter,
    /// Turns that another instance's turn made void, to be decided again.
    pub lost_heads: Counter,
    /// Turns that were decided and signed while the one before them was being committed.
    pub ahead: Counter,
    /// Turns that had been drafted on one that was not made durable, to be decided again.
    pub redrafted: Counter,
    /// Turns for which the head was asked for in order, since others write the same org.
    pub in_order: Counter,
    /// Turns that could not be made durable; their callers were told.
    pub failed: Counter,
    /// Commits whose answer was lost.
    pub doubts: Counter,
    /// Deeds that were sealed.
    pub deeds: Counter,
    /// Requests decided by each durable turn.
    pub requests: Histogram,
    /// Seconds from a turn's begin to its answers.
    pub seconds: Histogram,
    held: AtomicBool,
}

/// What waits for its turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Backlog {
    /// Requests whose turn has not begun.
    pub requests: usize,
    /// How long the oldest request has been without an answer, those under way included.
    pub oldest: Duration,
}

impl Figures {
    pub(crate) fn new() -> Self {
        Self {
            turns: Counter::default(),
            lost_heads: Counter::default(),
            ahead: Counter::default(),
            redrafted: Counter::default(),
            in_order: Counter::default(),
            failed: Counter::default(),
            doubts: Counter::default(),
            deeds: Counter::default(),
            requests: Histogram::new(REQUESTS),
            seconds: Histogram::new(SECONDS),
            held: AtomicBool::new(false),
        }
    }

    /// Whether the last turn that wanted to seal could not.
    pub fn sealing_is_held(&self) -> bool {
        self.held.load(Ordering::Relaxed)
    }

    pub(crate) fn hold_sealing(&self) {
        self.held.store(true, Ordering::Relaxed);
    }

    pub(crate) fn won(&self, deeds: usize) {
        self.turns.one();
        if deeds > 0 {
            self.deeds.many(deeds as u64);
            self.held.store(false, Ordering::Relaxed);
        }
    }
}
