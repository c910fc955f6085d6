//! Tasks are counted from their start to their end.

use ledger::Spawn;
use tokio::sync::oneshot;

use super::*;

#[tokio::test]
async fn a_runtime_is_idle_once_its_last_task_has_ended() {
    let runtime = Tokio::new();
    runtime.idle().await;
    let (finish, finished) = oneshot::channel::<()>();
    runtime.spawn(Box::pin(async move {
        let _ = finished.await;
    }));
    let waited = tokio::time::timeout(Duration::from_millis(20), runtime.idle()).await;
    assert!(waited.is_err(), "a task is still running");
    finish.send(()).expect("the task waits for this");
    runtime.idle().await;
}

#[tokio::test]
async fn a_task_that_panics_counts_no_more() {
    let runtime = Tokio::new();
    runtime.spawn(Box::pin(async { panic!("on purpose") }));
    runtime.idle().await;
}
