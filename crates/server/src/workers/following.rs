//! Follows the change logs of the connectors that are to be witnessed, each in a task of its own.
//!
//! Every instance has such a task for every log, and the lease says which of them reads; it is renewed as
//! long as a turn lasts, and the rest behind it. A task looks at its connector's row now and then: another
//! revision is read with other words, and a log that is not wanted any more is given up, with its slot.

mod forgetting;
mod renewal;
mod telling;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use connectors::{
    Deps,
    postgres::{ChangeReader, marker_keys},
};
use evidence::{
    ChangeSource as _, FollowError, Follower, Misfits, Of, PaceLimits, Parts, Reconciler, Tally,
    Turn, owed,
};
use ledger::record::Connector;
use model::{Clock as _, LogGap, causes};
use tokio::{
    sync::watch,
    task::JoinHandle,
    time::{Instant, sleep, sleep_until},
};

use super::Pulse;
use crate::{
    adapters::blueprint,
    change_logs::{ChangeLogs, Place, Standing},
    clock::SystemClock,
    core::Core,
    settings::Decoder,
    work::Worker,
};
pub(super) use forgetting::forgetting;
use renewal::Renewal;
use telling::Teller;

/// How soon a connector that was enabled is followed, and a change of one is seen.
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// How long a log rests that could not be read.
const REST: Duration = Duration::from_secs(1);
/// How long one rests that nobody can read as it stands.
const LONG_REST: Duration = Duration::from_secs(5);

/// What logs are followed with.
#[derive(Clone)]
pub struct Following {
    /// The logs.
    pub logs: Arc<ChangeLogs>,
    /// What readers are built with.
    pub deps: Deps,
    /// What an operator set.
    pub settings: Decoder,
    /// The name of this instance.
    pub instance: String,
}

impl std::fmt::Debug for Following {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Following").field("instance", &self.instance).finish_non_exhaustive()
    }
}

/// Keeps a task for every log that is to be followed.
pub(super) async fn following(core: Core, with: Following, stopped: watch::Receiver<()>) {
    let mut pulse = Pulse::new(LOOK_EVERY, stopped.clone());
    let mut tasks: BTreeMap<Of, JoinHandle<()>> = BTreeMap::new();
    while pulse.next().await.is_some() {
        tasks.retain(|_, task| !task.is_finished());
        let round = with.logs.store.followed_logs().await;
        match core.work.of(Worker::Logs).count(&SystemClock, round) {
            Ok(logs) => {
                for of in logs {
                    tasks.entry(of).or_insert_with(|| {
                        let task = Task::new(core.clone(), with.clone(), of);
                        tokio::spawn(task.run(stopped.clone()))
                    });
                }
            }
            Err(error) => {
                tracing::warn!(
                    error = causes(&error),
                    "the list of change logs to follow could not be read"
                );
            }
        }
    }
    for (_, task) in tasks {
        // A task that panicked has nothing left to end.
        let _ = task.await;
    }
}

/// Follows one log.
struct Task {
    core: Core,
    with: Following,
    of: Of,
    place: Arc<Place>,
    teller: Teller,
    reconciler: Reconciler,
    looked_at: Instant,
    beaten_at: Option<Instant>,
    reconciled_at: Option<Instant>,
    /// Nothing is compared before then.
    compares_at: Instant,
}

/// What the connector's row says.
enum Wish {
    /// Its log is to be read.
    Read(Box<Connector>),
    /// It is not, or not any more.
    GiveUp(Box<Connector>),
    /// There is no such connector.
    Nothing,
}

/// How a follower's turns came to their end.
enum End {
    Stopped,
    /// The connector's row is to be looked at.
    Look,
}

impl Task {
    fn new(core: Core, with: Following, of: Of) -> Self {
        let place = with.logs.place(of);
        let (teller, reconciler) = (Teller::new(core.clone(), of), Reconciler::new(of));
        let looked_at = Instant::now();
        let (beaten_at, reconciled_at) = Default::default();
        let compares_at = looked_at;
        Self {
            core,
            with,
            of,
            place,
            teller,
            reconciler,
            looked_at,
            beaten_at,
            reconciled_at,
            compares_at,
        }
    }

    async fn run(mut self, mut stopped: watch::Receiver<()>) {
        let mut reader: Option<(u32, Arc<ChangeReader>, Follower)> = None;
        loop {
            let wish = self.wish().await;
            let gives_up = matches!(wish, Some(Wish::GiveUp(_)));
            let connector = match wish {
                Some(Wish::Read(connector) | Wish::GiveUp(connector)) => connector,
                None if rests(REST, &mut stopped).await => continue,
                Some(Wish::Nothing) | None => break,
            };
            if reader.as_ref().is_none_or(|(revision, ..)| *revision != connector.revision) {
                reader = self
                    .reader(&connector)
                    .map(|(source, follower)| (connector.revision, source, follower));
            }
            let Some((_, source, follower)) = &mut reader else {
                if !gives_up {
                    // It stays unread, however long that lasts.
                    self.with.logs.note_unread(self.of);
                    self.tell_standing().await;
                }
                if rests(LONG_REST, &mut stopped).await {
                    continue;
                }
                break;
            };
            if gives_up {
                if self.gave_up(follower).await || !rests(REST, &mut stopped).await {
                    break;
                }
                continue;
            }
            self.looked_at = Instant::now();
            match self.turns((source, follower), &mut stopped).await {
                End::Look => {}
                End::Stopped => break,
            }
        }
        if let Some((_, _, follower)) = &mut reader
            && let Err(error) = follower.let_go().await
        {
            tracing::warn!(error = causes(&error), "a change log could not be handed back");
        }
        self.with.logs.left(self.of);
    }

    /// What the connector's row says; nothing where nobody can tell.
    async fn wish(&self) -> Option<Wish> {
        let Of { org, connector } = self.of;
        match self.core.stores.accounts.connector(org, connector).await {
            Ok(None) => Some(Wish::Nothing),
            Ok(Some(row)) if row.witness.is_some() && row.archived_at.is_none() => {
                Some(Wish::Read(Box::new(row)))
            }
            Ok(Some(row)) => Some(Wish::GiveUp(Box::new(row))),
            Err(error) => {
                tracing::warn!(%connector, error = causes(&error), "a connector could not be read");
                None
            }
        }
    }

    fn reader(&self, row: &Connector) -> Option<(Arc<ChangeReader>, Follower)> {
        let Following { logs, deps, settings, instance } = &self.with;
        let built = ChangeReader::new(&blueprint(&deps.vault, row), deps, settings.max_images);
        let source = match built {
            Ok(source) => Arc::new(source),
            Err(error) => {
                tracing::warn!(connector = %row.id, %error, "a change log cannot be read");
                return None;
            }
        };
        let parts = Parts {
            source: Arc::clone(&source) as _,
            store: Arc::clone(&logs.store),
            images: logs.images.clone(),
            clock: Arc::new(SystemClock),
            holder: instance.clone(),
            lease_ms: i64::try_from(settings.lease.as_millis()).unwrap_or(i64::MAX),
            pace: PaceLimits {
                active_ms: millis(settings.poll_active),
                idle_ms: millis(settings.poll_idle),
                batch: settings.batch_changes,
            },
        };
        let anew_behind = row.witness.as_ref().and_then(|wish| wish.anew_behind);
        let follower = Follower::new(parts, self.of, marker_keys(deps, row.id));
        Some((source, follower.anew_behind(anew_behind)))
    }

    /// Whether the log is given up, by this instance or another.
    async fn gave_up(&self, follower: &mut Follower) -> bool {
        match follower.give_up().await {
            Ok(Turn::Broken { cause: LogGap::DecoderOff }) => {
                tracing::info!(connector = %self.of.connector, "a change log is no longer read");
                self.place.kept();
                true
            }
            Ok(_) => false,
            Err(error) => {
                self.warn(&error, "a slot could not be removed");
                false
            }
        }
    }

    /// Turns until the row is to be looked at again, or the service stops.
    async fn turns(
        &mut self,
        (source, follower): (&ChangeReader, &mut Follower),
        stopped: &mut watch::Receiver<()>,
    ) -> End {
        let lease = Renewal::new(&self.with, self.of);
        loop {
            let began = Instant::now();
            let turn = lease.kept_for(follower.turn(self.place.is_awaited())).await;
            // Where another instance reads by now, nothing of the turn would be kept.
            let lost = || Ok(Turn::Elsewhere { until: SystemClock.now() });
            let rest = match turn.unwrap_or_else(lost) {
                Ok(turn) => self.turned(turn).await,
                Err(error) => self.failed(&error, began.elapsed()),
            };
            if rest.follows {
                self.beat(source).await;
                self.reconcile(source, follower).await;
            }
            self.tell_standing().await;
            let goes_on = lease.kept_for(rest.is_over(&self.place, stopped)).await;
            if goes_on == Some(false) {
                return End::Stopped;
            }
            if self.looked_at.elapsed() >= LOOK_EVERY {
                return End::Look;
            }
        }
    }

    async fn tell_standing(&mut self) {
        if let Some((standing, cause)) = self.with.logs.standing(self.of) {
            self.teller.tell(standing, cause).await;
        }
    }

    /// Notes a turn that came to nothing, and tells how long to rest: the database is not asked for more of
    /// its time because it has none to spare.
    fn failed(&self, error: &FollowError, took: Duration) -> Rest {
        self.warn(error, "a change log could not be read");
        let FollowError::Source(_) = error else { return Rest::whole(REST) };
        self.with.logs.note_unread(self.of);
        Rest::whole(behind_a_failure(took))
    }

    /// Notes what a turn came to, and tells how long to rest.
    async fn turned(&mut self, turn: Turn) -> Rest {
        let (logs, of, connector) = (Arc::clone(&self.with.logs), self.of, self.of.connector);
        match turn {
            Turn::Read { tally, wait_ms, owed_ms, held_bytes, unconfirmed } => {
                logs.note_read(of, &tally, held_bytes);
                if let Some(error) = unconfirmed {
                    self.warn(&error.into(), "a slot could not be advanced");
                }
                if tally != Tally::default() {
                    self.place.kept();
                }
                tell(of, &tally);
                self.teller.note(&tally);
                let (whole, owed) =
                    (Duration::from_millis(wait_ms), Duration::from_millis(owed_ms));
                Rest { whole, owed, follows: true }
            }
            Turn::Began { cause } => {
                tracing::info!(%connector, ?cause, "reading of a change log begins here");
                logs.note_began(of);
                self.place.kept();
                // What was not read on purpose is no news.
                if cause.is_some_and(|cause| cause != LogGap::DecoderOff) {
                    self.teller.tell(Standing::Invalidated, cause).await;
                }
                Rest::whole(Duration::ZERO)
            }
            Turn::Broken { cause } => {
                if logs.note_broken(of, cause) {
                    let cause = cause.as_str();
                    tracing::warn!(%connector, cause, "a change log cannot be read further");
                    self.place.kept();
                }
                Rest::whole(LONG_REST)
            }
            Turn::Elsewhere { until } => {
                logs.left(of);
                self.teller.leave();
                let left = until.since(SystemClock.now());
                Rest::whole(left.clamp(Duration::from_millis(250), REST))
            }
        }
    }

    /// Beats, if it is time to.
    async fn beat(&mut self, source: &ChangeReader) {
        let every = self.with.settings.heartbeat_interval;
        if self.beaten_at.is_some_and(|at| at.elapsed() < every) {
            return;
        }
        self.beaten_at = Some(Instant::now());
        if let Err(error) = source.beat().await {
            self.warn(&error.into(), "a heartbeat could not be written");
        }
    }

    /// Compares the ledger with its log, if it is time to.
    async fn reconcile(&mut self, source: &ChangeReader, follower: &Follower) {
        let every = self.with.settings.reconcile_interval;
        if Instant::now() < self.compares_at {
            return;
        }
        if self.reconciled_at.is_none_or(|at| at.elapsed() >= every) {
            self.reconciled_at = Some(Instant::now());
            if let Err(error) = self.reconciler.look(source).await {
                return self.warn(&error.into(), "a ledger could not be compared with its log");
            }
        }
        let Some(following) = follower.following() else { return };
        let asked = (source as _, &*self.with.logs.store);
        match self.reconciler.judge(asked, following).await {
            Ok(Some(misfits)) if misfits != Misfits::default() => {
                let Misfits { without_frame, without_row } = misfits;
                let Of { org, connector } = self.of;
                tracing::warn!(%org, %connector, without_frame, without_row,
                    "the ledger of a governed database does not match its change log");
                self.with.logs.note_misfits(misfits);
                self.teller.note_misfits(misfits);
            }
            Ok(_) => {}
            Err(error) => {
                self.compares_at = Instant::now() + LONG_REST;
                self.warn(&error, "a ledger could not be compared with its log");
            }
        }
    }

    fn warn(&self, error: &FollowError, what: &'static str) {
        tracing::warn!(connector = %self.of.connector, error = causes(error), "{what}");
    }
}

/// How long a follower rests after a turn.
struct Rest {
    whole: Duration,
    /// How much of that the database is owed, whoever waits.
    owed: Duration,
    /// Whether the log is this instance's to read.
    follows: bool,
}

impl Rest {
    fn whole(whole: Duration) -> Self {
        Self { whole, owed: whole, follows: false }
    }

    /// Rests until it is over or somebody begins to wait; whether the service goes on.
    async fn is_over(&self, place: &Place, stopped: &mut watch::Receiver<()>) -> bool {
        let began = Instant::now();
        tokio::select! {
            _ = stopped.changed() => return false,
            () = sleep(self.whole) => return true,
            () = place.asked() => {}
        }
        tokio::select! {
            _ = stopped.changed() => false,
            () = sleep_until(began + self.owed) => true,
        }
    }
}

/// How long a database rests that was asked for so long in vain.
fn behind_a_failure(took: Duration) -> Duration {
    REST.max(Duration::from_millis(owed(millis(took))))
}

/// Rests for so long; whether the service goes on.
async fn rests(span: Duration, stopped: &mut watch::Receiver<()>) -> bool {
    tokio::select! {
        _ = stopped.changed() => false,
        () = sleep(span) => true,
    }
}

/// Tells an operator what nobody should do.
fn tell(Of { org, connector }: Of, tally: &Tally) {
    if tally.unattributed > 0 {
        let count = tally.unattributed;
        tracing::info!(
            %org, %connector, count,
            "a governed database was written to outside the service"
        );
    }
    if tally.forged > 0 {
        let count = tally.forged;
        tracing::warn!(%org, %connector, count, "a transaction imitates one of the service");
    }
    if tally.tampered > 0 {
        let count = tally.tampered;
        tracing::warn!(
            %org, %connector, count,
            "the ledger of a governed database was changed by somebody else"
        );
    }
}

fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_that_was_asked_in_vain_rests_three_times_as_long_as_that_took() {
        let second = Duration::from_secs(1);
        assert_eq!(behind_a_failure(Duration::ZERO), REST);
        for seconds in [1, 10, 300] {
            assert_eq!(behind_a_failure(second * seconds), second * seconds * 3);
        }
    }
}
