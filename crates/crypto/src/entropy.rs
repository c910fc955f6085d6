//! The operating system's randomness.

use model::Entropy;
use ring::rand::{SecureRandom, SystemRandom};

/// Randomness of the operating system.
#[derive(Debug)]
pub struct SystemEntropy(SystemRandom);

impl SystemEntropy {
    /// The operating system's source.
    pub fn new() -> Self {
        Self(SystemRandom::new())
    }
}

impl Default for SystemEntropy {
    fn default() -> Self {
        Self::new()
    }
}

impl Entropy for SystemEntropy {
    fn fill(&self, buffer: &mut [u8]) {
        // Going on without randomness would make guessable keys and salts, and no caller could
        // do better than stop: the process ends here.
        if self.0.fill(buffer).is_err() {
            std::process::abort();
        }
    }
}
