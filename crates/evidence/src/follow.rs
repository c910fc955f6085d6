//! One log, followed: a turn reads once, judges, keeps, and lets the database forget what was kept.
//!
//! The database is looked at after each read and not before. Whatever could have hidden a transaction
//! from the read is then seen: the slot moved by somebody else, another server, another publication. What
//! was read is thrown away in that case, and the log is followed from there on as another epoch.

use std::sync::Arc;

use crypto::vault::VaultError;
use decoder::attribution::MarkerKey;
use ledger::StoreDown;
use model::{Clock, LogGap, Lsn, Timestamp};

use crate::{
    Began, ChangeSource, EvidenceStore, Following, Gap, Held, Images, Lease, Of, Pace, PaceLimits,
    Read, Sight, SourceError, Step, Tally, Written,
    judge::{Judged, judge},
    pace::owed,
    points::pass,
};

/// How often the slot is confirmed at most: each time costs the database as much as a read.
const CONFIRM_MS: i64 = 1_000;

/// What a follower works with.
#[derive(Clone)]
pub struct Parts {
    /// The database.
    pub source: Arc<dyn ChangeSource>,
    /// What is kept.
    pub store: Arc<dyn EvidenceStore>,
    /// What rows are encrypted with.
    pub images: Images,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// The name of this instance.
    pub holder: String,
    /// For how many milliseconds an instance owns a log before another may take it over.
    pub lease_ms: i64,
    /// How often it is read.
    pub pace: PaceLimits,
}

impl std::fmt::Debug for Parts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Parts").field("holder", &self.holder).finish_non_exhaustive()
    }
}

/// Follows one log.
#[derive(Debug)]
pub struct Follower {
    parts: Parts,
    of: Of,
    keys: Vec<MarkerKey>,
    // The epoch that is broken and behind which somebody asked for a new slot.
    anew_behind: Option<u64>,
    pace: Pace,
    // What the store said when the lease was taken, and what was kept under it since; nothing while
    // the lease is another's.
    held: Option<(Lease, Option<Following>)>,
    confirmed_at: Timestamp,
}

/// What came of a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Turn {
    /// The log was read, and what it brought is kept.
    Read {
        /// What that was.
        tally: Tally,
        /// How many milliseconds to wait before the next turn.
        wait_ms: u64,
        /// How many milliseconds the database is owed, whoever asks for more meanwhile.
        owed_ms: u64,
        /// How much log the slot keeps the database from removing, in bytes.
        held_bytes: u64,
        /// Why the database could not be told what it may forget; the next turn tells it again.
        unconfirmed: Option<SourceError>,
    },
    /// Something could have hidden a transaction: another epoch began.
    Began {
        /// What it was; nothing for the first epoch.
        cause: Option<LogGap>,
    },
    /// Nothing can be read before somebody asks for a new slot.
    Broken {
        /// Why.
        cause: LogGap,
    },
    /// Another instance follows this log.
    Elsewhere {
        /// Until when, if it does not go on.
        until: Timestamp,
    },
}

/// Why a turn came to nothing. Nothing was kept, and the next one begins where this one did.
#[derive(Debug, thiserror::Error)]
pub enum FollowError {
    /// The store could not be asked.
    #[error(transparent)]
    Store(#[from] StoreDown),
    /// The database could not be asked.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The rows could not be encrypted.
    #[error("could not encrypt what was read")]
    Vault(#[from] VaultError),
}

impl Follower {
    /// A follower that has done nothing yet; the keys are all those that ever signed the connector's
    /// markers.
    pub fn new(parts: Parts, of: Of, keys: Vec<MarkerKey>) -> Self {
        let pace = Pace::new(parts.pace);
        let (anew_behind, held) = (None, None);
        Self { parts, of, keys, anew_behind, pace, held, confirmed_at: Timestamp::EPOCH }
    }

    /// The follower with somebody's word that, where this epoch is broken, a new slot takes the place of
    /// the one that cannot be read any more.
    pub fn anew_behind(mut self, epoch: Option<u64>) -> Self {
        self.anew_behind = epoch;
        self
    }

    /// Reads once. `awaited` says whether somebody waits for a transaction.
    pub async fn turn(&mut self, awaited: bool) -> Result<Turn, FollowError> {
        let (lease, following) = match self.hold().await? {
            Ok(held) => held,
            Err(until) => return Ok(Turn::Elsewhere { until }),
        };
        let Some(following) = following else { return self.begin(lease, None).await };
        match following.broken {
            // It was given up on purpose, and whoever wants it read again said so.
            Some(LogGap::DecoderOff) => return self.begin(lease, Some(following)).await,
            Some(_) if self.anew_behind == Some(following.began.epoch) => {
                if self.remove_slot(lease).await? == Written::Fenced {
                    return Ok(self.fenced());
                }
                return self.begin(lease, Some(following)).await;
            }
            Some(cause) => return Ok(Turn::Broken { cause }),
            None => {}
        }
        let read = match self.parts.source.read(self.pace.batch()).await {
            Ok(read) => read,
            Err(SourceError::Gone) => return self.broke_off(lease, following, None).await,
            Err(error) => {
                self.pace = self.pace.eased();
                return Err(error.into());
            }
        };
        let sight = self.parts.source.look().await?;
        if broken_by(&following, &sight).is_some() {
            return self.broke_off(lease, following, Some((read, sight))).await;
        }
        self.keep(lease, following, (read, &sight), awaited).await
    }

    /// Gives the log up: the slot is removed, so that the database keeps nothing back for nobody.
    pub async fn give_up(&mut self) -> Result<Turn, FollowError> {
        let (lease, following) = match self.hold().await? {
            Ok(held) => held,
            Err(until) => return Ok(Turn::Elsewhere { until }),
        };
        let cause = LogGap::DecoderOff;
        if self.remove_slot(lease).await? == Written::Fenced {
            return Ok(self.fenced());
        }
        let at = self.parts.clock.now();
        let (ended, gap) = match following {
            // What broke it before ended the epoch already.
            Some(ended) => {
                let gap = Gap { ended: ended.began.epoch, read_to: ended.read_to, cause, at };
                let gap = ended.broken.is_none().then_some(gap);
                (ended, gap)
            }
            None => (self.never_read().await?, None),
        };
        let following = Following { broken: Some(cause), at, makes_slot: false, ..ended };
        let step = Step { following, frames: Vec::new(), gap };
        Ok(match self.write(lease, step).await? {
            Written::Yes => Turn::Broken { cause },
            Written::Fenced => self.fenced(),
        })
    }

    /// How far a log counts as read that never was. Whoever was to read it may have died between making the
    /// slot and saying so, and that nothing is left of that has to be said as well.
    async fn never_read(&self) -> Result<Following, SourceError> {
        let sight = self.parts.source.look().await?;
        // No run has such a number.
        let began = next_epoch(None, &sight, u64::MAX);
        let (read_to, at) = (sight.flushed, self.parts.clock.now());
        let (confirmable, broken, beat_at, makes_slot) = (read_to, None, None, false);
        Ok(Following { began, read_to, confirmable, broken, beat_at, at, makes_slot })
    }

    /// How far the log was read, where this instance has the lease.
    pub fn following(&self) -> Option<&Following> {
        self.held.as_ref().and_then(|(_, following)| following.as_ref())
    }

    /// Lets another instance follow the log at once.
    pub async fn let_go(&mut self) -> Result<(), StoreDown> {
        if self.held.take().is_some() {
            let now = self.parts.clock.now();
            self.parts.store.hold_log(self.of, &self.parts.holder, (now, now)).await?;
        }
        Ok(())
    }

    /// The lease, taken or still good for more than two thirds of its time, and how far the log was read;
    /// otherwise until when it is another's.
    async fn hold(&mut self) -> Result<Result<(Lease, Option<Following>), Timestamp>, StoreDown> {
        let now = self.parts.clock.now();
        if let Some((lease, following)) = &self.held {
            let left = lease.until.unix_millis() - now.unix_millis();
            if left > self.parts.lease_ms / 3 * 2 {
                return Ok(Ok((*lease, following.clone())));
            }
        }
        self.renew().await
    }

    /// The same as the store says, however long the lease would last.
    async fn renew(&mut self) -> Result<Result<(Lease, Option<Following>), Timestamp>, StoreDown> {
        let now = self.parts.clock.now();
        let until = Timestamp::from_unix_millis(now.unix_millis() + self.parts.lease_ms);
        match self.parts.store.hold_log(self.of, &self.parts.holder, (now, until)).await? {
            Held::Yes(lease, following) => {
                self.held = Some((lease, following.clone()));
                Ok(Ok((lease, following)))
            }
            Held::No { until } => {
                self.held = None;
                Ok(Err(until))
            }
        }
    }

    /// Begins an epoch at the slot, which is made where there is none.
    async fn begin(
        &mut self,
        lease: Lease,
        before: Option<Following>,
    ) -> Result<Turn, FollowError> {
        // Whoever was held up since it was asked to read may do so behind one who gave the log up. Under the
        // lease nobody else does.
        if !self.parts.store.is_wanted(self.of).await? {
            return self.give_up().await;
        }
        if self.says_that_it_makes_a_slot(lease, before.as_ref()).await? == Written::Fenced {
            return Ok(self.fenced());
        }
        let source = &self.parts.source;
        if source.look().await?.slot.is_none() {
            source.make_slot().await?;
        }
        let sight = source.look().await?;
        let Some(slot) = sight.slot.filter(|slot| !slot.lost) else {
            return Err(SourceError::Gone.into());
        };
        let cause = before.as_ref().and_then(|before| before.broken);
        let from_xid = source.mark().await?;
        let began = next_epoch(before.as_ref(), &sight, from_xid);
        let following = Following {
            began,
            read_to: slot.confirmed,
            confirmable: slot.confirmed,
            broken: None,
            beat_at: None,
            at: self.parts.clock.now(),
            makes_slot: false,
        };
        // What broke the last one off was kept when it did.
        let step = Step { following, frames: Vec::new(), gap: None };
        Ok(match self.write(lease, step).await? {
            Written::Yes => Turn::Began { cause },
            Written::Fenced => self.fenced(),
        })
    }

    /// Says that a slot may stand from now on, where the log counts as given up. Making one can take long,
    /// and who makes it may die behind that: whoever gives the log up meanwhile has to know of it. A log that
    /// was only held so far, or that broke off, counts as one with a slot anyway.
    async fn says_that_it_makes_a_slot(
        &mut self,
        lease: Lease,
        before: Option<&Following>,
    ) -> Result<Written, StoreDown> {
        let Some(before) = before.filter(|before| before.is_given_up()) else {
            return Ok(Written::Yes);
        };
        let following = Following { makes_slot: true, ..before.clone() };
        self.write(lease, Step { following, frames: Vec::new(), gap: None }).await
    }

    /// Ends the epoch; where the slot can still be read, the next one begins behind what was read.
    async fn broke_off(
        &mut self,
        lease: Lease,
        ended: Following,
        seen: Option<(Read, Sight)>,
    ) -> Result<Turn, FollowError> {
        let (sight, until, last) = match seen {
            Some((read, sight)) => {
                let last = read.frames.last().map(|frame| frame.end_lsn);
                (sight, Some(read.until), last)
            }
            None => (self.parts.source.look().await?, None, None),
        };
        let cause = broken_by(&ended, &sight).unwrap_or(LogGap::SlotInvalidated);
        let at = self.parts.clock.now();
        let gap = Gap { ended: ended.began.epoch, read_to: ended.read_to, cause, at };
        let usable = sight.slot.filter(|slot| !slot.lost).zip(until);
        let (following, turn) = match usable {
            Some((slot, until)) => {
                let from_xid = self.parts.source.mark().await?;
                let began = next_epoch(Some(&ended), &sight, from_xid);
                let confirmable = last.unwrap_or(slot.confirmed).max(slot.confirmed);
                let read_to = until.max(confirmable);
                let (broken, beat_at, makes_slot) = (None, None, false);
                let following =
                    Following { began, read_to, confirmable, broken, beat_at, at, makes_slot };
                (following, Turn::Began { cause: Some(cause) })
            }
            None => (Following { broken: Some(cause), at, ..ended }, Turn::Broken { cause }),
        };
        let step = Step { following, frames: Vec::new(), gap: Some(gap) };
        Ok(match self.write(lease, step).await? {
            Written::Yes => turn,
            Written::Fenced => self.fenced(),
        })
    }

    async fn keep(
        &mut self,
        lease: Lease,
        before: Following,
        (mut read, sight): (Read, &Sight),
        awaited: bool,
    ) -> Result<Turn, FollowError> {
        // What was not confirmed comes again, and after a crash of the database what was.
        read.frames.retain(|frame| frame.end_lsn > before.read_to);
        let (of, keys) = (self.of, &*self.keys);
        let judged = judge(
            (&*self.parts.store, &self.parts.images),
            (of, keys),
            &before.began,
            &read.frames,
        )
        .await?;
        let Judged { frames, tally, beat_at } = judged;
        let pass_if_own = |point| {
            if tally.attributed > 0 {
                pass(point);
            }
        };
        pass_if_own("evidence.judged");
        // Messages of no transaction may fill a whole read, and are forgotten like what was read before them.
        let last = read.frames.last().map(|frame| frame.end_lsn);
        let last = if read.full { Some(read.until) } else { last };
        let following = Following {
            read_to: before.read_to.max(read.until),
            confirmable: last.map_or(before.confirmable, |last| last.max(before.confirmable)),
            beat_at: beat_at.or(before.beat_at),
            at: self.parts.clock.now(),
            ..before.clone()
        };
        let held_bytes = sight.slot.map_or(0, |slot| slot.held_bytes);
        let confirmable = following.confirmable;
        let places = |it: &Following| (it.read_to, it.confirmable);
        // A place that is no further need not be kept: after a crash the log would be read again.
        if !frames.is_empty() || places(&following) != places(&before) {
            let step = Step { following, frames, gap: None };
            if self.write(lease, step).await? == Written::Fenced {
                return Ok(self.fenced());
            }
            pass_if_own("evidence.kept");
        }
        let began = self.parts.clock.now();
        let (confirming_ms, unconfirmed) = match self.confirm((confirmable, sight), read.full).await
        {
            Ok(took_ms) => (took_ms, None),
            // What is kept is kept, and what was not confirmed comes again.
            Err(error) => {
                let took = self.parts.clock.now().since(began).as_millis();
                (u64::try_from(took).unwrap_or(u64::MAX), Some(error))
            }
        };
        let busy_ms = read.took_ms.saturating_add(confirming_ms);
        let (asked, wait_ms) = (self.pace, self.pace.after(busy_ms, read.full, awaited));
        if read.heavy {
            self.pace = asked.eased();
        }
        Ok(Turn::Read { tally, wait_ms, owed_ms: owed(busy_ms), held_bytes, unconfirmed })
    }

    /// Removes the slot, if there is one; nothing is removed where the lease was another's meanwhile.
    ///
    /// The database knows nothing of leases, and an instance that was held up may get here when the next one
    /// has made the slot anew. So the slot is looked at first and the lease asked for behind that, and the
    /// database removes none but the slot that was seen. One that the next instance made before the look is
    /// told by the lease, which it had to take first; one that it makes later begins at a later place.
    async fn remove_slot(&mut self, lease: Lease) -> Result<Written, FollowError> {
        let seen = self.parts.source.look().await?.slot;
        let is_held = self.renew().await?.is_ok_and(|(again, _)| again.token == lease.token);
        if !is_held {
            return Ok(Written::Fenced);
        }
        match self.parts.source.drop_slot(seen).await {
            Ok(()) | Err(SourceError::Gone) => Ok(Written::Yes),
            Err(error) => Err(error.into()),
        }
    }

    async fn write(&mut self, lease: Lease, step: Step) -> Result<Written, StoreDown> {
        match self.parts.store.write(self.of, lease.token, &step).await {
            Ok(Written::Yes) => {
                self.held = Some((lease, Some(step.following)));
                Ok(Written::Yes)
            }
            Ok(Written::Fenced) => {
                self.held = None;
                Ok(Written::Fenced)
            }
            Err(down) => {
                // Whether it was kept is not known: the store is asked for how far it got.
                self.held = None;
                Err(down)
            }
        }
    }

    fn fenced(&self) -> Turn {
        Turn::Elsewhere { until: self.parts.clock.now() }
    }

    /// Lets the database forget what is kept: once a second, and after a read that was full, since the
    /// next one would bring the same again. Tells how many milliseconds that took.
    async fn confirm(
        &mut self,
        (end, sight): (Lsn, &Sight),
        full: bool,
    ) -> Result<u64, SourceError> {
        let now = self.parts.clock.now();
        let is_due = full || now.unix_millis() - self.confirmed_at.unix_millis() >= CONFIRM_MS;
        if !is_due || sight.slot.is_none_or(|slot| slot.confirmed >= end) {
            return Ok(0);
        }
        // What fails is tried no more often than what does not.
        self.confirmed_at = now;
        let took_ms = self.parts.source.confirm(end).await?;
        pass("evidence.confirmed");
        Ok(took_ms)
    }
}

/// What could have hidden a transaction from a read that was made before this look.
fn broken_by(following: &Following, sight: &Sight) -> Option<LogGap> {
    let Following { began, confirmable, .. } = following;
    if sight.system != began.system || sight.timeline != began.timeline {
        return Some(LogGap::EvidenceGap);
    }
    // A log that is shorter than what was read of it is another one: a copy of the server's files was put
    // back, whose slot and timeline are what they were.
    if sight.flushed < following.read_to {
        return Some(LogGap::EvidenceGap);
    }
    match sight.slot {
        None => Some(LogGap::SlotInvalidated),
        Some(slot) if slot.lost => Some(LogGap::SlotInvalidated),
        // Nobody but who kept what stands before it confirms a place.
        Some(slot) if slot.confirmed > *confirmable => Some(LogGap::SlotMoved),
        Some(_) if sight.published != began.published => Some(LogGap::PublicationFiltered),
        Some(_) => None,
    }
}

/// What began before it was looked at may have been committed unseen.
fn next_epoch(before: Option<&Following>, sight: &Sight, from_xid: u64) -> Began {
    Began {
        epoch: before.map_or(1, |before| before.began.epoch.saturating_add(1)),
        system: sight.system.clone(),
        timeline: sight.timeline,
        published: sight.published,
        from_xid,
    }
}
