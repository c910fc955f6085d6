//! One change: what it writes, the admin deed that seals it and the event that tells of it.
//!
//! All three go into one entry of the org's turn, so a change whose deed cannot be appended does
//! not happen.

use deed::{AdminContent, Commitment, Content, Disclosure, Draft, Path, Subject};
use ledger::{Changes, DeedEntry, Entry, Needs, Request, Snapshot};
use model::{DeedId, EventId, EventType, LogId, Mint, Scope, Timestamp};
use serde_json::Value;

use crate::{By, ChangeError, by::Reason};

/// What was changed, as it stands now, and the deed that says so.
#[derive(Debug, Clone, PartialEq)]
pub struct Changed<T> {
    /// What was changed.
    pub object: T,
    /// The admin deed.
    pub deed: DeedId,
}

/// A change to an org that exists, as a request to its ledger.
pub(crate) struct Act<F> {
    pub(crate) by: By,
    pub(crate) reason: Option<Reason>,
    pub(crate) needs: Needs,
    /// Decides what the change is, or why there is none.
    pub(crate) decide: F,
}

impl<F, T> Request for Act<F>
where
    F: Fn(&Snapshot, &mut Record<'_>) -> Result<T, ChangeError> + Send + 'static,
    T: Send + 'static,
{
    type Answer = Result<T, ChangeError>;

    fn needs(&self, _: &Snapshot) -> Needs {
        let mut needs = self.needs.clone();
        if let By::OrgKey(id) = self.by {
            needs.keys.insert(id);
        }
        needs
    }

    fn decide(&self, at: &Snapshot, mint: &Mint<'_>) -> (Entry, Self::Answer) {
        let mut record = Record::new(self.by, self.reason.clone(), mint);
        let answer = may_change(self.by, at).and_then(|()| (self.decide)(at, &mut record));
        match answer {
            Ok(done) => (record.entry, Ok(done)),
            Err(error) => (Entry::nothing(), Err(error)),
        }
    }
}

/// A key may have been revoked since it was authenticated; the turn knows.
fn may_change(by: By, at: &Snapshot) -> Result<(), ChangeError> {
    at.org().ok_or(ChangeError::NotFound("org"))?;
    match by {
        By::Operator | By::Service => Ok(()),
        By::OrgKey(id) => at
            .key(id)
            .filter(|key| key.is_valid(at.now()) && key.scopes.contains(&Scope::Admin))
            .map(|_| ())
            .ok_or(ChangeError::NotAllowed),
    }
}

/// What an admin deed and its event say of a change.
pub(crate) struct Fact {
    pub(crate) event: EventType,
    pub(crate) subject: Subject,
    /// The subject before, without its secrets.
    pub(crate) before: Option<Value>,
    /// The subject after, without its secrets.
    pub(crate) after: Option<Value>,
    /// Ids, digests and words that stand in the deed in clear.
    pub(crate) data: Vec<(&'static str, Value)>,
    /// The event's thin object.
    pub(crate) object: Value,
}

/// Collects everything that a change adds to its turn.
pub(crate) struct Record<'a> {
    mint: &'a Mint<'a>,
    by: By,
    reason: Option<Reason>,
    entry: Entry,
}

impl<'a> Record<'a> {
    pub(crate) fn new(by: By, reason: Option<Reason>, mint: &'a Mint<'a>) -> Self {
        Self { mint, by, reason, entry: Entry::nothing() }
    }

    pub(crate) fn into_entry(self) -> Entry {
        self.entry
    }

    /// Returns the moment of the turn.
    pub(crate) fn now(&self) -> Timestamp {
        self.mint.now()
    }

    /// Returns who makes the change.
    pub(crate) fn by(&self) -> By {
        self.by
    }

    /// Returns why, empty when no reason is asked for.
    pub(crate) fn reason(&self) -> &str {
        self.reason.as_ref().map_or("", Reason::as_str)
    }

    /// Adds a row in its new form.
    pub(crate) fn write(&mut self, row: impl Into<Changes>) {
        self.entry.changes.extend(row.into());
    }

    /// Makes the turn open a new log, with the entry's deeds as its first ones, and returns its id.
    pub(crate) fn open_log(&mut self) -> LogId {
        *self.entry.opens.get_or_insert_with(|| self.mint.id(LogId::from_uuid))
    }

    /// Adds the deed and the event of a change, and returns the deed's id.
    pub(crate) fn seal(&mut self, fact: Fact) -> DeedId {
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
        self.entry.events.push(event::Draft {
            id: self.mint.id(EventId::from_uuid),
            kind: fact.event,
            livemode: true,
            agent: None,
            action: None,
            object: fact.object,
        });
        id
    }
}
