//! Ed25519 (RFC 8032) signing and verification.
//!
//! A public key that is one of the fourteen encodings of a small-order point is refused: a
//! signature under such a key says nothing about who made it.

use std::fmt;

use model::Entropy;
use ring::signature::{self, Ed25519KeyPair, KeyPair};

use crate::Secret;

/// Length of a signature in bytes.
pub const SIGNATURE_LEN: usize = 64;

/// A key that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// The bytes are no PKCS#8 document with an Ed25519 key.
    #[error("expected a PKCS#8 private key of type Ed25519")]
    NotPkcs8,
    /// The bytes are not 32.
    #[error("expected 32 bytes of an Ed25519 public key")]
    Length,
    /// The point has a small order.
    #[error("this public key is weak: its point has a small order")]
    Weak,
}

/// A public key that is not weak.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct PublicKey([u8; 32]);

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PublicKey(")?;
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
        f.write_str(")")
    }
}

impl PublicKey {
    /// The key with this encoding.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, KeyError> {
        let bytes: [u8; 32] = bytes.try_into().map_err(|_| KeyError::Length)?;
        if is_small_order(&bytes) { Err(KeyError::Weak) } else { Ok(Self(bytes)) }
    }

    /// The encoding.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Whether the signature over the message was made by this key's owner.
    pub fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        signature::UnparsedPublicKey::new(&signature::ED25519, &self.0)
            .verify(message, signature)
            .is_ok()
    }
}

/// A private key.
pub struct SigningKey {
    pair: Ed25519KeyPair,
    public: PublicKey,
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SigningKey").field("public", &self.public).finish_non_exhaustive()
    }
}

impl SigningKey {
    /// Reads a PKCS#8 document, version 1 (as `openssl genpkey` writes it) or 2.
    pub fn from_pkcs8(der: &[u8]) -> Result<Self, KeyError> {
        // The unchecked reader is the one that takes version 1, which has no public key to check.
        let pair =
            Ed25519KeyPair::from_pkcs8_maybe_unchecked(der).map_err(|_| KeyError::NotPkcs8)?;
        Self::from_pair(pair)
    }

    /// The key that grows from this seed (the private key of RFC 8032).
    pub fn from_seed(seed: &[u8; 32]) -> Result<Self, KeyError> {
        Self::from_pair(Ed25519KeyPair::from_seed_unchecked(seed).map_err(|_| KeyError::Length)?)
    }

    /// Makes a new key and returns its PKCS#8 document (version 1, RFC 8410) to be stored.
    pub fn generate(entropy: &dyn Entropy) -> Secret<Vec<u8>> {
        let mut seed = [0; 32];
        entropy.fill(&mut seed);
        let document = PKCS8_V1_HEAD.iter().copied().chain(seed).collect();
        zeroize::Zeroize::zeroize(&mut seed);
        Secret::new(document)
    }

    fn from_pair(pair: Ed25519KeyPair) -> Result<Self, KeyError> {
        let public = PublicKey::from_bytes(pair.public_key().as_ref())?;
        Ok(Self { pair, public })
    }

    /// The public half.
    pub const fn public(&self) -> &PublicKey {
        &self.public
    }

    /// The signature over the message.
    pub fn sign(&self, message: &[u8]) -> [u8; SIGNATURE_LEN] {
        let mut out = [0; SIGNATURE_LEN];
        for (target, byte) in out.iter_mut().zip(self.pair.sign(message).as_ref()) {
            *target = *byte;
        }
        out
    }
}

/// Everything of a version 1 document before the 32 bytes of the seed.
const PKCS8_V1_HEAD: [u8; 16] = [
    0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20,
];

/// Compares with the sign bit of x cleared, so seven rows stand for fourteen encodings.
fn is_small_order(encoding: &[u8; 32]) -> bool {
    let [head @ .., last] = encoding;
    SMALL_ORDER.iter().any(|[known @ .., known_last]| head == known && last & 0x7f == *known_last)
}

#[rustfmt::skip]
const SMALL_ORDER: [[u8; 32]; 7] = [
    // y = 0, order 4
    [0; 32],
    // y = 1, the identity
    [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
    // the two y of order 8
    [0x26, 0xe8, 0x95, 0x8f, 0xc2, 0xb2, 0x27, 0xb0, 0x45, 0xc3, 0xf4, 0x89, 0xf2, 0xef, 0x98, 0xf0,
     0xd5, 0xdf, 0xac, 0x05, 0xd3, 0xc6, 0x33, 0x39, 0xb1, 0x38, 0x02, 0x88, 0x6d, 0x53, 0xfc, 0x05],
    [0xc7, 0x17, 0x6a, 0x70, 0x3d, 0x4d, 0xd8, 0x4f, 0xba, 0x3c, 0x0b, 0x76, 0x0d, 0x10, 0x67, 0x0f,
     0x2a, 0x20, 0x53, 0xfa, 0x2c, 0x39, 0xcc, 0xc6, 0x4e, 0xc7, 0xfd, 0x77, 0x92, 0xac, 0x03, 0x7a],
    // y = p - 1, order 2; y = p and p + 1, the non-canonical forms of 0 and 1
    [0xec, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
     0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f],
    [0xed, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
     0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f],
    [0xee, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
     0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f],
];
