//! Checks a log deed by deed: digest, body, columns, link, key, signature, and the tree over them.
//!
//! Pure: rows and hashes in, the first thing that is wrong out. A deed's body vouches for
//! everything that stands beside it, and its signature for the body.

use deed::{
    Actor, Body, Content, DEED_TYPE, KeyError, KeySet, LogOrigin, Purpose, genesis_digest, pae,
    tree::Tree,
};
use model::{Digest, OrgId};
use serde::{Deserialize, Serialize};

use crate::DeedRow;

/// The deeds that one stored node of the first level stands for.
pub(crate) const TILE: u64 = 256;

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
}

impl Judge<'_> {
    /// Returns what is wrong with these rows, which should have the places from `first` up to
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

    fn row(&self, before: Before<'_>, row: &DeedRow) -> Option<Fault> {
        let digest = crypto::sha256(&row.body);
        if digest != row.digest {
            return Some(fault(row.seq, Problem::Digest, digest, row.digest));
        }
        let body = match Body::read(row.body.as_bytes()) {
            Ok(body) => body,
            Err(error) => {
                let found = format!("{} bytes: {error}", row.body.len());
                return Some(fault(row.seq, Problem::BodyMissing, "a deed's body", found));
            }
        };
        self.columns(row, &body)
            .or_else(|| self.link(before, row, &body))
            .or_else(|| self.signature(row, &body))
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

    fn link(&self, before: Before<'_>, row: &DeedRow, body: &Body) -> Option<Fault> {
        let (prev, since) = match before {
            Before::Beginning => (genesis_digest(self.log), row.issued_at),
            Before::Deed(before) => (before.digest, before.issued_at),
        };
        if body.prev != prev {
            return Some(fault(row.seq, Problem::Link, prev, body.prev));
        }
        (row.issued_at < since).then(|| {
            let expected = format!("{since} or later");
            fault(row.seq, Problem::Link, expected, row.issued_at)
        })
    }

    fn signature(&self, row: &DeedRow, body: &Body) -> Option<Fault> {
        let Some(key) = self.keys.find(&body.key_id) else {
            return Some(fault(row.seq, Problem::KeyUnknown, "a registered key", &body.key_id));
        };
        if let Err(why) = key.admits(Purpose::Deed, body.issued_at) {
            let problem = match why {
                KeyError::Revoked => Problem::KeyRevoked,
                KeyError::NotYetActive | KeyError::Retired | KeyError::OtherPurpose => {
                    Problem::KeyWindow
                }
            };
            return Some(fault(row.seq, problem, "a key that counts", why));
        }
        let signed = pae(DEED_TYPE, row.body.as_bytes());
        let holds = key.public.verifies(&signed, &row.signature);
        (!holds).then(|| {
            let expected = format!("the signature of {}", body.key_id);
            fault(row.seq, Problem::Signature, expected, "another")
        })
    }
}

/// Returns the agent that may read the deed: of an action, the one that acted, whom the body names.
fn acting(row: &DeedRow, body: &Body) -> String {
    match (&body.content, &body.actor) {
        (Content::Action(_), Actor::Agent(agent)) => agent.to_string(),
        (Content::Action(_) | Content::Admin(_) | Content::Amendment(_), _) => text(row.acting),
    }
}

/// Returns what is wrong with the stored node over these full hashes of the level below.
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
