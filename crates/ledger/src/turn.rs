//! Drafts a turn: requests say what they need, decide in order, and what they want sealed is
//! sealed. It waits for nothing and appends nothing.

use std::time::Duration;

use event::Event;
use model::{DeedKind, EventId, EventType, LogId, Mint, OrgId};
use serde_json::Value;

use crate::{
    batch::Batch,
    data::{DeedEntry, Entry, Head, PlacedDeed, Turn},
    families::{Changes, Needs},
    means::Means,
    place::LogNo,
    snapshot::Snapshot,
    store::HeldHead,
};

/// For how long the requests of one turn may be asked what they need, and for how long they may
/// then decide: one that is begun is ended, and those behind it are of the next turn. A turn of
/// policies at their limit must not keep other orgs waiting.
const WORK: Duration = Duration::from_millis(10);
/// A turn that writes this many bytes takes no further request: it has to be sent, and answered,
/// within the store's deadline.
const BYTES: usize = 4 << 20;

/// A turn that is being drafted: what it knows, and whose it is.
pub(crate) struct Table {
    pub(crate) snapshot: Snapshot,
    pub(crate) batch: Batch,
    /// Requests that the turn has no time for.
    pub(crate) rest: Batch,
    /// What the requests have spent on asking.
    spent: Duration,
}

/// What drafting comes to.
pub(crate) enum Drafted {
    /// There is something to append.
    Turn(Box<Draft>),
    /// Every request decided, and none of them writes anything.
    Nothing(Batch),
    /// The first request cannot be decided on this ground.
    Undecided,
    /// A deed of these requests could not be sealed.
    Faulty(Batch, DraftFault),
}

/// A turn that is decided and signed, and nothing more.
pub(crate) struct Draft {
    pub(crate) turn: Turn,
    /// The requests that it answers.
    pub(crate) batch: Batch,
    /// What is known once it is committed; nothing where the next turn must look afresh.
    pub(crate) after: Option<Snapshot>,
    /// The org's head, where it is held for this turn.
    pub(crate) head: Option<Box<dyn HeldHead>>,
    /// When drafting began.
    pub(crate) begun: Duration,
}

/// Why a turn could not be drafted.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DraftFault {
    #[error("could not seal a deed")]
    Seal(#[from] deed::SealError),
    #[error("could not name a log")]
    Log(#[from] deed::TextError),
}

/// The state that a turn is based on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ground {
    /// The durable state.
    Durable,
    /// The state after a turn that is being committed.
    Ahead,
}

impl Table {
    /// The table of these requests, with this snapshot.
    pub(crate) fn new(snapshot: Snapshot, mut batch: Batch) -> Self {
        let rest = batch.split_off(batch.requests.len());
        Self { snapshot, batch, rest, spent: Duration::ZERO }
    }

    /// The rows that the requests need and the snapshot does not have. Requests beyond the time limit move
    /// to the rest.
    ///
    /// The needs of a request can depend on the rows that it gets: the policy names the budgets, and an
    /// action names its counters. So all requests are asked again until none names a new row. Missing rows
    /// are cached as missing, so the loop terminates.
    pub(crate) fn missing(&mut self, means: &Means) -> Needs {
        let begun = means.parts.clock.elapsed();
        let spent = |before: Duration| before + means.parts.clock.elapsed().saturating_sub(begun);
        let mut needs = Needs::default();
        let mut asked = 0;
        for request in &self.batch.requests {
            if asked > 0 && spent(self.spent) > WORK {
                break;
            }
            needs.extend(request.needs(&self.snapshot));
            asked += 1;
        }
        self.spent = spent(self.spent);
        self.put_back(asked);
        self.snapshot.missing(needs)
    }

    /// All requests, for a turn that is not used.
    pub(crate) fn into_batch(self) -> Batch {
        let Self { mut batch, rest, .. } = self;
        batch.append(rest);
        batch
    }

    /// Puts the requests from this one on in front of the rest.
    fn put_back(&mut self, from: usize) {
        let mut late = self.batch.split_off(from);
        std::mem::swap(&mut late, &mut self.rest);
        self.rest.append(late);
    }

    /// Lets every request decide in order, and seals their deeds.
    pub(crate) fn draft(mut self, means: &Means, ground: Ground) -> (Drafted, Batch) {
        let org = self.snapshot.org_id();
        let mint = Mint::new(self.snapshot.now(), means.parts.entropy.as_ref());
        let present = self.snapshot.base().map(|base| base.head.clone());
        let (entries, is_last) = self.decide(means, (ground, &mint));
        self.put_back(entries.len());
        let Self { mut snapshot, batch, rest, .. } = self;
        if entries.is_empty() && !rest.requests.is_empty() {
            return (Drafted::Undecided, rest);
        }
        if entries.iter().all(Entry::is_empty) {
            return (Drafted::Nothing(batch), rest);
        }
        let turn = match seal(entries, present, (org, &mint), means) {
            Ok(turn) => turn,
            Err(fault) => return (Drafted::Faulty(batch, fault), rest),
        };
        snapshot.set_head(turn.head.clone());
        // A new org, another log and a new policy are read back whole: entries bring neither a base
        // nor a compiled policy.
        let after = (!is_last).then_some(snapshot);
        let draft = Draft { turn, batch, after, head: None, begun: Duration::ZERO };
        (Drafted::Turn(Box::new(draft)), rest)
    }

    /// The entries of the requests that decide in this turn, and whether later requests need a snapshot
    /// that is read after it.
    fn decide(&mut self, means: &Means, (ground, mint): (Ground, &Mint<'_>)) -> (Vec<Entry>, bool) {
        let begun = means.parts.clock.elapsed();
        let mut entries: Vec<Entry> = Vec::with_capacity(self.batch.requests.len());
        let (mut bytes, mut is_steered) = (0, false);
        for request in &mut self.batch.requests {
            let took = means.parts.clock.elapsed().saturating_sub(begun);
            if !entries.is_empty() && (took > WORK || bytes >= BYTES) {
                break;
            }
            // A row that was not loaded is unknown, not missing: if an entry of this turn changed the
            // labels of the agent, its new counters must not be taken for zero.
            if is_steered && !self.snapshot.missing(request.needs(&self.snapshot)).is_empty() {
                break;
            }
            let entry = request.decide(&self.snapshot, mint, means.parts.clock.elapsed());
            // All deeds of a turn are in one log, and a closed log gets no further deeds. So the earlier
            // entries go into the old log first, and this entry waits for a turn on the durable state in
            // which it is the first.
            let may_open = ground == Ground::Durable && entries.iter().all(Entry::is_empty);
            if entry.opens.is_some() && !may_open {
                break;
            }
            // Later requests must decide by the org, the log or the policy of this entry, which only a
            // later snapshot has. They keep their order and go into the next turn.
            let is_last = self.snapshot.base().is_none()
                || entry.opens.is_some()
                || !entry.changes.active.is_empty();
            self.snapshot.apply(&entry);
            is_steered |= entry.changes.steer();
            bytes += entry.bytes();
            entries.push(entry);
            if is_last {
                return (entries, true);
            }
        }
        (entries, false)
    }
}

/// The turn that these entries make, its deeds sealed.
fn seal(
    entries: Vec<Entry>,
    present: Option<Head>,
    (org, mint): (OrgId, &Mint<'_>),
    means: &Means,
) -> Result<Turn, DraftFault> {
    let expected = present.as_ref().map(Head::mark);
    let opens = entries.iter().find_map(|entry| entry.opens);
    let head = begin(&means.parts.log_host, present.as_ref(), (opens, mint))?;
    let closes = present.filter(|_| opens.is_some());
    let Placed { head, changes, deeds, events } =
        place(entries, head, (org, mint), &means.parts.sealer)?;
    let (id, at) = (mint.id(std::convert::identity), mint.now());
    Ok(Turn { id, org, expected, head, closes, at, changes, deeds, events })
}

/// The changes, deeds and events of a turn's entries, with their positions in the log.
struct Placed {
    head: Head,
    changes: Changes,
    deeds: Vec<PlacedDeed>,
    events: Vec<Event>,
}

/// Seals the deeds, all at once, and gives the events their places: those of an entry, then those
/// of its deeds. An amendment has two: it is a deed like any other, and whoever waits for what becomes
/// known later need not look at every deed for it.
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
            let livemode = draft.livemode;
            drafts.extend(kinds(sealed.kind).iter().map(|kind| {
                let (id, object) = (mint.id(EventId::from_uuid), object.clone());
                event::Draft { id, kind: *kind, livemode, agent, action, object }
            }));
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

/// The events of the sealing of a deed.
fn kinds(kind: DeedKind) -> &'static [EventType] {
    match kind {
        DeedKind::Action | DeedKind::Admin => &[EventType::DeedSealed],
        DeedKind::Amendment => &[EventType::DeedSealed, EventType::DeedAmended],
    }
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
