//! Hashes, signatures, authenticated encryption and canonical JSON: the only crate that uses
//! `ring` and the RFC 8785 canonicalizer.
//!
//! It holds no keys of its own and decides nothing; callers bring keys, and randomness comes from
//! [`SystemEntropy`] or, in tests, from any other `model::Entropy`.

pub mod ed25519;
mod entropy;
mod hash;
pub mod json;
mod secret;
pub mod vault;

pub use entropy::SystemEntropy;
pub use hash::{Sha256, constant_time_eq, hmac_sha256, sha256};
pub use secret::Secret;

#[cfg(test)]
mod tests;
