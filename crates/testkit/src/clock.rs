//! A clock that stands still until a test moves it.

use std::{
    sync::atomic::{AtomicI64, Ordering},
    time::Duration,
};

use model::{Clock, Timestamp};

/// A clock that stands still until it is moved. What passes is counted apart from what its hands
/// show, which somebody may set.
#[derive(Debug)]
pub struct ManualClock {
    shown: AtomicI64,
    passed: AtomicI64,
}

impl ManualClock {
    /// A clock that stands at this moment.
    pub fn at(moment: Timestamp) -> Self {
        Self { shown: AtomicI64::new(moment.unix_millis()), passed: AtomicI64::new(0) }
    }

    /// Lets time pass.
    pub fn pass(&self, span: Duration) {
        let millis = span.as_millis().try_into().unwrap();
        self.shown.fetch_add(millis, Ordering::SeqCst);
        self.passed.fetch_add(millis, Ordering::SeqCst);
    }

    /// Sets the hands to this moment, which may lie behind them; no time passes.
    pub fn set(&self, moment: Timestamp) {
        self.shown.store(moment.unix_millis(), Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_unix_millis(self.shown.load(Ordering::SeqCst))
    }

    fn elapsed(&self) -> Duration {
        Duration::from_millis(self.passed.load(Ordering::SeqCst).try_into().unwrap())
    }
}
