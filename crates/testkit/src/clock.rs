//! A clock that stands still until a test moves it.

use std::{
    sync::atomic::{AtomicI64, Ordering},
    time::Duration,
};

use model::{Clock, Timestamp};

/// A clock that stands still until it is moved.
#[derive(Debug)]
pub struct ManualClock(AtomicI64);

impl ManualClock {
    /// A clock that stands at this moment.
    pub fn at(moment: Timestamp) -> Self {
        Self(AtomicI64::new(moment.unix_millis()))
    }

    /// Moves the clock on.
    pub fn pass(&self, span: Duration) {
        let moved = self.now() + span;
        self.0.store(moved.unix_millis(), Ordering::SeqCst);
    }

    /// Sets the clock to this moment, which may lie behind it.
    pub fn set(&self, moment: Timestamp) {
        self.0.store(moment.unix_millis(), Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_unix_millis(self.0.load(Ordering::SeqCst))
    }
}
