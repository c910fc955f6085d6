//! Checks a log deed by deed, and the tree over them: each deed by the rules of `deed::verify`, the
//! columns beside it against its body, and where each stored hash comes from.
//!
//! Pure: rows and hashes in, the first thing that is wrong out. A deed's body vouches for
//! everything that stands beside it, and its signature for the body.

use std::fmt::Display;

use deed::{
    Actor, Body, Content, KeySet, LogOrigin, genesis_digest,
    tree::Tree,
    verify::{CheckId, Position, Stored, StoredError, verify_stored},
};
use model::{Digest, OrgId, Timestamp};
use serde::{Deserialize, Serialize};

use crate::store::{Away, DeedRow};

/// What may be wrong with a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Problem {
    /// A place has no deed.
    Gap,
    /// The body is not the one that was digested.
    Digest,
    /// The body is not one that this service writes.
    BodyMissing,
    /// A column does not repeat what was signed.
    Row,
    /// A deed does not follow the one before.
    Link,
    /// The key that a deed names is not registered.
    KeyUnknown,
    /// The key that a deed names did not count at that time.
    KeyWindow,
    /// The key that a deed names was revoked.
    KeyRevoked,
    /// The signature is not that of the key.
    Signature,
    /// A stored hash is not that of the deeds under it.
    Tree,
    /// The log is not the one that the checkpoint vouches for.
    CheckpointMismatch,
}

/// The first thing that is wrong with a log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// The place of the deed.
    pub seq: u64,
    /// What is wrong.
    pub problem: Problem,
    /// What should be there.
    pub expected: String,
    /// What is there.
    pub found: String,
}

/// What deeds of one log are held against.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Judge<'a> {
    pub(crate) org: OrgId,
    pub(crate) log: &'a LogOrigin,
    pub(crate) keys: &'a KeySet,
}

/// The deed before the one that is judged.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Before<'a> {
    /// There is none: the deed is the first of its log.
    Beginning,
    /// This one.
    Deed(&'a DeedRow),
    /// This one, which is away.
    Away(Away),
}

impl Judge<'_> {
    /// What is wrong with these rows, which should have the places from `first` up to
    /// `end`.
    pub(crate) fn rows<'r>(
        &self,
        (first, end): (u64, u64),
        mut before: Before<'r>,
        rows: &'r [DeedRow],
    ) -> Option<Fault> {
        let mut rows = rows.iter();
        for place in first..end {
            let Some(row) = rows.next().filter(|row| row.seq == place) else {
                return Some(fault(place, Problem::Gap, "a deed", "none"));
            };
            if let Some(fault) = self.row(before, row) {
                return Some(fault);
            }
            before = Before::Deed(row);
        }
        None
    }

    /// The columns are looked at as soon as the body can be believed to be one of ours: where they
    /// differ, what follows of them would be said of another deed.
    fn row(&self, before: Before<'_>, row: &DeedRow) -> Option<Fault> {
        let (body, digest, signature) = (row.body.as_str(), row.digest, &row.signature);
        let stored = Stored { body, digest, key_id: &row.key_id, signature };
        let Judge { org, log, keys } = *self;
        let place = Position { org, log, seq: row.seq, before: before.known() };
        match verify_stored(&stored, &place, keys) {
            Ok(deed) => self.columns(row, deed.body()),
            Err(StoredError { check, why, body: Some(body), .. }) if !is_of_body(check) => {
                let told = || told((check, why), before, (row, &body), log);
                Some(self.columns(row, &body).unwrap_or_else(told))
            }
            Err(StoredError { check: CheckId::Digest, .. }) => {
                Some(fault(row.seq, Problem::Digest, crypto::sha256(&row.body), row.digest))
            }
            Err(StoredError { why, .. }) => {
                let found = format!("{} bytes: {why}", row.body.len());
                Some(fault(row.seq, Problem::BodyMissing, "a deed's body", found))
            }
        }
    }

    /// The columns only repeat the body; nobody may be misled by one.
    fn columns(&self, row: &DeedRow, body: &Body) -> Option<Fault> {
        let about = row.action.map(|action| action.to_string());
        let subject = (body.subject.kind.as_str() == "action").then(|| body.subject.id.to_string());
        let pairs = [
            (self.org.to_string(), body.org.to_string()),
            (self.log.to_string(), body.log.to_string()),
            (row.seq.to_string(), body.seq.to_string()),
            (row.id.to_string(), body.id.to_string()),
            (row.kind.clone(), body.kind.to_string()),
            (row.issued_at.to_string(), body.issued_at.to_string()),
            (row.key_id.clone(), body.key_id.to_string()),
            (about.unwrap_or_default(), subject.unwrap_or_default()),
            (text(row.agent), text(row.acting)),
            (text(row.agent), acting(row, body)),
        ];
        let differs = pairs.into_iter().find(|(found, expected)| found != expected);
        differs.map(|(found, expected)| fault(row.seq, Problem::Row, expected, found))
    }
}

impl Before<'_> {
    fn known(self) -> Option<(Digest, Timestamp)> {
        match self {
            Self::Beginning => None,
            Self::Deed(before) => Some((before.digest, before.issued_at)),
            Self::Away(before) => Some((before.last, before.issued_at)),
        }
    }
}

/// Whether the check is one of the body alone, without which there is no deed.
fn is_of_body(check: CheckId) -> bool {
    use CheckId::{Canonical, Digest, Honesty, Shape, Type};
    matches!(check, Digest | Type | Canonical | Shape | Honesty)
}

/// Tells what is wrong with a deed of which this check did not pass.
fn told(
    (check, why): (CheckId, String),
    before: Before<'_>,
    (row, body): (&DeedRow, &Body),
    log: &LogOrigin,
) -> Fault {
    let tell = |problem, expected: &dyn Display, found: &dyn Display| {
        fault(row.seq, problem, expected, found)
    };
    match check {
        CheckId::Prev => {
            let prev = before.known().map_or_else(|| genesis_digest(log), |(digest, _)| digest);
            tell(Problem::Link, &prev, &body.prev)
        }
        CheckId::Time => {
            let since = before.known().map_or(row.issued_at, |(_, since)| since);
            tell(Problem::Link, &format!("{since} or later"), &row.issued_at)
        }
        CheckId::Key => tell(Problem::KeyUnknown, &"a registered key", &body.key_id),
        CheckId::Window => tell(Problem::KeyWindow, &"a key that counts", &why),
        CheckId::Revoked => tell(Problem::KeyRevoked, &"a key that counts", &why),
        CheckId::Signature => {
            tell(Problem::Signature, &format!("the signature of {}", body.key_id), &"another")
        }
        // The columns say it, unless a check that this version does not know refuses the deed.
        _ => tell(Problem::Row, &"a deed that holds", &why),
    }
}

/// The agent that may read the deed: of an action, the one that acted, whom the body names.
fn acting(row: &DeedRow, body: &Body) -> String {
    match (&body.content, &body.actor) {
        (Content::Action(_), Actor::Agent(agent)) => agent.to_string(),
        (Content::Action(_) | Content::Admin(_) | Content::Amendment(_), _) => text(row.acting),
    }
}

/// What is wrong with the stored node over these full hashes of the level below.
pub(crate) fn node_fault(
    seq: u64,
    below: &[Digest],
    leaves: Leaves,
    stored: Option<&Digest>,
) -> Option<Fault> {
    let tree = match leaves {
        Leaves::Deeds => Tree::of(below.iter().copied()),
        Leaves::Nodes => Tree::of_leaves(below.iter().copied()),
    };
    let root = tree.root_at(below.len() as u64);
    (root.as_ref() != stored).then(|| {
        let found = stored.map_or_else(|| "none".to_owned(), Digest::to_string);
        fault(seq, Problem::Tree, text(root), found)
    })
}

/// What a node is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Leaves {
    Deeds,
    Nodes,
}

pub(crate) fn fault(
    seq: u64,
    problem: Problem,
    expected: impl ToString,
    found: impl ToString,
) -> Fault {
    Fault { seq, problem, expected: expected.to_string(), found: found.to_string() }
}

fn text<T: ToString>(value: Option<T>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}
