//! How measured values are spread over fixed buckets.

use std::sync::atomic::{AtomicU64, Ordering};

/// Values by bucket, with their sum.
#[derive(Debug)]
pub struct Histogram {
    // Invariant: ascending, and one shorter than `counts`, whose last place has no bound.
    bounds: &'static [f64],
    counts: Box<[AtomicU64]>,
    // The bits of a number.
    sum: AtomicU64,
}

impl Histogram {
    /// An empty one whose buckets end at these ascending values, each included.
    pub fn new(bounds: &'static [f64]) -> Self {
        let counts = (0..=bounds.len()).map(|_| AtomicU64::new(0)).collect();
        Self { bounds, counts, sum: AtomicU64::new(0f64.to_bits()) }
    }

    /// Adds a value.
    pub fn add(&self, value: f64) {
        let place = self.bounds.partition_point(|bound| *bound < value);
        if let Some(count) = self.counts.get(place) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        let more = |bits| Some((f64::from_bits(bits) + value).to_bits());
        // The closure always gives a value, so the update always takes place.
        let _ = self.sum.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
    }

    /// Each bucket's end with how many values lie at or below it; the last has no end.
    pub fn buckets(&self) -> Vec<(Option<f64>, u64)> {
        let ends = self.bounds.iter().copied().map(Some).chain([None]);
        let mut below = 0;
        ends.zip(&self.counts)
            .map(|(end, count)| {
                below += count.load(Ordering::Relaxed);
                (end, below)
            })
            .collect()
    }

    /// The sum of every value.
    pub fn sum(&self) -> f64 {
        f64::from_bits(self.sum.load(Ordering::Relaxed))
    }
}
