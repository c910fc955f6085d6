//! Deeds of a log that are kept elsewhere: what stands in their place where the log is read out.
//!
//! A full subtree of the log's tree is one hash however many deeds it covers. With the subtrees over
//! the archived deeds a reader computes the tree of the whole log, and so every root that was ever
//! signed; the digest of the last one is what the deed behind them names as `prev`.

use model::Digest;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    body::BodyError,
    exact,
    text::LogOrigin,
    tree::{Frontier, Nodes, heights, leaf_hash, subtrees},
};

/// A line of a log that is read out: deeds that are archived.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArchivedDeeds {
    object: ArchivedObject,
    /// The log.
    pub log: LogOrigin,
    /// The place of the first of the deeds.
    pub from: u64,
    /// The place behind the last of them.
    pub to: u64,
    /// The name of the partition that they are in.
    pub partition: String,
    /// The roots of the fewest full subtrees over all of them but the last.
    pub subtrees: Vec<Digest>,
    /// The digest of the last of them.
    pub last: Digest,
    /// A checkpoint of the log that has these deeds, as a signed note.
    pub checkpoint: Option<String>,
}

/// The word that such a line begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum ArchivedObject {
    #[serde(rename = "archived_deeds")]
    ArchivedDeeds,
}

impl ArchivedDeeds {
    /// The line for the deeds from `places.0` up to but not with `places.1`, of which the last one
    /// has this digest; none where there are no such places, or a node is not known.
    pub fn of(
        (log, partition): (&LogOrigin, &str),
        (from, to): (u64, u64),
        (nodes, last): (&impl Nodes, Digest),
        checkpoint: Option<String>,
    ) -> Option<Self> {
        let before = to.checked_sub(1).filter(|before| from <= *before)?;
        Some(Self {
            object: ArchivedObject::ArchivedDeeds,
            log: log.clone(),
            from,
            to,
            partition: partition.to_owned(),
            subtrees: subtrees(nodes, from, before)?,
            last,
            checkpoint,
        })
    }

    /// The line, without its end.
    pub fn to_line(&self) -> Result<String, BodyError> {
        serde_json::to_string(self).map_err(|error| BodyError::Shape(error.to_string()))
    }

    /// Reads the line; nothing where the text is something else.
    pub fn read(line: &str) -> Option<Result<Self, String>> {
        let value = crypto::json::parse(line.as_bytes()).ok()?;
        Self::is_meant(&value).then(|| Self::from_value(value))
    }

    /// Whether the value says that it is such a line.
    pub(crate) fn is_meant(value: &Value) -> bool {
        value.get("object").is_some_and(|object| object == "archived_deeds")
    }

    /// What the value is, or says why it is nothing of the kind.
    pub(crate) fn from_value(value: Value) -> Result<Self, String> {
        let read: Self = exact::from_value(value)
            .map_err(|error| format!("expected a line of archived deeds: {error}"))?;
        let is_fit = read.from < read.to && is_partition(&read.partition);
        is_fit.then_some(read).ok_or_else(|| {
            "expected archived deeds of a partition such as `2025_11`, with `from` below `to`"
                .to_owned()
        })
    }

    /// Whether the line has as many subtrees as its places take.
    pub(crate) fn has_its_subtrees(&self) -> bool {
        heights(self.from, self.to.saturating_sub(1)).count() == self.subtrees.len()
    }

    /// Appends the deeds to a tree; false where it does not end before the first of them, or where
    /// the line has another number of subtrees than that takes.
    pub fn append_to(&self, tree: &mut Frontier) -> bool {
        let fits =
            tree.size() == self.from && tree.append(self.to.saturating_sub(1), &self.subtrees);
        if fits {
            tree.push(leaf_hash(self.last.as_bytes()));
        }
        fits
    }
}

fn is_partition(name: &str) -> bool {
    name.len() == 7
        && name.bytes().enumerate().all(|(place, byte)| match place {
            4 => byte == b'_',
            _ => byte.is_ascii_digit(),
        })
}
