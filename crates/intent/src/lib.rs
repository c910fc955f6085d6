//! Signed intents: an agent's own signature over exactly one call.
//!
//! An intent is a compact JWS (RFC 7515) of at most [`MAX_LEN`] bytes. [`examine`] checks one in a
//! fixed order and tells of every [`Check`] what was expected and what was there; [`verify`] is the
//! same without the report. Whether its nonce was seen before is known by whoever keeps nonces, and
//! is the one check that is not made here.

mod check;
mod claims;
mod conform;
mod examine;
mod form;
mod key;
mod request;

pub use check::{Check, Checked, IntentError};
pub use claims::{Claims, PURPOSE_MAX};
pub use conform::{ToSign, nonce_of, readable, to_sign};
pub use examine::{
    Call, LEEWAY, LIFETIME, Report, Verified, examine, unreadable, verify, verify_untimed,
};
pub use form::{ALG, MAX_LEN, TYP, is_compact, kid_of};
pub use key::{Key, proof_message, proves, sign, thumbprint};
pub use request::{RequestError, key_of_seed, sign_request};

/// The published vectors, `vectors.json`: intents that hold, intents that do not with
/// the check that must fail, and calls for a signer to sign.
pub const VECTORS: &str = include_str!("vectors.json");

#[cfg(test)]
mod tests;
