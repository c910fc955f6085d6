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

#[tokio::test]
async fn long_work_is_done_beside_the_tasks_and_a_panic_ends_no_thread() {
    let runtime = Tokio::new();
    let (here, (tell, told)) = (std::thread::current().id(), std::sync::mpsc::channel());
    for number in 0..8 {
        let tell = tell.clone();
        runtime.compute(Box::new(move || {
            assert!(number % 2 == 0, "on purpose");
            tell.send(std::thread::current().id()).expect("the test waits for this");
        }));
    }
    drop(tell);
    let done: Vec<_> = told.iter().collect();
    assert_eq!(done.len(), 4);
    assert!(!done.contains(&here), "the task that asked was kept waiting");
}
