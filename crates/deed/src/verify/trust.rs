//! What a verifier is given besides the input.

use crate::keys::KeySet;

/// What the verifier takes for granted.
#[derive(Debug, Clone, Default)]
pub struct Trust {
    /// The published keys.
    pub keys: Option<KeySet>,
    /// A checkpoint that was kept from before, as a signed note.
    pub known_checkpoint: Option<String>,
    /// How many deeds the log must have.
    pub expected_size: Option<u64>,
}

impl From<KeySet> for Trust {
    /// Trusts these keys, and knows nothing else.
    fn from(keys: KeySet) -> Self {
        Self { keys: Some(keys), ..Self::default() }
    }
}
