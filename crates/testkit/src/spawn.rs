//! Tasks and pauses on the tokio runtime of the test.

use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::BoxFuture;

/// Runs tasks on the runtime of the test, and never waits.
#[derive(Debug, Clone, Copy)]
pub struct OnTokio;

impl ledger::Spawn for OnTokio {
    fn spawn(&self, task: BoxFuture<'static, ()>) {
        tokio::spawn(task);
    }
}

#[async_trait]
impl gate::Pause for OnTokio {
    async fn pause(&self, _: Duration) {
        tokio::task::yield_now().await;
    }
}
