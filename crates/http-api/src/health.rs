//! How the server is, looked at no more than once a second.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use model::{ConnectorId, ConnectorName, ErrorCode, OrgId};
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

    /// Whether people can be written to.
    pub(crate) fn mail(&self) -> Mail {
        self.probe.mail()
    }

    /// How many orgs are on nodes of the control database that do not answer.
    pub(crate) fn unreachable_orgs(&self) -> usize {
        self.probe.unreachable_orgs()
    }

    /// The connectors of an org that are out of reach.
    pub(crate) fn out_of_reach(&self, org: OrgId) -> Vec<OutOfReach> {
        self.probe.out_of_reach(org)
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

    /// Whether people can be written to.
    fn mail(&self) -> Mail;

    /// How many orgs are on nodes of the control database that do not answer.
    fn unreachable_orgs(&self) -> usize;

    /// The connectors of an org whose systems could not be reached when this instance last tried.
    fn out_of_reach(&self, org: OrgId) -> Vec<OutOfReach>;
}

/// Whether people can be written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mail {
    /// The settings name no way for mails.
    Off,
    /// No mail would be taken now; those that wait are tried again.
    Stuck,
    /// Mails leave, as far as is known.
    Leaves,
}

/// A connector that calls cannot be run through now, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutOfReach {
    /// The connector.
    pub connector: ConnectorId,
    /// Its name.
    pub name: ConnectorName,
    /// The revision that was tried.
    pub revision: u64,
    /// What its calls fail with.
    pub code: ErrorCode,
    /// The same as a sentence, which holds no credential.
    pub message: String,
}
