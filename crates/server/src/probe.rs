//! Looks at the parts of the service, for `GET /v1/health`.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use connectors::InUse;
use http_api::{Check, Condition, Mail, OutOfReach};
use ledger::Ledger;
use model::{Clock, Fault, OrgId, Timestamp};
use people::Post;
use records::Records;
use store_postgres::{PostgresStore, Pulse};

use crate::{
    adapters::OrgTools,
    change_logs::{ChangeLogs, Figures},
    clock::SystemClock,
    outages::{Outages, Sight},
    settings::Decoder,
    wire_up::MOST_SKEW,
    work::Work,
};

/// A turn that has kept its callers for this long is late.
const TURN_LATE: Duration = Duration::from_secs(10);

/// What health is looked for in.
pub(crate) struct Probe {
    pub(crate) store: Arc<PostgresStore>,
    pub(crate) ledger: Ledger,
    pub(crate) records: Records,
    pub(crate) work: Arc<Work>,
    pub(crate) tools: Arc<OrgTools>,
    pub(crate) logs: Arc<ChangeLogs>,
    pub(crate) post: Option<Arc<Post>>,
    pub(crate) outages: Arc<Outages>,
    pub(crate) decoder: Decoder,
}

/// What was found.
#[derive(Debug, Clone, Copy)]
struct Found {
    /// How the database stands; nothing when it did not answer.
    database: Option<Pulse>,
    orgs: Sight,
    our_time: Timestamp,
    /// Orgs whose policy cannot be read; nothing when nobody could say.
    unreadable_policies: Option<usize>,
    sealing: Sealing,
    /// Logs that are not as they were sealed.
    broken_logs: usize,
    oldest_turn: Duration,
    workers: Condition,
    /// Connectors whose systems could not be reached when they were last tried.
    lost_connectors: usize,
    change_logs: Condition,
    /// Whether mails leave.
    mail: Mail,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sealing {
    Goes,
    Held,
}

#[async_trait]
impl http_api::Probe for Probe {
    async fn checks(&self) -> Vec<Check> {
        let database = self.store.pulse().await.ok();
        let clock = SystemClock;
        let held = self.ledger.figures().sealing_is_held() || !self.ledger.withheld().is_empty();
        checks(Found {
            database,
            orgs: self.outages.orgs(),
            our_time: clock.now(),
            unreadable_policies: self.ledger.unreadable_policies().await.ok(),
            sealing: if held { Sealing::Held } else { Sealing::Goes },
            broken_logs: self.records.faults().len(),
            oldest_turn: self.ledger.backlog().oldest,
            workers: degraded_unless(self.work.is_well(&clock)),
            lost_connectors: self.tools.lost(None).len(),
            change_logs: self.change_logs(),
            mail: self.mail(),
        })
    }

    fn mail(&self) -> Mail {
        match &self.post {
            None => Mail::Off,
            Some(post) if post.leaving().trouble().is_some() => Mail::Stuck,
            Some(_) => Mail::Leaves,
        }
    }

    fn unreachable_orgs(&self) -> usize {
        self.outages.orgs().unreached()
    }

    fn out_of_reach(&self, org: OrgId) -> Vec<OutOfReach> {
        let lost = self.tools.lost(Some(org)).into_iter();
        let lost =
            lost.map(|(InUse { id, name, revision, .. }, fault)| (id, name, revision, fault));
        let lost = lost.map(|(connector, name, revision, Fault { code, message })| OutOfReach {
            connector,
            name,
            revision,
            code,
            message,
        });
        let mut lost: Vec<_> = lost.collect();
        lost.sort_by(|left, right| left.name.cmp(&right.name));
        lost
    }
}

impl Probe {
    /// How the change logs are that this instance follows. A reader that was told to hold still follows
    /// none, which is no better than one that is stalled.
    fn change_logs(&self) -> Condition {
        let Figures { broken, stalled, lagging, .. } = self.logs.figures();
        degraded_unless(broken + stalled + lagging == 0 && !self.decoder.paused)
    }
}

/// How each part is; one that cannot be judged while the database is away is left out.
fn checks(found: Found) -> Vec<Check> {
    let Found { database: pulse, orgs, our_time, unreadable_policies, .. } = found;
    // A database that takes no write records nothing, so nothing can be let run.
    let database = match pulse {
        Some(Pulse { takes_writes: true, .. }) => Condition::Ok,
        Some(_) | None => Condition::Down,
    };
    let clock = pulse.map(|Pulse { now, .. }| {
        let skew = our_time.since(now).max(now.since(our_time));
        let is_ahead = matches!(orgs, Sight::Seen(orgs) if orgs.is_ahead);
        degraded_unless(skew <= MOST_SKEW && !is_ahead)
    });
    let reached = match orgs {
        Sight::Unknown => None,
        Sight::Seen(orgs) if orgs.is_reached => Some(degraded_unless(orgs.unreached == 0)),
        Sight::Seen(_) | Sight::Failed => Some(Condition::Down),
    };
    let mail = match found.mail {
        Mail::Off => None,
        mail => Some(degraded_unless(mail == Mail::Leaves)),
    };
    let parts = [
        ("database", Some(database)),
        ("orgs", pulse.and(reached)),
        ("clock", clock),
        ("policies", unreadable_policies.map(|count| degraded_unless(count == 0))),
        ("sealer", Some(degraded_unless(found.sealing == Sealing::Goes))),
        ("logs", Some(degraded_unless(found.broken_logs == 0))),
        ("turns", Some(degraded_unless(found.oldest_turn <= TURN_LATE))),
        ("workers", Some(found.workers)),
        ("connectors", Some(degraded_unless(found.lost_connectors == 0))),
        ("change_logs", Some(found.change_logs)),
        ("mail", mail),
    ];
    let judged = |(name, condition): (_, Option<_>)| Some(Check { name, condition: condition? });
    parts.into_iter().filter_map(judged).collect()
}

fn degraded_unless(well: bool) -> Condition {
    if well { Condition::Ok } else { Condition::Degraded }
}

#[cfg(test)]
mod tests;
