//! The door of the ledger: requests come in here, and each org has one task that takes its turns.

use std::{collections::BTreeSet, fmt, sync::Arc, time::Duration};

use model::OrgId;

use crate::{
    drive::Driver,
    families::Needs,
    figures::{Backlog, Figures},
    means::{Means, Parts},
    notice::Notices,
    queue::{Opens, Queues, queued},
    request::Request,
    seen::Mark,
    snapshot::Snapshot,
    store::{LedgerError, StoreDown},
};

/// The most orgs that a look at unreadable policies asks the store about.
const LOOKED_AT_AGAIN: usize = 16;

/// Takes requests and has them decided in turns.
#[derive(Clone)]
pub struct Ledger {
    shared: Arc<Shared>,
}

/// How long a request waits for its turn. With the time that a commit may take it is less than any
/// caller waits, so that nothing is decided for somebody who was told that it was not.
const QUEUED_FOR: Duration = Duration::from_secs(6);

struct Shared {
    means: Arc<Means>,
    queues: Queues,
}

impl fmt::Debug for Ledger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ledger").finish_non_exhaustive()
    }
}

impl Ledger {
    /// A ledger over these parts; it fails only where what it counts cannot be counted.
    pub fn new(parts: Parts) -> prometheus::Result<Self> {
        let (means, queues) = (Arc::new(Means::new(parts)?), Queues::default());
        Ok(Self { shared: Arc::new(Shared { means, queues }) })
    }

    /// Where committed turns are told.
    pub fn notices(&self) -> &Notices {
        &self.shared.means.notices
    }

    /// The sealer that signs this ledger's deeds.
    pub fn sealer(&self) -> &Arc<deed::Sealer> {
        &self.shared.means.parts.sealer
    }

    /// What this ledger has done.
    pub fn figures(&self) -> &Figures {
        &self.shared.means.figures
    }

    /// Takes no turn of this org any more: a deed on a log that is not the one that was signed for
    /// would tell two stories under one name.
    pub fn withhold(&self, org: OrgId) {
        self.shared.means.marks.withhold(org);
    }

    /// Takes turns of this org again: its log is one that was told of since.
    pub fn release(&self, org: OrgId) {
        self.shared.means.marks.release(org);
    }

    /// The orgs of which no turn is taken.
    pub fn withheld(&self) -> BTreeSet<OrgId> {
        self.shared.means.marks.withheld()
    }

    /// Takes note that somebody signed for so many deeds of this log: a record with fewer of them
    /// is not sealed on.
    pub fn has_seen(&self, org: OrgId, log: deed::LogOrigin, size: u64) {
        self.shared.means.marks.note(org, Mark::of_checkpoint(log, size));
    }

    /// Whether this process has seen more of the log than these deeds.
    pub fn has_seen_more(&self, org: OrgId, log: &deed::LogOrigin, size: u64) -> bool {
        self.shared.means.marks.has_more_of(org, log, size)
    }

    /// What waits for its turn now.
    pub fn backlog(&self) -> Backlog {
        self.shared.queues.backlog(self.shared.means.parts.clock.elapsed())
    }

    /// How many of the orgs that were looked at have an active policy that cannot be
    /// read, looking at those again first.
    pub async fn unreadable_policies(&self) -> Result<usize, StoreDown> {
        for org in self.shared.means.policies.unreadable().into_iter().take(LOOKED_AT_AGAIN) {
            self.shared.means.look(org).await?;
        }
        Ok(self.shared.means.policies.unreadable().len())
    }

    /// Forgets what is remembered of orgs whose last turn is this long ago, and returns how many
    /// there were. Their next turn looks afresh; how far their logs were seen is not forgotten.
    pub fn let_go(&self, idle: Duration) -> usize {
        let now = self.shared.means.parts.clock.elapsed();
        now.checked_sub(idle).map_or(0, |since| self.shared.queues.let_go(since))
    }

    /// What is known of an org now, for reading only.
    pub async fn look(&self, org: OrgId) -> Result<Snapshot, StoreDown> {
        self.shared.means.look(org).await
    }

    /// What is known of an org now, these rows included, for reading only.
    pub async fn look_at(&self, org: OrgId, needs: Needs) -> Result<Snapshot, StoreDown> {
        let mut snapshot = self.shared.means.look(org).await?;
        let found = self.shared.means.parts.store.load(org, &needs).await?;
        snapshot.learn(needs, found);
        Ok(snapshot)
    }

    /// Has a request decided and returns its answer once the turn is durable.
    ///
    /// A caller that stops waiting changes nothing: the request is decided all the same.
    pub async fn enter<R: Request>(
        &self,
        org: OrgId,
        request: R,
    ) -> Result<R::Answer, LedgerError> {
        if self.shared.means.marks.is_withheld(org) {
            return Err(LedgerError::Withheld);
        }
        self.enter_any(org, request, Opens::Nothing).await
    }

    /// Has a request decided that closes the org's log and opens another, even where no turn is
    /// taken: it adds nothing to the log that is not the one that was signed for.
    pub async fn open_log<R: Request>(
        &self,
        org: OrgId,
        request: R,
    ) -> Result<R::Answer, LedgerError> {
        self.enter_any(org, request, Opens::Log).await
    }

    async fn enter_any<R: Request>(
        &self,
        org: OrgId,
        request: R,
        opens: Opens,
    ) -> Result<R::Answer, LedgerError> {
        let now = self.shared.means.parts.clock.elapsed();
        let (waiting, answer) = queued(request, opens, now + QUEUED_FOR);
        if let Some(start) = self.shared.queues.push(org, waiting, now) {
            let shared = Arc::clone(&self.shared);
            let means = Arc::clone(&shared.means);
            self.shared.means.parts.spawn.spawn(Box::pin(async move {
                Driver::drive(means, &shared.queues, org, start).await;
            }));
        }
        // The sender is dropped unanswered only when the driving task died.
        answer.await.unwrap_or(Err(LedgerError::InDoubt))
    }
}
