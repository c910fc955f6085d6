//! What goes on while the service serves: each worker is a loop over one function of the domain.
//!
//! A worker that fails logs it and goes on with its next round; nothing that it does depends on
//! its punctuality.

mod following;
mod webhooks;

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use delivery::Courier;
use futures_util::FutureExt;
use gate::Sweep;
use model::causes;
use people::{Post, store::MailQueue};
use records::{Position, Walked};
use tokio::{sync::watch, task::JoinSet, time::MissedTickBehavior};

use crate::{
    adapters::{OrgTools, ToolSchemas},
    checkpoints::{self, Checkpoints},
    clock::SystemClock,
    core::Core,
    exit::Failure,
    keyring::Keyring,
    outages::{MailSeen, OrgsSeen, Outages, Seen},
    work::Worker,
};

pub use following::Following;

/// A third of a lease, so that two rounds may fail.
const RENEW_EVERY: Duration = Duration::from_secs(5);
const SWEEP_EVERY: Duration = Duration::from_secs(1);
/// How often change logs are asked for what calls were sealed without.
const LOOK_LATE_EVERY: Duration = Duration::from_secs(3);
const CHECKPOINT_EVERY: Duration = Duration::from_secs(1);
/// A tile of 256 deeds a second costs next to nothing and goes through a million deeds in an hour.
const WALK_EVERY: Duration = Duration::from_secs(1);
/// How long the walk rests once it went through every log.
const WALK_AGAIN_AFTER: Duration = Duration::from_mins(1);
const CHECKS_EVERY: Duration = Duration::from_secs(1);
const PRUNE_EVERY: Duration = Duration::from_mins(10);
/// How many rows of people that ended are removed by one statement.
const SWEPT_AT_ONCE: usize = 500;
const NOTE_TOOLS_EVERY: Duration = Duration::from_secs(2);
/// How exactly it is known when a key was last used.
const NOTE_USES_EVERY: Duration = Duration::from_mins(1);
/// How soon an outage is told.
const WATCH_EVERY: Duration = Duration::from_secs(1);
const LET_GO_EVERY: Duration = Duration::from_mins(1);
/// For how long an org is remembered after its last turn, and a connector after its last call.
const REMEMBERED_FOR: Duration = Duration::from_mins(5);
/// What is behind the counts meanwhile, whoever asks counts itself.
const COUNT_EVERY: Duration = Duration::from_secs(5);
/// The orgs of one step of counting, and the most deeds of each.
const COUNTED_AT_ONCE: (usize, usize) = (64, 2_000);
const POST_EVERY: Duration = Duration::from_secs(1);
/// How many mails an instance has under way, so that one that takes its whole time holds up few.
const POSTS_AT_ONCE: usize = 4;
/// How far apart workers begin: those that look at the same moments take a connection each.
const BEGIN_APART: Duration = Duration::from_millis(20);
/// How long a worker that panicked rests.
const BEGIN_AGAIN_AFTER: Duration = Duration::from_secs(1);
/// Several times within the time that a retirement is told ahead.
const KEYS_EVERY: Duration = Duration::from_secs(3);

/// The workers at work.
#[derive(Debug)]
pub struct Workers {
    core: Core,
    stop: watch::Sender<()>,
    tasks: JoinSet<()>,
}

impl Workers {
    /// Starts every worker.
    pub fn start(
        core: &Core,
        checkpoints: &Checkpoints,
        keyring: &Keyring,
        (tools, mails, post): (Arc<OrgTools>, Arc<dyn MailQueue>, Option<Arc<Post>>),
        (courier, logs, outages): (&Arc<Courier>, &Following, &Arc<Outages>),
    ) -> Self {
        let (stop, stopped) = watch::channel(());
        let mut tasks = JoinSet::new();
        let own = || (core.clone(), stopped.clone());
        keep(&mut tasks, own(), renewal);
        keep(&mut tasks, own(), |core, stop| {
            sweep((Sweep::Reports, Worker::Reports, SWEEP_EVERY), core, stop)
        });
        keep(&mut tasks, own(), |core, stop| {
            sweep((Sweep::Approvals, Worker::Approvals, SWEEP_EVERY), core, stop)
        });
        keep(&mut tasks, own(), |core, stop| {
            sweep((Sweep::Evidence, Worker::Evidence, LOOK_LATE_EVERY), core, stop)
        });
        keep(&mut tasks, own(), takeovers);
        keep(&mut tasks, own(), move |core, stop| pruning((core, Arc::clone(&mails)), stop));
        keep(&mut tasks, own(), letting_go);
        let outages = Arc::clone(outages);
        let of_mail = Arc::clone(&outages);
        let of_orgs = Arc::clone(&outages);
        keep(&mut tasks, own(), move |_, stop| watching(Arc::clone(&outages), stop));
        keep(&mut tasks, own(), move |_, stop| watching_orgs(Arc::clone(&of_orgs), stop));
        keep(&mut tasks, own(), move |_, stop| watching_mail(Arc::clone(&of_mail), stop));
        keep(&mut tasks, own(), noting_uses);
        keep(&mut tasks, own(), move |core, stop| noting_tools(core, Arc::clone(&tools), stop));
        let keyring = keyring.clone();
        keep(&mut tasks, own(), move |core, stop| taking_up_keys(core, keyring.clone(), stop));
        let checkpoints = checkpoints.clone();
        keep(&mut tasks, own(), move |core, stop| checkpointing(core, checkpoints.clone(), stop));
        keep(&mut tasks, own(), walking);
        keep(&mut tasks, own(), checking);
        keep(&mut tasks, own(), counting);
        let of_posting = Arc::clone(courier);
        keep(&mut tasks, own(), move |core, stop| {
            webhooks::posting(core, Arc::clone(&of_posting), stop)
        });
        let of_sweeping = Arc::clone(courier);
        keep(&mut tasks, own(), move |_, stop| webhooks::sweeping(Arc::clone(&of_sweeping), stop));
        let kept = (Arc::clone(&logs.logs.store), logs.settings.retention);
        keep(&mut tasks, own(), move |_, stop| following::forgetting(kept.clone(), stop));
        if logs.settings.enabled && !logs.settings.paused {
            let logs = logs.clone();
            keep(&mut tasks, own(), move |core, stop| {
                following::following(core, logs.clone(), stop)
            });
        }
        if let Some(post) = post {
            keep(&mut tasks, own(), move |core, stop| posting(core, Arc::clone(&post), stop));
        }
        Self { core: core.clone(), stop, tasks }
    }

    /// Lets every worker come to its end, and hands back what this instance did not get done.
    pub async fn stop(mut self) {
        drop(self.stop);
        while self.tasks.join_next().await.is_some() {}
        match self.core.gate.hand_back_leases().await {
            Ok(0) => {}
            Ok(leases) => {
                tracing::info!(leases, "leases were handed back for other instances to complete");
            }
            Err(error) => {
                tracing::warn!(error = causes(&error), "leases could not be handed back");
            }
        }
    }
}

/// Keeps a worker at work: one that panics begins again, as its next round may fare better.
fn keep<W: Future<Output = ()> + Send + 'static>(
    tasks: &mut JoinSet<()>,
    (core, stopped): (Core, watch::Receiver<()>),
    begin: impl Fn(Core, watch::Receiver<()>) -> W + Send + 'static,
) {
    let (behind, mut stops) =
        (BEGIN_APART * u32::try_from(tasks.len()).unwrap_or(0), stopped.clone());
    tasks.spawn(async move {
        // What is done once more when the service stops is done however soon that is.
        let _ = tokio::time::timeout(behind, stops.changed()).await;
        loop {
            let work = AssertUnwindSafe(begin(core.clone(), stopped.clone())).catch_unwind();
            if work.await.is_ok() {
                return;
            }
            tracing::error!("a worker panicked and is restarted");
            tokio::time::sleep(BEGIN_AGAIN_AFTER).await;
        }
    });
}

/// Beats at an interval until the workers are stopped.
struct Pulse {
    interval: tokio::time::Interval,
    stopped: watch::Receiver<()>,
}

impl Pulse {
    fn new(every: Duration, stopped: watch::Receiver<()>) -> Self {
        let mut interval = tokio::time::interval(every);
        // A round that took long is not followed by a burst of short ones.
        interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self { interval, stopped }
    }

    /// Waits for the next round; nothing when there is none to come.
    async fn next(&mut self) -> Option<()> {
        tokio::select! {
            _ = self.stopped.changed() => None,
            _ = self.interval.tick() => Some(()),
        }
    }

    /// What the round came to; nothing when it was cut short. Only for rounds that may be
    /// left at any point.
    async fn round<T>(&mut self, work: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            _ = self.stopped.changed() => None,
            done = work => Some(done),
        }
    }
}

/// Keeps the leases of what this instance carries out.
async fn renewal(core: Core, stopped: watch::Receiver<()>) {
    let mut pulse = Pulse::new(RENEW_EVERY, stopped);
    while pulse.next().await.is_some() {
        let round = core.gate.renew_leases().await;
        match core.work.of(Worker::Renewal).count(&SystemClock, round) {
            Ok(lost) => core.work.lost_leases(lost),
            Err(error) => tracing::warn!(error = causes(&error), "leases could not be renewed"),
        }
    }
}

/// Ends what is due for one sweep and nobody else ends.
async fn sweep(
    (sweep, worker, every): (Sweep, Worker, Duration),
    core: Core,
    stopped: watch::Receiver<()>,
) {
    let mut pulse = Pulse::new(every, stopped);
    while pulse.next().await.is_some() {
        if pulse.round(swept((sweep, worker), core.clone())).await.is_none() {
            return;
        }
    }
}

/// Ends runs of lost instances. A round that waits for a governed system holds up no other round:
/// a system that is being asked is asked by one of them.
async fn takeovers(core: Core, stopped: watch::Receiver<()>) {
    let (mut pulse, mut rounds) = (Pulse::new(SWEEP_EVERY, stopped), JoinSet::new());
    while pulse.next().await.is_some() {
        while rounds.try_join_next().is_some() {}
        rounds.spawn(swept((Sweep::Takeovers, Worker::Takeovers), core.clone()));
    }
}

/// One round of a sweep.
async fn swept((sweep, worker): (Sweep, Worker), core: Core) {
    let round = core.gate.sweep(sweep).await;
    core.work.looked_at(sweep, round.as_ref().map_or(0, |due| *due));
    match core.work.of(worker).count(&SystemClock, round) {
        Ok(0) => {}
        Ok(ended) => tracing::debug!(ended, "due actions were processed"),
        Err(error) => tracing::warn!(error = causes(&error), "a due action could not be ended"),
    }
}

/// Forgets what is remembered of orgs that are quiet.
async fn letting_go(core: Core, stopped: watch::Receiver<()>) {
    let mut pulse = Pulse::new(LET_GO_EVERY, stopped);
    while pulse.next().await.is_some() {
        let orgs = core.ledger.let_go(REMEMBERED_FOR);
        let connectors = core.gate.let_go_of_tools(REMEMBERED_FOR);
        if orgs + connectors > 0 {
            tracing::debug!(
                orgs,
                connectors,
                "the caches of idle orgs and connectors were released"
            );
        }
    }
}

/// Looks whether the control database and the connectors in use are there.
async fn watching(outages: Arc<Outages>, stopped: watch::Receiver<()>) {
    let (mut pulse, mut seen) = (Pulse::new(WATCH_EVERY, stopped), Seen::default());
    while pulse.next().await.is_some() {
        if pulse.round(outages.look(&mut seen)).await.is_none() {
            return;
        }
    }
}

/// Looks whether all orgs can be reached.
async fn watching_orgs(outages: Arc<Outages>, stopped: watch::Receiver<()>) {
    let (mut pulse, mut seen) = (Pulse::new(WATCH_EVERY, stopped), OrgsSeen::default());
    while pulse.next().await.is_some() {
        if pulse.round(outages.look_at_orgs(&mut seen)).await.is_none() {
            return;
        }
    }
}

/// Looks whether mails leave. A server of mail may take its time, and holds up no other look.
async fn watching_mail(outages: Arc<Outages>, stopped: watch::Receiver<()>) {
    let (mut pulse, mut seen) = (Pulse::new(WATCH_EVERY, stopped), MailSeen::default());
    while pulse.next().await.is_some() {
        if pulse.round(outages.look_at_mail(&mut seen)).await.is_none() {
            return;
        }
    }
}

/// Writes when keys were last used; once more when the service stops.
async fn noting_uses(core: Core, stopped: watch::Receiver<()>) {
    let mut pulse = Pulse::new(NOTE_USES_EVERY, stopped);
    loop {
        let next = pulse.next().await;
        if let Err(error) = core.admin.note_key_uses().await {
            tracing::warn!(
                error = causes(&error),
                "the last-used times of keys could not be written"
            );
        }
        if next.is_none() {
            return;
        }
    }
}

/// Stores the tool schemas of connectors that an older version created.
async fn noting_tools(core: Core, tools: Arc<OrgTools>, stopped: watch::Receiver<()>) {
    let mut pulse = Pulse::new(NOTE_TOOLS_EVERY, stopped);
    while pulse.next().await.is_some() {
        for ToolSchemas { org, connector, tools } in tools.take_schemas() {
            if let Err(error) = core.operator(org).learn_tools(connector, tools).await {
                // Its next call brings it up again.
                tracing::warn!(
                    connector = %connector.0, %error,
                    "the tools of a connector could not be recorded"
                );
            }
        }
    }
}

/// Takes up seal keys that are new, and lets go of those that count no more.
async fn taking_up_keys(core: Core, mut keyring: Keyring, stopped: watch::Receiver<()>) {
    let mut pulse = Pulse::new(KEYS_EVERY, stopped);
    while pulse.next().await.is_some() {
        let round = keyring.renew(&core).await;
        match core.work.of(Worker::Keys).count(&SystemClock, round) {
            Ok(false) => {}
            Ok(true) => tracing::info!("the seal keys changed"),
            Err(error) => tracing::warn!(%error, "the seal keys could not be checked"),
        }
    }
}

/// Removes what has been kept long enough, and looks after what was counted.
async fn pruning((core, mails): (Core, Arc<dyn MailQueue>), stopped: watch::Receiver<()>) {
    let mut pulse = Pulse::new(PRUNE_EVERY, stopped);
    while pulse.next().await.is_some() {
        let Some(round) = pulse.round(core.deployment().prune()).await else { return };
        let Some(rebuilt) = pulse.round(rebuild(&core)).await else { return };
        let Some(swept) = pulse.round(sweep_out(&*mails)).await else { return };
        let round = rebuilt.and(swept).and(round);
        match core.work.of(Worker::Pruning).count(&SystemClock, round) {
            Ok(0) => {}
            Ok(actions) => tracing::info!(actions, "payloads were removed"),
            Err(error) => tracing::warn!(error = causes(&error), "pruning stopped early"),
        }
    }
}

/// Removes challenges, sessions and counts of sign-ins that ended long ago.
async fn sweep_out(mails: &dyn MailQueue) -> Result<(), ledger::StoreDown> {
    while mails.sweep_out(SWEPT_AT_ONCE).await? >= SWEPT_AT_ONCE {}
    Ok(())
}

/// Compares the budget counters of every org with what they count.
async fn rebuild(core: &Core) -> Result<(), ledger::StoreDown> {
    for org in core.stores.accounts.orgs().await?.found {
        if let Err(error) = core.gate.rebuild_budgets(org.id).await {
            tracing::warn!(
                org = %org.id, error = causes(&error),
                "the budget counters could not be compared"
            );
        }
    }
    Ok(())
}

/// Signs the heads of logs that have grown; once more when the service stops.
async fn checkpointing(core: Core, checkpoints: Checkpoints, stopped: watch::Receiver<()>) {
    let mut seen = checkpoints::Seen::default();
    let mut pulse = Pulse::new(CHECKPOINT_EVERY, stopped);
    loop {
        let next = pulse.next().await;
        let round = checkpoints.sign(&core, &mut seen).await;
        if let Err(error) = core.work.of(Worker::Checkpoints).count(&SystemClock, round) {
            tracing::warn!(%error, "checkpoints could not be signed");
        }
        if next.is_none() {
            return;
        }
    }
}

/// Walks through every log all the time and looks whether it is as it was sealed.
async fn walking(core: Core, stopped: watch::Receiver<()>) {
    let (mut at, mut rested) = (Position::default(), Duration::ZERO);
    let mut pulse = Pulse::new(WALK_EVERY, stopped);
    while pulse.next().await.is_some() {
        rested = rested.saturating_sub(WALK_EVERY);
        let round = async {
            if !rested.is_zero() {
                return Ok(Walked::On);
            }
            let keys = core.admin.key_set().await.map_err(Failure::internal)?;
            core.records.walk_on(&mut at, &keys).await.map_err(Failure::internal)
        };
        let Some(round) = pulse.round(round).await else { return };
        match core.work.of(Worker::Walk).count(&SystemClock, round) {
            Ok(Walked::On) => {}
            Ok(walked @ (Walked::Through | Walked::Partly)) => {
                rested = WALK_AGAIN_AFTER;
                if walked == Walked::Through {
                    core.work.walked.set();
                }
            }
            Err(error) => tracing::warn!(%error, "the logs could not be checked"),
        }
    }
}

/// Does the checks of logs that somebody asked for.
async fn checking(core: Core, stopped: watch::Receiver<()>) {
    let mut pulse = Pulse::new(CHECKS_EVERY, stopped);
    while pulse.next().await.is_some() {
        let round = async {
            let keys = core.admin.key_set().await.map_err(Failure::internal)?;
            core.records.do_check(&keys).await.map_err(Failure::internal)
        };
        // A check that is cut short is taken over by whoever looks next.
        match pulse.round(round).await {
            None => return,
            Some(Ok(None)) => {}
            Some(Ok(Some(check))) => {
                tracing::info!(check = %check.id, status = check.status.as_str(), "a log was checked");
            }
            Some(Err(error)) => tracing::warn!(%error, "a log could not be checked"),
        }
    }
}

/// Counts what was sealed since it was last counted, of every org.
async fn counting(core: Core, stopped: watch::Receiver<()>) {
    let mut pulse = Pulse::new(COUNT_EVERY, stopped);
    while pulse.next().await.is_some() {
        // A record that was not counted before takes many passes, each of which is a round.
        loop {
            let (orgs, deeds) = COUNTED_AT_ONCE;
            let pass = core.gate.count_up(orgs, deeds);
            let Some(pass) = pulse.round(pass).await else { return };
            match core.work.of(Worker::Counts).count(&SystemClock, pass) {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => {
                    tracing::warn!(error = causes(&error), "actions could not be counted");
                    break;
                }
            }
        }
    }
}

/// Sends the mails that wait. One that is on its way is brought to its end, since another instance
/// would send it, too.
async fn posting(core: Core, post: Arc<Post>, stopped: watch::Receiver<()>) {
    let (mut pulse, mut rounds) = (Pulse::new(POST_EVERY, stopped.clone()), JoinSet::new());
    while pulse.next().await.is_some() {
        while rounds.try_join_next().is_some() {}
        if rounds.len() < POSTS_AT_ONCE {
            rounds.spawn(posted(core.clone(), Arc::clone(&post), stopped.clone()));
        }
    }
    while rounds.join_next().await.is_some() {}
}

/// Sends one mail after the other, until none is due.
async fn posted(core: Core, post: Arc<Post>, stopped: watch::Receiver<()>) {
    loop {
        let round = post.send_next().await;
        match core.work.of(Worker::Mails).count(&SystemClock, round) {
            Ok(true) if stopped.has_changed().is_ok() => {}
            Ok(_) => return,
            Err(error) => {
                tracing::warn!(error = causes(&error), "the pending mails could not be read");
                return;
            }
        }
    }
}
