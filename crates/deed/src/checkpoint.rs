//! Checkpoints (C2SP `tlog-checkpoint`): one log's size and root, signed as a note.
//!
//! A chain alone does not show that its tail was cut; a checkpoint that somebody kept does.

use base64::{Engine, engine::general_purpose::STANDARD};
use crypto::ed25519::SigningKey;
use model::Digest;

use crate::{
    chain::ChainHead,
    keys::{KeySet, Purpose},
    note::{self, NoteError, NoteKey},
    text::LogOrigin,
    tree::TreeHead,
};

/// A log's size and root that a known key signed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// The log.
    pub log: LogOrigin,
    /// Its tree.
    pub tree: TreeHead,
}

impl Checkpoint {
    /// What the head says of its log.
    pub fn of(head: &ChainHead) -> Self {
        let tree = TreeHead { size: head.size(), root: head.root() };
        Self { log: head.log().clone(), tree }
    }

    /// The signed note. The key's name is the log's origin.
    pub fn sign(&self, key: &SigningKey) -> Result<String, NoteError> {
        let TreeHead { size, root } = &self.tree;
        let root = STANDARD.encode(root.as_bytes());
        note::sign(&format!("{}\n{size}\n{root}\n", self.log), self.log.as_str(), key)
    }

    /// The checkpoint that a signed note is, if one of these keys signed it.
    pub fn open(signed: &str, keys: &[NoteKey]) -> Result<Self, NoteError> {
        let text = note::open(signed, keys)?;
        Self::read(text)
    }

    /// The checkpoint that a signed note is, if a checkpoint key of the set signed it
    /// that was not revoked.
    ///
    /// A note carries no time, so a retired key still counts: it may be a note from its time.
    pub fn open_with(signed: &str, keys: &KeySet) -> Result<Self, NoteError> {
        let (text, _signatures) = note::split(signed)?;
        let claimed = Self::read(text)?;
        let keys = keys
            .keys()
            .iter()
            .filter(|key| key.purpose == Purpose::Checkpoint && key.revoked_at.is_none())
            .map(|key| NoteKey::new(claimed.log.as_str(), key.public))
            .collect::<Result<Vec<_>, _>>()?;
        Self::open(signed, &keys)
    }

    fn read(text: &str) -> Result<Self, NoteError> {
        let bad = NoteError::Form("a checkpoint is an origin, a size and a root in base64");
        let mut lines = text.lines();
        let (Some(log), Some(size), Some(root), None) =
            (lines.next(), lines.next(), lines.next(), lines.next())
        else {
            return Err(bad);
        };
        let root = STANDARD.decode(root).ok().and_then(|root| <[u8; 32]>::try_from(root).ok());
        match (log.parse(), read_size(size), root) {
            (Ok(log), Some(size), Some(root)) => {
                Ok(Self { log, tree: TreeHead { size, root: Digest::from_bytes(root) } })
            }
            _ => Err(bad),
        }
    }
}

/// The size, which has one spelling and is an integer that a deed's `seq` may be.
fn read_size(text: &str) -> Option<u64> {
    let size: u64 = text.parse().ok()?;
    let most = crypto::json::MAX_INTEGER.unsigned_abs();
    (size <= most && size.to_string() == text).then_some(size)
}
