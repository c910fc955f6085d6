//! Doing the checks that were asked for, and walking through all logs all the time.
//!
//! A fault stops nothing: it is told once as an event of the org, in the log of the service, and
//! in its health, until a later look finds the place well again.

use std::sync::PoisonError;

use deed::{KeySet, LogOrigin};
use event::Draft;
use ledger::{Entry, LedgerError, LogNo, Needs, Request, Snapshot, StoreDown};
use model::{CheckId, EventId, EventType, Mint, OrgId, Timestamp};
use serde_json::{Value, json};

use crate::{
    check::{ChainCheck, CheckStatus, Walk},
    check_store::CheckRequest,
    deeds::Window,
    entries::EntryFilter,
    kept::misfit,
    records::{ReadError, Records},
    recovery,
    store::{LogHead, LogSize, Logs, OrgLog, Standing},
    walk::Fault,
};

/// How many tellings of faults are looked at before one more is told.
const TOLD: usize = 50;

/// How often in a row a log may fail to be read before the walk passes it over.
const PATIENCE: u32 = 10;

/// Where a walk through all logs is.
#[derive(Debug, Clone, Copy, Default)]
pub struct Position {
    log: Option<OrgLog>,
    seq: u64,
    // How often in a row this place could not be read.
    failures: u32,
    // Whether a log was passed over since the walk began.
    is_partial: bool,
}

/// How far a step of a walk came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Walked {
    /// There is more to look at.
    On,
    /// Every log was gone through.
    Through,
    /// The last log is behind, and one that could not be read was passed over.
    Partly,
}

/// A part of a log, as somebody asks for its check.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Part {
    /// The log, by its name; the open one when it is not said.
    pub log: Option<LogOrigin>,
    /// The first place; the log's first when it is not said.
    pub from_seq: Option<u64>,
    /// The last place; the log's last when it is not said.
    pub to_seq: Option<u64>,
    /// A checkpoint that the log must have grown from, as a signed note.
    pub checkpoint: Option<String>,
}

/// Why a check is not done.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// It could not be asked for.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// Another one of the org has not ended.
    #[error("a check of this log is under way; wait until it has ended")]
    Busy,
    /// The log has no such part.
    #[error("expected places from 0 to {last}, the smaller one first")]
    Places {
        /// The log's last place.
        last: u64,
    },
}

impl Position {
    /// Goes on to the next log, or back to the beginning behind the last.
    fn pass_on(&mut self, next: Option<&LogSize>) -> Walked {
        let Some(next) = next else { return self.end() };
        *self = Self { log: Some(next.of), seq: 0, failures: 0, ..*self };
        Walked::On
    }

    fn end(&mut self) -> Walked {
        let ended = std::mem::take(self);
        if ended.is_partial { Walked::Partly } else { Walked::Through }
    }
}

impl Records {
    /// The check that will be done.
    pub async fn ask_check(
        &self,
        (org, id): (OrgId, CheckId),
        part: Part,
    ) -> Result<ChainCheck, AskError> {
        let head = self.head_of(org, part.log.as_ref()).await?;
        let size = head.chain.size();
        let (from_seq, end_seq) =
            (part.from_seq.unwrap_or(0), part.to_seq.map_or(size, |to| to + 1));
        if end_seq > size || from_seq >= end_seq {
            return Err(AskError::Places { last: size.saturating_sub(1) });
        }
        let check = ChainCheck {
            id,
            org,
            created_at: head.now,
            status: CheckStatus::Queued,
            log: Some(head.chain.log().clone()),
            from_seq,
            end_seq,
            checkpoint: part.checkpoint,
            checked: 0,
            archived: 0,
            finished_at: None,
            first_bad: None,
        };
        match self.store.ask_check(&check).await.map_err(ReadError::from)? {
            CheckRequest::Queued => Ok(check),
            CheckRequest::Busy => Err(AskError::Busy),
        }
    }

    /// Does one of the checks that wait, from beginning to end, and returns it; nothing when none
    /// waits.
    pub async fn do_check(&self, keys: &KeySet) -> Result<Option<ChainCheck>, StoreDown> {
        let Some(mut check) = self.store.take_check().await? else { return Ok(None) };
        let Some(log) = self.log_of(&check).await? else { return Ok(None) };
        // It is looked for first: a head that does not fit its log may not be readable.
        if let Some(found) = self.store.misfit(log.0).await? {
            self.conclude(&mut check, &log, (found.at, Some(misfit(&found)))).await?;
            return Ok(Some(check));
        }
        let Some((head, next)) = self.to_check(log.0).await? else { return Ok(None) };
        let walk = Walk { store: &*self.store, keys, org: check.org, head: &head };
        let mut at = check.from_seq;
        let mut found = None;
        (check.checked, check.archived) = (0, 0);
        while found.is_none() && at < check.end_seq {
            let looked = walk.tile(at, check.end_seq).await?;
            check.checked += looked.deeds;
            check.archived += looked.end - at - looked.deeds;
            (at, found) = (looked.end, looked.fault);
            self.store.put_check(&check).await?;
        }
        if found.is_none() {
            found = self.end(&walk, next.as_ref()).await?;
        }
        if let (None, Some(note)) = (&found, &check.checkpoint) {
            found = walk.checkpoint(note).await?;
        }
        let now = self.store.head(check.org).await?.map_or(head.now, |head| head.now);
        self.conclude(&mut check, &log, (now, found)).await?;
        Ok(Some(check))
    }

    /// Keeps and tells how a check ended.
    async fn conclude(
        &self,
        check: &mut ChainCheck,
        (log, origin): &(OrgLog, LogOrigin),
        (now, found): (Timestamp, Option<Fault>),
    ) -> Result<(), StoreDown> {
        check.status = if found.is_none() { CheckStatus::Passed } else { CheckStatus::Failed };
        check.finished_at = Some(now);
        check.first_bad = found;
        self.store.put_check(check).await?;
        if let Some(fault) = &check.first_bad {
            return self.found(*log, origin, fault).await;
        }
        self.well(*log, (check.from_seq, check.end_seq));
        self.tell(check.org, EventType::ChainCheckPassed, passed(check)).await;
        Ok(())
    }

    /// Which log a check is of, and its name. Checks from when an org had but one log do
    /// not name it, and a log whose head is gone is only known by its name.
    async fn log_of(&self, check: &ChainCheck) -> Result<Option<(OrgLog, LogOrigin)>, StoreDown> {
        let logs = self.store.logs().await?;
        let mine = logs.of(check.org)?;
        let found = mine.iter().find(|log| match &check.log {
            Some(named) => log.log == *named,
            None => log.of.no == LogNo::FIRST,
        });
        let open = LogNo::new(u32::try_from(mine.len()).unwrap_or(u32::MAX));
        let gone = |named| (OrgLog { org: check.org, no: open }, named);
        let found = found.map(|log| (log.of, log.log.clone()));
        Ok(found.or_else(|| check.log.clone().map(gone)))
    }

    /// Where a log stands, and the one that follows it; nothing for a log that is not
    /// there.
    async fn to_check(&self, log: OrgLog) -> Result<Option<(LogHead, Option<LogSize>)>, StoreDown> {
        let mut heads = self.store.closed(log.org).await?;
        heads.extend(self.store.head(log.org).await?);
        let Some(place) = heads.iter().position(|head| head.no == log.no) else { return Ok(None) };
        let next = heads.get(place + 1).map(|next| size_of(log.org, next));
        Ok(Some((heads.swap_remove(place), next)))
    }

    /// What is wrong with the end of a log: its head, and for a closed one what the log
    /// that follows it tells of it.
    async fn end(
        &self,
        walk: &Walk<'_>,
        next: Option<&LogSize>,
    ) -> Result<Option<Fault>, StoreDown> {
        let found = walk.head().await?;
        match (found, walk.head.standing, next) {
            (None, Standing::Closed { .. }, Some(next)) => {
                let told = recovery::told(walk.store, walk.keys, next).await?;
                Ok(walk.told(told.as_ref()))
            }
            (None, Standing::Closed { .. }, None) => Ok(walk.told(None)),
            (found, _, _) => Ok(found),
        }
    }

    /// A check.
    pub async fn check(&self, org: OrgId, id: CheckId) -> Result<ChainCheck, ReadError> {
        self.store.chain_check(org, id).await?.ok_or(ReadError::NotFound)
    }

    /// Returns up to `limit` checks behind this place, newest first.
    pub async fn checks(
        &self,
        org: OrgId,
        after: Option<(Timestamp, CheckId)>,
        limit: usize,
    ) -> Result<Vec<ChainCheck>, ReadError> {
        Ok(self.store.chain_checks(org, after, limit).await?)
    }

    /// Looks at the next tile of all logs, one log after the other. What cannot be read is tried
    /// again at the next call, so that a failure costs no more than its own step.
    pub async fn walk_on(&self, at: &mut Position, keys: &KeySet) -> Result<Walked, StoreDown> {
        let Logs { sizes: logs, unreached } = self.store.logs().await?;
        at.is_partial |= !unreached.is_empty();
        // A log that is gone since is passed over.
        let here = logs.iter().position(|log| at.log.is_none_or(|at| log.of >= at));
        let rest = here.and_then(|here| logs.get(here..)).unwrap_or_default();
        let Some((here, rest)) = rest.split_first() else { return Ok(at.end()) };
        let next = rest.first();
        let follows = next.filter(|next| next.of.org == here.of.org);
        if at.log != Some(here.of) {
            *at = Position { log: Some(here.of), seq: 0, failures: 0, ..*at };
        }
        match self.step((here, at.seq), follows, keys).await {
            Ok(Some(seq)) => *at = Position { seq, failures: 0, ..*at },
            Ok(None) => return Ok(at.pass_on(next)),
            Err(down) => {
                at.failures += 1;
                if at.failures >= PATIENCE {
                    // A log that cannot be read keeps nobody from looking at the others.
                    at.is_partial = true;
                    at.pass_on(next);
                }
                return Err(down);
            }
        }
        Ok(Walked::On)
    }

    /// Looks at one tile, and returns where the next one begins; nothing at the log's end.
    async fn step(
        &self,
        (LogSize { of: log, log: origin, .. }, first): (&LogSize, u64),
        follows: Option<&LogSize>,
        keys: &KeySet,
    ) -> Result<Option<u64>, StoreDown> {
        // It is looked for first: a head that does not fit its log may not be readable.
        let log = *log;
        if first == 0
            && let Some(found) = self.store.misfit(log).await?
        {
            self.found(log, origin, &misfit(&found)).await?;
            return Ok(None);
        }
        let Some(head) = self.standing(log).await? else { return Ok(None) };
        let (size, mut next, mut found) = (head.chain.size(), first, None);
        let walk = Walk { store: &*self.store, keys, org: log.org, head: &head };
        if first < size {
            let looked = walk.tile(first, size).await?;
            (next, found) = (looked.end, looked.fault);
        }
        let is_whole = next >= size;
        if found.is_none() && is_whole {
            found = self.end(&walk, follows).await?;
        }
        match found {
            Some(fault) => self.found(log, head.chain.log(), &fault).await?,
            None => self.well(log, (first, next)),
        }
        Ok((!is_whole).then_some(next))
    }

    /// Where this log stands.
    async fn standing(&self, log: OrgLog) -> Result<Option<LogHead>, StoreDown> {
        match self.store.head(log.org).await? {
            Some(open) if open.no == log.no => Ok(Some(open)),
            Some(_) | None => {
                let closed = self.store.closed(log.org).await?;
                Ok(closed.into_iter().find(|head| head.no == log.no))
            }
        }
    }

    /// Tells of a fault wherever somebody looks, once.
    async fn found(&self, log: OrgLog, origin: &LogOrigin, fault: &Fault) -> Result<(), StoreDown> {
        let OrgLog { org, .. } = log;
        let before = {
            let mut faults = self.faults.lock().unwrap_or_else(PoisonError::into_inner);
            faults.insert(log, fault.clone())
        };
        if before.as_ref() == Some(fault) {
            return Ok(());
        }
        let Fault { seq, problem, expected, found } = fault;
        tracing::error!(
            %org, %origin, seq, ?problem, expected, found,
            "the log is not as it was sealed; compare it with a backup and kept checkpoints"
        );
        let object = broken(origin, fault);
        let filter =
            EntryFilter { types: Some(vec![EventType::ChainBroken]), ..EntryFilter::default() };
        let window = Window { places: (0, u64::MAX), limit: TOLD };
        let told = self.store.entries(org, &filter, window).await?;
        if told.iter().all(|entry| entry.event.object != object) {
            self.tell(org, EventType::ChainBroken, object).await;
        }
        Ok(())
    }

    /// Forgets a fault at these places, where all is well now.
    fn well(&self, log: OrgLog, (first, end): (u64, u64)) {
        let mut faults = self.faults.lock().unwrap_or_else(PoisonError::into_inner);
        if faults.get(&log).is_some_and(|fault| (first..end).contains(&fault.seq)) {
            faults.remove(&log);
        }
    }

    async fn tell(&self, org: OrgId, kind: EventType, object: Value) {
        let told = self.ledger.enter(org, Tell { kind, object }).await;
        match told {
            // Of a log that is withheld nothing more is told in the log itself.
            Ok(()) | Err(LedgerError::Withheld) => {}
            Err(error) => tracing::warn!(%org, %error, "an event of a check could not be sent"),
        }
    }
}

fn broken(log: &LogOrigin, fault: &Fault) -> Value {
    let Fault { seq, problem, .. } = fault;
    json!({ "object": "chain", "log": log, "seq": seq, "digest": null, "problem": problem })
}

fn size_of(org: OrgId, head: &LogHead) -> LogSize {
    let (log, size) = (head.chain.log().clone(), head.chain.size());
    LogSize { of: OrgLog { org, no: head.no }, log, size, standing: head.standing }
}

fn passed(check: &ChainCheck) -> Value {
    let (log, last) = (&check.log, check.end_seq - 1);
    json!({ "object": "chain", "log": log, "seq": last, "digest": null, "check": check.id })
}

/// Tells that something happened that no deed speaks of.
struct Tell {
    kind: EventType,
    object: Value,
}

impl Request for Tell {
    type Answer = ();

    fn needs(&self, _: &Snapshot) -> Needs {
        Needs::default()
    }

    fn decide(&self, at: &Snapshot, mint: &Mint<'_>) -> (Entry, ()) {
        if at.org().is_none() {
            return (Entry::nothing(), ());
        }
        let event = Draft {
            id: mint.id(EventId::from_uuid),
            kind: self.kind,
            livemode: true,
            agent: None,
            action: None,
            object: self.object.clone(),
        };
        (Entry { events: vec![event], ..Entry::default() }, ())
    }
}
