//! Time and randomness as arguments, and the one place where ids are made of them.

use std::{fmt, time::Duration};

use uuid::Uuid;

use crate::Timestamp;

/// Tells the time.
///
/// The service's truth is the database's clock, which a ledger snapshot carries; this trait is
/// for what has no snapshot at hand.
pub trait Clock: Send + Sync {
    /// The present moment.
    fn now(&self) -> Timestamp;

    /// How long it has been since a moment that this clock chose. Only differences count, and no
    /// step of the wall clock is in them; a clock that nobody steps may count by its own moments.
    fn elapsed(&self) -> Duration {
        self.now().since(Timestamp::EPOCH)
    }
}

/// Makes unpredictable bytes.
pub trait Entropy: Send + Sync {
    /// Fills the buffer with random bytes.
    fn fill(&self, buffer: &mut [u8]);
}

/// Makes ids, salts and nonces at one moment.
#[derive(Clone, Copy)]
pub struct Mint<'a> {
    now: Timestamp,
    entropy: &'a dyn Entropy,
}

impl fmt::Debug for Mint<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mint").field("now", &self.now).finish_non_exhaustive()
    }
}

impl<'a> Mint<'a> {
    /// A mint for this moment.
    pub fn new(now: Timestamp, entropy: &'a dyn Entropy) -> Self {
        Self { now, entropy }
    }

    /// The moment of everything that this mint makes.
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// A new id: a UUIDv7 (RFC 9562, section 5.7) of this moment.
    pub fn id<T>(&self, make: fn(Uuid) -> T) -> T {
        let mut bytes = self.bytes::<16>();
        let [_, _, millis @ ..] = self.now.unix_millis().max(0).to_be_bytes();
        for (byte, part) in bytes.iter_mut().zip(millis) {
            *byte = part;
        }
        let [_, _, _, _, _, _, version, _, variant, ..] = &mut bytes;
        *version = *version & 0x0f | 0x70;
        *variant = *variant & 0x3f | 0x80;
        make(Uuid::from_bytes(bytes))
    }

    /// Random bytes.
    pub fn bytes<const N: usize>(&self) -> [u8; N] {
        let mut bytes = [0; N];
        self.entropy.fill(&mut bytes);
        bytes
    }
}
