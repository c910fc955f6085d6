//! One turn: load, decide, seal, append, answer.

use std::sync::atomic::Ordering::Relaxed;

use event::Event;
use model::{EventId, EventType, LogId, Mint, OrgId, Timestamp, causes};
use serde_json::Value;

use crate::{
    data::{DeedEntry, Entry, Head, PlacedDeed, Turn},
    families::{Changes, Needs},
    means::Means,
    notice::Notice,
    place::LogNo,
    queue::{Memory, Waiting},
    seen::Mark,
    snapshot::Snapshot,
    store::{AppendError, LedgerError, StoreDown},
};

/// How often a turn that lost the head is decided again before its requests are told to retry.
const MAX_LOST: u32 = 50;

/// Takes an org's turns and remembers the last one.
///
/// A won compare-and-set proves that nobody else wrote, so the memory of the last turn is exact
/// until somebody does, and then the next compare-and-set is lost.
pub(crate) struct Driver {
    org: OrgId,
    memory: Box<Memory>,
}

/// What a turn would write, before it is appended.
struct Draft {
    turn: Turn,
    after: Snapshot,
    /// How many requests of the batch decided.
    decided: usize,
}

/// Why a turn could not be drafted.
#[derive(Debug, thiserror::Error)]
enum DraftFault {
    #[error("could not seal a deed")]
    Seal(#[from] deed::SealError),
    #[error("could not name a log")]
    Log(#[from] deed::TextError),
}

enum Outcome {
    /// What this many requests of the batch decided is durable, or there was nothing to write.
    Settled(usize),
    /// Somebody else moved the head.
    Again,
    Failed(LedgerError),
    /// A row breaks a constraint; whose it is is not known.
    Refused,
}

impl Driver {
    pub(crate) fn new(org: OrgId, memory: Box<Memory>) -> Self {
        Self { org, memory }
    }

    pub(crate) fn into_memory(self) -> Box<Memory> {
        self.memory
    }

    /// Forgets what the last turn left behind, so that the next looks afresh. A doubt stays one.
    pub(crate) fn forget(&mut self) {
        self.memory.snapshot = None;
    }

    /// Decides the whole batch and tells every caller.
    pub(crate) async fn turn(&mut self, means: &Means, batch: Vec<Box<dyn Waiting>>) {
        let mut batches = vec![batch];
        while let Some(mut batch) = batches.pop() {
            let started = means.parts.clock.elapsed();
            let outcome = self.settle(means, &mut batch).await;
            match outcome {
                Outcome::Refused if batch.len() > 1 => {
                    // One bad request must not fail the others: they are decided by halves.
                    let rest = batch.split_off(batch.len() / 2);
                    batches.extend([rest, batch]);
                }
                Outcome::Settled(decided) => {
                    let took = means.parts.clock.elapsed().saturating_sub(started);
                    means.figures.seconds.observe(took.as_secs_f64());
                    means.figures.requests.observe(count(decided));
                    let rest = batch.split_off(decided);
                    tell(batch, Ok(()));
                    if !rest.is_empty() {
                        batches.push(rest);
                    }
                }
                Outcome::Failed(error) => fail(means, batch, error),
                Outcome::Refused => fail(means, batch, LedgerError::Fault),
                Outcome::Again => fail(means, batch, LedgerError::Unavailable),
            }
        }
    }

    /// Decides until the head is won.
    async fn settle(&mut self, means: &Means, batch: &mut [Box<dyn Waiting>]) -> Outcome {
        for _ in 0..MAX_LOST {
            match self.attempt(means, batch).await {
                Ok(Outcome::Again) => {
                    means.figures.lost_heads.fetch_add(1, Relaxed);
                }
                Ok(outcome) => return outcome,
                Err(down) => {
                    tracing::warn!(org = %self.org, error = %causes(&down), "the store is down");
                    return Outcome::Failed(LedgerError::Unavailable);
                }
            }
        }
        Outcome::Again
    }

    async fn attempt(
        &mut self,
        means: &Means,
        batch: &mut [Box<dyn Waiting>],
    ) -> Result<Outcome, StoreDown> {
        self.settle_doubt(means).await?;
        let moment = self.memory.time.at(means.parts.clock.elapsed());
        let memory = self.memory.snapshot.take().zip(moment);
        let remembered = memory.is_some();
        let Some(snapshot) = self.snapshot(means, batch, memory).await? else {
            return Ok(Outcome::Failed(LedgerError::Withheld));
        };
        let draft = match self.draft(means, snapshot, batch) {
            Ok(Some(draft)) => draft,
            // Nothing to append means no compare-and-set, and memory alone proves nothing.
            Ok(None) if remembered => return Ok(Outcome::Again),
            Ok(None) => return Ok(Outcome::Settled(batch.len())),
            Err(fault) => {
                means.figures.hold_sealing();
                tracing::error!(org = %self.org, error = %causes(&fault), "a turn was not drafted");
                return Ok(Outcome::Failed(LedgerError::Fault));
            }
        };
        failpoint::hit("turn.signed").map_err(injected)?;
        Ok(self.append(means, draft).await)
    }

    /// Loads until the requests need nothing more. Nothing comes back of a record that is behind what
    /// was seen of it, unless all that is asked for is another log.
    async fn snapshot(
        &mut self,
        means: &Means,
        batch: &mut [Box<dyn Waiting>],
        memory: Option<(Snapshot, Timestamp)>,
    ) -> Result<Option<Snapshot>, StoreDown> {
        let store = means.parts.store.as_ref();
        let (mut snapshot, now) = if let Some(memory) = memory {
            memory
        } else {
            let fresh = means.look(self.org).await?;
            let now = fresh.now();
            self.memory.time.tell(now, means.parts.clock.elapsed());
            let head = fresh.base().map(|base| &base.head);
            if means.marks.is_behind(self.org, head) && !batch.iter().all(|it| it.opens_log()) {
                return Ok(None);
            }
            (fresh, now)
        };
        snapshot.set_now(now);
        // What a request needs may hang on what it gets: which budgets it is counted in says the
        // policy, and which counters an action holds says the action. So all are asked again until
        // nobody names anything new. Of what is absent that is known too, so this comes to an end.
        loop {
            let mut needs = Needs::default();
            for waiting in batch.iter() {
                needs.extend(waiting.needs(&snapshot));
            }
            let missing = snapshot.missing(needs);
            if missing.is_empty() {
                return Ok(Some(snapshot));
            }
            let found = store.load(self.org, &missing).await?;
            snapshot.learn(missing, found);
        }
    }

    /// Lets every request decide, in order, and seals what they want sealed.
    fn draft(
        &self,
        means: &Means,
        mut after: Snapshot,
        batch: &mut [Box<dyn Waiting>],
    ) -> Result<Option<Draft>, DraftFault> {
        let now = after.now();
        let mint = Mint::new(now, means.parts.entropy.as_ref());
        let mut entries = Vec::with_capacity(batch.len());
        for waiting in batch.iter_mut() {
            let entry = waiting.decide(&after, &mint, means.parts.clock.elapsed());
            // All deeds of a turn are in one log, and a log that is closed gets none any more. So
            // what came before goes into the old one in this turn, and this entry waits for the
            // next, where it stands first.
            if entry.opens.is_some() && !entries.iter().all(Entry::is_empty) {
                break;
            }
            let last =
                after.base().is_none() || entry.opens.is_some() || !entry.changes.active.is_empty();
            after.apply(&entry);
            entries.push(entry);
            // What follows must decide by the org, the log or the policy that this entry brings,
            // which only a later snapshot has. It keeps its place and goes into the next turn.
            if last {
                break;
            }
        }
        let decided = entries.len();
        if entries.iter().all(Entry::is_empty) {
            return Ok(None);
        }
        let expected = after.base().map(|base| base.head.version);
        let present = after.base().map(|base| base.head.clone());
        let opens = entries.iter().find_map(|entry| entry.opens);
        let head = begin(&means.parts.log_host, present.as_ref(), (opens, &mint))?;
        let closes = present.filter(|_| opens.is_some());
        let Placed { head, changes, deeds, events } =
            place(entries, head, (self.org, &mint), &means.parts.sealer)?;
        after.set_head(head.clone());
        let id = mint.id(std::convert::identity);
        let org = self.org;
        let turn = Turn { id, org, expected, head, closes, at: now, changes, deeds, events };
        Ok(Some(Draft { turn, after, decided }))
    }

    async fn append(&mut self, means: &Means, draft: Draft) -> Outcome {
        let Draft { turn, after, decided } = draft;
        match means.parts.store.append(&turn).await {
            Ok(now) => {
                self.memory.time.tell(now, means.parts.clock.elapsed());
                self.won(means, turn, after);
                Outcome::Settled(decided)
            }
            Err(AppendError::Lost) => Outcome::Again,
            Err(AppendError::Down(down)) => {
                tracing::warn!(org = %self.org, error = %causes(&down), "a turn was not appended");
                Outcome::Failed(LedgerError::Unavailable)
            }
            Err(AppendError::Refused(down)) => {
                tracing::error!(org = %self.org, error = %causes(&down), "a turn was refused");
                Outcome::Refused
            }
            Err(AppendError::InDoubt(down)) => {
                means.figures.doubts.fetch_add(1, Relaxed);
                tracing::warn!(org = %self.org, error = %causes(&down), "a commit is in doubt");
                self.resolve(means, Draft { turn, after, decided }).await
            }
        }
    }

    /// Asks the store what became of a commit whose answer was lost. When it cannot say either,
    /// whoever waits is told so, and the org's next turn begins with this question.
    async fn resolve(&mut self, means: &Means, draft: Draft) -> Outcome {
        let Draft { turn, after, decided } = draft;
        match means.parts.store.settle(&turn).await {
            Ok(true) => {
                self.won(means, turn, after);
                Outcome::Settled(decided)
            }
            // The store has made sure that a late commit loses.
            Ok(false) => Outcome::Again,
            Err(down) => {
                tracing::warn!(org = %self.org, error = %causes(&down), "still in doubt");
                self.memory.doubt = Some(turn);
                Outcome::Failed(LedgerError::InDoubt)
            }
        }
    }

    /// Settles the last turn if it is in doubt; until then no other turn may be taken.
    async fn settle_doubt(&mut self, means: &Means) -> Result<(), StoreDown> {
        let Some(turn) = &self.memory.doubt else { return Ok(()) };
        let committed = means.parts.store.settle(turn).await?;
        if let Some(turn) = self.memory.doubt.take().filter(|_| committed) {
            means.figures.won(turn.deeds.len());
            means.marks.note(self.org, Mark::of_head(&turn.head));
            means.notices.tell(Notice { org: turn.org, events: turn.events });
        }
        Ok(())
    }

    fn won(&mut self, means: &Means, turn: Turn, mut after: Snapshot) {
        means.figures.won(turn.deeds.len());
        means.marks.note(self.org, Mark::of_head(&turn.head));
        // Only a won head proves that nobody else wrote since this was read; what is remembered
        // after anything less could decide by rows that another instance has changed. A new org
        // and a new policy are read back whole: entries bring neither a base nor a compiled policy.
        if turn.expected.is_some() && turn.changes.active.is_empty() {
            after.forget_settled();
            self.memory.snapshot = Some(after);
        }
        means.notices.tell(Notice { org: turn.org, events: turn.events });
    }
}

/// What a turn's entries want, everything in its place.
struct Placed {
    head: Head,
    changes: Changes,
    deeds: Vec<PlacedDeed>,
    events: Vec<Event>,
}

/// Seals the deeds, all at once, and gives the events their places: those of an entry, then those
/// of its deeds.
fn place(
    entries: Vec<Entry>,
    mut head: Head,
    (org, mint): (OrgId, &Mint<'_>),
    seal: &deed::Sealer,
) -> Result<Placed, deed::SealError> {
    let drafts = entries.iter().flat_map(|entry| &entry.deeds).map(|deed| deed.draft.clone());
    let signed = seal.seal_all(&mut head.chain, drafts.collect(), org, mint.now())?;
    let mut signed = signed.into_iter();
    let (mut changes, mut deeds, mut events) = (Changes::default(), Vec::new(), Vec::new());
    for entry in entries {
        changes.extend(entry.changes);
        let mut drafts = entry.events;
        for (DeedEntry { draft, disclosures, agent, action }, sealed) in
            entry.deeds.into_iter().zip(signed.by_ref())
        {
            let subject = serde_json::to_value(&draft.subject).unwrap_or(Value::Null);
            let object =
                event::thin_deed(sealed.id, sealed.seq, sealed.kind, &subject, sealed.digest);
            let (id, kind) = (mint.id(EventId::from_uuid), EventType::DeedSealed);
            let livemode = draft.livemode;
            drafts.push(event::Draft { id, kind, livemode, agent, action, object });
            deeds.push(PlacedDeed { sealed, disclosures, agent, action });
        }
        for draft in drafts {
            head.event_seq += 1;
            events.push(draft.placed(org, head.event_seq, mint.now()));
        }
    }
    head.version += 1;
    Ok(Placed { head, changes, deeds, events })
}

/// The head that the turn's deeds go on from: the present one, or that of a log without
/// deeds where there is none or where the turn opens another.
fn begin(
    host: &str,
    present: Option<&Head>,
    (opens, mint): (Option<LogId>, &Mint<'_>),
) -> Result<Head, deed::TextError> {
    let empty = |log| Ok(deed::ChainHead::genesis(deed::LogOrigin::new(host, log)?));
    Ok(match (present, opens) {
        (Some(head), None) => head.clone(),
        (Some(head), Some(log)) => {
            Head { log_no: head.log_no.next(), chain: empty(log)?, ..head.clone() }
        }
        (None, opens) => Head {
            version: 0,
            log_no: LogNo::FIRST,
            chain: empty(opens.unwrap_or_else(|| mint.id(LogId::from_uuid)))?,
            event_seq: 0,
        },
    })
}

/// The count as a measured value; turns are far smaller than what a double holds.
fn count(requests: usize) -> f64 {
    u32::try_from(requests).map_or(f64::MAX, f64::from)
}

fn fail(means: &Means, batch: Vec<Box<dyn Waiting>>, error: LedgerError) {
    means.figures.failed.fetch_add(1, Relaxed);
    tell(batch, Err(error));
}

fn tell(batch: Vec<Box<dyn Waiting>>, outcome: Result<(), LedgerError>) {
    for waiting in batch {
        waiting.tell(outcome.clone());
    }
}

fn injected(_: failpoint::Injected) -> StoreDown {
    StoreDown { attempt: "pass a failpoint", source: "an error was injected".into() }
}
