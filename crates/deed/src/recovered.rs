//! What the first deed of a log says that replaces another one: which log it follows, how far that
//! one goes, and what is known to be lost of it. It judges nothing.

use model::{Digest, EventType};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    body::Body, checkpoint::Checkpoint, content::Content, exact, text::LogOrigin, tree::TreeHead,
};

/// The facts of a `log.recovered` deed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recovered {
    /// The log that was closed.
    pub log: LogOrigin,
    /// How many deeds it has.
    pub size: u64,
    /// The root of their tree.
    pub root: Digest,
    /// How many deeds a checkpoint spoke of that it does not hold.
    pub known_size: u64,
    /// The root of their tree.
    pub known_root: Digest,
    /// The first place of which the deed is lost for certain, where the log is shorter.
    pub lost_from_seq: Option<u64>,
    /// The last one.
    pub lost_to_seq: Option<u64>,
}

impl Recovered {
    /// The facts of a log that is closed as it `stands` and does not hold what the
    /// checkpoint speaks of.
    pub fn of(stands: &TreeHead, known: &Checkpoint) -> Self {
        let is_shorter = stands.size < known.tree.size;
        Self {
            log: known.log.clone(),
            size: stands.size,
            root: stands.root,
            known_size: known.tree.size,
            known_root: known.tree.root,
            lost_from_seq: is_shorter.then_some(stands.size),
            lost_to_seq: known.tree.size.checked_sub(1).filter(|_| is_shorter),
        }
    }

    /// The facts that a deed tells, nothing for a deed of another kind.
    pub fn told_by(body: &Body) -> Option<Self> {
        match &body.content {
            Content::Admin(content)
                if content.event.as_str() == EventType::LogRecovered.as_str() && body.seq == 0 =>
            {
                exact::from_value(Value::Object(content.data.clone())).ok()
            }
            Content::Admin(_) | Content::Action(_) | Content::Amendment(_) => None,
        }
    }

    /// The tree of the closed log.
    pub fn tree(&self) -> TreeHead {
        TreeHead { size: self.size, root: self.root }
    }

    /// The facts as the deed's data has them.
    pub fn data(&self) -> Vec<(&'static str, Value)> {
        vec![
            ("log", self.log.as_str().into()),
            ("size", self.size.into()),
            ("root", self.root.to_string().into()),
            ("known_size", self.known_size.into()),
            ("known_root", self.known_root.to_string().into()),
            ("lost_from_seq", self.lost_from_seq.into()),
            ("lost_to_seq", self.lost_to_seq.into()),
        ]
    }
}
