//! The change logs of governed databases: who follows them, and who waits for what they tell.
//!
//! A follower keeps what it reads in the store, and everybody asks the store. What is here is only how
//! those of one process find each other: a call that waits has its log read at once, and is woken as soon
//! as something more was kept. A log that another instance follows is asked for in short intervals.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};

use async_trait::async_trait;
use evidence::{Evidence, EvidenceStore, Following, Images, Misfits, Of, Tally, told};
use gate::{ChangeLog, Sought};
use ledger::StoreDown;
use model::{LogAnswer, LogGap};
use tokio::{
    sync::{Notify, watch},
    time::{Instant, timeout_at},
};

use crate::work::Moment;

/// The change logs as this process knows them.
pub struct ChangeLogs {
    pub(crate) store: Arc<dyn EvidenceStore>,
    pub(crate) images: Images,
    ask_again: Duration,
    alarm: Alarm,
    places: Mutex<BTreeMap<Of, Arc<Place>>>,
    followed: Mutex<BTreeMap<Of, Followed>>,
    tally: Mutex<Tally>,
    misfits: Mutex<Misfits>,
}

/// When a log that is followed does not count as well.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Alarm {
    /// How long no beat may be read.
    pub(crate) without_beat: Duration,
    /// How many bytes of its log a slot may keep a database from removing.
    pub(crate) held_bytes: u64,
}

/// How a log stands that is followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// It is read as it should be.
    Streaming,
    /// Its slot keeps more log from being removed than it may.
    Lagging,
    /// Nothing of it was read for too long.
    Stalled,
    /// It cannot be read on.
    Invalidated,
}

impl Standing {
    pub(crate) const ALL: [Self; 4] =
        [Self::Streaming, Self::Lagging, Self::Stalled, Self::Invalidated];

    /// The word under which it is shown.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Streaming => "streaming",
            Self::Lagging => "lagging",
            Self::Stalled => "stalled",
            Self::Invalidated => "invalidated",
        }
    }
}

impl fmt::Debug for ChangeLogs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChangeLogs").field("images", &self.images).finish_non_exhaustive()
    }
}

/// Where those who wait for a log and who follows it meet.
#[derive(Debug)]
pub(crate) struct Place {
    waiting: AtomicUsize,
    asked: Notify,
    kept: watch::Sender<()>,
}

/// A log that this process follows.
#[derive(Debug, Default)]
struct Followed {
    /// When a beat was last read.
    beat: Moment,
    /// How much log the slot keeps the database from removing, in bytes.
    held_bytes: u64,
    /// Whether that is too much.
    lags: bool,
    /// Why somebody has to act before it can be read on.
    broken: Option<LogGap>,
}

impl Followed {
    fn standing(&self, alarm: &Alarm) -> Standing {
        if self.broken.is_some() {
            Standing::Invalidated
        } else if self.beat.age() > alarm.without_beat {
            Standing::Stalled
        } else if self.lags {
            Standing::Lagging
        } else {
            Standing::Streaming
        }
    }
}

/// The logs that this process follows, counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Figures {
    /// All of them.
    pub(crate) followed: u64,
    /// Those that cannot be read on before somebody acts.
    pub(crate) broken: u64,
    /// Those of which no beat was read for too long.
    pub(crate) stalled: u64,
    /// Those whose slots keep more log than they may.
    pub(crate) lagging: u64,
    /// The most log that a slot keeps its database from removing, in bytes.
    pub(crate) held_bytes: u64,
    /// What was read so far.
    pub(crate) tally: Tally,
    /// What did not fit between ledgers and logs so far.
    pub(crate) misfits: Misfits,
}

impl Place {
    fn new() -> Self {
        Self { waiting: AtomicUsize::new(0), asked: Notify::new(), kept: watch::Sender::new(()) }
    }

    /// Whether somebody waits for a transaction.
    pub(crate) fn is_awaited(&self) -> bool {
        self.waiting.load(Relaxed) > 0
    }

    /// Wakes those who wait: something more was kept.
    pub(crate) fn kept(&self) {
        self.kept.send_replace(());
    }

    /// Comes back as soon as somebody begins to wait.
    pub(crate) async fn asked(&self) {
        self.asked.notified().await;
    }
}

/// Somebody who waits, until this is dropped.
struct Waiting<'p>(&'p Place);

impl<'p> Waiting<'p> {
    fn new(place: &'p Place) -> Self {
        place.waiting.fetch_add(1, Relaxed);
        place.asked.notify_one();
        Self(place)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Relaxed);
    }
}

impl ChangeLogs {
    /// The logs that are kept in this store; one that another instance follows is asked for this often.
    pub(crate) fn new(
        (store, images): (Arc<dyn EvidenceStore>, Images),
        ask_again: Duration,
        alarm: Alarm,
    ) -> Self {
        let (places, followed, tally, misfits) = Default::default();
        Self { store, images, ask_again, alarm, places, followed, tally, misfits }
    }

    /// Notes what a read brought.
    pub(crate) fn note_read(&self, of: Of, read: &Tally, held_bytes: u64) {
        let mut all = lock(&self.followed);
        let followed = all.entry(of).or_default();
        (followed.held_bytes, followed.broken) = (held_bytes, None);
        // What lags is well again once it is clearly below the bound, so that nobody is told to and fro.
        let most = self.alarm.held_bytes;
        followed.lags = held_bytes > if followed.lags { most / 4 * 3 } else { most };
        if read.beats > 0 {
            followed.beat.set();
        }
        let mut tally = lock(&self.tally);
        tally.changes += read.changes;
        tally.attributed += read.attributed;
        tally.unattributed += read.unattributed;
        tally.forged += read.forged;
        tally.tampered += read.tampered;
        tally.beats += read.beats;
    }

    /// Notes why somebody has to act before the log can be read on, and tells whether that is news.
    pub(crate) fn note_broken(&self, of: Of, cause: LogGap) -> bool {
        let mut all = lock(&self.followed);
        let followed = all.entry(of).or_default();
        followed.broken.replace(cause) != Some(cause)
    }

    /// Notes that the log is read from here on.
    pub(crate) fn note_began(&self, of: Of) {
        lock(&self.followed).insert(of, Followed::default());
    }

    /// Notes that the log is this process's to follow and could not be read.
    pub(crate) fn note_unread(&self, of: Of) {
        lock(&self.followed).entry(of).or_default();
    }

    /// Notes what did not fit between a ledger and its log.
    pub(crate) fn note_misfits(&self, found: Misfits) {
        let mut misfits = lock(&self.misfits);
        misfits.without_frame += found.without_frame;
        misfits.without_row += found.without_row;
    }

    /// How a log stands that this process follows, and why it cannot be read on where it cannot.
    pub(crate) fn standing(&self, of: Of) -> Option<(Standing, Option<LogGap>)> {
        let all = lock(&self.followed);
        all.get(&of).map(|log| (log.standing(&self.alarm), log.broken))
    }

    /// Notes that this process does not follow the log, or not any more.
    pub(crate) fn left(&self, of: Of) {
        lock(&self.followed).remove(&of);
    }

    /// The logs that this process follows.
    pub(crate) fn figures(&self) -> Figures {
        let (tally, misfits) = (*lock(&self.tally), *lock(&self.misfits));
        let mut figures = Figures { tally, misfits, ..Figures::default() };
        for log in lock(&self.followed).values() {
            figures.followed += 1;
            match log.standing(&self.alarm) {
                Standing::Streaming => {}
                Standing::Lagging => figures.lagging += 1,
                Standing::Stalled => figures.stalled += 1,
                Standing::Invalidated => figures.broken += 1,
            }
            figures.held_bytes = figures.held_bytes.max(log.held_bytes);
        }
        figures
    }

    /// Where the log's follower and those who wait for it meet.
    pub(crate) fn place(&self, of: Of) -> Arc<Place> {
        let mut places = lock(&self.places);
        Arc::clone(places.entry(of).or_insert_with(|| Arc::new(Place::new())))
    }

    /// What the log tells once it was read so far, which is to be asked first: what is kept later is
    /// then never taken to be missing.
    async fn ask(
        &self,
        (of, following): (Of, Option<&Following>),
        sought: &Sought,
    ) -> Result<LogAnswer, StoreDown> {
        let gaps = self.store.gaps(of, 2).await?;
        let frames = self.store.frames_of(of, sought.action).await?;
        let evidence =
            Evidence { following, frames: &frames, gaps: &gaps, of, images: &self.images };
        Ok(told(evidence, (sought.trace.as_ref(), sought.begun_at)))
    }
}

#[async_trait]
impl ChangeLog for ChangeLogs {
    async fn told(&self, sought: &Sought, patience: Duration) -> Result<LogAnswer, StoreDown> {
        let of = Of { org: sought.org, connector: sought.connector };
        if patience.is_zero() {
            let following = self.store.following(of).await?;
            let answer = self.ask((of, following.as_ref()), sought).await?;
            if matches!(answer, LogAnswer::NotYet { .. }) {
                self.place(of).asked.notify_one();
            }
            return Ok(answer);
        }
        let place = self.place(of);
        let mut kept = place.kept.subscribe();
        let _waiting = Waiting::new(&place);
        let until = Instant::now() + patience;
        let mut before = None;
        loop {
            let following = self.store.following(of).await?;
            // Whatever is kept is kept with how far the log is read: while that stands nothing is new.
            let answer = match before.take() {
                Some((then, answer)) if then == following => answer,
                Some(_) | None => self.ask((of, following.as_ref()), sought).await?,
            };
            let now = Instant::now();
            if !matches!(answer, LogAnswer::NotYet { .. }) || now >= until {
                return Ok(answer);
            }
            before = Some((following, answer));
            // Late or woken, it is asked again.
            let _ = timeout_at(until.min(now + self.ask_again), kept.changed()).await;
        }
    }
}

fn lock<T>(kept: &Mutex<T>) -> MutexGuard<'_, T> {
    // What is kept is whole between any two statements, so a panic elsewhere harms nothing here.
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
