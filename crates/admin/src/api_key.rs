//! The text of an API key: how it is made, how a malformed one is told without asking anybody,
//! and what a store keeps instead of it.
//!
//! ```text
//! svc_live_01j9zk5m3v8q2t4w6y0a1b2c3d_<43 base62 characters><6 base62 characters>
//! prefix   key id                     256 random bits       CRC-32 of all before
//! ```
//!
//! The checksum is for typing errors and secret scanners; only the MAC opens anything.

use std::fmt::Write;

use crypto::Secret;
use model::{KeyId, Mint};

const ID_LEN: usize = 26;
/// The fewest base62 digits that hold 256 bits.
const SECRET_LEN: usize = 43;
/// The fewest base62 digits that hold 32 bits.
const SUM_LEN: usize = 6;
const HINT_LEN: usize = 4;
const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// Whether a key's actions are tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyMode {
    /// They are not.
    Live,
    /// They are.
    Test,
}

impl KeyMode {
    /// Whether actions are no tests.
    pub const fn is_live(self) -> bool {
        matches!(self, Self::Live)
    }

    const fn prefix(self) -> &'static str {
        match self {
            Self::Live => "svc_live_",
            Self::Test => "svc_test_",
        }
    }
}

/// A text that is not an API key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected an API key: `svc_live_` or `svc_test_`, a key id of 26 characters, `_`, and 49 letters and digits with a matching checksum"
)]
pub struct KeyTextError;

/// The text of an API key; whoever has it holds the key.
#[derive(Debug, Clone)]
pub struct KeyText {
    // Invariant: the text is well formed and carries this id and mode.
    text: Secret<String>,
    id: KeyId,
    mode: KeyMode,
}

impl KeyText {
    /// The text of a new key with this id.
    pub fn generate(mint: &Mint<'_>, id: KeyId, mode: KeyMode) -> Self {
        let prefix = mode.prefix();
        // The whole length at once, so that no part of the secret is left in a grown buffer.
        let mut text = String::with_capacity(prefix.len() + ID_LEN + 1 + SECRET_LEN + SUM_LEN);
        text.push_str(prefix);
        text.push_str(&id.body());
        text.push('_');
        push_base62(&mut text, mint.bytes::<32>(), SECRET_LEN);
        let sum = crc32fast::hash(text.as_bytes());
        push_base62(&mut text, sum.to_be_bytes(), SUM_LEN);
        Self { text: Secret::new(text), id, mode }
    }

    /// Reads a key's text; says so offline when it was mistyped or cut.
    pub fn parse(text: &str) -> Result<Self, KeyTextError> {
        let (mode, rest) = [KeyMode::Live, KeyMode::Test]
            .into_iter()
            .find_map(|mode| Some((mode, text.strip_prefix(mode.prefix())?)))
            .ok_or(KeyTextError)?;
        let (id, secret) = rest.split_once('_').ok_or(KeyTextError)?;
        let id = KeyId::from_body(id).ok_or(KeyTextError)?;
        let digits = secret.bytes().all(|byte| DIGITS.contains(&byte));
        if !digits || secret.len() != SECRET_LEN + SUM_LEN {
            return Err(KeyTextError);
        }
        let (head, sum) = text.split_at_checked(text.len() - SUM_LEN).ok_or(KeyTextError)?;
        let mut expected = String::with_capacity(SUM_LEN);
        push_base62(&mut expected, crc32fast::hash(head.as_bytes()).to_be_bytes(), SUM_LEN);
        if sum != expected {
            return Err(KeyTextError);
        }
        Ok(Self { text: Secret::new(text.to_owned()), id, mode })
    }

    /// The key's id.
    pub fn id(&self) -> KeyId {
        self.id
    }

    /// Whether the key's actions are tests.
    pub fn mode(&self) -> KeyMode {
        self.mode
    }

    /// The text itself, to be shown once to whoever asked for the key.
    pub fn secret(&self) -> &Secret<String> {
        &self.text
    }

    /// What a store keeps: HMAC-SHA-256 of the text under the pepper, in hex.
    pub fn mac(&self, pepper: &Secret<Vec<u8>>) -> String {
        let mac = crypto::hmac_sha256(pepper.expose(), self.text.expose().as_bytes());
        mac.iter().fold(String::with_capacity(64), |mut hex, byte| {
            // Writing to a string cannot fail.
            let _ = write!(hex, "{byte:02x}");
            hex
        })
    }

    /// The last four characters, by which people recognise the key.
    pub fn hint(&self) -> String {
        let text = self.text.expose();
        text.get(text.len().saturating_sub(HINT_LEN)..).unwrap_or_default().to_owned()
    }
}

/// Writes the number, given in big-endian bytes, with exactly this many base62 digits.
///
/// Every number has one spelling, so an unbiased number makes an unbiased text.
fn push_base62<const N: usize>(text: &mut String, mut number: [u8; N], width: usize) {
    let mut digits = vec![0; width];
    for digit in digits.iter_mut().rev() {
        let mut rest = 0_u16;
        for byte in &mut number {
            let value = rest << 8 | u16::from(*byte);
            // Below 256, since the rest is below 62.
            *byte = u8::try_from(value / 62).unwrap_or_default();
            rest = value % 62;
        }
        *digit = usize::from(rest);
    }
    let digits = crypto::Secret::new(digits);
    text.extend(
        digits.expose().iter().filter_map(|digit| DIGITS.get(*digit)).map(|byte| char::from(*byte)),
    );
}

#[cfg(test)]
mod tests;
