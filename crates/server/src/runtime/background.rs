//! A runtime of its own for what nobody waits for: webhooks may be late, and calls may not.

mod pace;

use std::{
    io,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use model::Clock;
use pace::Pace;
use tokio::runtime::{self, Runtime};

use super::WAITING_THREAD_IS_KEPT;
use crate::clock::SystemClock;

/// How nice its thread is: beside busy threads of the same group that are not, it gets a tenth of what each
/// of them gets.
const NICE: i32 = 10;

/// A thread that gives way. One does: what it does is mostly waiting for others, and a second would take
/// a core from calls.
#[derive(Debug)]
pub(crate) struct Background {
    // There until this is dropped.
    runtime: Option<Runtime>,
    /// The pace of its thread, once something was begun there.
    pace: Mutex<Option<Pace>>,
}

impl Background {
    pub(crate) fn new() -> io::Result<Self> {
        let mut runtime = runtime::Builder::new_multi_thread();
        runtime.worker_threads(1).thread_name("background").on_thread_start(give_way);
        let runtime = runtime.enable_all().thread_keep_alive(WAITING_THREAD_IS_KEPT).build()?;
        // Names are looked up on a thread that is there from the start.
        drop(runtime.spawn_blocking(|| {}));
        Ok(Self { runtime: Some(runtime), pace: Mutex::default() })
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        // Whoever drops it may be a task, which must not wait.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Background {
    /// How long nothing is begun on the thread that calls this, the only one.
    fn rest(&self) -> Duration {
        let now = SystemClock.elapsed();
        let mut pace = self.pace.lock().unwrap_or_else(PoisonError::into_inner);
        pace.get_or_insert_with(|| Pace::of_this_thread(now)).rest(now)
    }
}

#[async_trait]
impl delivery::Aside for Background {
    fn run(&self, work: BoxFuture<'static, ()>) {
        if let Some(runtime) = &self.runtime {
            runtime.spawn(work);
        }
    }

    async fn turn(&self) {
        let rest = self.rest();
        if !rest.is_zero() {
            tokio::time::sleep(rest).await;
        }
    }
}

/// Has the thread that calls this give way to those of the process that do not.
fn give_way() {
    // Linux keeps it for each thread; elsewhere it would be the whole process that gives way.
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::setpriority_process(None, NICE) {
        tracing::warn!(%error, "the priority of a background thread could not be lowered");
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use delivery::Aside;

    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn its_thread_gives_way_and_no_other() {
        let own = || rustix::process::getpriority_process(None).unwrap();
        let (before, background) = (own(), Background::new().unwrap());
        let (tell, told) = mpsc::channel();
        background.run(Box::pin(async move { tell.send(own()).unwrap() }));
        assert_eq!(told.recv().unwrap(), before.max(NICE));
        assert_eq!(own(), before);
    }

    #[tokio::test]
    async fn a_task_may_drop_it() {
        drop(Background::new().unwrap());
    }
}
