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

#[cfg(target_os = "linux")]
#[tokio::test]
async fn long_work_lets_every_other_thread_go_first() {
    let own = || rustix::process::getpriority_process(None).expect("Linux tells it");
    let (runtime, before) = (Tokio::new(), own());
    let (tell, told) = std::sync::mpsc::channel();
    let work = || -> Box<dyn FnOnce() + Send> {
        let tell = tell.clone();
        Box::new(move || tell.send(own()).expect("the test waits for this"))
    };
    runtime.compute(work());
    runtime.try_out(work());
    let expected = (before + 10).min(19);
    assert_eq!(told.iter().take(2).collect::<Vec<_>>(), [expected; 2]);
    assert_eq!(own(), before, "the runtime's own thread is as it was");
}
