//! Waiting for what comes to pass: one bound for all, far longer than anything takes.

use std::time::{Duration, Instant};

/// Longer than anything here needs, be it the end of others' transactions on a busy machine.
const WITHIN: Duration = Duration::from_secs(90);

/// How often is looked.
const LOOK: Duration = Duration::from_millis(100);

/// What this comes to as soon as it comes to anything, which it must in time.
pub async fn eventually<T>(tried: impl AsyncFn() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = tried().await {
            return found;
        }
        assert!(began.elapsed() < WITHIN, "it did not come to pass");
        tokio::time::sleep(LOOK).await;
    }
}

/// Waits until this is so, or fails the test with its name.
pub async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let began = Instant::now();
    while !is_so().await {
        assert!(began.elapsed() < WITHIN, "{what}: not in time");
        tokio::time::sleep(LOOK).await;
    }
}
