//! What a ledger has done and what waits in it, as numbers for monitoring. Nothing is decided by
//! them.

use std::{
    sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    time::Duration,
};

use prometheus::{Histogram, HistogramOpts};

/// Seconds that a turn may take, bucket by bucket.
const SECONDS: &[f64] = &[0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0];
/// Requests that a turn may decide, bucket by bucket.
const REQUESTS: &[f64] = &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0];

/// What a ledger has done since it was made.
#[derive(Debug)]
pub struct Figures {
    /// Turns that are durable.
    pub turns: AtomicU64,
    /// Turns that another instance's turn made void, to be decided again.
    pub lost_heads: AtomicU64,
    /// Turns that were decided and signed while the one before them was being committed.
    pub ahead: AtomicU64,
    /// Turns that had been drafted on one that was not made durable, to be decided again.
    pub redrafted: AtomicU64,
    /// Turns for which the head was asked for in order, since others write the same org.
    pub in_order: AtomicU64,
    /// Turns that could not be made durable; their callers were told.
    pub failed: AtomicU64,
    /// Commits whose answer was lost.
    pub doubts: AtomicU64,
    /// Deeds that were sealed.
    pub deeds: AtomicU64,
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
    pub(crate) fn new() -> prometheus::Result<Self> {
        let spread = |of: &str, bounds: &[f64]| {
            Histogram::with_opts(HistogramOpts::new(of, of).buckets(bounds.to_vec()))
        };
        Ok(Self {
            turns: AtomicU64::default(),
            lost_heads: AtomicU64::default(),
            ahead: AtomicU64::default(),
            redrafted: AtomicU64::default(),
            in_order: AtomicU64::default(),
            failed: AtomicU64::default(),
            doubts: AtomicU64::default(),
            deeds: AtomicU64::default(),
            requests: spread("requests", REQUESTS)?,
            seconds: spread("seconds", SECONDS)?,
            held: AtomicBool::default(),
        })
    }

    /// Whether the last turn that wanted to seal could not.
    pub fn sealing_is_held(&self) -> bool {
        self.held.load(Relaxed)
    }

    pub(crate) fn note_sealing_failed(&self) {
        self.held.store(true, Relaxed);
    }

    pub(crate) fn won(&self, deeds: usize) {
        self.turns.fetch_add(1, Relaxed);
        if deeds > 0 {
            self.deeds.fetch_add(deeds as u64, Relaxed);
            self.held.store(false, Relaxed);
        }
    }
}
