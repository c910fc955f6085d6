//! How the server is, looked at no more than once a second.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use tokio::{sync::Mutex, time::Instant};

/// How long a look at the parts holds.
const CACHED_FOR: Duration = Duration::from_secs(1);
/// The longest a look may take; a probe that hangs is a part that is down.
const PROBE_TIME: Duration = Duration::from_secs(2);

/// The last look at the server's parts.
pub(crate) struct Health {
    probe: Arc<dyn Probe>,
    last: Mutex<Option<(Instant, Vec<Check>)>>,
}

impl Health {
    pub(crate) fn new(probe: Arc<dyn Probe>) -> Self {
        Self { probe, last: Mutex::new(None) }
    }

    /// How each part is; whoever asks while somebody looks gets the same answer.
    pub(crate) async fn checks(&self) -> Vec<Check> {
        let mut last = self.last.lock().await;
        if let Some((at, checks)) = &*last
            && at.elapsed() < CACHED_FOR
        {
            return checks.clone();
        }
        let hung = vec![Check { name: "probe", condition: Condition::Down }];
        let checks = tokio::time::timeout(PROBE_TIME, self.probe.checks()).await.unwrap_or(hung);
        *last = Some((Instant::now(), checks.clone()));
        checks
    }
}

/// How one part of the server is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Condition {
    /// As it should be.
    Ok,
    /// Working, not as it should.
    Degraded,
    /// Not working.
    Down,
}

/// One part of the server and how it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Check {
    /// The part's name, such as `database`.
    pub name: &'static str,
    /// How it is.
    pub condition: Condition,
}

/// Looks at the server's parts.
#[async_trait]
pub trait Probe: Send + Sync {
    /// How each part is now.
    async fn checks(&self) -> Vec<Check>;
}
