//! Doing the checks that were asked for, and walking through all logs all the time.
//!
//! A fault stops nothing: it is told once as an event of the org, in the log of the service, and
//! in its health, until a later look finds the place well again.

use std::sync::PoisonError;

use deed::KeySet;
use event::Draft;
use ledger::{Entry, LedgerError, Needs, Request, Snapshot, StoreDown};
use model::{CheckId, EventId, EventType, Mint, OrgId, Timestamp};
use serde_json::{Value, json};

use crate::{
    Asked, ChainCheck, CheckStatus, EntryFilter, Fault, ReadError, Records, Window, check::Walk,
    kept::misfit,
};

/// How many tellings of faults are looked at before one more is told.
const TOLD: usize = 50;

/// Where a walk through all logs is.
#[derive(Debug, Clone, Copy, Default)]
pub struct Position {
    org: Option<OrgId>,
    seq: u64,
}

/// How far a step of a walk came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Walked {
    /// There is more to look at.
    On,
    /// Every log was gone through.
    Through,
}

/// A part of a log, as somebody asks for its check.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Part {
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

impl Records {
    /// Returns the check that will be done.
    pub async fn ask_check(
        &self,
        (org, id): (OrgId, CheckId),
        part: Part,
    ) -> Result<ChainCheck, AskError> {
        let head = self.head(org).await?;
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
            from_seq,
            end_seq,
            checkpoint: part.checkpoint,
            checked: 0,
            finished_at: None,
            first_bad: None,
        };
        match self.store.ask_check(&check).await.map_err(ReadError::from)? {
            Asked::Kept => Ok(check),
            Asked::Busy => Err(AskError::Busy),
        }
    }

    /// Does one of the checks that wait, from beginning to end, and returns it; nothing when none
    /// waits.
    pub async fn do_check(&self, keys: &KeySet) -> Result<Option<ChainCheck>, StoreDown> {
        let Some(mut check) = self.store.take_check().await? else { return Ok(None) };
        // It is looked for first: a head that does not fit its log may not be readable.
        if let Some(found) = self.store.misfit(check.org).await? {
            self.end(&mut check, found.at, Some(misfit(&found))).await?;
            return Ok(Some(check));
        }
        let Some(head) = self.store.head(check.org).await? else { return Ok(None) };
        let walk = Walk { store: &*self.store, keys, org: check.org, head: &head };
        let mut next = check.from_seq;
        let mut found = None;
        while found.is_none() && next < check.end_seq {
            (next, found) = walk.tile(next, check.end_seq).await?;
            check.checked = next - check.from_seq;
            self.store.put_check(&check).await?;
        }
        if found.is_none() {
            found = walk.head().await?;
        }
        if let (None, Some(note)) = (&found, &check.checkpoint) {
            found = walk.checkpoint(note).await?;
        }
        let now = self.store.head(check.org).await?.map_or(head.now, |head| head.now);
        self.end(&mut check, now, found).await?;
        Ok(Some(check))
    }

    /// Keeps and tells how a check ended.
    async fn end(
        &self,
        check: &mut ChainCheck,
        now: Timestamp,
        found: Option<Fault>,
    ) -> Result<(), StoreDown> {
        check.status = if found.is_none() { CheckStatus::Passed } else { CheckStatus::Failed };
        check.finished_at = Some(now);
        check.first_bad = found;
        self.store.put_check(check).await?;
        if let Some(fault) = &check.first_bad {
            return self.found(check.org, fault).await;
        }
        self.well(check.org, (check.from_seq, check.end_seq));
        self.tell(check.org, EventType::ChainCheckPassed, passed(check)).await;
        Ok(())
    }

    /// Returns a check.
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

    /// Looks at the next tile of all logs, one org after the other.
    pub async fn walk_on(&self, at: &mut Position, keys: &KeySet) -> Result<Walked, StoreDown> {
        let org = match at.org {
            Some(org) => org,
            None => match self.org_after(None).await? {
                Some(first) => first,
                None => return Ok(Walked::Through),
            },
        };
        match self.step(org, at, keys).await {
            // A log that cannot be read keeps nobody from looking at the others.
            Err(down) => self.leave(org, at).await.and(Err(down)),
            walked => walked,
        }
    }

    async fn step(
        &self,
        org: OrgId,
        at: &mut Position,
        keys: &KeySet,
    ) -> Result<Walked, StoreDown> {
        let first = at.seq;
        // It is looked for first: a head that does not fit its log may not be readable.
        if first == 0
            && let Some(found) = self.store.misfit(org).await?
        {
            self.found(org, &misfit(&found)).await?;
            return self.leave(org, at).await;
        }
        let Some(head) = self.store.head(org).await? else { return self.leave(org, at).await };
        let (size, mut next, mut found) = (head.chain.size(), first, None);
        let walk = Walk { store: &*self.store, keys, org, head: &head };
        if first < size {
            (next, found) = walk.tile(first, size).await?;
        }
        let is_whole = next >= size;
        if found.is_none() && is_whole {
            found = walk.head().await?;
        }
        match found {
            Some(fault) => self.found(org, &fault).await?,
            None => self.well(org, (first, next)),
        }
        if is_whole {
            return self.leave(org, at).await;
        }
        *at = Position { org: Some(org), seq: next };
        Ok(Walked::On)
    }

    /// Goes on to the next org.
    async fn leave(&self, org: OrgId, at: &mut Position) -> Result<Walked, StoreDown> {
        let next = self.org_after(Some(org)).await?;
        *at = Position { org: next, seq: 0 };
        Ok(if next.is_some() { Walked::On } else { Walked::Through })
    }

    async fn org_after(&self, org: Option<OrgId>) -> Result<Option<OrgId>, StoreDown> {
        let logs = self.store.logs().await?;
        let behind = logs.iter().map(|log| log.org).filter(|other| Some(*other) > org);
        Ok(behind.min())
    }

    /// Tells of a fault wherever somebody looks, once.
    async fn found(&self, org: OrgId, fault: &Fault) -> Result<(), StoreDown> {
        let before = {
            let mut faults = self.faults.lock().unwrap_or_else(PoisonError::into_inner);
            faults.insert(org, fault.clone())
        };
        if before.as_ref() == Some(fault) {
            return Ok(());
        }
        let Fault { seq, problem, expected, found } = fault;
        tracing::error!(
            %org, seq, ?problem, expected, found,
            "the log is not as it was sealed; compare it with a backup and kept checkpoints"
        );
        let object = broken(fault);
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
    fn well(&self, org: OrgId, (first, end): (u64, u64)) {
        let mut faults = self.faults.lock().unwrap_or_else(PoisonError::into_inner);
        if faults.get(&org).is_some_and(|fault| (first..end).contains(&fault.seq)) {
            faults.remove(&org);
        }
    }

    async fn tell(&self, org: OrgId, kind: EventType, object: Value) {
        let told = self.ledger.enter(org, Tell { kind, object }).await;
        match told {
            // Of a log that is withheld nothing more is told in the log itself.
            Ok(()) | Err(LedgerError::Withheld) => {}
            Err(error) => tracing::warn!(%org, %error, "an event of a check could not be told"),
        }
    }
}

fn broken(fault: &Fault) -> Value {
    json!({ "object": "chain", "seq": fault.seq, "digest": null, "problem": fault.problem })
}

fn passed(check: &ChainCheck) -> Value {
    json!({ "object": "chain", "seq": check.end_seq - 1, "digest": null, "check": check.id })
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
