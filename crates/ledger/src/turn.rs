//! One turn: load, decide, seal, append, answer.

use event::Event;
use model::{EventId, EventType, LogId, Mint, OrgId, Timestamp};
use serde_json::Value;

use crate::{
    data::{DeedEntry, Entry, Head, PlacedDeed, Turn},
    families::{Changes, Needs},
    ledger::Shared,
    notice::Notice,
    place::LogNo,
    queue::Waiting,
    seen::{Mark, StoreTime},
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
    memory: Option<Snapshot>,
    // A turn whose commit got no answer and could not be settled yet.
    doubt: Option<Turn>,
    time: StoreTime,
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
    Done(usize),
    /// Somebody else moved the head.
    Again,
    Failed(LedgerError),
    /// A row breaks a constraint; whose it is is not known.
    Refused,
}

impl Driver {
    pub(crate) fn new(org: OrgId) -> Self {
        Self { org, memory: None, doubt: None, time: StoreTime::default() }
    }

    /// Forgets what it knows of the org; the next turn looks afresh. A doubt stays one.
    pub(crate) fn forget(&mut self) {
        self.memory = None;
    }

    /// Decides the whole batch and tells every caller.
    pub(crate) async fn turn(&mut self, shared: &Shared, batch: Vec<Box<dyn Waiting>>) {
        let mut batches = vec![batch];
        while let Some(mut batch) = batches.pop() {
            let begun = shared.parts.clock.elapsed();
            let outcome = self.settle(shared, &mut batch).await;
            match outcome {
                Outcome::Refused if batch.len() > 1 => {
                    // One bad request must not fail the others: they are decided by halves.
                    let rest = batch.split_off(batch.len() / 2);
                    batches.extend([rest, batch]);
                }
                Outcome::Done(decided) => {
                    let took = shared.parts.clock.elapsed().saturating_sub(begun);
                    shared.figures.seconds.add(took.as_secs_f64());
                    shared.figures.requests.add(count(decided));
                    let rest = batch.split_off(decided);
                    tell(batch, Ok(()));
                    if !rest.is_empty() {
                        batches.push(rest);
                    }
                }
                Outcome::Failed(error) => fail(shared, batch, error),
                Outcome::Refused => fail(shared, batch, LedgerError::Fault),
                Outcome::Again => fail(shared, batch, LedgerError::Unavailable),
            }
        }
    }

    /// Decides until the head is won.
    async fn settle(&mut self, shared: &Shared, batch: &mut [Box<dyn Waiting>]) -> Outcome {
        for _ in 0..MAX_LOST {
            match self.attempt(shared, batch).await {
                Ok(Outcome::Again) => shared.figures.lost_heads.one(),
                Ok(outcome) => return outcome,
                Err(down) => {
                    tracing::warn!(org = %self.org, error = %chain(&down), "the store is down");
                    return Outcome::Failed(LedgerError::Unavailable);
                }
            }
        }
        Outcome::Again
    }

    async fn attempt(
        &mut self,
        shared: &Shared,
        batch: &mut [Box<dyn Waiting>],
    ) -> Result<Outcome, StoreDown> {
        self.settle_doubt(shared).await?;
        let moment = self.time.at(shared.parts.clock.elapsed());
        let memory = self.memory.take().zip(moment);
        let remembered = memory.is_some();
        let Some(snapshot) = self.snapshot(shared, batch, memory).await? else {
            return Ok(Outcome::Failed(LedgerError::Withheld));
        };
        let draft = match self.draft(shared, snapshot, batch) {
            Ok(Some(draft)) => draft,
            // Nothing to append means no compare-and-set, and memory alone proves nothing.
            Ok(None) if remembered => return Ok(Outcome::Again),
            Ok(None) => return Ok(Outcome::Done(batch.len())),
            Err(fault) => {
                shared.figures.hold_sealing();
                tracing::error!(org = %self.org, error = %chain(&fault), "a turn was not drafted");
                return Ok(Outcome::Failed(LedgerError::Fault));
            }
        };
        failpoint::hit("turn.signed").map_err(injected)?;
        Ok(self.append(shared, draft).await)
    }

    /// Loads until the requests need nothing more; nothing comes back of a record that is behind
    /// what was seen of it, unless the requests open another log.
    async fn snapshot(
        &mut self,
        shared: &Shared,
        batch: &mut [Box<dyn Waiting>],
        memory: Option<(Snapshot, Timestamp)>,
    ) -> Result<Option<Snapshot>, StoreDown> {
        let store = shared.parts.store.as_ref();
        let (mut snapshot, now) = if let Some(memory) = memory {
            memory
        } else {
            let fresh = shared.look(self.org).await?;
            self.time.tell(fresh.now(), shared.parts.clock.elapsed());
            let head = fresh.base().map(|base| &base.head);
            if shared.is_behind(self.org, head) && !batch.iter().all(|it| it.opens_log()) {
                return Ok(None);
            }
            let now = fresh.now();
            (fresh, now)
        };
        snapshot.set_now(now);
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
        shared: &Shared,
        mut after: Snapshot,
        batch: &mut [Box<dyn Waiting>],
    ) -> Result<Option<Draft>, DraftFault> {
        let now = after.now();
        let mint = Mint::new(now, shared.parts.entropy.as_ref());
        let mut entries = Vec::with_capacity(batch.len());
        for waiting in batch.iter_mut() {
            let entry = waiting.decide(&after, &mint);
            // All deeds of a turn are in one log, so nothing is written beside a new one.
            if entry.opens.is_some() && !entries.iter().all(Entry::is_empty) {
                break;
            }
            let last =
                after.base().is_none() || entry.opens.is_some() || !entry.changes.active.is_empty();
            after.apply(&entry);
            entries.push(entry);
            // What follows must decide by the org, the log or the policy that this entry brings,
            // which only a later snapshot has.
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
        let head = begin(&shared.parts.log_host, present.as_ref(), (opens, &mint))?;
        let closes = present.filter(|_| opens.is_some());
        let Placed { head, changes, deeds, events } =
            place(entries, head, (self.org, &mint), &shared.parts.sealer)?;
        after.set_head(head.clone());
        let id = mint.id(std::convert::identity);
        let org = self.org;
        let turn = Turn { id, org, expected, head, closes, at: now, changes, deeds, events };
        Ok(Some(Draft { turn, after, decided }))
    }

    async fn append(&mut self, shared: &Shared, draft: Draft) -> Outcome {
        let Draft { turn, after, decided } = draft;
        match shared.parts.store.append(&turn).await {
            Ok(now) => {
                self.time.tell(now, shared.parts.clock.elapsed());
                self.won(shared, turn, after);
                Outcome::Done(decided)
            }
            Err(AppendError::Lost) => Outcome::Again,
            Err(AppendError::Down(down)) => {
                tracing::warn!(org = %self.org, error = %chain(&down), "a turn was not appended");
                Outcome::Failed(LedgerError::Unavailable)
            }
            Err(AppendError::Refused(down)) => {
                tracing::error!(org = %self.org, error = %chain(&down), "a turn was refused");
                Outcome::Refused
            }
            Err(AppendError::InDoubt(down)) => {
                shared.figures.doubts.one();
                tracing::warn!(org = %self.org, error = %chain(&down), "a commit is in doubt");
                self.resolve(shared, Draft { turn, after, decided }).await
            }
        }
    }

    /// Asks the store what became of a commit whose answer was lost. When it cannot say either,
    /// whoever waits is told so, and the org's next turn begins with this question.
    async fn resolve(&mut self, shared: &Shared, draft: Draft) -> Outcome {
        let Draft { turn, after, decided } = draft;
        match shared.parts.store.settle(&turn).await {
            Ok(true) => {
                self.won(shared, turn, after);
                Outcome::Done(decided)
            }
            // The store has made sure that a late commit loses.
            Ok(false) => Outcome::Again,
            Err(down) => {
                tracing::warn!(org = %self.org, error = %chain(&down), "still in doubt");
                self.doubt = Some(turn);
                Outcome::Failed(LedgerError::InDoubt)
            }
        }
    }

    /// Settles the last turn if it is in doubt; until then no other turn may be taken.
    async fn settle_doubt(&mut self, shared: &Shared) -> Result<(), StoreDown> {
        let Some(turn) = &self.doubt else { return Ok(()) };
        let committed = shared.parts.store.settle(turn).await?;
        if let Some(turn) = self.doubt.take().filter(|_| committed) {
            shared.figures.won(turn.deeds.len());
            shared.has_seen(turn.org, Mark::of_head(&turn.head));
            shared.notices.tell(Notice { org: turn.org, events: turn.events });
        }
        Ok(())
    }

    fn won(&mut self, shared: &Shared, turn: Turn, mut after: Snapshot) {
        shared.figures.won(turn.deeds.len());
        shared.has_seen(self.org, Mark::of_head(&turn.head));
        // A new org and a new policy are read back whole; everything else memory has.
        if turn.expected.is_some() && turn.changes.active.is_empty() {
            after.forget_settled();
            self.memory = Some(after);
        }
        shared.notices.tell(Notice { org: turn.org, events: turn.events });
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

/// Returns the head that the turn's deeds go on from: the present one, or that of a log without
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

/// Returns the count as a measured value; turns are far smaller than what a double holds.
fn count(requests: usize) -> f64 {
    u32::try_from(requests).map_or(f64::MAX, f64::from)
}

fn fail(shared: &Shared, batch: Vec<Box<dyn Waiting>>, error: LedgerError) {
    shared.figures.failed.one();
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

/// Returns the error and its causes as one line for the log.
fn chain(error: &dyn std::error::Error) -> String {
    let mut line = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        line.push_str(": ");
        line.push_str(&cause.to_string());
        source = cause.source();
    }
    line
}
