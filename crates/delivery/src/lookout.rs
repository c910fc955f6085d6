//! Whether there is any endpoint to look after, as far as that was asked lately.

use std::time::Duration;

/// How long it is believed that there is none. What is posted first to the first endpoint of all may be
/// late by this.
const NONE_FOR: Duration = Duration::from_secs(1);
/// How long it is believed that there is one. A look for nothing is all that this costs.
const SOME_FOR: Duration = Duration::from_mins(1);

/// What was found of whether any endpoint is open. While there is none, an instance asks for nothing
/// else.
#[derive(Debug, Clone, Copy, Default)]
pub struct Lookout {
    found: Option<Found>,
}

#[derive(Debug, Clone, Copy)]
struct Found {
    any: bool,
    /// Until when that is believed, as the process counts time.
    until: Duration,
}

impl Lookout {
    /// What is still believed; nothing where it is to be asked.
    pub(crate) fn believed(self, now: Duration) -> Option<bool> {
        self.found.filter(|found| now < found.until).map(|found| found.any)
    }

    pub(crate) fn found(any: bool, now: Duration) -> Self {
        let until = now + if any { SOME_FOR } else { NONE_FOR };
        Self { found: Some(Found { any, until }) }
    }
}
