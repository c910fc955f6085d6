//! An inclusion proof as text (C2SP `tlog-proof`): a place, a path, and a signed checkpoint.

use base64::{Engine, engine::general_purpose::STANDARD};
use model::Digest;

use super::{
    hash::leaf_hash,
    proof::{TreeHead, verify_inclusion},
};

const FIRST_LINE: &str = "c2sp.org/tlog-proof@v1";
/// More hashes than a tree of 2^63 leaves needs.
const MAX_PATH: usize = 63;

/// A proof that a deed is in the log that a checkpoint vouches for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlogProof {
    /// The deed's place in the log.
    pub index: u64,
    /// The hashes from the leaf's sibling to the root's child.
    pub path: Vec<Digest>,
    /// The checkpoint, as a signed note.
    pub checkpoint: String,
}

/// A text that is not such a proof.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected a `{FIRST_LINE}` text: {0}")]
pub struct TlogProofError(&'static str);

impl TlogProof {
    /// The text.
    pub fn to_text(&self) -> String {
        let hashes = self.path.iter().map(|hash| STANDARD.encode(hash.as_bytes()) + "\n");
        let path: String = hashes.collect();
        format!("{FIRST_LINE}\nindex {}\n{path}\n{}", self.index, self.checkpoint)
    }

    /// Reads the text; extra data is refused, since nothing vouches for it.
    pub fn parse(text: &str) -> Result<Self, TlogProofError> {
        let rest = text
            .strip_prefix(FIRST_LINE)
            .and_then(|rest| rest.strip_prefix("\nindex "))
            .ok_or(TlogProofError("it begins with that line and an index"))?;
        let (head, checkpoint) =
            rest.split_once("\n\n").ok_or(TlogProofError("a checkpoint follows an empty line"))?;
        let mut lines = head.split('\n');
        let index =
            lines.next().and_then(read_index).ok_or(TlogProofError("the index is a number"))?;
        let path = lines.map(read_hash).collect::<Option<Vec<_>>>();
        let path = path.filter(|path| path.len() <= MAX_PATH);
        let path = path.ok_or(TlogProofError("the path is hashes in base64, one a line"))?;
        Ok(Self { index, path, checkpoint: checkpoint.to_owned() })
    }

    /// Whether the proof shows that this deed is in the tree.
    ///
    /// The size and the root are those of the opened checkpoint, never of the proof.
    pub fn shows(&self, deed: &Digest, tree: &TreeHead) -> bool {
        let leaf = leaf_hash(deed.as_bytes());
        verify_inclusion(leaf, self.index, &self.path, tree)
    }
}

fn read_index(text: &str) -> Option<u64> {
    let index: u64 = text.parse().ok()?;
    (index.to_string() == text).then_some(index)
}

fn read_hash(line: &str) -> Option<Digest> {
    let bytes: [u8; 32] = STANDARD.decode(line).ok()?.try_into().ok()?;
    Some(Digest::from_bytes(bytes))
}
