//! Randomness that is the same in every run of a test.

use std::sync::atomic::{AtomicU64, Ordering};

use model::Entropy;

/// Bytes that look random and are the same for the same seed.
#[derive(Debug)]
pub struct SeededEntropy(AtomicU64);

impl SeededEntropy {
    /// The sequence of this seed.
    pub fn new(seed: u64) -> Self {
        Self(AtomicU64::new(seed))
    }

    /// A number below `sides`.
    pub fn roll(&self, sides: u64) -> u64 {
        self.next() % sides
    }

    /// One of these values.
    pub fn pick<'a, T>(&self, values: &'a [T]) -> &'a T {
        let place = self.roll(values.len() as u64);
        &values[usize::try_from(place).unwrap()]
    }

    /// The next number of the `SplitMix64` sequence.
    fn next(&self) -> u64 {
        let mut z = self
            .0
            .fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed)
            .wrapping_add(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

impl Entropy for SeededEntropy {
    fn fill(&self, buffer: &mut [u8]) {
        for chunk in buffer.chunks_mut(8) {
            chunk.copy_from_slice(&self.next().to_be_bytes()[..chunk.len()]);
        }
    }
}
