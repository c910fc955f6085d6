//! The private seal keys: reading and making the text of a seal key file.
//!
//! The file is PEM, and a line before each block says what the key is for:
//!
//! ```text
//! purpose: deed
//! -----BEGIN PRIVATE KEY-----
//! …
//! -----END PRIVATE KEY-----
//! ```
//!
//! Such lines outside a block are allowed by RFC 7468, so openssl reads the file too.

use base64::{Engine, engine::general_purpose::STANDARD};
use crypto::{
    Secret,
    ed25519::{KeyError, SigningKey},
};
use model::{Entropy, Timestamp};
use std::fmt::Write;

use crate::{
    keys::{KeySet, KeySetError, Purpose, SealKey, thumbprint},
    text::Thumbprint,
};

const BEGIN: &str = "-----BEGIN PRIVATE KEY-----";
const END: &str = "-----END PRIVATE KEY-----";

/// A seal key file that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyFileError {
    /// A line stands where it has no meaning.
    #[error(
        "line {0} of the seal key file: expected `purpose: deed` or `purpose: checkpoint`, and then a PEM block of a private key"
    )]
    Line(usize),
    /// A block holds no key.
    #[error("the seal key file's block that ends at line {line}: {why}")]
    Key {
        /// The block's last line.
        line: usize,
        /// What is wrong with it.
        why: KeyError,
    },
    /// The file ends inside a block.
    #[error("the seal key file ends inside a block")]
    Cut,
    /// There is no key for this purpose.
    #[error("the seal key file has no key with `purpose: {}`", .0.as_str())]
    Missing(Purpose),
}

/// One private seal key.
#[derive(Debug)]
pub(crate) struct PrivateKey {
    pub(crate) purpose: Purpose,
    pub(crate) kid: Thumbprint,
    pub(crate) key: SigningKey,
}

/// The private keys of a seal key file: at least one for deeds and one for checkpoints.
#[derive(Debug)]
pub struct SealKeys {
    // Invariant: both purposes are there.
    keys: Vec<PrivateKey>,
}

impl SealKeys {
    /// Returns these keys, one for deeds and one for checkpoints.
    pub fn new(deeds: SigningKey, checkpoints: SigningKey) -> Self {
        let pair = [(Purpose::Deed, deeds), (Purpose::Checkpoint, checkpoints)];
        let private = |(purpose, key): (_, SigningKey)| PrivateKey {
            purpose,
            kid: thumbprint(key.public()),
            key,
        };
        Self { keys: pair.into_iter().map(private).collect() }
    }

    /// The keys that grow from two seeds, the private keys of RFC 8032.
    pub fn from_seeds(deeds: &[u8; 32], checkpoints: &[u8; 32]) -> Result<Self, KeyError> {
        Ok(Self::new(SigningKey::from_seed(deeds)?, SigningKey::from_seed(checkpoints)?))
    }

    /// Reads two PKCS#8 documents in DER, as `openssl genpkey -algorithm ed25519` writes them.
    ///
    /// ```
    #[doc = include_str!("doc/shop.md")]
    /// # use deed::model::Entropy;
    /// let documents = [SigningKey::generate(&entropy), SigningKey::generate(&entropy)];
    /// let keys = SealKeys::from_pkcs8(documents[0].expose(), documents[1].expose())?;
    /// let published = keys.key_set(at)?;
    /// assert_eq!(published.keys().len(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_pkcs8(deeds: &[u8], checkpoints: &[u8]) -> Result<Self, KeyError> {
        Ok(Self::new(SigningKey::from_pkcs8(deeds)?, SigningKey::from_pkcs8(checkpoints)?))
    }

    /// What is published of these keys where there are no others, from this moment on. One
    /// key for both purposes is refused.
    pub fn key_set(&self, since: Timestamp) -> Result<KeySet, KeySetError> {
        let published =
            |(purpose, key): (_, &SigningKey)| SealKey::new(*key.public(), purpose, since);
        KeySet::new(self.keys().map(published).collect())
    }

    /// Reads a seal key file.
    pub fn from_pem(text: &str) -> Result<Self, KeyFileError> {
        let mut keys = Vec::new();
        let mut lines = text
            .lines()
            .map(str::trim)
            .enumerate()
            .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        while let Some((number, line)) = lines.next() {
            let bad_line = KeyFileError::Line(number + 1);
            let purpose = match line {
                "purpose: deed" => Purpose::Deed,
                "purpose: checkpoint" => Purpose::Checkpoint,
                _ => return Err(bad_line),
            };
            match lines.next() {
                Some((_, BEGIN)) => keys.push(block(purpose, &mut lines)?),
                Some((number, _)) => return Err(KeyFileError::Line(number + 1)),
                None => return Err(KeyFileError::Cut),
            }
        }
        for purpose in [Purpose::Deed, Purpose::Checkpoint] {
            if !keys.iter().any(|key| key.purpose == purpose) {
                return Err(KeyFileError::Missing(purpose));
            }
        }
        Ok(Self { keys })
    }

    /// Makes a new key for each purpose and returns the text of their file.
    pub fn generate_pem(entropy: &dyn Entropy) -> Secret<String> {
        let mut text = String::new();
        for purpose in [Purpose::Deed, Purpose::Checkpoint] {
            let document = Secret::new(STANDARD.encode(SigningKey::generate(entropy).expose()));
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "purpose: {}\n{BEGIN}\n{}\n{END}",
                purpose.as_str(),
                document.expose()
            );
        }
        Secret::new(text)
    }

    /// Each key's purpose and the key.
    pub fn keys(&self) -> impl Iterator<Item = (Purpose, &SigningKey)> {
        self.keys.iter().map(|key| (key.purpose, &key.key))
    }

    pub(crate) fn into_keys(self) -> Vec<PrivateKey> {
        self.keys
    }
}

fn block<'a>(
    purpose: Purpose,
    lines: &mut impl Iterator<Item = (usize, &'a str)>,
) -> Result<PrivateKey, KeyFileError> {
    let mut base64 = Secret::new(String::new());
    for (number, line) in lines {
        if line != END {
            base64 = Secret::new(format!("{}{line}", base64.expose()));
            continue;
        }
        let bad = |why| KeyFileError::Key { line: number + 1, why };
        let der = STANDARD.decode(base64.expose()).map_err(|_| bad(KeyError::NotPkcs8))?;
        let key = SigningKey::from_pkcs8(Secret::new(der).expose()).map_err(bad)?;
        return Ok(PrivateKey { purpose, kid: thumbprint(key.public()), key });
    }
    Err(KeyFileError::Cut)
}
