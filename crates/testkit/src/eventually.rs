//! Waiting until something is so: one bound for all, far longer than anything takes.

use std::time::{Duration, Instant};

/// What is waited for happens within milliseconds, or on a busy machine within seconds. What has not
/// happened by then will not happen.
pub const WITHIN: Duration = Duration::from_secs(90);

/// The time between two looks.
const LOOK: Duration = Duration::from_millis(50);

/// Returns the first value that `tried` finds. Panics where it finds none in [`WITHIN`].
pub async fn eventually<T>(tried: impl AsyncFn() -> Option<T>) -> T {
    let began = now();
    loop {
        if let Some(found) = tried().await {
            return found;
        }
        assert!(began.elapsed() < WITHIN, "it did not come to pass");
        tokio::time::sleep(LOOK).await;
    }
}

/// Waits until this is so. Panics with `what` where it is not so in [`WITHIN`].
pub async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let began = now();
    while !is_so().await {
        assert!(began.elapsed() < WITHIN, "{what}: not in time");
        tokio::time::sleep(LOOK).await;
    }
}

#[expect(clippy::disallowed_methods, reason = "a wait ends by the real clock")]
fn now() -> Instant {
    Instant::now()
}
