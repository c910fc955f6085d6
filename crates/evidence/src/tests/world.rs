//! A recorded log that is read through a slot as a test wants it, and a store in memory.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard},
};

use async_trait::async_trait;
use crypto::{Secret, SystemEntropy, vault::Ring};
use decoder::{
    Assembler, Frame,
    attribution::{Attribution, Known, MarkerKey},
};
use ledger::StoreDown;
use model::{ActionId, Clock, Digest, LogAnswer, LogGap, LogTrace, Lsn, Timestamp};

use crate::{
    ChangeSource, Evidence, EvidenceStore, FollowError, Follower, Following, Gap, Held, Images,
    KeptFor, Lease, LedgerEnd, LedgerRow, Of, PaceLimits, Parts, Read, Sight, Slot, SourceError,
    Step, StoredFrame, Turn, Written, told,
};

const RECORDED: &str = include_str!("../../../decoder/streams/governed.hex");
const BATCH: u32 = 1000;
pub(super) const LEASE_MS: i64 = 15_000;
/// Every transaction of the recording has a smaller number.
pub(super) const NEXT_XID: u64 = 1;

/// What a database shows, which a test may change at any time.
#[derive(Debug, Clone)]
pub(super) struct Log {
    pub(super) frames: Vec<Frame>,
    /// How many of the frames were committed by now.
    pub(super) committed: usize,
    pub(super) sight: Sight,
    pub(super) made: usize,
    pub(super) next_xid: u64,
    /// What the next call comes to in place of an answer.
    pub(super) fault: Option<SourceError>,
    /// The same for the next place that is to be confirmed.
    pub(super) unconfirmed: Option<SourceError>,
    /// What making a slot comes to in place of an answer, though it is made.
    pub(super) unanswered: Option<SourceError>,
    /// What another instance has made of the slot by the time that one is to be removed.
    pub(super) overtaken: Option<Slot>,
    /// Where messages stand that belong to no transaction.
    pub(super) messages: Vec<Lsn>,
    /// Whether each transaction weighs so much that a read ends with it.
    pub(super) heavy: bool,
    /// How many changes were asked for so far.
    pub(super) asked: Vec<u32>,
    pub(super) ledger: Vec<LedgerRow>,
}

#[derive(Debug)]
pub(super) struct Database(Mutex<Log>);

impl Database {
    pub(super) fn log(&self) -> MutexGuard<'_, Log> {
        self.0.lock().unwrap()
    }

    fn reached(log: &mut Log) -> Lsn {
        let last = log.frames.iter().take(log.committed).next_back();
        let flushed = last.map_or(Lsn(1), |frame| frame.end_lsn).max(log.sight.flushed);
        log.sight.flushed = flushed;
        flushed
    }
}

#[async_trait]
impl ChangeSource for Database {
    async fn look(&self) -> Result<Sight, SourceError> {
        let mut log = self.log();
        Self::reached(&mut log);
        Ok(log.sight.clone())
    }

    async fn mark(&self) -> Result<u64, SourceError> {
        Ok(self.log().next_xid)
    }

    async fn make_slot(&self) -> Result<(), SourceError> {
        let mut log = self.log();
        let confirmed = Self::reached(&mut log);
        log.sight.slot = Some(Slot { confirmed, lost: false, held_bytes: 0 });
        log.made += 1;
        log.unanswered.take().map_or(Ok(()), Err)
    }

    async fn read(&self, changes: u32) -> Result<Read, SourceError> {
        let mut log = self.log();
        log.asked.push(changes);
        if let Some(fault) = log.fault.take() {
            return Err(fault);
        }
        let flushed = Self::reached(&mut log);
        let slot = log.sight.slot.filter(|slot| !slot.lost).ok_or(SourceError::Gone)?;
        let committed = log.frames.iter().take(log.committed);
        let of_frames = committed.map(|frame| (frame.end_lsn, Some(frame)));
        let mut all: Vec<_> =
            of_frames.chain(log.messages.iter().map(|place| (*place, None))).collect();
        all.retain(|(place, _)| *place > slot.confirmed && *place <= flushed);
        all.sort_by_key(|(place, _)| *place);
        let mut left = i64::from(changes);
        let (mut frames, mut last, mut full) = (Vec::new(), None, false);
        for (place, frame) in all {
            if left <= 0 || log.heavy && !frames.is_empty() {
                full = true;
                break;
            }
            let changes = frame.map_or(1, |frame| frame.change_count);
            left -= i64::try_from(changes).unwrap().max(1);
            frames.extend(frame.cloned());
            last = Some(place);
        }
        let heavy = full && log.heavy;
        let until = if full { last.unwrap() } else { flushed };
        Ok(Read { frames, until, full, heavy, took_ms: 2 })
    }

    async fn confirm(&self, end: Lsn) -> Result<u64, SourceError> {
        let mut log = self.log();
        if let Some(fault) = log.unconfirmed.take() {
            return Err(fault);
        }
        let ends = log.frames.iter().map(|frame| &frame.end_lsn).chain(&log.messages);
        assert!(ends.clone().any(|place| *place == end), "{end} ends no record that was read");
        let slot = log.sight.slot.as_mut().ok_or(SourceError::Gone)?;
        slot.confirmed = slot.confirmed.max(end);
        Ok(0)
    }

    async fn beat(&self) -> Result<(), SourceError> {
        Ok(())
    }

    async fn ledger_from(&self, _: Option<u64>, _: u64) -> Result<LedgerEnd, SourceError> {
        let mut log = self.log();
        let reached = Self::reached(&mut log);
        Ok(LedgerEnd { rows: log.ledger.clone(), pages: 1, reached })
    }

    async fn in_ledger(
        &self,
        actions: &BTreeSet<ActionId>,
    ) -> Result<BTreeSet<ActionId>, SourceError> {
        let log = self.log();
        let rows = log.ledger.iter().map(|row| row.action);
        Ok(rows.filter(|action| actions.contains(action)).collect())
    }

    async fn drop_slot(&self, seen: Option<Slot>) -> Result<(), SourceError> {
        let mut log = self.log();
        let anew = log.overtaken.take();
        log.sight.slot = anew.or(log.sight.slot);
        let place = |slot: Option<Slot>| slot.map(|slot| slot.confirmed);
        if log.sight.slot.is_some() && place(log.sight.slot) != place(seen) {
            return Err(SourceError::Busy);
        }
        log.sight.slot.take().map(drop).ok_or(SourceError::Gone)
    }
}

#[derive(Debug, Default)]
pub(super) struct Rows {
    lease: Option<(String, Lease)>,
    pub(super) following: Option<Following>,
    pub(super) frames: Vec<StoredFrame>,
    pub(super) gaps: Vec<Gap>,
    /// The next write is not kept, and nobody is told whether it was.
    pub(super) fails: bool,
    pub(super) writes: usize,
    /// The log is not to be read any more.
    pub(super) unwanted: bool,
}

impl Rows {
    /// Lets the lease lapse before its time.
    pub(super) fn take_lease(&mut self) -> Option<Lease> {
        let (_, lease) = self.lease.as_mut()?;
        lease.until = Timestamp::EPOCH;
        Some(*lease)
    }
}

/// What is kept, of one log.
#[derive(Debug, Default)]
pub(super) struct Memory(Mutex<Rows>);

impl Memory {
    pub(super) fn rows(&self) -> MutexGuard<'_, Rows> {
        self.0.lock().unwrap()
    }
}

#[async_trait]
impl EvidenceStore for Memory {
    async fn followed_logs(&self) -> Result<Vec<Of>, StoreDown> {
        Ok(vec![of()])
    }

    async fn is_wanted(&self, _: Of) -> Result<bool, StoreDown> {
        Ok(!self.rows().unwanted)
    }

    async fn hold_log(
        &self,
        _: Of,
        holder: &str,
        (now, until): (Timestamp, Timestamp),
    ) -> Result<Held, StoreDown> {
        let mut rows = self.rows();
        let token = match &rows.lease {
            Some((other, lease)) if other != holder && lease.until > now => {
                return Ok(Held::No { until: lease.until });
            }
            Some((other, lease)) if other == holder => lease.token,
            Some((_, lease)) => lease.token + 1,
            None => 1,
        };
        let lease = Lease { token, until };
        rows.lease = Some((holder.to_owned(), lease));
        Ok(Held::Yes(lease, rows.following.clone()))
    }

    async fn write(&self, _: Of, token: u64, step: &Step) -> Result<Written, StoreDown> {
        let mut rows = self.rows();
        if std::mem::take(&mut rows.fails) {
            return Err(StoreDown { attempt: "keep evidence", source: "it is down".into() });
        }
        if rows.lease.as_ref().map(|(_, lease)| lease.token) != Some(token) {
            return Ok(Written::Fenced);
        }
        rows.writes += 1;
        rows.following = Some(step.following.clone());
        rows.frames.extend(step.frames.iter().cloned());
        rows.gaps.splice(0..0, step.gap.clone());
        Ok(Written::Yes)
    }

    async fn known(
        &self,
        _: Of,
        actions: &BTreeSet<ActionId>,
    ) -> Result<BTreeMap<ActionId, Known>, StoreDown> {
        let rows = self.rows();
        let is_of = |frame: &StoredFrame, id: ActionId| matches!(&frame.attribution, Attribution::Action { action, .. } if *action == id);
        let framed = |id: ActionId| rows.frames.iter().any(|frame| is_of(frame, id));
        Ok(actions.iter().map(|id| (*id, Known { framed: framed(*id), ..known() })).collect())
    }

    async fn kept_logs(&self) -> Result<Vec<Of>, StoreDown> {
        Ok(vec![of()])
    }

    async fn following(&self, _: Of) -> Result<Option<Following>, StoreDown> {
        Ok(self.rows().following.clone())
    }

    async fn frames_of(&self, _: Of, action: ActionId) -> Result<Vec<StoredFrame>, StoreDown> {
        let rows = self.rows();
        Ok(rows.frames.iter().filter(|frame| frame.claimed == Some(action)).cloned().collect())
    }

    async fn own_frames(
        &self,
        _: Of,
        epoch: u64,
        behind: Lsn,
        limit: usize,
    ) -> Result<Vec<(Lsn, ActionId)>, StoreDown> {
        let rows = self.rows();
        let own = rows.frames.iter().filter(|frame| {
            let source = &frame.frame.source;
            matches!(frame.attribution, Attribution::Action { .. })
                && (source.epoch == epoch && source.commit_lsn > behind)
        });
        let place = |frame: &StoredFrame| Some((frame.frame.source.commit_lsn, frame.claimed?));
        Ok(own.filter_map(place).take(limit).collect())
    }

    async fn gaps(&self, _: Of, limit: usize) -> Result<Vec<Gap>, StoreDown> {
        Ok(self.rows().gaps.iter().take(limit).cloned().collect())
    }

    async fn forget(&self, _: Of, _: KeptFor, _: usize) -> Result<usize, StoreDown> {
        Ok(0)
    }
}

/// A clock that a test moves.
#[derive(Debug)]
pub(super) struct Hand(Mutex<i64>);

impl Hand {
    pub(super) fn on(&self, millis: i64) {
        *self.0.lock().unwrap() += millis;
    }
}

impl Clock for Hand {
    fn now(&self) -> Timestamp {
        Timestamp::from_unix_millis(*self.0.lock().unwrap())
    }
}

pub(super) struct World {
    pub(super) database: Arc<Database>,
    pub(super) memory: Arc<Memory>,
    pub(super) clock: Arc<Hand>,
}

impl World {
    /// The recording, of which nothing was committed yet.
    pub(super) fn new() -> Self {
        let sight = Sight {
            system: system(),
            timeline: 1,
            flushed: Lsn(1),
            slot: None,
            published: Digest::from_bytes([1; 32]),
            oldest_writer: None,
        };
        let log = Log {
            frames: recorded(),
            committed: 0,
            sight,
            made: 0,
            next_xid: NEXT_XID,
            fault: None,
            unconfirmed: None,
            unanswered: None,
            overtaken: None,
            messages: Vec::new(),
            heavy: false,
            asked: Vec::new(),
            ledger: Vec::new(),
        };
        Self {
            database: Arc::new(Database(Mutex::new(log))),
            memory: Arc::default(),
            clock: Arc::new(Hand(Mutex::new(1_790_000_000_000))),
        }
    }

    pub(super) fn follower(&self, holder: &str) -> Follower {
        self.follower_of(holder, BATCH)
    }

    pub(super) fn follower_of(&self, holder: &str, batch: u32) -> Follower {
        let parts = Parts {
            source: self.database.clone(),
            store: self.memory.clone(),
            images: images(),
            clock: self.clock.clone(),
            holder: holder.to_owned(),
            lease_ms: LEASE_MS,
            pace: PaceLimits { active_ms: 10, idle_ms: 1000, batch },
        };
        Follower::new(parts, of(), vec![MarkerKey::new(Secret::new(vec![7; 32]))])
    }

    /// A follower whose first epoch has begun.
    pub(super) async fn followed(&self) -> Follower {
        let mut follower = self.follower("one");
        assert_eq!(follower.turn(false).await.unwrap(), Turn::Began { cause: None });
        follower
    }

    /// Commits the first so many transactions of the recording.
    pub(super) fn commit(&self, count: usize) {
        self.database.log().committed = count;
    }

    pub(super) fn all(&self) -> usize {
        self.database.log().frames.len()
    }

    /// The commits that are kept, in the order in which they were.
    pub(super) fn kept(&self) -> Vec<Lsn> {
        self.memory.rows().frames.iter().map(|frame| frame.frame.source.commit_lsn).collect()
    }

    pub(super) fn words(&self) -> Vec<&'static str> {
        self.memory.rows().frames.iter().map(|frame| frame.attribution.as_str()).collect()
    }

    pub(super) fn read_to(&self) -> Lsn {
        self.memory.rows().following.as_ref().unwrap().read_to
    }

    pub(super) fn causes(&self) -> Vec<LogGap> {
        self.memory.rows().gaps.iter().map(|gap| gap.cause).collect()
    }

    /// What is told of an action whose run saw this of itself.
    pub(super) async fn told(&self, action: ActionId, trace: Option<LogTrace>) -> LogAnswer {
        // Long behind whatever broke the log off.
        let begun = self.clock.now().unix_millis() + 60_000;
        self.told_of(action, (trace, Timestamp::from_unix_millis(begun))).await
    }

    /// The same of one whose run began then.
    pub(super) async fn told_of(
        &self,
        action: ActionId,
        (trace, begun): (Option<LogTrace>, Timestamp),
    ) -> LogAnswer {
        let frames = self.memory.frames_of(of(), action).await.unwrap();
        let gaps = self.memory.gaps(of(), 2).await.unwrap();
        let following = self.memory.following(of()).await.unwrap();
        let (following, images) = (following.as_ref(), &images());
        let evidence = Evidence { following, frames: &frames, gaps: &gaps, of: of(), images };
        told(evidence, (trace.as_ref(), Some(begun)))
    }
}

/// Turns until nothing more comes.
pub(super) async fn drain(follower: &mut Follower) -> Result<(), FollowError> {
    loop {
        match follower.turn(true).await? {
            Turn::Read { wait_ms, .. } if wait_ms < 10 => {}
            Turn::Read { .. } => return Ok(()),
            other => panic!("{other:?}"),
        }
    }
}

pub(super) fn images() -> Images {
    let ring = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=".to_owned();
    let vault = Arc::new(Ring::parse(&Secret::new(ring)).unwrap());
    Images { vault, entropy: Arc::new(SystemEntropy::new()) }
}

pub(super) fn of() -> Of {
    let known = known();
    Of { org: known.org, connector: known.connector }
}

/// The row of this action in the ledger, of a transaction of the epoch.
pub(super) fn row(number: u32) -> LedgerRow {
    LedgerRow { action: action(number), org: of().org.to_string(), xid: NEXT_XID }
}

pub(super) fn action(number: u32) -> ActionId {
    format!("act_01h2xcejqtf2nbrexx3vqjhp{number:02}").parse().unwrap()
}

fn known() -> Known {
    Known {
        org: "org_01h2xcejqtf2nbrexx3vqjhp41".parse().unwrap(),
        connector: "con_01h2xcejqtf2nbrexx3vqjhp41".parse().unwrap(),
        request_digest: Digest::from_bytes([0xab; 32]),
        begun: true,
        framed: false,
    }
}

pub(super) fn system() -> String {
    RECORDED.lines().next().unwrap().rsplit_once(" system ").unwrap().1.to_owned()
}

fn recorded() -> Vec<Frame> {
    let mut assembler = Assembler::new(100);
    let lines = RECORDED.lines().filter(|line| !line.starts_with('#'));
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    let bytes = |line: &str| line.as_bytes().chunks(2).map(byte).collect::<Vec<u8>>();
    lines.filter_map(|line| assembler.take(&bytes(line)).unwrap()).collect()
}
