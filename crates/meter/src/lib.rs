//! Counters, gauges and histograms that any thread may move, and the text that monitoring reads.
//!
//! It holds numbers and knows no metric: what each number means, and its name, is said by whoever
//! serves the page.

mod histogram;
mod page;

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

pub use histogram::Histogram;
pub use page::{Kind, Label, Page};

/// How often something happened.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Counts one more.
    pub fn one(&self) {
        self.many(1);
    }

    /// Counts so many more.
    pub fn many(&self, more: u64) {
        self.0.fetch_add(more, Ordering::Relaxed);
    }

    /// How often it happened.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// How many of something there are now.
#[derive(Debug, Default)]
pub struct Gauge(AtomicU64);

impl Gauge {
    /// How many there are.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Sets how many there are.
    pub fn set(&self, now: u64) {
        self.0.store(now, Ordering::Relaxed);
    }

    /// Counts one more for as long as what comes back lives.
    pub fn hold(self: &Arc<Self>) -> Held {
        self.0.fetch_add(1, Ordering::Relaxed);
        Held(Arc::clone(self))
    }
}

/// One of what a gauge counts; dropping it counts it out.
#[derive(Debug)]
pub struct Held(Arc<Gauge>);

impl Drop for Held {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests;
