//! Encryption of credentials at rest: AES-256-GCM under a ring of one to four keys.
//!
//! The first key encrypts, all of them decrypt, so a key is rotated by putting a new one in
//! front. What a ciphertext belongs to (org, connector, field) is authenticated with it, so a
//! ciphertext moved elsewhere does not open.

use std::fmt;

use base64::{Engine, engine::general_purpose::STANDARD};
use model::Entropy;
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};

use crate::{Secret, hmac_sha256, sha256};

const KEY_ID_LEN: usize = 8;
const FORMAT: u8 = 1;

/// A ring that cannot be used, or a ciphertext that does not open.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VaultError {
    /// The ring's text is wrong.
    #[error("expected 1 to 4 base64 keys of exactly 32 bytes, separated by commas")]
    BadRing,
    /// No key of the ring made this ciphertext.
    #[error("no key of the vault ring made this ciphertext")]
    UnknownKey,
    /// The ciphertext was changed, or belongs elsewhere.
    #[error("a ciphertext does not open: it was changed or belongs elsewhere")]
    Refused,
}

struct Key {
    id: [u8; KEY_ID_LEN],
    cipher: LessSafeKey,
    derive: Secret<[u8; 32]>,
}

/// A ring of keys.
pub struct Ring {
    // Invariant: one to four keys.
    keys: Vec<Key>,
}

impl fmt::Debug for Ring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ring").field("keys", &self.keys.len()).finish_non_exhaustive()
    }
}

impl Ring {
    /// Reads a comma list of base64 keys.
    pub fn parse(text: &Secret<String>) -> Result<Self, VaultError> {
        let keys = text
            .expose()
            .split(',')
            .map(|key| STANDARD.decode(key.trim()).ok()?.try_into().ok().and_then(Key::new))
            .collect::<Option<Vec<_>>>()
            .filter(|keys| (1..=4).contains(&keys.len()));
        keys.map(|keys| Self { keys }).ok_or(VaultError::BadRing)
    }

    /// The ciphertext of `plain` for the place that `context` names.
    pub fn seal(
        &self,
        context: &[u8],
        plain: &[u8],
        entropy: &dyn Entropy,
    ) -> Result<Vec<u8>, VaultError> {
        let key = self.keys.first().ok_or(VaultError::BadRing)?;
        let mut nonce = [0; NONCE_LEN];
        entropy.fill(&mut nonce);
        let mut body = plain.to_vec();
        key.cipher
            .seal_in_place_append_tag(
                Nonce::assume_unique_for_key(nonce),
                Aad::from(bound(key.id, context)),
                &mut body,
            )
            .map_err(|_| VaultError::Refused)?;
        Ok([&[FORMAT][..], &key.id, &nonce, &body].concat())
    }

    /// What was sealed for the place that `context` names.
    pub fn open(&self, context: &[u8], sealed: &[u8]) -> Result<Secret<Vec<u8>>, VaultError> {
        let (head, body) =
            sealed.split_at_checked(1 + KEY_ID_LEN + NONCE_LEN).ok_or(VaultError::Refused)?;
        let (id, nonce) = match head {
            [FORMAT, rest @ ..] => rest.split_at(KEY_ID_LEN),
            _ => return Err(VaultError::Refused),
        };
        let key = self.keys.iter().find(|key| key.id == id).ok_or(VaultError::UnknownKey)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).map_err(|_| VaultError::Refused)?;
        let mut body = body.to_vec();
        let length = key
            .cipher
            .open_in_place(nonce, Aad::from(bound(key.id, context)), &mut body)
            .map_err(|_| VaultError::Refused)?
            .len();
        body.truncate(length);
        Ok(Secret::new(body))
    }

    /// The ids of the keys, which every ciphertext names in its bytes 1 to 8.
    pub fn key_ids(&self) -> Vec<Vec<u8>> {
        self.keys.iter().map(|key| key.id.to_vec()).collect()
    }

    /// The id of the key that encrypts.
    pub fn first_key_id(&self) -> &[u8] {
        self.keys.first().map_or(&[], |key| &key.id)
    }

    /// The id of the key that a ciphertext is under, as far as it has the form of one.
    pub fn key_id_of(sealed: &[u8]) -> Option<&[u8]> {
        match sealed {
            [FORMAT, rest @ ..] => rest.get(..KEY_ID_LEN),
            _ => None,
        }
    }

    /// The keys for another purpose of every key of the ring, the first one's first: what was made with
    /// any of them is known as long as the ring has its key.
    pub fn derive_each(&self, purpose: &str) -> Vec<Secret<Vec<u8>>> {
        let derived = |key: &Key| hmac_sha256(key.derive.expose(), purpose.as_bytes()).to_vec();
        self.keys.iter().map(|key| Secret::new(derived(key))).collect()
    }

    /// A key for another purpose, derived from the ring's first key by HMAC-SHA-256.
    pub fn derive(&self, purpose: &str) -> Result<Secret<Vec<u8>>, VaultError> {
        let key = self.keys.first().ok_or(VaultError::BadRing)?;
        Ok(Secret::new(hmac_sha256(key.derive.expose(), purpose.as_bytes()).to_vec()))
    }
}

impl Key {
    fn new(bytes: [u8; 32]) -> Option<Self> {
        let cipher = LessSafeKey::new(UnboundKey::new(&AES_256_GCM, &bytes).ok()?);
        let id = sha256([b"service.vault.key-id.v1".as_slice(), &bytes].concat());
        let (id, _) = id.as_bytes().split_first_chunk::<KEY_ID_LEN>()?;
        let derive = Secret::new(hmac_sha256(&bytes, b"service.vault.derive.v1"));
        Some(Self { id: *id, cipher, derive })
    }
}

fn bound(id: [u8; KEY_ID_LEN], context: &[u8]) -> Vec<u8> {
    [&id, context].concat()
}
