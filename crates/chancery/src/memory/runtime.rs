//! Tokio's tasks and timers, and the operating system's clock, as the ledger and the Gate take
//! them.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use model::{Clock, Timestamp};

/// The runtime that the office was opened in.
#[derive(Debug)]
pub(super) struct Runtime;

impl ledger::Spawn for Runtime {
    fn spawn(&self, task: BoxFuture<'static, ()>) {
        tokio::spawn(task);
    }
}

#[async_trait]
impl gate::Pause for Runtime {
    async fn pause(&self, span: Duration) {
        tokio::time::sleep(span).await;
    }
}

/// The operating system's time.
#[derive(Debug)]
pub(super) struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "an office in memory has no other clock")]
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp::from_unix_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }
}
