//! What the pure crates ask of the runtime: tasks that outlive their request, and time that
//! passes.

use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::BoxFuture;

/// Tokio as the ledger and the Gate see it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Tokio;

impl ledger::Spawn for Tokio {
    fn spawn(&self, task: BoxFuture<'static, ()>) {
        tokio::spawn(task);
    }
}

#[async_trait]
impl gate::Pause for Tokio {
    async fn pause(&self, span: Duration) {
        tokio::time::sleep(span).await;
    }
}
