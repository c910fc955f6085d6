//! SHA-256, HMAC-SHA-256 and comparison in constant time.

use model::Digest;
use ring::{digest, hmac};
use subtle::ConstantTimeEq;

/// The SHA-256 digest of the bytes.
pub fn sha256(bytes: impl AsRef<[u8]>) -> Digest {
    let mut out = [0; 32];
    copy(digest::digest(&digest::SHA256, bytes.as_ref()).as_ref(), &mut out);
    Digest::from_bytes(out)
}

/// A SHA-256 digest of bytes that come one after the other.
#[derive(Clone)]
pub struct Sha256(digest::Context);

impl Sha256 {
    /// The digest of no bytes yet.
    pub fn new() -> Self {
        Self(digest::Context::new(&digest::SHA256))
    }

    /// Adds bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The digest of all bytes that were added.
    pub fn finish(self) -> Digest {
        let mut out = [0; 32];
        copy(self.0.finish().as_ref(), &mut out);
        Digest::from_bytes(out)
    }
}

impl Default for Sha256 {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for Sha256 {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sha256").finish_non_exhaustive()
    }
}

/// The HMAC-SHA-256 (RFC 2104) of the bytes under the key.
pub fn hmac_sha256(key: &[u8], bytes: &[u8]) -> [u8; 32] {
    let mut out = [0; 32];
    copy(hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), bytes).as_ref(), &mut out);
    out
}

/// Whether both are the same bytes, in a time that depends on their lengths alone.
pub fn constant_time_eq(left: &[u8], right: &[u8]) -> bool {
    left.ct_eq(right).into()
}

fn copy(from: &[u8], to: &mut [u8; 32]) {
    for (target, byte) in to.iter_mut().zip(from) {
        *target = *byte;
    }
}
