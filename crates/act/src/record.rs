//! What a change adds to its turn: rows, the admin deed of each fact and the event of the same
//! name.

use deed::{AdminContent, Commitment, Content, Disclosure, Draft, Path, Subject};
use ledger::{Changes, DeedEntry, Entry};
use model::{DeedId, EventId, EventType, LogId, Mint, Timestamp, Uuid};
use serde_json::Value;

use crate::{By, Reason};

/// What was changed, as it stands now, and the deed that says so.
#[derive(Debug, Clone, PartialEq)]
pub struct Changed<T> {
    /// What was changed.
    pub object: T,
    /// The admin deed.
    pub deed: DeedId,
}

/// What an admin deed and its event say of a change.
#[derive(Debug, Clone)]
pub struct Fact {
    /// What happened; the event's type and the deed's word are the same.
    pub event: EventType,
    /// What the deed is about.
    pub subject: Subject,
    /// The subject before, without its secrets.
    pub before: Option<Value>,
    /// The subject after, without its secrets.
    pub after: Option<Value>,
    /// Ids, digests and words that stand in the deed in clear.
    pub data: Vec<(&'static str, Value)>,
    /// The event's thin object.
    pub object: Value,
}

/// Collects everything that a change adds to its turn.
#[derive(Debug)]
pub struct Record<'a> {
    mint: &'a Mint<'a>,
    by: By,
    reason: Option<Reason>,
    entry: Entry,
}

impl Fact {
    /// A fact without data that changes no row which a deed commits to.
    pub fn new(event: EventType, subject: Subject, object: Value) -> Self {
        Self { event, subject, before: None, after: None, data: vec![], object }
    }
}

impl<'a> Record<'a> {
    /// An empty record, for a request that is no [`Act`](crate::Act): an org's first turn.
    pub fn new(by: By, reason: Option<Reason>, mint: &'a Mint<'a>) -> Self {
        Self { mint, by, reason, entry: Entry::nothing() }
    }

    /// What goes into the turn.
    pub fn into_entry(self) -> Entry {
        self.entry
    }

    /// The moment of the turn.
    pub fn now(&self) -> Timestamp {
        self.mint.now()
    }

    /// Who makes the change.
    pub fn by(&self) -> By {
        self.by
    }

    /// Why, empty when no reason is asked for.
    pub fn reason(&self) -> &str {
        self.reason.as_ref().map_or("", Reason::as_str)
    }

    /// Adds a row in its new form, of whichever family.
    pub fn write(&mut self, row: impl Into<Changes>) {
        self.entry.changes.extend(row.into());
    }

    /// Makes the turn open a new log, with the entry's deeds as its first ones, and returns its id.
    pub fn open_log(&mut self) -> LogId {
        *self.entry.opens.get_or_insert_with(|| self.mint.id(LogId::from_uuid))
    }

    /// Adds an event of what changes nothing, so that no deed tells it, and returns its id.
    pub fn tell(&mut self, kind: EventType, object: Value) -> EventId {
        let id = self.mint.id(EventId::from_uuid);
        self.entry.events.push(event::Draft {
            id,
            kind,
            livemode: true,
            agent: None,
            action: None,
            object,
        });
        id
    }

    /// A new id of the moment of the turn.
    pub fn id<T>(&self, make: fn(Uuid) -> T) -> T {
        self.mint.id(make)
    }

    /// Adds the deed and the event of a change, and returns the deed's id.
    pub fn seal(&mut self, fact: Fact) -> DeedId {
        let id = self.mint.id(DeedId::from_uuid);
        let mut disclosures = Vec::new();
        let mut commit = |path: Path, value: Option<Value>| -> Option<Commitment> {
            let (commitment, disclosure): (_, Disclosure) = deed::commit(self.mint, path, &value?);
            disclosures.push(disclosure);
            Some(commitment)
        };
        let content = AdminContent {
            event: fact.event.into(),
            before: commit(Path::BEFORE, fact.before),
            after: commit(Path::AFTER, fact.after),
            reason: commit(Path::REASON, self.reason.as_ref().map(|why| why.as_str().into())),
            data: fact.data.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
        };
        let draft = Draft {
            id,
            // A change to an org is never a test, even when it makes a test key.
            livemode: true,
            actor: self.by.actor(),
            subject: fact.subject,
            content: Content::Admin(content),
        };
        self.entry.deeds.push(DeedEntry { draft, disclosures, agent: None, action: None });
        self.tell(fact.event, fact.object);
        id
    }
}
